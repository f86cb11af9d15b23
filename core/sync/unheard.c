// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
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
        if (other->kind == deviation->kind && other->expected == deviation->expected &&
            other->found == deviation->found)
            return true;
    }
    return false;
}

/* What a port keeps by the daemon's order, until its node has closed, is right as it is. */
static void drop_retained(const struct oneib_verification *of_writer,
                          struct oneib_verification *verification)
{
    size_t kept = 0;
    for (size_t i = 0; i < verification->count; i++) {
        const struct oneib_deviation *deviation = &verification->items[i];
        if (oneib_deviation_is_lack(deviation->kind) || has(of_writer, deviation))
            verification->items[kept++] = *deviation;
        else if (oneib_deviation_is_violation(deviation->kind))
            verification->violations--;
        else
            verification->differences--;
    }
    verification->count = kept;
}

void oneib_snapshot_verify(const struct oneib_snapshot *snapshot,
                           const struct oneib_partition_table *may_be_written,
                           struct oneib_verification *verification)
{
    oneib_auto(oneib_gate_clear) struct oneib_gate gate = {0};
    oneib_autoverification struct oneib_verification of_writer = {0};
    const bool is_daemons = may_be_written != NULL;
    if (!may_be_written) {
        compute_gate(snapshot, &gate);
        may_be_written = &gate.table;
    }
    oneib_subnet_verify(&snapshot->subnet, &snapshot->desired.table, verification);
    oneib_subnet_verify(&snapshot->subnet, may_be_written, &of_writer);
    for (size_t i = 0; i < verification->count; i++) {
        struct oneib_deviation *deviation = &verification->items[i];
        deviation->is_daemons =
            oneib_deviation_is_lack(deviation->kind) && !has(&of_writer, deviation);
    }
    if (is_daemons)
        drop_retained(&of_writer, verification);
}
