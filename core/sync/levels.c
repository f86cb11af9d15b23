// SPDX-License-Identifier: Apache-2.0
#include "sync/levels.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cluster/port_index.h"
#include "fabric/qos_read.h"
#include "fabric/routes_read.h"
#include "sync/classes.h"
#include "sync/sharing.h"
#include <inttypes.h>
#include <stdlib.h>

struct looking {
    const struct oneib_config *config;
    struct oneib_fabric *fabric;
    const struct oneib_snapshot *snapshot;
    struct oneib_findings *findings;
    struct oneib_levels_result *result;
};

static int judge_ports(const struct looking *looking, const struct oneib_qos *qos,
                       struct oneib_error *err)
{
    struct oneib_levels_result *result = looking->result;
    oneib_auto(oneib_qos_reading_clear) struct oneib_qos_reading reading = {0};
    if (oneib_fabric_read_qos(looking->fabric, &looking->snapshot->subnet, qos, &reading, err) < 0)
        return -1;
    result->ports = reading.count;
    oneib_qos_judge_ports(qos, looking->config->qos.entries, &reading, looking->findings,
                          &result->port_drift);
    return 0;
}

/* The first of the partition's members that are on the fabric, and the next one, or the same. */
static bool ends_of(const struct oneib_partition *partition, const struct oneib_subnet *subnet,
                    struct oneib_path_query *query)
{
    size_t found = 0;
    for (size_t i = 0; i < partition->member_count && found < 2; i++) {
        const oneib_guid guid = partition->members[i].guid;
        const struct oneib_subnet_port *port = oneib_subnet_find(subnet, guid);
        if (!port || port->owner) /* of virtual ports it is not known what the SA says */
            continue;
        if (found++ == 0)
            query->from = guid;
        query->to = guid;
    }
    query->pkey = (uint16_t)(0x8000u | partition->pkey);
    return found > 0;
}

/* Of each cluster with IPoIB and a member on the fabric one of each; owned. */
struct clusters {
    struct oneib_path_query *path_queries;
    struct oneib_group_query *group_queries;
    struct oneib_qos_path *paths, *groups;
    size_t count;
};

static void make_room(struct clusters *clusters, size_t room)
{
    clusters->path_queries = oneib_alloc(room, sizeof *clusters->path_queries);
    clusters->group_queries = oneib_alloc(room, sizeof *clusters->group_queries);
    clusters->paths = oneib_alloc(room, sizeof *clusters->paths);
    clusters->groups = oneib_alloc(room, sizeof *clusters->groups);
}

static void clear(struct clusters *clusters)
{
    free(clusters->path_queries);
    free(clusters->group_queries);
    free(clusters->paths);
    free(clusters->groups);
}

static void list(const struct oneib_snapshot *snapshot, struct clusters *clusters)
{
    const struct oneib_partition_table *table = &snapshot->seen.table;
    make_room(clusters, table->count + 1);
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_partition *partition = &table->items[i];
        const size_t at = clusters->count;
        uint32_t id;
        if (!oneib_partition_cluster(partition, &id) || !partition->ipoib ||
            !ends_of(partition, &snapshot->subnet, &clusters->path_queries[at]))
            continue;
        clusters->group_queries[at].pkey = partition->pkey;
        clusters->paths[at] = (struct oneib_qos_path){.network_id = id, .wanted = partition->sl};
        clusters->groups[at] = clusters->paths[at];
        clusters->count++;
    }
}

static int ask_groups(struct oneib_fabric *fabric, struct clusters *clusters,
                      struct oneib_error *err)
{
    if (oneib_fabric_groups(fabric, clusters->group_queries, clusters->count, err) < 0)
        return -1;
    for (size_t i = 0; i < clusters->count; i++) {
        clusters->groups[i].found = clusters->group_queries[i].sl;
        clusters->groups[i].answered = clusters->group_queries[i].exists;
    }
    return 0;
}

