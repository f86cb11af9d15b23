// SPDX-License-Identifier: Apache-2.0
#include "sync/sharing.h"
#include "base/memory.h"
#include "cluster/names.h"
#include "cluster/port_index.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Where clusters lie anywhere, nearly every two meet. */
#define NAMED_MAX 100
/* What is made of a table, and by what. */
struct making {
    const struct oneib_partition_table *table;
    const struct oneib_member_ports *ports;
    struct oneib_routes *routes;
    enum oneib_sharing_of of;
};

static void add_cluster(const struct making *making, const struct oneib_partition *partition,
                        uint32_t network_id, struct oneib_sharing *sharing)
{
    oneib_guid *guids;
    size_t count;
    uint64_t *set = sharing->sets + sharing->count * oneib_routes_words(making->routes);
    oneib_member_ports_of(making->ports, partition, &guids, &count);
    oneib_routes_of(making->routes, guids, count, set);
    if (making->of == ONEIB_SHARED_LATER)
        oneib_routes_ends_of(making->routes, guids, count, set);
    free(guids);
    sharing->clusters[sharing->count++] =
        (struct oneib_routed_cluster){.network_id = network_id, .sl = partition->sl, .set = set};
}

static void add_all(const struct making *making, struct oneib_sharing *sharing)
{
    const struct oneib_partition_table *table = making->table;
    sharing->clusters = oneib_alloc(table->count + 1, sizeof *sharing->clusters);
    sharing->sets = oneib_alloc(table->count + 1,
                                (oneib_routes_words(making->routes) + 1) * sizeof *sharing->sets);
    for (size_t i = 0; i < table->count; i++) {
        uint32_t id;
        if (table->items[i].sl != 0 && oneib_partition_cluster(&table->items[i], &id))
            add_cluster(making, &table->items[i], id, sharing);
    }
    oneib_routes_shared(making->routes, sharing->clusters, sharing->count, &sharing->shared,
                        &sharing->shared_count);
}

void oneib_sharing_make(const struct oneib_partition_table *table,
                        const struct oneib_member_ports *ports, struct oneib_routes *routes,
                        enum oneib_sharing_of of, struct oneib_sharing *sharing)
{
    const struct making making = {table, ports, routes, of};
    *sharing = (struct oneib_sharing){0};
    add_all(&making, sharing);
}

void oneib_sharing_make_of(const struct oneib_snapshot *snapshot,
                           const struct oneib_partition_table *table, struct oneib_routes *routes,
                           enum oneib_sharing_of of, struct oneib_sharing *sharing)
{
    struct oneib_member_ports ports;
    *sharing = (struct oneib_sharing){0};
    oneib_member_ports_make(&snapshot->desired, &snapshot->subnet, &ports);
    oneib_sharing_make(table, &ports, routes, of, sharing);
    oneib_member_ports_clear(&ports);
}

void oneib_sharing_clear(struct oneib_sharing *sharing)
{
    free(sharing->clusters);
    free(sharing->sets);
    free(sharing->shared);
    *sharing = (struct oneib_sharing){0};
}

struct hop_text {
    char text[128];
};

static struct hop_text hop_shown(const struct oneib_hop *hop)
{
    struct hop_text shown;
    snprintf(shown.text, sizeof shown.text,
             hop->from_host ? "from %s 0x%016" PRIx64 " to port %u of switch 0x%016" PRIx64
                            : "to %s 0x%016" PRIx64 " from port %u of switch 0x%016" PRIx64,
             hop->other_type == ONEIB_NODE_SWITCH ? "switch" : "port", hop->other, hop->switch_port,
             hop->switch_guid);
    return shown;
}

static void name_two(const struct oneib_shared_level *shared, const struct oneib_routes *routes,
                     const struct oneib_cloud *cloud, struct oneib_findings *findings)
{
    oneib_findings_mention(findings, ONEIB_SUBJECT_NETWORK, shared->network_id);
    oneib_findings_mention(findings, ONEIB_SUBJECT_NETWORK, shared->other_id);
    oneib_findings_note(findings, ONEIB_FINDING_SL_SHARED,
                        "%s and %s both have SL %u, and meet on %zu links, first on that %s",
                        oneib_network_id_shown(cloud, shared->network_id).text,
                        oneib_network_id_shown(cloud, shared->other_id).text, shared->sl,
                        shared->hops, hop_shown(&routes->hops[shared->first]).text);
}

void oneib_sharing_judge(const struct oneib_sharing *sharing, const struct oneib_routes *routes,
                         const struct oneib_cloud *cloud, struct oneib_findings *findings)
{
    for (size_t i = 0; i < sharing->shared_count && i < NAMED_MAX; i++)
        name_two(&sharing->shared[i], routes, cloud, findings);
    if (sharing->shared_count <= NAMED_MAX)
        return;
    oneib_findings_note(findings, ONEIB_FINDING_SL_SHARED,
                        "%zu more pairs of clusters have one SL and a common link: see 'oneib "
                        "qos --links'",
                        sharing->shared_count - NAMED_MAX);
}
