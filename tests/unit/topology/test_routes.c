// SPDX-License-Identifier: Apache-2.0
/*
 * Two leaves (0xa, 0xb) with two hosts each, and two spines (0xc, 0xd). Host n has port GUID and
 * LID n; 1 and 2 are on leaf a, 3 and 4 on leaf b. Odd LIDs go by spine c, even ones by d.
 */
#include "topology/routes_meet.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LEAF_A = 0xa, LEAF_B = 0xb, SPINE_C = 0xc, SPINE_D = 0xd };
#define HOSTS 4
#define SET_WORDS 2

static const struct oneib_switch_link links[] = {
    {LEAF_A, 1, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_CA, 1, 0x101},
    {LEAF_A, 2, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_CA, 2, 0x102},
    {LEAF_B, 1, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_CA, 3, 0x103},
    {LEAF_B, 2, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_CA, 4, 0x104},
    {LEAF_A, 3, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_SWITCH, 0xc0, SPINE_C},
    {LEAF_A, 4, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_SWITCH, 0xd0, SPINE_D},
    {LEAF_B, 3, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_SWITCH, 0xc0, SPINE_C},
    {LEAF_B, 4, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_SWITCH, 0xd0, SPINE_D},
    {SPINE_C, 1, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_SWITCH, 0xa0, LEAF_A},
    {SPINE_C, 2, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_SWITCH, 0xb0, LEAF_B},
    {SPINE_D, 1, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_SWITCH, 0xa0, LEAF_A},
    {SPINE_D, 2, ONEIB_PHYSICAL_LINK_UP, ONEIB_NODE_SWITCH, 0xb0, LEAF_B},
};
#define LINKS (sizeof links / sizeof *links)

/* By LID, 0 first. */
static const struct {
    oneib_guid guid;
    uint8_t ports[HOSTS + 1];
} tables[] = {
    {LEAF_A, {0xff, 1, 2, 3, 4}},
    {LEAF_B, {0xff, 3, 4, 1, 2}},
    {SPINE_C, {0xff, 1, 1, 2, 2}},
    {SPINE_D, {0xff, 1, 1, 2, 2}},
};
#define SWITCHES (sizeof tables / sizeof *tables)

static struct oneib_routes routes;

static struct oneib_exits exits_of(size_t table)
{
    struct oneib_exits exits = {
        .switch_guid = tables[table].guid, .ports = malloc(HOSTS + 1), .count = HOSTS + 1};
    assert_non_null(exits.ports);
    memcpy(exits.ports, tables[table].ports, HOSTS + 1);
    return exits;
}

/* The switches by GUID downwards: their order is nobody's duty. */
static void make(const struct oneib_switch_link *of, size_t count)
{
    struct oneib_subnet_port ports[HOSTS] = {
        {.guid = 1, .lid = 1}, {.guid = 2, .lid = 2}, {.guid = 3, .lid = 3}, {.guid = 4, .lid = 4}};
    const struct oneib_subnet subnet = {.ports = ports, .port_count = HOSTS};
    struct oneib_exits exits[SWITCHES];
    for (size_t i = 0; i < SWITCHES; i++)
        exits[i] = exits_of(SWITCHES - 1 - i);
    oneib_routes_make(of, count, &subnet, exits, SWITCHES, &routes);
    assert_null(exits[0].ports);
    assert_true(oneib_routes_words(&routes) <= SET_WORDS);
}

static int begin(void **state)
{
    (void)state;
    make(links, LINKS);
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_routes_clear(&routes);
    return 0;
}

static size_t bits(const uint64_t *set)
{
    return (size_t)(__builtin_popcountll(set[0]) + __builtin_popcountll(set[1]));
}

static bool uses(const uint64_t *set, oneib_guid guid, uint8_t port, bool from_host)
{
    for (size_t i = 0; i < routes.hop_count; i++)
        if (routes.hops[i].switch_guid == guid && routes.hops[i].switch_port == port &&
            routes.hops[i].from_host == from_host)
            return set[i / 64] >> i % 64 & 1;
    return false;
}

static void two_on_one_leaf_use_its_ports_alone(void **state)
{
    (void)state;
    uint64_t set[SET_WORDS] = {0};
    oneib_routes_of(&routes, (const oneib_guid[]){1, 2}, 2, set);
    assert_int_equal(bits(set), 4);
    assert_true(uses(set, LEAF_A, 1, true));
    assert_true(uses(set, LEAF_A, 2, false));
    assert_true(uses(set, LEAF_A, 2, true));
    assert_true(uses(set, LEAF_A, 1, false));
}

