// SPDX-License-Identifier: Apache-2.0
/*
 * Forwarding tables of a fat tree, for tests and benches. Host n has port GUID and LID n + 1, and
 * is on leaf leaf_of[n], which is in pod pod_of[leaf]. Each leaf is linked to all spines of its
 * pod; with several pods, spine s of each pod is linked to core s. Packets to a LID go up by spine
 * LID % spines.
 */
#ifndef ONEIB_TESTS_TREE_ROUTES_H
#define ONEIB_TESTS_TREE_ROUTES_H

#include "topology/routes.h"
#include <stdlib.h>

struct tree {
    unsigned hosts, leaves, pods, spines; /* spines: of each pod */
    const unsigned *leaf_of, *pod_of;
};

enum { TREE_LEAF = 0x100000, TREE_SPINE = 0x200000, TREE_CORE = 0x300000, TREE_UPLINK = 200 };

struct tree_links {
    struct oneib_switch_link *items;
    size_t count;
};

static inline oneib_guid tree_spine(const struct tree *tree, unsigned pod, unsigned spine)
{
    return TREE_SPINE + pod * tree->spines + spine;
}

static inline void tree_link(struct tree_links *links, oneib_guid from, unsigned port,
                             oneib_guid to)
{
    links->items[links->count++] =
        (struct oneib_switch_link){.switch_guid = from,
                                   .switch_port = (uint8_t)port,
                                   .physical = ONEIB_PHYSICAL_LINK_UP,
                                   .node_type = to < TREE_LEAF ? ONEIB_NODE_CA : ONEIB_NODE_SWITCH,
                                   .port_guid = to,
                                   .node_guid = to};
}

/* The port by which a leaf has this host. */
static inline unsigned tree_down(const struct tree *tree, unsigned host)
{
    unsigned port = 1;
    for (unsigned i = 0; i < host; i++)
        port += tree->leaf_of[i] == tree->leaf_of[host];
    return port;
}

static inline void tree_link_all(const struct tree *tree, struct tree_links *links)
{
    for (unsigned host = 0; host < tree->hosts; host++)
        tree_link(links, TREE_LEAF + tree->leaf_of[host], tree_down(tree, host), host + 1);
    for (unsigned leaf = 0; leaf < tree->leaves; leaf++)
        for (unsigned s = 0; s < tree->spines; s++) {
            const oneib_guid spine = tree_spine(tree, tree->pod_of[leaf], s);
            tree_link(links, TREE_LEAF + leaf, TREE_UPLINK + s, spine);
            tree_link(links, spine, 1 + leaf, TREE_LEAF + leaf);
        }
    for (unsigned pod = 0; tree->pods > 1 && pod < tree->pods; pod++)
        for (unsigned s = 0; s < tree->spines; s++) {
            tree_link(links, tree_spine(tree, pod, s), TREE_UPLINK, TREE_CORE + s);
            tree_link(links, TREE_CORE + s, 1 + pod, tree_spine(tree, pod, s));
        }
}

static inline uint8_t tree_exit(const struct tree *tree, oneib_guid guid, unsigned host)
{
    const unsigned leaf = tree->leaf_of[host], pod = tree->pod_of[leaf];
    if (guid >= TREE_CORE)
        return (uint8_t)(1 + pod);
    if (guid >= TREE_SPINE)
        return (guid - TREE_SPINE) / tree->spines == pod ? (uint8_t)(1 + leaf) : TREE_UPLINK;
    return guid - TREE_LEAF == leaf ? (uint8_t)tree_down(tree, host)
                                    : (uint8_t)(TREE_UPLINK + (host + 1) % tree->spines);
}

static inline struct oneib_exits tree_exits(const struct tree *tree, oneib_guid guid)
{
    struct oneib_exits exits = {
        .switch_guid = guid, .ports = malloc(tree->hosts + 1), .count = tree->hosts + 1};
    if (!exits.ports)
        abort();
    exits.ports[0] = 0xff;
    for (unsigned host = 0; host < tree->hosts; host++)
        exits.ports[host + 1] = tree_exit(tree, guid, host);
    return exits;
}

static inline struct oneib_routes tree_routes(const struct tree *tree)
{
    struct oneib_routes routes;
    const size_t switches = tree->leaves + (tree->pods + 1) * tree->spines;
    struct tree_links links = {
        calloc(tree->hosts + 2 * switches * (tree->spines + 1), sizeof *links.items), 0};
    struct oneib_exits *exits = calloc(switches, sizeof *exits);
    struct oneib_subnet_port *ports = calloc(tree->hosts, sizeof *ports);
    size_t count = 0;
    if (!links.items || !exits || !ports)
        abort();
    for (unsigned host = 0; host < tree->hosts; host++)
        ports[host] = (struct oneib_subnet_port){.guid = host + 1, .lid = (uint16_t)(host + 1)};
    const struct oneib_subnet subnet = {.ports = ports, .port_count = tree->hosts};
    tree_link_all(tree, &links);
    for (unsigned leaf = 0; leaf < tree->leaves; leaf++)
        exits[count++] = tree_exits(tree, TREE_LEAF + leaf);
    for (unsigned spine = 0; spine < tree->pods * tree->spines; spine++)
        exits[count++] = tree_exits(tree, TREE_SPINE + spine);
    for (unsigned s = 0; tree->pods > 1 && s < tree->spines; s++)
        exits[count++] = tree_exits(tree, TREE_CORE + s);
    oneib_routes_make(links.items, links.count, &subnet, exits, count, &routes);
    free(links.items);
    free(exits);
    free(ports);
    return routes;
}

#endif
