// SPDX-License-Identifier: Apache-2.0
#include "topology/topology_levels.h"

static bool is_end(const struct oneib_topology *topology, size_t node, uint8_t port,
                   const struct oneib_hop *hop)
{
    return node < topology->node_count && topology->nodes[node].type == ONEIB_NODE_SWITCH &&
           topology->nodes[node].guid == hop->switch_guid && port == hop->switch_port;
}

/* A hop leaves a switch by the link, or comes to one from a host by it. */
static bool is_on(const struct oneib_topology *topology, const struct oneib_topology_link *link,
                  const struct oneib_hop *hop)
{
    return is_end(topology, link->a, link->a_port, hop) ||
           is_end(topology, link->b, link->b_port, hop);
}

static uint16_t levels_of(const struct oneib_routed_cluster *clusters, size_t count, size_t hop)
{
    uint16_t levels = 0;
    for (size_t i = 0; i < count; i++)
        if (clusters[i].set[hop / 64] >> hop % 64 & 1)
            levels |= (uint16_t)(1u << clusters[i].sl);
    return levels;
}

void oneib_topology_carry(struct oneib_topology *topology, const struct oneib_routes *routes,
                          const struct oneib_routed_cluster *clusters, size_t count)
{
    for (size_t i = 0; i < topology->link_count; i++)
        topology->links[i].levels = 0;
    for (size_t hop = 0; hop < routes->hop_count; hop++) {
        const uint16_t levels = levels_of(clusters, count, hop);
        for (size_t i = 0; levels && i < topology->link_count; i++)
            if (is_on(topology, &topology->links[i], &routes->hops[hop]))
                topology->links[i].levels |= levels;
    }
}

void oneib_append_level(struct oneib_text *text, const struct oneib_topology *topology, uint8_t sl,
                        const char *before)
{
    if (!topology->classes)
        return;
    const char *name = sl < ONEIB_QOS_SLS ? topology->classes[sl] : NULL;
    oneib_text_printf(text, "%s%s SL %u", before, name ? name : "no class", sl);
}

void oneib_append_levels(struct oneib_text *text, const struct oneib_topology *topology,
                         uint16_t levels, const char *before)
{
    for (uint8_t sl = 0; sl < ONEIB_QOS_SLS; sl++) {
        if (!(levels >> sl & 1))
            continue;
        oneib_append_level(text, topology, sl, before);
        before = ", ";
    }
}
