// SPDX-License-Identifier: Apache-2.0
/*
 * Adapters, the table and the domains together: who uses which VF, and what is stale. For `oneib
 * hca` and the probe; unprivileged.
 */
#ifndef ONEIB_NODE_INVENTORY_H
#define ONEIB_NODE_INVENTORY_H

#include "base/config.h"
#include "base/error.h"
#include "domain/domains.h"
#include "hca/hca.h"
#include "hca/vf_control.h"
#include "model/finding.h"
#include "model/vf_choice.h"
#include "model/vf_record.h"
#include <stdbool.h>
#include <stddef.h>

/* A record is left alone for so long after its last change: between pre and the moment when libvirt
 * knows the domain. Seconds. */
#define ONEIB_STALE_AFTER 120
/* The same for a record whose GUID is deferred: on local storage OpenNebula copies read-only images
 * and snapshots to the destination between pre and the domain. Seconds. */
#define ONEIB_MIGRATING_FOR 3600

struct oneib_inventory_vf {
    const struct oneib_hca *hca;          /* into inventory->hcas */
    const struct oneib_vf *vf;            /* likewise */
    const struct oneib_vf_record *record; /* into inventory->table; NULL: none */
    const struct oneib_domain *domain;    /* into inventory->domains; NULL: none */
    enum oneib_vf_use use;
    bool state_known;
    struct oneib_vf_state state;   /* when it was asked for and could be read */
    struct oneib_error unreadable; /* why it could not; code NONE otherwise */
};

struct oneib_inventory {
    struct oneib_hcas hcas;
    struct oneib_vf_table table;
    bool table_known; /* it could be read */
    struct oneib_domains domains;
    bool domains_known; /* libvirt answered, or there is nothing that a domain could have */
    struct oneib_error domains_error;
    struct oneib_inventory_vf *vfs; /* owned: all VFs of all adapters, in their order */
    size_t vf_count;
    struct oneib_findings findings; /* hca-unreadable, port-not-safe, libvirt-unreachable, vf-...:
                                       docs/operator.md has them all */
};

/* with_states: also reads every VF's maps and GUIDs; without it, as the probe looks, libvirt is not
 * asked while the table has no record. A VF of which the table, libvirt or sysfs
 * cannot tell whether somebody has it is UNREADABLE, never free. What cannot be read is a finding;
 * -1 only without memory, or when no adapter could be listed. */
int oneib_inventory_read(const struct oneib_config *config, bool with_states,
                         struct oneib_inventory *inventory, struct oneib_error *err);
void oneib_inventory_clear(struct oneib_inventory *inventory);

/*
 * Whether a record is stale: nobody works on it, it has not changed for ONEIB_STALE_AFTER (its GUID
 * deferred: ONEIB_MIGRATING_FOR), and no domain named "one-<VM>" is there and none names its VF; a
 * PREPARING one whose owner is gone, or a RELEASING one that nobody works on, at once. Never while
 * libvirt does not answer, except those two. now: oneib_seconds_since_boot().
 */
bool oneib_record_is_stale(const struct oneib_vf_record *record,
                           const struct oneib_domains *domains, bool domains_known, bool has_owner,
                           int64_t now);

/* Whether a running VM's VF is without the GUID that post should have given it:
 * docs/design/node.md, Migration. Nobody works on it, and it has been so for ONEIB_STALE_AFTER. */
bool oneib_record_is_unfinished(const struct oneib_vf_record *record,
                                const struct oneib_domains *domains, bool domains_known,
                                bool has_owner, int64_t now);

/* Whether a running VM lacks the VF that is recorded for it, whole as it is. Nobody works on it,
 * and it has been so for ONEIB_STALE_AFTER: pre of an attach records it before it is plugged. */
bool oneib_record_is_not_plugged(const struct oneib_vf_record *record,
                                 const struct oneib_domains *domains, bool domains_known,
                                 bool has_owner, int64_t now);

/*
 * Releases what is stale, and, with `everything` (repair), closes VFs that are NOT_CLOSED, drops
 * records whose VF is gone, finishes what post could not (oneib_record_is_unfinished()), and gives
 * VMs what they lack of their VFs (oneib_record_is_not_plugged(), node/reattach.h). *done
 * counts what was put right; failures become findings. Through oneib-vf. Without `everything` it
 * begins nothing new after ONEIB_HOUSEKEEPING_MS: a probe must not hold up the monitoring.
 */
#define ONEIB_HOUSEKEEPING_MS 20000
int oneib_inventory_repair(const struct oneib_config *config, struct oneib_inventory *inventory,
                           bool everything, size_t *done, struct oneib_error *err);

#endif
