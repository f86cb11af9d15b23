// SPDX-License-Identifier: Apache-2.0
#include "topology/routes_meet.h"
#include "base/array.h"
#include "base/memory.h"
#include "topology/routes_internal.h"
#include <stdlib.h>

/* ---- one member more ------------------------------------------------------------------------- */

static bool has_bit(const uint64_t *set, size_t hop)
{
    return set[hop / WORD_BITS] >> hop % WORD_BITS & 1;
}

static bool path_meets(struct oneib_routes *routes, size_t at, uint16_t lid, const uint64_t *others)
{
    size_t hop;
    for (; (hop = oneib_routes_next_hop(routes, at, lid)) != NONE; at = routes->hops[hop].next)
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
        const struct oneib_route_host *member = oneib_routes_find_host(joining->routes, ports[i]);
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

void oneib_routes_would_meet(struct oneib_routes *routes, const oneib_guid *members,
                             size_t member_count, const uint64_t *others, const oneib_guid *ports,
                             size_t port_count, bool *meets)
{
    struct joining joining = {
        .routes = routes,
        .others = others,
        .members = oneib_alloc(2 * member_count + 1, sizeof *joining.members),
        .leaves = oneib_alloc(routes->switch_count + 1, sizeof *joining.leaves),
    };
    joining.leaders = joining.members + member_count;
    find_members(members, member_count, &joining);
    for (size_t i = 0; i < port_count; i++) {
        const struct oneib_route_host *host = oneib_routes_find_host(routes, ports[i]);
        meets[i] = host && host_meets(&joining, host);
    }
    free(joining.members);
    free(joining.leaves);
}

void oneib_routes_join(struct oneib_routes *routes, const oneib_guid *members, size_t member_count,
                       oneib_guid port, uint64_t *set)
{
    const struct oneib_route_host *host = oneib_routes_find_host(routes, port);
    if (!host)
        return;
    oneib_routes_ends_of(routes, &port, 1, set);
    oneib_routes_walk_to(routes, host, members, member_count, set);
    for (size_t i = 0; i < member_count; i++) {
        const struct oneib_route_host *to = oneib_routes_find_host(routes, members[i]);
        if (to)
            oneib_routes_walk_to(routes, to, &port, 1, set);
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

static void compare(struct sharing *sharing, const struct oneib_routed_cluster *a,
                    const struct oneib_routed_cluster *b, size_t words)
{
    if (a->sl == 0 || a->sl != b->sl)
        return;
    const struct common common = common_of(a->set, b->set, words);
    if (common.hops == 0)
        return;
    const bool in_order = a->network_id < b->network_id;
    ONEIB_APPEND(sharing->items, sharing->count, sharing->capacity,
                 (struct oneib_shared_level){.network_id = in_order ? a->network_id : b->network_id,
                                             .other_id = in_order ? b->network_id : a->network_id,
                                             .sl = a->sl,
                                             .first = common.first,
                                             .hops = common.hops});
}

void oneib_routes_shared(const struct oneib_routes *routes,
                         const struct oneib_routed_cluster *clusters, size_t cluster_count,
                         struct oneib_shared_level **shared, size_t *count)
{
    const size_t words = oneib_routes_words(routes);
    struct sharing sharing = {0};
    for (size_t i = 0; i < cluster_count; i++)
        for (size_t j = i + 1; j < cluster_count; j++)
            compare(&sharing, &clusters[i], &clusters[j], words);
    *shared = sharing.items;
    *count = sharing.count;
}
