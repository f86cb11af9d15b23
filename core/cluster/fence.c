// SPDX-License-Identifier: Apache-2.0
#include "cluster/fence.h"
#include "base/array.h"
#include "cluster/port_index.h"
#include "cluster/port_owner.h"
#include <stdlib.h>
#include <string.h>

/* ---- whose a port is ------------------------------------------------------------------------- */

/* A storage server's, say: the operator's partitions name it, and it is in no cluster. */
static bool is_operators(const struct oneib_fence_input *input, oneib_guid guid)
{
    uint32_t cluster;
    const bool is_named = oneib_is_listed(input->static_partitions, guid);
    for (size_t i = 0; is_named && input->in_force && i < input->in_force->count; i++)
        if (oneib_partition_cluster(&input->in_force->items[i], &cluster) &&
            oneib_partition_lists(&input->in_force->items[i], guid))
            return false;
    return is_named;
}

/* Ports that hosts' probes could name by mistake or by malice, and that all depend on. */
static bool is_barred(const struct oneib_fence_input *input, oneib_guid guid)
{
    for (size_t i = 0; i < input->policy->default_full_count; i++)
        if (input->policy->default_full_members[i] == guid)
            return true;
    return guid == input->own_port || guid == input->subnet->sm_port_guid ||
           oneib_is_static_member(input->cloud, guid);
}

/* ---- what is seen of it ---------------------------------------------------------------------- */

/* Where the port is linked: NULL: nowhere. *count: at how many places it is seen. */
static const struct oneib_switch_link *link_of(const struct oneib_fence_input *input,
                                               oneib_guid guid, size_t *count)
{
    const struct oneib_switch_link *found = NULL;
    *count = 0;
    for (size_t i = 0; i < input->link_count; i++)
        if (input->links[i].port_guid == guid && input->links[i].node_type == ONEIB_NODE_CA) {
            found = &input->links[i];
            ++*count;
        }
    return found;
}

static const struct oneib_switch_link *link_at(const struct oneib_fence_input *input,
                                               oneib_guid switch_guid, uint8_t switch_port)
{
    for (size_t i = 0; switch_guid && i < input->link_count; i++)
        if (input->links[i].switch_guid == switch_guid &&
            input->links[i].switch_port == switch_port)
            return &input->links[i];
    return NULL;
}

static bool may_be_lifted(const struct oneib_fence_input *input,
                          const struct oneib_ledger_fence *fence)
{
    for (size_t i = 0; fence->wish == ONEIB_FENCE_LIFT && i < input->empty_count; i++)
        if (input->empty[i] == fence->host_id)
            return true;
    return fence->wish == ONEIB_FENCE_FORCED;
}

/* ---- one port -------------------------------------------------------------------------------- */

static void place(struct oneib_fence_step *step, const struct oneib_switch_link *link)
{
    step->switch_guid = link->switch_guid;
    step->switch_port = link->switch_port;
}

static void close_at(struct oneib_fence_step *step, const struct oneib_switch_link *link)
{
    const bool is_down = link->physical == ONEIB_PHYSICAL_DISABLED;
    place(step, link);
    step->act = is_down ? ONEIB_FENCE_LEAVE : ONEIB_FENCE_DISABLE;
    step->state = is_down ? ONEIB_FENCE_DOWN : ONEIB_FENCE_UP;
}

/* It was the host's when it was closed, at its place, or nowhere: what others report since changes
 * nothing. */
static bool was_its_own(const struct oneib_fence_step *step)
{
    return step->switch_guid != 0 || step->was == ONEIB_FENCE_GONE;
}

/* What keeps a port from being closed that was not closed yet: ONEIB_FENCE_ASKED: nothing.
 * is_sibling: it is of an adapter that is the host's. */
static enum oneib_fence_state obstacle(const struct oneib_fence_input *input,
                                       const struct oneib_fence_step *step, bool is_sibling)
{
    if (was_its_own(step))
        return ONEIB_FENCE_ASKED;
    const struct oneib_ledger_port *port = oneib_ledger_port(input->ledger, step->guid);
    if (port)
        return port->host_id == step->host_id ? ONEIB_FENCE_ASKED : ONEIB_FENCE_SHARED;
    return is_sibling ? ONEIB_FENCE_ASKED : ONEIB_FENCE_UNPROVEN;
}

