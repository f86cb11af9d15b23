// SPDX-License-Identifier: Apache-2.0
#include "topology/routes.h"
#include "base/array.h"
#include "base/order.h"
#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX
#define PORTS 256 /* of a switch, by number */
#define WORD_BITS 64

struct oneib_route_switch {
    oneib_guid guid;
    struct oneib_exits exits;
    size_t hops[PORTS]; /* by port that it is left by; NONE: leads nowhere */
    uint64_t walked_in; /* the walk that has come through last; 0: none */
};

struct oneib_route_host {
    oneib_guid guid; /* port GUID */
    uint16_t lid;
    size_t leaf;   /* index of the switch */
    size_t uplink; /* index of the hop to it */
};

/* ---- looking up ------------------------------------------------------------------------------ */

ONEIB_ORDER_BY(compare_switches, struct oneib_route_switch, guid);

ONEIB_ORDER_BY(compare_hosts, struct oneib_route_host, guid);

static size_t find_switch(const struct oneib_routes *routes, oneib_guid guid)
{
    const size_t first =
        ONEIB_LOWER_BOUND(i, routes->switch_count, routes->switches[i].guid < guid);
    return first < routes->switch_count && routes->switches[first].guid == guid ? first : NONE;
}

static const struct oneib_route_host *find_host(const struct oneib_routes *routes, oneib_guid guid)
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

