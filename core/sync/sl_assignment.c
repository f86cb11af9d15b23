// SPDX-License-Identifier: Apache-2.0
#include "sync/sl_assignment.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "sync/classes.h"
#include "sync/sharing.h"
#include <stdlib.h>

struct choice {
    struct oneib_snapshot *snapshot;
    struct oneib_routes *routes;
    const char *default_class;
    struct oneib_classes classes;
    struct oneib_sharing in_force, coming; /* coming: by the levels that they have now */
    size_t decided;                        /* of coming, the first */
};

/* NULL: it has none, or one that there is not. */
static const struct oneib_qos_class *class_of(const struct choice *choice, uint32_t network_id)
{
    const struct oneib_cloud *cloud = &choice->snapshot->cloud;
    const struct oneib_network *network = oneib_cloud_network(cloud, network_id);
    const char *name = network ? oneib_network_class(cloud, choice->default_class, network) : NULL;
    return name ? oneib_qos_find(choice->classes.items, choice->classes.count, name) : NULL;
}

static size_t count_meeting(const struct choice *choice, const struct oneib_sharing *others,
                            size_t count, const uint64_t *set, uint8_t sl)
{
    const size_t words = oneib_routes_words(choice->routes);
    size_t meeting = 0;
    for (size_t i = 0; i < count; i++)
        meeting +=
            others->clusters[i].sl == sl && oneib_routes_meet(others->clusters[i].set, set, words);
    return meeting;
}

static size_t cost_of(const struct choice *choice, const uint64_t *set, uint8_t sl)
{
    return count_meeting(choice, &choice->in_force, choice->in_force.count, set, sl) +
           count_meeting(choice, &choice->coming, choice->decided, set, sl);
}

static uint8_t best_of(const struct choice *choice, const struct oneib_qos_class *qos_class,
                       const struct oneib_routed_cluster *cluster)
{
    uint8_t best = cluster->sl;
    size_t least = cost_of(choice, cluster->set, best);
    for (uint8_t sl = 1; sl < ONEIB_QOS_SLS && least > 0; sl++) {
        const size_t cost =
            qos_class->sls & 1u << sl ? cost_of(choice, cluster->set, sl) : SIZE_MAX;
        if (cost < least) {
            least = cost;
            best = sl;
        }
    }
    return best;
}

ONEIB_ORDER_BY(compare_requests, struct oneib_sl_request, network_id);

static void request(struct oneib_desired *desired, uint32_t network_id, uint8_t sl)
{
    ONEIB_APPEND(desired->sl_requests, desired->sl_request_count, desired->sl_request_capacity,
                 (struct oneib_sl_request){.network_id = network_id, .sl = sl});
    ONEIB_SORT(desired->sl_requests, desired->sl_request_count, compare_requests);
}

/* A level that is not its class's is the operator's to move. */
static void decide(struct choice *choice, struct oneib_routed_cluster *cluster)
{
    const struct oneib_qos_class *qos_class = class_of(choice, cluster->network_id);
    if (!qos_class || !(qos_class->sls & 1u << cluster->sl))
        return;
    const uint8_t best = best_of(choice, qos_class, cluster);
    if (best == cluster->sl)
        return;
    cluster->sl = best;
    request(&choice->snapshot->desired, cluster->network_id, best);
}

/* The partitions that come are few, and borrow all that they have. */
static void find_coming(struct choice *choice)
{
    const struct oneib_partition_table *desired = &choice->snapshot->desired.table;
    struct oneib_partition_table coming = {
        .items = oneib_alloc(desired->count + 1, sizeof *coming.items)};
    for (size_t i = 0; i < desired->count; i++)
        if (!oneib_partition_table_find(&choice->snapshot->seen.table, desired->items[i].pkey))
            coming.items[coming.count++] = desired->items[i];
    oneib_sharing_make_of(choice->snapshot, &coming, choice->routes, ONEIB_SHARED_LATER,
                          &choice->coming);
    free(coming.items);
}

static void choose(struct choice *choice)
{
    find_coming(choice);
    if (choice->coming.count == 0)
        return;
    oneib_sharing_make_of(choice->snapshot, &choice->snapshot->seen.table, choice->routes,
                          ONEIB_SHARED_LATER, &choice->in_force);
    for (; choice->decided < choice->coming.count; choice->decided++)
        decide(choice, &choice->coming.clusters[choice->decided]);
}

void oneib_choose_levels(const struct oneib_config *config, struct oneib_snapshot *snapshot,
                         struct oneib_routes *routes)
{
    struct oneib_error ignored;
    struct choice choice = {
        .snapshot = snapshot, .routes = routes, .default_class = config->qos.default_class};
    if (routes->hop_count == 0 || snapshot->seen.state != ONEIB_SEEN_OURS ||
        oneib_classes_read(config, &choice.classes, &ignored) < 0 || choice.classes.count == 0)
        return;
    choose(&choice);
    oneib_sharing_clear(&choice.in_force);
    oneib_sharing_clear(&choice.coming);
}
