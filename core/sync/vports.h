// SPDX-License-Identifier: Apache-2.0
/* Virtual ports, asked on the fabric where fabric.virtual_ports says so, and compared with what
 * hosts have reported (partitions/virtual_ports.h). */
#ifndef ONEIB_SYNC_VPORTS_H
#define ONEIB_SYNC_VPORTS_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "host/vf_record.h"
#include "partitions/virtual_ports.h"
#include <stdbool.h>
#include <stddef.h>

/* Zeroed: nothing is reported, nothing was tried. */
struct oneib_vports {
    struct oneib_vport_report *reports; /* owned; what the next reading is compared with */
    size_t report_count, report_capacity;
    bool was_tried;                   /* by the last reading */
    struct oneib_vport_result result; /* of what was tried */
};

void oneib_vports_forget_reports(struct oneib_vports *vports);
/* What a host's service reports: of its records those of open VFs of mlx5 whose GUID is set. */
int oneib_vports_report(struct oneib_vports *vports, const struct oneib_host *host,
                        const struct oneib_vf_record *records, size_t count,
                        struct oneib_error *err);

/* Whether they are to be asked at all. */
bool oneib_vports_are_wanted(const struct oneib_config *config);
/*
 * oneib_fabric_read(), and virtual ports besides, where they are wanted: those that can be believed
 * are ports of the subnet then, with an owner, so that whatever compares that compares them too.
 * What cannot be believed is no error: vports->result says why. On failure *subnet holds nothing.
 */
int oneib_vports_read_subnet(const struct oneib_config *config, struct oneib_fabric *fabric,
                             struct oneib_vports *vports, struct oneib_subnet *subnet,
                             struct oneib_error *err);
/* The latter alone, into a subnet that has been read and has none. */
int oneib_vports_read(const struct oneib_config *config, struct oneib_fabric *fabric,
                      struct oneib_vports *vports, struct oneib_subnet *subnet,
                      struct oneib_error *err);
void oneib_vports_clear(struct oneib_vports *vports);

/* Whether it is a member, and a VF of mlx5's. */
bool oneib_is_virtual_member(const struct oneib_desired_binding *binding);
/* How many members are virtual ports that no subnet manager of the configured kind gives a key. */
size_t oneib_vports_unserved(const struct oneib_config *config,
                             const struct oneib_desired *desired);
/* The finding virtual-ports, where there are any. It is of the installation and not of what a
 * command does, so whoever looks at the installation says it: `oneib verify` and oneibd. */
int oneib_vports_note_unserved(const struct oneib_config *config,
                               const struct oneib_desired *desired, struct oneib_findings *findings,
                               struct oneib_error *err);

#endif
