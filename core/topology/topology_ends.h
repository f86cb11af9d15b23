// SPDX-License-Identifier: Apache-2.0
/* The links of a topology seen from each node, for its drawings. Private to core/topology. */
#ifndef ONEIB_TOPOLOGY_TOPOLOGY_ENDS_H
#define ONEIB_TOPOLOGY_TOPOLOGY_ENDS_H

#include "topology/topology.h"
#include <stdbool.h>

/* One port of a node and what hangs on it. */
struct oneib_end {
    size_t node;
    uint8_t port;
    oneib_guid guid;
    size_t other; /* node */
    uint8_t other_port;
    oneib_guid other_guid;
    uint16_t rate_gbps, levels; /* the link's */
};

struct oneib_ends {
    struct oneib_end *items; /* two a link, by node, then port */
    size_t count;
};

/* Links that name no node of the topology are left out. */
void oneib_ends_make(const struct oneib_topology *topology, struct oneib_ends *ends);
/* The ends of one node, `*count` of them. */
const struct oneib_end *oneib_ends_of(const struct oneib_ends *ends, size_t node, size_t *count);
void oneib_ends_clear(struct oneib_ends *ends);

bool oneib_is_switch(const struct oneib_topology *topology, size_t node);
/* What NVIDIA's switches have for SHARP, behind a port of their own: a CA, and no host. By its
 * NodeDescription. */
bool oneib_is_aggregation(const struct oneib_topology *topology, size_t node);
bool oneib_is_host(const struct oneib_topology *topology, size_t node); /* none of both */
size_t oneib_count_nodes(const struct oneib_topology *topology,
                         bool (*is)(const struct oneib_topology *topology, size_t node));

#endif
