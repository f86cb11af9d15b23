// SPDX-License-Identifier: Apache-2.0
#include "fabric/discover.h"

#include "base/array.h"
#include "base/order.h"
#include "fabric/fabric_internal.h"
#include "fabric/fabric_walk.h"
#include <endian.h>

#define SWITCHES_MAX 16384 /* nobody has more; a switch that makes others up ends there */

/* ---- the graph ------------------------------------------------------------------------------- */

ONEIB_ORDER_BY(compare_nodes, struct oneib_topology_node, guid);

static void add_nodes(const struct oneib_walk *walk, struct oneib_topology *topology)
{
    ONEIB_RESERVE(topology->nodes, topology->node_capacity, walk->count);
    for (size_t i = 0; i < walk->count; i++) {
        const struct oneib_met *met = &walk->met[i];
        struct oneib_topology_node *node = &topology->nodes[i];
        *node = (struct oneib_topology_node){met->guid, met->type, met->port_count, ""};
        memcpy(node->description, met->description, sizeof node->description);
    }
    ONEIB_SORT(topology->nodes, walk->count, compare_nodes);
}

/* Where a node was met several times the first stays, with a description if any has one. */
static void unite_nodes(const struct oneib_walk *walk, struct oneib_topology *topology)
{
    for (size_t i = 0; i < walk->count; i++) {
        struct oneib_topology_node *last =
            topology->node_count ? &topology->nodes[topology->node_count - 1] : NULL;
        const struct oneib_topology_node node = topology->nodes[i];
        if (!last || last->guid != node.guid)
            topology->nodes[topology->node_count++] = node;
        else if (!last->description[0])
            memcpy(last->description, node.description, sizeof last->description);
    }
}

static size_t index_of(const struct oneib_topology *topology, oneib_guid guid)
{
    const struct oneib_topology_node key = {.guid = guid};
    const struct oneib_topology_node *node =
        ONEIB_FIND(&key, topology->nodes, topology->node_count, compare_nodes);
    return (size_t)(node - topology->nodes); /* whoever was met is among them */
}

static struct oneib_topology_link link_of(const struct oneib_walk *walk,
                                          const struct oneib_met *met,
                                          const struct oneib_topology *topology)
{
    const struct oneib_met *from = &walk->met[met->from];
    const struct oneib_topology_link link = {
        .a = index_of(topology, from->guid),
        .b = index_of(topology, met->guid),
        .a_port = met->from_port,
        .b_port = met->port,
        .a_guid = from->port_guid,
        .b_guid = met->port_guid,
        .rate_gbps = met->rate_gbps,
    };
    if (link.a < link.b || (link.a == link.b && link.a_port < link.b_port))
        return link;
    return (struct oneib_topology_link){.a = link.b,
                                        .b = link.a,
                                        .a_port = link.b_port,
                                        .b_port = link.a_port,
                                        .a_guid = link.b_guid,
                                        .b_guid = link.a_guid,
                                        .rate_gbps = link.rate_gbps};
}

ONEIB_ORDER_BY(compare_links, struct oneib_topology_link, a, a_port);

static void add_links(const struct oneib_walk *walk, struct oneib_topology *topology)
{
    ONEIB_RESERVE(topology->links, topology->link_capacity, walk->count);
    for (size_t i = 0; i < walk->count; i++)
        if (walk->met[i].from != ONEIB_NOWHERE)
            topology->links[topology->link_count++] = link_of(walk, &walk->met[i], topology);
    ONEIB_SORT(topology->links, topology->link_count, compare_links);
    /* A link between two switches is met from both of its ends. */
    ONEIB_UNIQUE(topology->links, topology->link_count, compare_links);
}

static void make_graph(const struct oneib_walk *walk, struct oneib_topology *topology)
{
    add_nodes(walk, topology);
    unite_nodes(walk, topology);
    add_links(walk, topology);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int walk_all(struct oneib_walk *walk, struct oneib_topology *topology,
                    struct oneib_error *err)
{
    if (oneib_walk(walk, err) < 0)
        return -1;
    if (walk->count == 0)
        return oneib_fail(
            err, ONEIB_ERROR_UNREACHABLE,
            "%s port %u does not answer a directed-route query: if the subnet's ports "
            "have an M_Key, fabric.m_key_file must have the same",
            walk->port->ca, walk->port->number);
    make_graph(walk, topology);
    return 0;
}

int oneib_fabric_discover(const struct oneib_fabric_options *options,
                          struct oneib_topology *topology, struct oneib_error *err)
{
    *topology = (struct oneib_topology){0};
    umad_port_t chosen;
    struct oneib_mad_port port;
    if (oneib_port_choose(options, ONEIB_PORT_INITIALIZE, &chosen, err) < 0 ||
        oneib_mad_open(&port, options, chosen.ca_name, (uint8_t)chosen.portnum, err) < 0)
        return oneib_wrap(err, "discovering the fabric");
    struct oneib_walk walk = {.port = &port,
                              .own = be64toh(chosen.port_guid),
                              .switches_max = SWITCHES_MAX,
                              .describes = true};
    const int result = walk_all(&walk, topology, err);
    oneib_walk_clear(&walk);
    oneib_mad_close(&port);
    return result < 0 ? oneib_wrap(err, "discovering the fabric") : 0;
}