/* Its link is up: who is behind it says so. */
static void close_linked(const struct oneib_fence_input *input,
                         const struct oneib_switch_link *link, bool is_sibling,
                         struct oneib_fence_step *step)
{
    const enum oneib_fence_state why_not = obstacle(input, step, is_sibling);
    if (is_barred(input, step->guid) || (!was_its_own(step) && is_operators(input, step->guid)))
        step->state = ONEIB_FENCE_BARRED;
    else if (why_not != ONEIB_FENCE_ASKED)
        step->state = why_not;
    else
        close_at(step, link);
}

/* What was not its own before is pinned, and lies where it was seen last before it was fenced. */
static void place_as_pinned(const struct oneib_fence_input *input, struct oneib_fence_step *step)
{
    if (was_its_own(step))
        return;
    const struct oneib_ledger_port *port = oneib_ledger_port(input->ledger, step->guid);
    step->switch_guid = port->switch_guid;
    step->switch_port = port->switch_port;
}

/* On a busy fabric an answer is lost: a switch's of its port, or, where a link is up, of who is
 * behind it. */
static bool is_somebody_unknown(const struct oneib_fence_input *input)
{
    if (input->links_are_missing)
        return true;
    for (size_t i = 0; i < input->link_count; i++)
        if (input->links[i].physical == ONEIB_PHYSICAL_LINK_UP && input->links[i].port_guid == 0)
            return true;
    return false;
}

/* Its link is down, or its switch is not found. */
static void close_unlinked(const struct oneib_fence_input *input, struct oneib_fence_step *step)
{
    const enum oneib_fence_state why_not = obstacle(input, step, false);
    if (why_not != ONEIB_FENCE_ASKED) {
        step->state = why_not;
        return;
    }
    place_as_pinned(input, step);
    const struct oneib_switch_link *before = link_at(input, step->switch_guid, step->switch_port);
    if (before && before->port_guid == 0) {
        close_at(step, before);
    } else if (before) { /* the cable is somebody else's now */
        step->switch_guid = step->switch_port = 0;
        step->state = ONEIB_FENCE_GONE;
    } else if (step->switch_guid || oneib_subnet_find(input->subnet, step->guid) ||
               is_somebody_unknown(input)) {
        step->state = ONEIB_FENCE_SILENT;
    } else {
        step->state = ONEIB_FENCE_GONE;
    }
}

static void decide_to_close(const struct oneib_fence_input *input, bool is_sibling,
                            struct oneib_fence_step *step)
{
    size_t count;
    const struct oneib_switch_link *link = link_of(input, step->guid, &count);
    if (count > 1)
        step->state = ONEIB_FENCE_DOUBLED;
    else if (link)
        close_linked(input, link, is_sibling, step);
    else
        close_unlinked(input, step);
}

/* A port that is disabled is enabled, what is up already stays so. Of a switch that is not found
 * nobody knows what its port is, and who forces it does not want to. */
static void decide_to_open(const struct oneib_fence_input *input, bool is_forced,
                           struct oneib_fence_step *step)
{
    const struct oneib_switch_link *link = link_at(input, step->switch_guid, step->switch_port);
    const bool is_down = link && link->physical == ONEIB_PHYSICAL_DISABLED;
    step->act = is_down ? ONEIB_FENCE_ENABLE : ONEIB_FENCE_LEAVE;
    if (is_down)
        step->state = ONEIB_FENCE_DOWN;
    else if (step->switch_guid && !link && !is_forced)
        step->state = ONEIB_FENCE_SILENT;
    else
        step->state = ONEIB_FENCE_UP;
}

static struct oneib_fence_step *add_step(struct oneib_fence_plan *plan, uint32_t host_id,
                                         oneib_guid guid)
{
    struct oneib_fence_step *step = ONEIB_ADD(plan->items, plan->count, plan->capacity);
    *step = (struct oneib_fence_step){.host_id = host_id, .guid = guid};
    return step;
}

