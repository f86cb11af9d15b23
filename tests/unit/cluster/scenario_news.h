// SPDX-License-Identifier: Apache-2.0
/* Member events between two reconciliations, and the fabric that proves them, for scenarios
 * (test_scenario.c). */
#ifndef ONEIB_TEST_CLUSTER_SCENARIO_NEWS_H
#define ONEIB_TEST_CLUSTER_SCENARIO_NEWS_H

#include "cloud_builder.h"
#include "cluster/member_events.h"

#define NEWS_HOSTS 9 /* port1 to port9 are on the fabric */

struct news_scene {
    bool is_asked, obeys, restarted, only_changes; /* of this reconciliation */
    struct oneib_subnet subnet;                    /* as it was read last */
    struct oneib_member_list before, after;
    struct oneib_member_events news, leaving;
    struct oneib_changes changes;
    bool knows_before;
};

/* The port is there, and holds what the partitions say. */
static inline void obey_on(struct news_scene *news, const struct oneib_partition_table *table,
                           oneib_guid guid)
{
    struct scene holder = {.subnet = news->subnet};
    struct oneib_subnet_port *port = add_subnet_port(&holder, guid, 8);
    news->subnet = holder.subnet;
    port->answered = true;
    port->pkeys = calloc(8, sizeof *port->pkeys);
    assert_non_null(port->pkeys);
    unsigned used = 0;
    for (size_t i = 0; i < table->count; i++)
        for (size_t k = 0; k < table->items[i].member_count; k++)
            if (table->items[i].members[k].guid == guid)
                port->pkeys[used++] =
                    oneib_pkey_raw(table->items[i].pkey,
                                   (enum oneib_membership)table->items[i].members[k].membership);
}

/* All ports hold what the partitions say: those of hosts, and the VFs that the fabric shows. */
static inline void obey_partitions(struct news_scene *news,
                                   const struct oneib_partition_table *table,
                                   const oneib_guid *seen, size_t seen_count)
{
    oneib_subnet_clear(&news->subnet);
    for (uint32_t host = 1; host <= NEWS_HOSTS; host++)
        obey_on(news, table, port_of(host));
    for (size_t i = 0; i < seen_count; i++)
        obey_on(news, table, seen[i]);
    oneib_subnet_sort(&news->subnet);
}

/* Between what was before and what was computed. */
static inline void find_news(const struct scene *scene, struct news_scene *news)
{
    oneib_member_list_clear(&news->after);
    oneib_member_events_clear(&news->news);
    oneib_changes_clear(&news->changes);
    if (news->restarted)
        news->knows_before = false;
    oneib_member_list_make(&scene->cloud, &scene->desired, &news->after);
    oneib_partitions_diff(&scene->in_force, &scene->desired.table, &news->changes);
    const struct oneib_member_events_input input = {.before =
                                                        news->knows_before ? &news->before : NULL,
                                                    .after = &news->after,
                                                    .cloud = &scene->cloud,
                                                    .changes = &news->changes,
                                                    .refusals = !news->only_changes};
    oneib_member_events_make(&input, &news->news);
    const struct oneib_member_events_evidence evidence = {.subnet = &news->subnet,
                                                          .cloud = &scene->cloud,
                                                          .desired = &scene->desired,
                                                          .begins = !news->knows_before};
    oneib_member_events_prove(&evidence, &news->after, &news->leaving, &news->news);
}

/* The partitions come into force, and what is now is what was before the next reconciliation. */
static inline void turn_over(struct scene *scene, struct news_scene *news)
{
    oneib_member_list_clear(&news->before);
    news->before = news->after;
    news->after = (struct oneib_member_list){0};
    news->knows_before = true;
    oneib_changes_clear(&news->changes);
    oneib_partition_table_clear(&scene->in_force);
    scene->in_force = scene->desired.table;
    scene->desired.table = (struct oneib_partition_table){0};
    scene->has_in_force = true;
}

static inline void print_news(const struct scene *scene, const struct news_scene *news,
                              struct oneib_text *text)
{
    for (size_t i = 0; i < news->news.count; i++) {
        oneib_text_append(text, "news ");
        oneib_member_events_append(&scene->cloud, &news->news.items[i], true, text);
        oneib_text_append(text, "\n");
    }
}

static inline void news_scene_clear(struct news_scene *news)
{
    oneib_subnet_clear(&news->subnet);
    oneib_member_list_clear(&news->before);
    oneib_member_list_clear(&news->after);
    oneib_member_events_clear(&news->news);
    oneib_member_events_clear(&news->leaving);
    oneib_changes_clear(&news->changes);
}

#endif
