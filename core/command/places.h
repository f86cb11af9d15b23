// SPDX-License-Identifier: Apache-2.0
/* Where attachments are: the port of which host, and whose port a GUID of a partition is. */
#ifndef ONEIB_COMMAND_PLACES_H
#define ONEIB_COMMAND_PLACES_H

#include "base/text.h"
#include "cluster/port_index.h"
#include "sync/sync.h"
#include <stddef.h>
#include <stdint.h>

/* One member of a virtual cluster's partition on behalf of one VM; once, however many NICs it has
 * there. */
struct oneib_place {
    oneib_pkey pkey;
    oneib_guid guid; /* as the partition lists it */
    uint32_t vm_id;
};

struct oneib_places {
    const struct oneib_snapshot *snapshot;
    struct oneib_place *items; /* by key, GUID, VM */
    size_t count, capacity;
    struct oneib_port_index ports;
    uint16_t site;
    bool daemon_runs; /* an oneibd keeps these partitions */
};

/* The port of host_id that an attachment uses, or NULL. */
const struct oneib_hca_port *oneib_port_of(const struct oneib_cloud *cloud,
                                           const struct oneib_attachment *attachment,
                                           uint32_t host_id);

void oneib_places_make(const struct oneib_snapshot *snapshot, uint16_t site, bool daemon_runs,
                       struct oneib_places *places);
void oneib_places_clear(struct oneib_places *places);

/* NULL when no host reports this port. */
const struct oneib_known_port *oneib_places_port(const struct oneib_places *places,
                                                 oneib_guid guid);
/* The members for (pkey, guid): the first of *count of them. */
const struct oneib_place *oneib_places_find(const struct oneib_places *places, oneib_pkey pkey,
                                            oneib_guid guid, size_t *count);

/* Appends "node7 mlx4_0/1", or the fabric's own description of the port, or the VM it belonged to,
 * or nothing. */
void oneib_places_append_port(const struct oneib_places *places, oneib_guid guid,
                              struct oneib_text *text);
/* Appends "VM 42, 43" for those on whose behalf guid is a member; nothing when there is none. */
void oneib_places_append_vms(const struct oneib_places *places, oneib_pkey pkey, oneib_guid guid,
                             struct oneib_text *text);

#endif
