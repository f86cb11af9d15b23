// SPDX-License-Identifier: Apache-2.0
/*
 * Where everything stands in the drawing of a topology: whole pixels, hosts in the groups of their
 * leaf switches at the bottom, further levels of switches above. Aggregation nodes have no place. Private to core/topology.
 */
#ifndef ONEIB_TOPOLOGY_TOPOLOGY_LAYOUT_H
#define ONEIB_TOPOLOGY_TOPOLOGY_LAYOUT_H

#include "topology/topology_ends.h"

/* How much of a host there is room to show. */
enum oneib_detail {
    ONEIB_DETAIL_FULL,  /* a card with name, GUID and its ports' clusters by name */
    ONEIB_DETAIL_NAME,  /* a small card: name and colours */
    ONEIB_DETAIL_COLOUR /* a square of colours */
};

struct oneib_box {
    int x, y, width, height;
};

/* A leaf switch and its hosts. leaf SIZE_MAX: hosts that hang on no switch. */
struct oneib_group {
    size_t leaf;
    size_t first, count; /* in layout.hosts */
    int columns, rows;
    int gutter; /* left of each column's cards, where the cables of further rows run; 0: one row */
    struct oneib_box panel;
};

struct oneib_layout {
    enum oneib_detail detail;
    int width;
    int bottom; /* of the panels */
    struct oneib_group *groups;
    size_t group_count;
    size_t *hosts; /* node indices, group by group */
    size_t host_count;
    unsigned *levels;        /* by node: switches 1 (leaf) and up, hosts 0 */
    size_t *group_of;        /* by node: hosts and leaf switches; SIZE_MAX for others */
    struct oneib_box *boxes; /* by node */
};

void oneib_layout_make(const struct oneib_topology *topology, const struct oneib_ends *ends,
                       struct oneib_layout *layout);
void oneib_layout_clear(struct oneib_layout *layout);

#endif