static void each_direction_goes_by_the_tables(void **state)
{
    (void)state;
    uint64_t set[SET_WORDS] = {0};
    oneib_routes_of(&routes, (const oneib_guid[]){1, 4}, 2, set);
    assert_int_equal(bits(set), 8);
    /* to 4: leaf a, spine d, leaf b */
    assert_true(uses(set, LEAF_A, 1, true));
    assert_true(uses(set, LEAF_A, 4, false));
    assert_true(uses(set, SPINE_D, 2, false));
    assert_true(uses(set, LEAF_B, 2, false));
    /* and back to 1 by spine c */
    assert_true(uses(set, LEAF_B, 2, true));
    assert_true(uses(set, LEAF_B, 3, false));
    assert_true(uses(set, SPINE_C, 1, false));
    assert_true(uses(set, LEAF_A, 1, false));
}

static void one_alone_and_strangers_use_nothing(void **state)
{
    (void)state;
    uint64_t set[SET_WORDS] = {0};
    oneib_routes_of(&routes, (const oneib_guid[]){1}, 1, set);
    oneib_routes_of(&routes, (const oneib_guid[]){1, 99}, 2, set);
    oneib_routes_of(&routes, (const oneib_guid[]){3, 3}, 2, set);
    assert_int_equal(bits(set), 0);
}

static void a_lone_ones_own_link_is_its_end_in_both_directions(void **state)
{
    (void)state;
    uint64_t set[SET_WORDS] = {0};
    oneib_routes_ends_of(&routes, (const oneib_guid[]){3, 99}, 2, set);
    assert_int_equal(bits(set), 2);
    assert_true(uses(set, LEAF_B, 1, true));
    assert_true(uses(set, LEAF_B, 1, false));
}

static void a_table_that_leads_in_a_circle_ends(void **state)
{
    (void)state;
    uint64_t set[SET_WORDS] = {0};
    struct oneib_switch_link circle[LINKS];
    memcpy(circle, links, sizeof circle);
    circle[9].node_guid = LEAF_A; /* who is behind port 2 of spine c says that it is leaf a */
    oneib_routes_clear(&routes);
    make(circle, LINKS);
    oneib_routes_of(&routes, (const oneib_guid[]){1, 3}, 2, set);
    assert_true(uses(set, SPINE_C, 2, false));
    assert_false(uses(set, LEAF_B, 1, false));
}

static void a_link_that_is_down_is_no_way(void **state)
{
    (void)state;
    uint64_t set[SET_WORDS] = {0};
    struct oneib_switch_link down[LINKS];
    memcpy(down, links, sizeof down);
    down[5].physical = ONEIB_PHYSICAL_LINK_UP - 1;
    oneib_routes_clear(&routes);
    make(down, LINKS);
    oneib_routes_of(&routes, (const oneib_guid[]){1, 4}, 2, set);
    assert_false(uses(set, LEAF_A, 4, false));
    assert_false(uses(set, SPINE_D, 2, false));
    assert_true(uses(set, SPINE_C, 1, false));
}

struct two {
    uint64_t sets[2][SET_WORDS];
    struct oneib_routed_cluster clusters[2];
    struct oneib_shared_level *shared;
    size_t count;
};

static void share(struct two *two, uint8_t sl, uint8_t other_sl, const oneib_guid *ports,
                  const oneib_guid *others)
{
    *two = (struct two){0};
    oneib_routes_of(&routes, ports, 2, two->sets[0]);
    oneib_routes_of(&routes, others, 2, two->sets[1]);
    two->clusters[0] = (struct oneib_routed_cluster){9, sl, two->sets[0]};
    two->clusters[1] = (struct oneib_routed_cluster){7, other_sl, two->sets[1]};
    oneib_routes_shared(&routes, two->clusters, 2, &two->shared, &two->count);
}

static void clusters_on_leaves_of_their_own_share_nothing(void **state)
{
    (void)state;
    struct two two;
    share(&two, 1, 1, (const oneib_guid[]){1, 2}, (const oneib_guid[]){3, 4});
    assert_int_equal(two.count, 0);
    free(two.shared);
}

static void two_of_one_level_that_meet_are_named_with_the_first_link(void **state)
{
    (void)state;
    struct two two;
    share(&two, 1, 1, (const oneib_guid[]){1, 4}, (const oneib_guid[]){2, 4});
    assert_int_equal(two.count, 1);
    assert_int_equal(two.shared[0].network_id, 7);
    assert_int_equal(two.shared[0].other_id, 9);
    assert_int_equal(two.shared[0].sl, 1);
    /* host 4's link, both ways, and what leads to it: leaf a port 4, spine d port 2 */
    assert_int_equal(two.shared[0].hops, 4);
    assert_true(two.shared[0].first < routes.hop_count);
    free(two.shared);
}