static int ask_paths(struct oneib_fabric *fabric, struct clusters *clusters,
                     struct oneib_error *err)
{
    if (oneib_fabric_paths(fabric, clusters->path_queries, clusters->count, err) < 0)
        return -1;
    for (size_t i = 0; i < clusters->count; i++) {
        clusters->paths[i].found = clusters->path_queries[i].sl;
        clusters->paths[i].answered = clusters->path_queries[i].reachable;
    }
    return 0;
}

/* Groups are whoever's makes them first, and there are only so many. */
static void name_missing_groups(const struct looking *looking, const struct clusters *clusters)
{
    for (size_t i = 0; i < clusters->count; i++) {
        const struct oneib_qos_path *group = &clusters->groups[i];
        if (group->answered)
            continue;
        oneib_findings_mention(looking->findings, ONEIB_SUBJECT_NETWORK, group->network_id);
        oneib_findings_note(looking->findings, ONEIB_FINDING_IPOIB_GROUP,
                            "network %" PRIu32 " has no multicast group with its P_Key: IPoIB "
                            "does not come up in its VMs",
                            group->network_id);
    }
}

static void count_drift(const struct clusters *clusters, struct oneib_levels_result *result)
{
    result->clusters = clusters->count;
    for (size_t i = 0; i < clusters->count; i++)
        result->cluster_drift += oneib_qos_path_deviates(&clusters->paths[i]) ||
                                 oneib_qos_path_deviates(&clusters->groups[i]);
}

static int judge_levels(const struct looking *looking, struct clusters *clusters,
                        struct oneib_error *err)
{
    if (ask_paths(looking->fabric, clusters, err) < 0)
        return -1;
    count_drift(clusters, looking->result);
    oneib_qos_judge_paths(clusters->paths, clusters->count, looking->findings);
    oneib_qos_judge_groups(clusters->groups, clusters->count, looking->findings);
    return 0;
}

static int judge_clusters(const struct looking *looking, struct oneib_error *err)
{
    oneib_auto(clear) struct clusters clusters = {0};
    list(looking->snapshot, &clusters);
    if (ask_groups(looking->fabric, &clusters, err) < 0)
        return -1;
    name_missing_groups(looking, &clusters);
    return looking->result->is_configured ? judge_levels(looking, &clusters, err) : 0;
}

static int judge_classes(const struct looking *looking, const struct oneib_classes *classes,
                         struct oneib_routes *routes, struct oneib_error *err)
{
    struct oneib_qos qos;
    size_t silent; /* the ports of such a switch are qos-silent */
    struct oneib_qos_wish wish = oneib_classes_wish(looking->config, classes);
    wish.kept = oneib_levels_in(&looking->snapshot->seen.table);
    return oneib_qos_make(&wish, &qos, err) < 0 || judge_ports(looking, &qos, err) < 0
               ? -1
               : oneib_fabric_read_routes(looking->fabric, &looking->snapshot->subnet, routes,
                                          &silent, err);
}

int oneib_levels_verify(const struct oneib_config *config, struct oneib_fabric *fabric,
                        const struct oneib_snapshot *snapshot, struct oneib_findings *findings,
                        struct oneib_levels_result *result, struct oneib_routes *routes,
                        struct oneib_error *err)
{
    *routes = (struct oneib_routes){0};
    const struct looking looking = {config, fabric, snapshot, findings, result};
    struct oneib_classes classes;
    *result = (struct oneib_levels_result){0};
    if (oneib_classes_read(config, &classes, err) < 0)
        return -1;
    result->is_configured = classes.count > 0;
    if (judge_clusters(&looking, err) < 0 ||
        (result->is_configured && judge_classes(&looking, &classes, routes, err) < 0))
        return -1;
    oneib_findings_sort(findings);
    return 0;
}

void oneib_levels_judge_sharing(const struct oneib_snapshot *snapshot, struct oneib_routes *routes,
                                struct oneib_findings *findings)
{
    oneib_auto(oneib_sharing_clear) struct oneib_sharing sharing;
    oneib_sharing_make_of(snapshot, &snapshot->seen.table, routes, ONEIB_SHARED_NOW, &sharing);
    oneib_sharing_judge(&sharing, routes, &snapshot->cloud, findings);
}