static void plan_port(const struct oneib_fence_input *input, const struct oneib_ledger_fence *fence,
                      const struct oneib_ledger_fenced_port *port, struct oneib_fence_plan *plan)
{
    const bool lifts = may_be_lifted(input, fence);
    struct oneib_fence_step *step = add_step(plan, port->host_id, port->guid);
    step->switch_guid = port->switch_guid;
    step->switch_port = port->switch_port;
    step->was = port->state;
    if (lifts)
        decide_to_open(input, fence->wish == ONEIB_FENCE_FORCED, step);
    else
        decide_to_close(input, false, step);
    step->came_up = !lifts && port->state == ONEIB_FENCE_DOWN && step->act == ONEIB_FENCE_DISABLE;
}

/* ---- the other ports of its adapters --------------------------------------------------------- */

static struct oneib_fence_step *planned(const struct oneib_fence_plan *plan, uint32_t host_id,
                                        oneib_guid guid)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].host_id == host_id && plan->items[i].guid == guid)
            return &plan->items[i];
    return NULL;
}

/* An adapter whose one port the host's probe did not report has it all the same. */
static void plan_siblings(const struct oneib_fence_input *input, uint32_t host_id,
                          const struct oneib_switch_link *of, struct oneib_fence_plan *plan)
{
    for (size_t i = 0; i < input->link_count; i++) {
        const struct oneib_switch_link *link = &input->links[i];
        if (link->node_guid != of->node_guid || link->node_type != ONEIB_NODE_CA ||
            link->port_guid == 0)
            continue;
        struct oneib_fence_step *step = planned(plan, host_id, link->port_guid);
        if (!step)
            step = add_step(plan, host_id, link->port_guid);
        decide_to_close(input, true, step);
    }
}

/* Those that are its own, whatever its probe is said to report. */
static void plan_pinned(const struct oneib_fence_input *input, uint32_t host_id,
                        struct oneib_fence_plan *plan)
{
    for (size_t i = 0; i < input->ledger->port_count; i++) {
        const struct oneib_ledger_port *port = &input->ledger->ports[i];
        if (port->host_id != host_id || planned(plan, host_id, port->guid))
            continue;
        struct oneib_fence_step *step = add_step(plan, host_id, port->guid);
        decide_to_close(input, false, step);
    }
}

static void plan_adapters(const struct oneib_fence_input *input, uint32_t host_id, size_t first,
                          struct oneib_fence_plan *plan)
{
    const size_t end = plan->count;
    for (size_t i = first; i < end; i++) {
        size_t count;
        const struct oneib_switch_link *link = link_of(input, plan->items[i].guid, &count);
        const bool is_its_own = plan->items[i].state == ONEIB_FENCE_UP;
        if (is_its_own && count == 1)
            plan_siblings(input, host_id, link, plan);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void plan_host(const struct oneib_fence_input *input, const struct oneib_ledger_fence *fence,
                      struct oneib_fence_plan *plan)
{
    const struct oneib_ledger *ledger = input->ledger;
    const size_t first = plan->count;
    for (size_t i = 0; i < ledger->fenced_port_count; i++)
        if (ledger->fenced_ports[i].host_id == fence->host_id)
            plan_port(input, fence, &ledger->fenced_ports[i], plan);
    if (may_be_lifted(input, fence))
        return;
    plan_pinned(input, fence->host_id, plan);
    plan_adapters(input, fence->host_id, first, plan);
}

void oneib_fence_plan(const struct oneib_fence_input *input, struct oneib_fence_plan *plan)
{
    *plan = (struct oneib_fence_plan){0};
    for (size_t i = 0; i < input->ledger->fence_count; i++)
        plan_host(input, &input->ledger->fences[i], plan);
}

void oneib_fence_plan_clear(struct oneib_fence_plan *plan)
{
    free(plan->items);
    *plan = (struct oneib_fence_plan){0};
}
