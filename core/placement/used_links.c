// SPDX-License-Identifier: Apache-2.0
#include "placement/used_links.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include <stdlib.h>

/* ---- clusters -------------------------------------------------------------------------------- */

static struct oneib_placed_cluster *find_cluster(const struct oneib_links *links,
                                                 uint32_t network_id)
{
    for (size_t i = 0; i < links->cluster_count; i++)
        if (links->clusters[i].network_id == network_id)
            return &links->clusters[i];
    return NULL;
}

static void join(struct oneib_links *links, struct oneib_placed_cluster *cluster, oneib_guid port)
{
    oneib_routes_join(&links->routes, cluster->ports, cluster->port_count, port, cluster->set);
    ONEIB_APPEND(cluster->ports, cluster->port_count, cluster->port_capacity, port);
}

void oneib_links_add_cluster(struct oneib_links *links, uint32_t network_id, uint8_t sl,
                             const oneib_guid *ports, size_t count)
{
    if (find_cluster(links, network_id))
        return;
    struct oneib_placed_cluster *cluster =
        ONEIB_ADD(links->clusters, links->cluster_count, links->cluster_capacity);
    *cluster = (struct oneib_placed_cluster){
        .network_id = network_id,
        .sl = sl,
        .set = oneib_alloc(oneib_routes_words(&links->routes) + 1, sizeof *cluster->set)};
    for (size_t i = 0; i < count; i++)
        join(links, cluster, ports[i]);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Index of the first port of this host, or of a later one. */
static size_t first_port(const struct oneib_links *links, uint32_t host_id)
{
    return ONEIB_LOWER_BOUND(i, links->port_count, links->ports[i].host_id < host_id);
}

static bool is_of(const struct oneib_links *links, size_t port, uint32_t host_id)
{
    return port < links->port_count && links->ports[port].host_id == host_id;
}

static bool host_meets(const struct oneib_links *links, const bool *ports_meet, uint32_t host_id)
{
    size_t port = first_port(links, host_id);
    if (!is_of(links, port, host_id))
        return links->is_exclusive;
    for (; is_of(links, port, host_id); port++)
        if (ports_meet[port])
            return true;
    return false;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Who shares a link with the cluster already cannot be kept from it by where others come. */
static void collect_others(const struct oneib_links *links,
                           const struct oneib_placed_cluster *cluster, uint64_t *others)
{
    const size_t words = oneib_routes_words(&links->routes);
    for (size_t i = 0; i < links->cluster_count; i++) {
        const struct oneib_placed_cluster *other = &links->clusters[i];
        if (other == cluster || other->sl != cluster->sl ||
            oneib_routes_meet(other->set, cluster->set, words))
            continue;
        for (size_t word = 0; word < words; word++)
            others[word] |= other->set[word];
    }
}

static void judge_ports(struct oneib_links *links, const struct oneib_placed_cluster *cluster,
                        uint64_t *others, oneib_guid *guids, bool *meet)
{
    collect_others(links, cluster, others);
    for (size_t i = 0; i < links->port_count; i++)
        guids[i] = links->ports[i].guid;
    oneib_routes_would_meet(&links->routes, cluster->ports, cluster->port_count, others, guids,
                            links->port_count, meet);
}

void oneib_links_judge(struct oneib_links *links, uint32_t network_id, const uint32_t *host_ids,
                       size_t count, bool *meets)
{
    const struct oneib_placed_cluster *cluster = find_cluster(links, network_id);
    oneib_autofree uint64_t *others =
        oneib_alloc(oneib_routes_words(&links->routes) + 1, sizeof *others);
    oneib_autofree oneib_guid *guids = oneib_alloc(links->port_count + 1, sizeof *guids);
    oneib_autofree bool *ports_meet = oneib_alloc(links->port_count + 1, sizeof *ports_meet);
    if (cluster)
        judge_ports(links, cluster, others, guids, ports_meet);
    for (size_t i = 0; i < count; i++)
        meets[i] = cluster && host_meets(links, ports_meet, host_ids[i]);
}

static bool has_member(const struct oneib_placed_cluster *cluster, oneib_guid port)
{
    for (size_t i = 0; i < cluster->port_count; i++)
        if (cluster->ports[i] == port)
            return true;
    return false;
}

void oneib_links_settle(struct oneib_links *links, uint32_t network_id, uint32_t host_id)
{
    struct oneib_placed_cluster *cluster = find_cluster(links, network_id);
    if (!cluster)
        return;
    for (size_t port = first_port(links, host_id); is_of(links, port, host_id); port++)
        if (!has_member(cluster, links->ports[port].guid))
            join(links, cluster, links->ports[port].guid);
}

void oneib_links_clear(struct oneib_links *links)
{
    for (size_t i = 0; i < links->cluster_count; i++) {
        free(links->clusters[i].ports);
        free(links->clusters[i].set);
    }
    free(links->clusters);
    free(links->ports);
    oneib_routes_clear(&links->routes);
    *links = (struct oneib_links){0};
}
