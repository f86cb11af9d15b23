// SPDX-License-Identifier: Apache-2.0
/* Which virtual clusters a port is in, for the drawings of a topology. Private to core/topology. */
#ifndef ONEIB_TOPOLOGY_TOPOLOGY_MARKS_H
#define ONEIB_TOPOLOGY_TOPOLOGY_MARKS_H

#include "topology/topology_ends.h"

struct oneib_mark {
    oneib_guid port_guid;
    size_t cluster; /* index into clusters */
};

struct oneib_marked_cluster {
    const struct oneib_partition *partition; /* borrowed */
    uint32_t network_id;
    const char *name; /* the network's, borrowed, untrusted; NULL: not known */
    size_t ports;     /* of this topology that it lists */
    size_t colour;    /* from 0; ONEIB_GREY: none of its own */
};
#define ONEIB_GREY SIZE_MAX

/* The virtual clusters that list a CA port of the topology, by key, and the ports that they list.
 */
struct oneib_marks {
    struct oneib_marked_cluster *clusters;
    size_t cluster_count, cluster_capacity;
    struct oneib_mark *items; /* by port GUID, then cluster */
    size_t count, capacity;
    size_t grey; /* clusters */
};

/* table NULL: no marks; cloud NULL: no names. */
void oneib_marks_make(const struct oneib_topology *topology, const struct oneib_ends *ends,
                      const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                      struct oneib_marks *marks);
/* Gives as many clusters a colour as a drawing has, each its own: of all, or of topology->shown
 * alone. */
void oneib_marks_colour(struct oneib_marks *marks, const struct oneib_topology *topology,
                        size_t colours);
/* What a drawing calls it: the network's name, else the partition's. Untrusted. */
const char *oneib_cluster_label(const struct oneib_marked_cluster *cluster);
/* The marks of a port, `*count` of them. */
const struct oneib_mark *oneib_marks_of(const struct oneib_marks *marks, oneib_guid port_guid,
                                        size_t *count);
void oneib_marks_clear(struct oneib_marks *marks);

#endif
