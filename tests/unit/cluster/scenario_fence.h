// SPDX-License-Identifier: Apache-2.0
/* What fences are planned from, and the plan, for scenarios (test_scenario.c). */
#ifndef ONEIB_TEST_CLUSTER_SCENARIO_FENCE_H
#define ONEIB_TEST_CLUSTER_SCENARIO_FENCE_H

#include "cloud_builder.h"
#include "cluster/fence.h"
#include <inttypes.h>

#define LEAF UINT64_C(0x200000) /* the switch of all links */
#define LINKS 16                /* its ports */
#define NOW 100

struct fence_scene {
    struct oneib_switch_link links[LINKS];
    size_t link_count;
    bool links_are_missing; /* not all switches have answered */
    uint32_t empty;         /* the host whose node has reported an empty table */
    size_t empty_count;
    struct oneib_fence_plan plan;
};

static inline void plan_fences(const struct scene *scene, struct fence_scene *fence)
{
    const struct oneib_fence_input input = {
        .cloud = &scene->cloud,
        .ledger = &scene->ledger,
        .policy = &scene->policy,
        .subnet = &scene->subnet,
        .own_port = 0x100001,
        .links = fence->links,
        .link_count = fence->link_count,
        .links_are_missing = fence->links_are_missing,
        .static_partitions = scene->static_partitions.count ? &scene->static_partitions : NULL,
        .in_force = scene->has_in_force ? &scene->in_force : NULL,
        .empty = &fence->empty,
        .empty_count = fence->empty_count};
    oneib_fence_plan_clear(&fence->plan);
    oneib_fence_plan(&input, &fence->plan);
}

/* The switches do what is planned. */
static inline void obey_fences(struct fence_scene *fence)
{
    for (size_t i = 0; i < fence->plan.count; i++) {
        struct oneib_fence_step *step = &fence->plan.items[i];
        if (step->act == ONEIB_FENCE_DISABLE)
            step->state = ONEIB_FENCE_DOWN;
        if (step->act == ONEIB_FENCE_ENABLE)
            step->state = ONEIB_FENCE_UP;
    }
}

static inline struct oneib_switch_link *link_at(struct fence_scene *fence, uint8_t number)
{
    for (size_t i = 0; i < fence->link_count; i++)
        if (fence->links[i].switch_port == number)
            return &fence->links[i];
    assert_true(fence->link_count < LINKS);
    struct oneib_switch_link *link = &fence->links[fence->link_count++];
    *link = (struct oneib_switch_link){.switch_guid = LEAF, .switch_port = number};
    return link;
}

static inline void print_fences(const struct scene *scene, struct fence_scene *fence,
                                struct oneib_text *text)
{
    static const char *const acts[] = {"leave", "disable", "enable"};
    plan_fences(scene, fence);
    for (size_t i = 0; i < fence->plan.count; i++) {
        const struct oneib_fence_step *step = &fence->plan.items[i];
        oneib_text_printf(text, "step %u 0x%" PRIx64 " %s %s", step->host_id, step->guid,
                          oneib_fence_state_name(step->state), acts[step->act]);
        if (step->switch_port)
            oneib_text_printf(text, " at %u", step->switch_port);
        oneib_text_append(text, step->came_up ? " came-up\n" : "\n");
    }
    for (size_t i = 0; i < scene->ledger.fenced_port_count; i++) {
        const struct oneib_ledger_fenced_port *port = &scene->ledger.fenced_ports[i];
        oneib_text_printf(text, "recorded %u 0x%" PRIx64 " %s answer=%u", port->host_id, port->guid,
                          oneib_fence_state_name(port->state), port->answer);
        if (port->switch_port)
            oneib_text_printf(text, " at %u", port->switch_port);
        oneib_text_append(text, "\n");
    }
    for (size_t i = 0; i < scene->ledger.fence_count; i++)
        oneib_text_printf(
            text, "fence-of %u %s\n", scene->ledger.fences[i].host_id,
            oneib_fence_holds(&scene->ledger, scene->ledger.fences[i].host_id) ? "holds" : "open");
}

#endif
