// SPDX-License-Identifier: Apache-2.0
#include "base/order.h"
#include "cluster/grants.h"
#include "sync/sync.h"

/* Without a file in force all is new: whatever ports hold may be lost at any moment, and come back
 * to other places. */
static void compute_gate(const struct oneib_snapshot *snapshot, struct oneib_gate *gate)
{
    static const struct oneib_grants nothing;
    const struct oneib_gate_input input = {
        .cloud = &snapshot->cloud,
        .desired = &snapshot->desired,
        .in_force = oneib_seen_has_table(&snapshot->seen) ? &snapshot->seen.table : NULL,
        .grants = &nothing,
        .ledger = &snapshot->kept.ledger,
        .hears_no_nodes = true,
    };
    oneib_gate_compute(&input, gate);
}

/* gate.kept counts the members that stay limited and are to be full: nothing else is kept for a host
 * that is not heard. */
void oneib_snapshot_leave_to_daemon(const struct oneib_sm *sm, struct oneib_snapshot *snapshot,
                                    size_t *left)
{
    struct oneib_gate gate;
    compute_gate(snapshot, &gate);
    *left = gate.withheld + gate.kept;
    oneib_snapshot_write_only(sm, snapshot, &gate.table);
    oneib_gate_clear(&gate);
}

/* Those of a port are few. */
static bool has(const struct oneib_verification *verification,
                const struct oneib_deviation *deviation)
{
    const size_t first = ONEIB_LOWER_BOUND(i, verification->count,
                                           verification->items[i].port_guid < deviation->port_guid);
    for (size_t i = first; i < verification->count; i++) {
        const struct oneib_deviation *other = &verification->items[i];
        if (other->port_guid != deviation->port_guid)
            return false;
        if (other->kind == deviation->kind && other->expected == deviation->expected)
            return true;
    }
    return false;
}

void oneib_snapshot_verify(const struct oneib_snapshot *snapshot,
                           struct oneib_verification *verification)
{
    struct oneib_gate gate;
    oneib_autoverification struct oneib_verification of_command = {0};
    compute_gate(snapshot, &gate);
    oneib_subnet_verify(&snapshot->subnet, &snapshot->desired.table, verification);
    oneib_subnet_verify(&snapshot->subnet, &gate.table, &of_command);
    for (size_t i = 0; i < verification->count; i++) {
        struct oneib_deviation *deviation = &verification->items[i];
        deviation->is_daemons =
            (deviation->kind == ONEIB_KEY_ABSENT || deviation->kind == ONEIB_KEY_NARROWED) &&
            !has(&of_command, deviation);
    }
    oneib_gate_clear(&gate);
}
