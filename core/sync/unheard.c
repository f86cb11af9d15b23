// SPDX-License-Identifier: Apache-2.0
#include "cluster/grants.h"
#include "sync/sync.h"

/* Without a file in force all is new: whatever ports hold may be lost at any moment, and come back
 * to other places. */
void oneib_snapshot_leave_to_daemon(const struct oneib_sm *sm, struct oneib_snapshot *snapshot,
                                    size_t *left)
{
    static const struct oneib_grants nothing;
    struct oneib_gate gate = {0};
    const struct oneib_gate_input input = {
        .cloud = &snapshot->cloud,
        .desired = &snapshot->desired,
        .in_force = oneib_seen_has_table(&snapshot->seen) ? &snapshot->seen.table : NULL,
        .grants = &nothing,
        .ledger = &snapshot->kept.ledger,
        .hears_nobody = true,
    };
    oneib_gate_compute(&input, &gate);
    *left = gate.withheld;
    oneib_snapshot_write_only(sm, snapshot, &gate.table);
    oneib_gate_clear(&gate);
}
