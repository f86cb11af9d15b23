// SPDX-License-Identifier: Apache-2.0
/*
 * Adapters, and what oneib-node knows: who uses which VF, and what is not as it should be. For
 * `oneib hca` and the probe; unprivileged.
 */
#ifndef ONEIB_NODE_INVENTORY_H
#define ONEIB_NODE_INVENTORY_H

#include "base/error.h"
#include "base/finding.h"
#include "config/config.h"
#include "domain/domains.h"
#include "hca/hca.h"
#include "hca/vf_control.h"
#include "host/vf_choice.h"
#include "host/vf_record.h"
#include "host/virtual_port.h"
#include <stdbool.h>
#include <stddef.h>

/* A record is left alone for so long after its last change: pre of an attach gives a VM its VF
 * before it is plugged in. Seconds. */
#define ONEIB_SETTLED_AFTER 120

struct oneib_inventory_vf {
    const struct oneib_hca *hca;          /* into inventory->hcas */
    const struct oneib_vf *vf;            /* likewise */
    const struct oneib_vf_record *record; /* into inventory->table; NULL: none */
    const struct oneib_domain *domain;    /* into inventory->domains; NULL: none */
    enum oneib_vf_use use;
    bool state_known;
    struct oneib_vf_state state;    /* when it was asked for and could be read */
    struct oneib_virtual_port port; /* likewise; UNSEEN: it has none, or this caller cannot read it
                                     */
    struct oneib_error unreadable;  /* why it could not; code NONE otherwise */
};

struct oneib_inventory {
    struct oneib_hcas hcas;
    struct oneib_vf_table table; /* the service's; without the service, as it lies on disk */
    bool table_known;            /* it could be read */
    bool service_known;          /* oneib-node answered, or there is nothing to ask it for */
    struct oneib_domains domains;
    bool domains_known; /* the service knows them, or there is nothing that a domain could have */
    struct oneib_error domains_error;
    struct oneib_inventory_vf *vfs; /* owned: all VFs of all adapters, in their order */
    size_t vf_count;
    size_t unseen;                  /* open VFs of mlx5 whose own ports the service cannot read */
    struct oneib_findings findings; /* hca-unreadable, port-not-safe, node-service-..., vf-...:
                                       docs/operator-messages.md has them all */
};

/* with_states: also reads every VF's maps and GUIDs; the probe does without. A VF of which the
 * service, the table, libvirt or sysfs cannot tell whether it is in use is UNKNOWN, never free. What
 * cannot be read is a finding; -1 only when no adapter could be listed. */
int oneib_inventory_read(const struct oneib_config *config, bool with_states,
                         struct oneib_inventory *inventory, struct oneib_error *err);
void oneib_inventory_clear(struct oneib_inventory *inventory);

/*
 * Whether a running VM is without InfiniBand because of its VF, which is whole but for what a HAVE
 * gives it: it has no GUID, which post should have given it (docs/design/node.md, Migration), or it
 * was closed when its domain ended, and nobody has asked for it since. It has been so for
 * ONEIB_SETTLED_AFTER. now: oneib_seconds_since_boot().
 */
bool oneib_record_is_unfinished(const struct oneib_vf_record *record,
                                const struct oneib_domains *domains, bool domains_known,
                                int64_t now);

/* Whether a running VM lacks the VF that is recorded for it, whole as it is. It has been so for
 * ONEIB_SETTLED_AFTER: pre of an attach records it before it is plugged. */
bool oneib_record_is_not_plugged(const struct oneib_vf_record *record,
                                 const struct oneib_domains *domains, bool domains_known,
                                 int64_t now);

/*
 * Closes VFs that are NOT_CLOSED, drops records whose VF is gone, finishes what post could not
 * (oneib_record_is_unfinished()), and gives VMs what they lack of their VFs
 * (oneib_record_is_not_plugged(), node/start_reattach.h). *done counts what was put right; failures
 * become findings. Through oneib-node.
 */
void oneib_inventory_repair(const struct oneib_config *config, struct oneib_inventory *inventory,
                            size_t *done);

#endif
