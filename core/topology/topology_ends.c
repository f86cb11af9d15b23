// SPDX-License-Identifier: Apache-2.0
#include "topology/topology_ends.h"
#include "base/memory.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

bool oneib_is_switch(const struct oneib_topology *topology, size_t node)
{
    return topology->nodes[node].type == ONEIB_NODE_SWITCH;
}

bool oneib_is_aggregation(const struct oneib_topology *topology, size_t node)
{
    return topology->nodes[node].type == ONEIB_NODE_CA &&
           strcmp(topology->nodes[node].description, "Mellanox Technologies Aggregation Node") == 0;
}

bool oneib_is_host(const struct oneib_topology *topology, size_t node)
{
    return !oneib_is_switch(topology, node) && !oneib_is_aggregation(topology, node);
}

size_t oneib_count_nodes(const struct oneib_topology *topology,
                         bool (*is)(const struct oneib_topology *topology, size_t node))
{
    size_t count = 0;
    for (size_t i = 0; i < topology->node_count; i++)
        count += is(topology, i);
    return count;
}

ONEIB_ORDER_BY(compare_ends, struct oneib_end, node, port);

static void add_both_ends(struct oneib_ends *ends, const struct oneib_topology_link *link)
{
    ends->items[ends->count++] =
        (struct oneib_end){link->a,      link->a_port, link->a_guid,    link->b,
                           link->b_port, link->b_guid, link->rate_gbps, link->levels};
    ends->items[ends->count++] =
        (struct oneib_end){link->b,      link->b_port, link->b_guid,    link->a,
                           link->a_port, link->a_guid, link->rate_gbps, link->levels};
}

void oneib_ends_make(const struct oneib_topology *topology, struct oneib_ends *ends)
{
    *ends = (struct oneib_ends){
        .items = oneib_alloc(2 * topology->link_count + 1, sizeof(*ends->items))};
    for (size_t i = 0; i < topology->link_count; i++) {
        const struct oneib_topology_link *link = &topology->links[i];
        if (link->a < topology->node_count && link->b < topology->node_count)
            add_both_ends(ends, link);
    }
    ONEIB_SORT(ends->items, ends->count, compare_ends);
}

const struct oneib_end *oneib_ends_of(const struct oneib_ends *ends, size_t node, size_t *count)
{
    const size_t first = ONEIB_LOWER_BOUND(i, ends->count, ends->items[i].node < node);
    *count = ONEIB_RUN(i, first, ends->count, ends->items[i].node == node);
    return &ends->items[first];
}

void oneib_ends_clear(struct oneib_ends *ends)
{
    free(ends->items);
    *ends = (struct oneib_ends){0};
}
