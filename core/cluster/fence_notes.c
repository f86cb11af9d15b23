// SPDX-License-Identifier: Apache-2.0
/* What the ledger is to say of fenced hosts' ports, and what follows from what it says. */
#include "cluster/fence.h"

static struct oneib_ledger_fenced_port said_of(const struct oneib_ledger *ledger,
                                               const struct oneib_fence_step *step, int64_t now)
{
    const struct oneib_ledger_fenced_port *before =
        oneib_ledger_fenced_port(ledger, step->host_id, step->guid);
    return before ? *before
                  : (struct oneib_ledger_fenced_port){
                        .host_id = step->host_id, .guid = step->guid, .since = now};
}

static int put(struct oneib_ledger *ledger, const struct oneib_ledger_fenced_port *port,
               bool *changed, struct oneib_error *err)
{
    const struct oneib_ledger_fenced_port *before =
        oneib_ledger_fenced_port(ledger, port->host_id, port->guid);
    if (before && before->switch_guid == port->switch_guid &&
        before->switch_port == port->switch_port && before->state == port->state &&
        before->answer == port->answer)
        return 0;
    *changed = true;
    return oneib_ledger_set_fenced_port(ledger, port, err);
}

int oneib_fence_note_places(const struct oneib_fence_plan *plan, int64_t now,
                            struct oneib_ledger *ledger, bool *changed, struct oneib_error *err)
{
    *changed = false;
    for (size_t i = 0; i < plan->count; i++) {
        const struct oneib_fence_step *step = &plan->items[i];
        struct oneib_ledger_fenced_port port = said_of(ledger, step, now);
        port.switch_guid = step->switch_guid;
        port.switch_port = step->switch_port;
        if (put(ledger, &port, changed, err) < 0)
            return -1;
    }
    return 0;
}

/* Enabled, or not to be found any more. */
static bool is_lifted(const struct oneib_fence_plan *plan, const struct oneib_ledger_fence *fence)
{
    if (fence->wish == ONEIB_FENCE_CLOSED)
        return false;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].host_id == fence->host_id &&
            (plan->items[i].state != ONEIB_FENCE_UP || plan->items[i].act == ONEIB_FENCE_DISABLE))
            return false;
    return true;
}

int oneib_fence_note_states(const struct oneib_fence_plan *plan, int64_t now,
                            struct oneib_ledger *ledger, bool *changed, struct oneib_error *err)
{
    *changed = false;
    for (size_t i = 0; i < plan->count; i++) {
        const struct oneib_fence_step *step = &plan->items[i];
        const struct oneib_ledger_fence *fence = oneib_ledger_fence(ledger, step->host_id);
        struct oneib_ledger_fenced_port port = said_of(ledger, step, now);
        if (!fence)
            continue;
        if (port.state != step->state)
            port.since = now;
        port.state = step->state;
        port.answer = fence->asked;
        if (put(ledger, &port, changed, err) < 0)
            return -1;
    }
    for (size_t i = ledger->fence_count; i-- > 0;)
        if (is_lifted(plan, &ledger->fences[i])) {
            *changed = true;
            oneib_ledger_lift_fence(ledger, ledger->fences[i].host_id);
        }
    return 0;
}

/* ---- what follows from it -------------------------------------------------------------------- */

bool oneib_fence_is_closed(enum oneib_fence_state state)
{
    return state == ONEIB_FENCE_DOWN;
}

bool oneib_fence_holds(const struct oneib_ledger *ledger, uint32_t host_id)
{
    size_t closed = 0;
    if (!oneib_ledger_fence(ledger, host_id))
        return false;
    for (size_t i = 0; i < ledger->fenced_port_count; i++) {
        const struct oneib_ledger_fenced_port *port = &ledger->fenced_ports[i];
        if (port->host_id != host_id)
            continue;
        if (!oneib_fence_is_closed(port->state))
            return false;
        closed++;
    }
    return closed > 0;
}