int oneib_routes_make(const struct oneib_switch_link *links, size_t link_count,
                      const struct oneib_subnet *subnet, struct oneib_exits *exits,
                      size_t exit_count, struct oneib_routes *routes, struct oneib_error *err)
{
    *routes = (struct oneib_routes){
        .hops = calloc(2 * link_count + 1, sizeof *routes->hops),
        .switches = calloc(exit_count + 1, sizeof *routes->switches),
        .hosts = calloc(link_count + 1, sizeof *routes->hosts),
    };
    if (!routes->hops || !routes->switches || !routes->hosts) {
        oneib_routes_clear(routes);
        return oneib_fail_memory(err);
    }
    take_switches(exits, exit_count, routes);
    for (size_t i = 0; i < link_count; i++)
        add_link(routes, &links[i], subnet);
    ONEIB_SORT(routes->hosts, routes->host_count, compare_hosts);
    return 0;
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

/* A walk is all ways to one LID that are looked at together: where another one of them has come
 * through, the rest of the path is known. NONE: the path ends, or is known from here on. */
static size_t next_hop(struct oneib_routes *routes, size_t at, uint16_t lid)
{
    if (at == NONE || routes->switches[at].walked_in == routes->walks)
        return NONE;
    routes->switches[at].walked_in = routes->walks;
    return exit_of(&routes->switches[at], lid);
}

static void walk_from(struct oneib_routes *routes, size_t at, uint16_t lid, uint64_t *set)
{
    size_t hop;
    for (; (hop = next_hop(routes, at, lid)) != NONE; at = routes->hops[hop].next)
        set_bit(set, hop);
}

static void walk_to(struct oneib_routes *routes, const struct oneib_route_host *to,
                    const oneib_guid *ports, size_t count, uint64_t *set)
{
    routes->walks++;
    for (size_t i = 0; i < count; i++) {
        const struct oneib_route_host *from = find_host(routes, ports[i]);
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
        const struct oneib_route_host *to = find_host(routes, ports[i]);
        if (to)
            walk_to(routes, to, ports, count, set);
    }
}

void oneib_routes_ends_of(const struct oneib_routes *routes, const oneib_guid *ports, size_t count,
                          uint64_t *set)
{
    for (size_t i = 0; i < count; i++) {
        const struct oneib_route_host *host = find_host(routes, ports[i]);
        if (!host)
            continue;
        const uint8_t port = routes->hops[host->uplink].switch_port;
        set_bit(set, host->uplink);
        set_bit(set, routes->switches[host->leaf].hops[port]);
    }
}

/* ---- one member more ------------------------------------------------------------------------- */

static bool has_bit(const uint64_t *set, size_t hop)
{
    return set[hop / WORD_BITS] >> hop % WORD_BITS & 1;
}

static bool path_meets(struct oneib_routes *routes, size_t at, uint16_t lid, const uint64_t *others)
{
    size_t hop;
    for (; (hop = next_hop(routes, at, lid)) != NONE; at = routes->hops[hop].next)
        if (has_bit(others, hop))
            return true;
    return false;
}

/* The members that the fabric has; and of each leaf with some, one. */
struct joining {
    struct oneib_routes *routes;
    const uint64_t *others;
    const struct oneib_route_host **members, **leaders;
    size_t member_count, leader_count;
    uint8_t *leaves; /* by switch, what is known of the ways from it to all members */
};
enum { UNKNOWN, MEETS, MEETS_NOT };

static bool has_leader(const struct joining *joining, size_t leaf)
{
    for (size_t i = 0; i < joining->leader_count; i++)
        if (joining->leaders[i]->leaf == leaf)
            return true;
    return false;
}

static void find_members(const oneib_guid *ports, size_t count, struct joining *joining)
{
    for (size_t i = 0; i < count; i++) {
        const struct oneib_route_host *member = find_host(joining->routes, ports[i]);
        if (!member)
            continue;
        joining->members[joining->member_count++] = member;
        if (!has_leader(joining, member->leaf))
            joining->leaders[joining->leader_count++] = member;
    }
}

/* From the leaf on, the way to a member is the same for all hosts there. */
static bool leaf_meets(const struct joining *joining, size_t leaf)
{
    uint8_t *known = &joining->leaves[leaf];
    for (size_t i = 0; i < joining->member_count && *known == UNKNOWN; i++) {
        joining->routes->walks++;
        if (path_meets(joining->routes, leaf, joining->members[i]->lid, joining->others))
            *known = MEETS;
    }
    if (*known == UNKNOWN)
        *known = MEETS_NOT;
    return *known == MEETS;
}

static bool ends_meet(const struct joining *joining, const struct oneib_route_host *host)
{
    const struct oneib_routes *routes = joining->routes;
    const uint8_t port = routes->hops[host->uplink].switch_port;
    return has_bit(joining->others, host->uplink) ||
           has_bit(joining->others, routes->switches[host->leaf].hops[port]);
}

static bool host_meets(const struct joining *joining, const struct oneib_route_host *host)
{
    if (ends_meet(joining, host) || leaf_meets(joining, host->leaf))
        return true;
    joining->routes->walks++;
    for (size_t i = 0; i < joining->leader_count; i++)
        if (path_meets(joining->routes, joining->leaders[i]->leaf, host->lid, joining->others))
            return true;
    return false;
}

int oneib_routes_would_meet(struct oneib_routes *routes, const oneib_guid *members,
                            size_t member_count, const uint64_t *others, const oneib_guid *ports,
                            size_t port_count, bool *meets, struct oneib_error *err)
{
    struct joining joining = {
        .routes = routes,
        .others = others,
        .members = calloc(2 * member_count + 1, sizeof *joining.members),
        .leaves = calloc(routes->switch_count + 1, sizeof *joining.leaves),
    };
    const bool has_memory = joining.members && joining.leaves;
    if (has_memory) {
        joining.leaders = joining.members + member_count;
        find_members(members, member_count, &joining);
        for (size_t i = 0; i < port_count; i++) {
            const struct oneib_route_host *host = find_host(routes, ports[i]);
            meets[i] = host && host_meets(&joining, host);
        }
    }
    free(joining.members);
    free(joining.leaves);
    return has_memory ? 0 : oneib_fail_memory(err);
}

void oneib_routes_join(struct oneib_routes *routes, const oneib_guid *members, size_t member_count,
                       oneib_guid port, uint64_t *set)
{
    const struct oneib_route_host *host = find_host(routes, port);
    if (!host)
        return;
    oneib_routes_ends_of(routes, &port, 1, set);
    walk_to(routes, host, members, member_count, set);
    for (size_t i = 0; i < member_count; i++) {
        const struct oneib_route_host *to = find_host(routes, members[i]);
        if (to)
            walk_to(routes, to, &port, 1, set);
    }
}

/* ---- what is shared -------------------------------------------------------------------------- */

struct common {
    size_t first, hops;
};

static struct common common_of(const uint64_t *a, const uint64_t *b, size_t words)
{
    struct common common = {0};
    for (size_t i = 0; i < words; i++) {
        const uint64_t both = a[i] & b[i];
        if (both && common.hops == 0)
            common.first = i * WORD_BITS + (size_t)__builtin_ctzll(both);
        common.hops += (size_t)__builtin_popcountll(both);
    }
    return common;
}

bool oneib_routes_meet(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (a[i] & b[i])
            return true;
    return false;
}

struct sharing {
    struct oneib_shared_level *items;
    size_t count, capacity;
};

static int compare(struct sharing *sharing, const struct oneib_routed_cluster *a,
                   const struct oneib_routed_cluster *b, size_t words, struct oneib_error *err)
{
    if (a->sl == 0 || a->sl != b->sl)
        return 0;
    const struct common common = common_of(a->set, b->set, words);
    if (common.hops == 0)
        return 0;
    if (oneib_reserve(&sharing->items, &sharing->capacity, sharing->count + 1,
                      sizeof *sharing->items, err) < 0)
        return -1;
    const bool in_order = a->network_id < b->network_id;
    sharing->items[sharing->count++] =
        (struct oneib_shared_level){.network_id = in_order ? a->network_id : b->network_id,
                                    .other_id = in_order ? b->network_id : a->network_id,
                                    .sl = a->sl,
                                    .first = common.first,
                                    .hops = common.hops};
    return 0;
}

int oneib_routes_shared(const struct oneib_routes *routes,
                        const struct oneib_routed_cluster *clusters, size_t cluster_count,
                        struct oneib_shared_level **shared, size_t *count, struct oneib_error *err)
{
    const size_t words = oneib_routes_words(routes);
    struct sharing sharing = {0};
    for (size_t i = 0; i < cluster_count; i++)
        for (size_t j = i + 1; j < cluster_count; j++)
            if (compare(&sharing, &clusters[i], &clusters[j], words, err) < 0) {
                free(sharing.items);
                return -1;
            }
    *shared = sharing.items;
    *count = sharing.count;
    return 0;
}
