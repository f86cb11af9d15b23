// SPDX-License-Identifier: Apache-2.0
/* The fabric's graph and its drawings. core/fabric/discover.h fills it. */
#ifndef ONEIB_TOPOLOGY_TOPOLOGY_H
#define ONEIB_TOPOLOGY_TOPOLOGY_H

#include "base/text.h"
#include "cluster/cloud.h"
#include "partitions/partition.h"
#include "partitions/subnet.h"
#include <stddef.h>
#include <stdint.h>

struct oneib_topology_node {
    oneib_guid guid; /* node GUID */
    uint8_t type;    /* enum oneib_node_type */
    uint8_t port_count;
    char description[65]; /* untrusted */
};

struct oneib_topology_link { /* each link once: a < b by (node index, port) */
    size_t a, b;             /* indices of nodes */
    uint8_t a_port, b_port;
    oneib_guid a_guid, b_guid; /* port GUIDs; a switch's external port has its port 0's */
    uint16_t rate_gbps;        /* 0: not known */
    uint16_t levels; /* bit n: some cluster of SL n uses it; topology_levels.h sets it, else 0 */
};

/* A virtual port, which no link ends at, and the port of an adapter that has shown it. */
struct oneib_topology_vport {
    oneib_guid guid, port_guid;
};

struct oneib_topology {
    struct oneib_topology_node *nodes; /* by guid */
    size_t node_count, node_capacity;
    struct oneib_topology_link *links;
    size_t link_count, link_capacity;
    struct oneib_topology_vport *vports; /* by guid; those that could be believed */
    size_t vport_count, vport_capacity;
    /* Borrowed: by SL (ONEIB_QOS_SLS of them) the name of its class, NULL where it is none's. NULL:
     * there are no classes, and drawings are silent about levels. */
    const char *const *classes;
    /* Borrowed: the network whose cluster alone is marked in pictures, the others are grey. NULL:
     * as many have a mark of their own as there are marks. */
    const uint32_t *shown;
};

/* Adds the virtual ports that were read with the subnet. */
void oneib_topology_add_vports(struct oneib_topology *topology, const struct oneib_subnet *subnet);

/*
 * Drawings. `table` may be NULL; with it each CA port is marked with the virtual clusters
 * (partitions "one<ID>") that list its GUID, or a virtual port's that it has shown, or else a VF's
 * of a VM on its host: in text by network, in dot and SVG by colour, with a legend; no two clusters
 * have one mark, and what is left is grey. `cloud`
 * (sorted) knows the networks' names; NULL, or a network that it lacks: the number alone. With
 * topology->classes clusters are shown with their class and SL, and links with those of the
 * clusters that use them; dot and SVG have the links' in their titles. Descriptions and names are
 * untrusted: escaped for the format, and cut. The SVG stands alone (no script, no font, no link),
 * levels from the leaves up.
 */
void oneib_topology_text(const struct oneib_topology *topology,
                         const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                         struct oneib_text *text);
void oneib_topology_dot(const struct oneib_topology *topology,
                        const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                        struct oneib_text *text);
void oneib_topology_svg(const struct oneib_topology *topology,
                        const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                        struct oneib_text *text);
void oneib_topology_clear(struct oneib_topology *topology);

#endif
