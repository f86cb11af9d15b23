// SPDX-License-Identifier: Apache-2.0
#include "topology/routes.h"
#include "base/memory.h"
#include "base/order.h"
#include "topology/routes_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- looking up ------------------------------------------------------------------------------ */

ONEIB_ORDER_BY(compare_switches, struct oneib_route_switch, guid);

ONEIB_ORDER_BY(compare_hosts, struct oneib_route_host, guid);

static size_t find_switch(const struct oneib_routes *routes, oneib_guid guid)
{
    const size_t first =
        ONEIB_LOWER_BOUND(i, routes->switch_count, routes->switches[i].guid < guid);
    return first < routes->switch_count && routes->switches[first].guid == guid ? first : NONE;
}

const struct oneib_route_host *oneib_routes_find_host(const struct oneib_routes *routes,
                                                      oneib_guid guid)
{
    const struct oneib_route_host wanted = {.guid = guid};
    return ONEIB_FIND(&wanted, routes->hosts, routes->host_count, compare_hosts);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void take_switches(struct oneib_exits *exits, size_t count, struct oneib_routes *routes)
{
    for (size_t i = 0; i < count; i++) {
        struct oneib_route_switch *at = &routes->switches[routes->switch_count++];
        at->guid = exits[i].switch_guid;
        at->exits = exits[i];
        at->walked_in = 0;
        for (size_t port = 0; port < PORTS; port++)
            at->hops[port] = NONE;
        exits[i].ports = NULL;
        exits[i].count = 0;
    }
    ONEIB_SORT(routes->switches, count, compare_switches);
}

static size_t add_hop(struct oneib_routes *routes, const struct oneib_switch_link *link,
                      bool from_host, size_t next)
{
    routes->hops[routes->hop_count] = (struct oneib_hop){.switch_guid = link->switch_guid,
                                                         .switch_port = link->switch_port,
                                                         .from_host = from_host,
                                                         .other_type = link->node_type,
                                                         .other = link->port_guid,
                                                         .next = next};
    return routes->hop_count++;
}

static void add_host(struct oneib_routes *routes, const struct oneib_switch_link *link,
                     const struct oneib_subnet *subnet, size_t leaf)
{
    const struct oneib_subnet_port *port = oneib_subnet_find(subnet, link->port_guid);
    if (!port)
        return;
    routes->hosts[routes->host_count++] =
        (struct oneib_route_host){.guid = link->port_guid,
                                  .lid = port->lid,
                                  .leaf = leaf,
                                  .uplink = add_hop(routes, link, true, leaf)};
}

static void add_link(struct oneib_routes *routes, const struct oneib_switch_link *link,
                     const struct oneib_subnet *subnet)
{
    const size_t at = find_switch(routes, link->switch_guid);
    if (at == NONE || link->physical != ONEIB_PHYSICAL_LINK_UP || link->port_guid == 0)
        return;
    const bool to_switch = link->node_type == ONEIB_NODE_SWITCH;
    const size_t next = to_switch ? find_switch(routes, link->node_guid) : NONE;
    if (to_switch && next == NONE)
        return;
    routes->switches[at].hops[link->switch_port] = add_hop(routes, link, false, next);
    if (!to_switch)
        add_host(routes, link, subnet, at);
}

void oneib_routes_make(const struct oneib_switch_link *links, size_t link_count,
                       const struct oneib_subnet *subnet, struct oneib_exits *exits,
                       size_t exit_count, struct oneib_routes *routes)
{
    *routes = (struct oneib_routes){
        .hops = oneib_alloc(2 * link_count + 1, sizeof *routes->hops),
        .switches = oneib_alloc(exit_count + 1, sizeof *routes->switches),
        .hosts = oneib_alloc(link_count + 1, sizeof *routes->hosts),
    };
    take_switches(exits, exit_count, routes);
    for (size_t i = 0; i < link_count; i++)
        add_link(routes, &links[i], subnet);
    ONEIB_SORT(routes->hosts, routes->host_count, compare_hosts);
}

void oneib_routes_clear(struct oneib_routes *routes)
{
    for (size_t i = 0; i < routes->switch_count; i++)
        free(routes->switches[i].exits.ports);
    free(routes->switches);
    free(routes->hosts);
    free(routes->hops);
    *routes = (struct oneib_routes){0};
}

struct oneib_switch_link oneib_routes_link(const struct oneib_routes *routes, size_t hop)
{
    const struct oneib_hop *of = &routes->hops[hop];
    return (struct oneib_switch_link){
        .switch_guid = of->switch_guid,
        .switch_port = of->switch_port,
        .physical = ONEIB_PHYSICAL_LINK_UP,
        .node_type = of->other_type,
        .port_guid = of->other,
        .node_guid = of->next == NONE ? 0 : routes->switches[of->next].guid,
    };
}

const struct oneib_exits *oneib_routes_exits(const struct oneib_routes *routes, size_t index)
{
    return &routes->switches[index].exits;
}

struct oneib_subnet_port oneib_routes_host(const struct oneib_routes *routes, size_t index)
{
    return (struct oneib_subnet_port){.guid = routes->hosts[index].guid,
                                      .lid = routes->hosts[index].lid};
}

/* ---- walking --------------------------------------------------------------------------------- */

size_t oneib_routes_words(const struct oneib_routes *routes)
{
    return (routes->hop_count + WORD_BITS - 1) / WORD_BITS;
}

static void set_bit(uint64_t *set, size_t hop)
{
    set[hop / WORD_BITS] |= UINT64_C(1) << hop % WORD_BITS;
}

static size_t exit_of(const struct oneib_route_switch *at, uint16_t lid)
{
    return lid < at->exits.count ? at->hops[at->exits.ports[lid]] : NONE;
}

size_t oneib_routes_next_hop(struct oneib_routes *routes, size_t at, uint16_t lid)
{
    if (at == NONE || routes->switches[at].walked_in == routes->walks)
        return NONE;
    routes->switches[at].walked_in = routes->walks;
    return exit_of(&routes->switches[at], lid);
}

static void walk_from(struct oneib_routes *routes, size_t at, uint16_t lid, uint64_t *set)
{
    size_t hop;
    for (; (hop = oneib_routes_next_hop(routes, at, lid)) != NONE; at = routes->hops[hop].next)
        set_bit(set, hop);
}

void oneib_routes_walk_to(struct oneib_routes *routes, const struct oneib_route_host *to,
                          const oneib_guid *ports, size_t count, uint64_t *set)
{
    routes->walks++;
    for (size_t i = 0; i < count; i++) {
        const struct oneib_route_host *from = oneib_routes_find_host(routes, ports[i]);
        if (!from || from == to)
            continue;
        set_bit(set, from->uplink);
        walk_from(routes, from->leaf, to->lid, set);
    }
}

void oneib_routes_of(struct oneib_routes *routes, const oneib_guid *ports, size_t count,
                     uint64_t *set)
{
    for (size_t i = 0; i < count; i++) {
        const struct oneib_route_host *to = oneib_routes_find_host(routes, ports[i]);
        if (to)
            oneib_routes_walk_to(routes, to, ports, count, set);
    }
}

void oneib_routes_ends_of(const struct oneib_routes *routes, const oneib_guid *ports, size_t count,
                          uint64_t *set)
{
    for (size_t i = 0; i < count; i++) {
        const struct oneib_route_host *host = oneib_routes_find_host(routes, ports[i]);
        if (!host)
            continue;
        const uint8_t port = routes->hops[host->uplink].switch_port;
        set_bit(set, host->uplink);
        set_bit(set, routes->switches[host->leaf].hops[port]);
    }
}