static void two_levels_and_level_0_share_what_they_want(void **state)
{
    (void)state;
    struct two two;
    share(&two, 1, 2, (const oneib_guid[]){1, 4}, (const oneib_guid[]){2, 4});
    assert_int_equal(two.count, 0);
    share(&two, 0, 0, (const oneib_guid[]){1, 4}, (const oneib_guid[]){2, 4});
    assert_int_equal(two.count, 0);
}

/* ---- one member more ------------------------------------------------------------------------- */

/* The members that a number's bits say. */
static size_t members_of(unsigned number, oneib_guid *ports)
{
    size_t count = 0;
    for (oneib_guid port = 1; port <= HOSTS; port++)
        if (number >> (port - 1) & 1)
            ports[count++] = port;
    return count;
}

static void what_a_member_adds_is_what_the_larger_cluster_uses(void **state)
{
    (void)state;
    for (unsigned number = 0; number < 1u << HOSTS; number++)
        for (oneib_guid port = 1; port <= HOSTS; port++) {
            oneib_guid ports[HOSTS + 1];
            uint64_t joined[SET_WORDS] = {0}, whole[SET_WORDS] = {0};
            const size_t count = members_of(number, ports);
            oneib_routes_of(&routes, ports, count, joined);
            oneib_routes_join(&routes, ports, count, port, joined);
            ports[count] = port;
            oneib_routes_of(&routes, ports, count + 1, whole);
            oneib_routes_ends_of(&routes, &port, 1, whole);
            assert_memory_equal(joined, whole, sizeof joined);
        }
}

/* Whatever hop it is that others use. */
static void who_would_meet_others_is_who_adds_a_hop_of_theirs(void **state)
{
    (void)state;
    static const oneib_guid all[] = {4, 99, 1, 3, 2};
    for (unsigned number = 0; number < 1u << HOSTS; number++)
        for (size_t hop = 0; hop < routes.hop_count; hop++) {
            oneib_guid ports[HOSTS];
            uint64_t others[SET_WORDS] = {0};
            bool meets[5];
            const size_t count = members_of(number, ports);
            others[hop / 64] |= UINT64_C(1) << hop % 64;
            oneib_routes_would_meet(&routes, ports, count, others, all, 5, meets);
            for (size_t i = 0; i < 5; i++) {
                uint64_t added[SET_WORDS] = {0}, own[SET_WORDS] = {0};
                oneib_routes_join(&routes, ports, count, all[i], added);
                oneib_routes_ends_of(&routes, ports, count, own);
                if (oneib_routes_meet(own, others, SET_WORDS))
                    continue; /* the cluster meets them already */
                assert_int_equal(meets[i], oneib_routes_meet(added, others, SET_WORDS));
            }
        }
}

static void on_its_leaf_a_cluster_meets_nobody_of_another_leaf(void **state)
{
    (void)state;
    uint64_t others[SET_WORDS] = {0};
    bool meets[3];
    oneib_routes_of(&routes, (const oneib_guid[]){1, 4}, 2, others);
    oneib_routes_would_meet(&routes, (const oneib_guid[]){3}, 1, others,
                            (const oneib_guid[]){3, 4, 2}, 3, meets);
    assert_false(meets[0]);
    assert_true(meets[1]);  /* its own link */
    assert_false(meets[2]); /* from 3 to 2 by spine d, as from 1 to 4, but the other way */
    others[0] = others[1] = 0;
    oneib_routes_of(&routes, (const oneib_guid[]){1, 2}, 2, others);
    oneib_routes_would_meet(&routes, (const oneib_guid[]){3}, 1, others, (const oneib_guid[]){4}, 1,
                            meets);
    assert_false(meets[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_on_one_leaf_use_its_ports_alone, begin, end),
        cmocka_unit_test_setup_teardown(each_direction_goes_by_the_tables, begin, end),
        cmocka_unit_test_setup_teardown(one_alone_and_strangers_use_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_lone_ones_own_link_is_its_end_in_both_directions, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_table_that_leads_in_a_circle_ends, begin, end),
        cmocka_unit_test_setup_teardown(a_link_that_is_down_is_no_way, begin, end),
        cmocka_unit_test_setup_teardown(clusters_on_leaves_of_their_own_share_nothing, begin, end),
        cmocka_unit_test_setup_teardown(two_of_one_level_that_meet_are_named_with_the_first_link,
                                        begin, end),
        cmocka_unit_test_setup_teardown(what_a_member_adds_is_what_the_larger_cluster_uses, begin,
                                        end),
        cmocka_unit_test_setup_teardown(who_would_meet_others_is_who_adds_a_hop_of_theirs, begin,
                                        end),
        cmocka_unit_test_setup_teardown(on_its_leaf_a_cluster_meets_nobody_of_another_leaf, begin,
                                        end),
        cmocka_unit_test_setup_teardown(two_levels_and_level_0_share_what_they_want, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
