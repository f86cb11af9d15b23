// SPDX-License-Identifier: Apache-2.0
#include "sync/reassignment.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PORT_A 0xa
#define PORT_B 0xb
#define KEY 0x0101
#define OTHER_KEY 0x0102

/* A partition with at most one member. */
static struct oneib_partition partition(const char *name, oneib_pkey pkey,
                                        struct oneib_member *member)
{
    struct oneib_partition made = {
        .pkey = pkey, .members = member, .member_count = member->guid ? 1 : 0};
    snprintf(made.name, sizeof made.name, "%s", name);
    return made;
}

static struct oneib_member member_of(oneib_guid guid)
{
    return (struct oneib_member){.guid = guid, .kind = ONEIB_MEMBER_GUID, .membership = ONEIB_FULL};
}

/* Ports A and B; each may hold one key besides the default one. */
struct fabric {
    uint16_t keys[2][4];
    struct oneib_subnet_port ports[2];
    struct oneib_subnet subnet;
};

static void fill(struct fabric *fabric, oneib_pkey on_a, oneib_pkey on_b)
{
    const oneib_pkey held[] = {on_a, on_b};
    memset(fabric, 0, sizeof *fabric);
    for (size_t i = 0; i < 2; i++) {
        fabric->keys[i][0] = ONEIB_PKEY_DEFAULT;
        fabric->keys[i][1] = held[i] ? oneib_pkey_raw(held[i], ONEIB_FULL) : 0;
        fabric->ports[i] = (struct oneib_subnet_port){.guid = i ? PORT_B : PORT_A,
                                                      .node_type = ONEIB_NODE_CA,
                                                      .partition_cap = 4,
                                                      .answered = true,
                                                      .pkeys = fabric->keys[i]};
    }
    fabric->subnet = (struct oneib_subnet){.ports = fabric->ports, .port_count = 2};
}

/* From `before` in force to `after`, one partition each; before NULL: nothing is in force. */
static struct oneib_reassignment hand_over(struct oneib_partition *before,
                                           struct oneib_partition *after, struct fabric *fabric)
{
    struct oneib_reassignment reassignment;
    const struct oneib_partition_table in_force = {.items = before, .count = before ? 1 : 0};
    const struct oneib_partition_table desired = {.items = after, .count = 1};
    oneib_reassignment_make(&in_force, &desired, &fabric->subnet, &reassignment);
    return reassignment;
}

static void a_key_of_another_cluster_is_taken_away_first(void **state)
{
    (void)state;
    struct fabric fabric;
    struct oneib_member a = member_of(PORT_A), b = member_of(PORT_B);
    struct oneib_partition before = partition("one1", KEY, &a), after = partition("one2", KEY, &b);
    fill(&fabric, KEY, 0);
    struct oneib_reassignment reassignment = hand_over(&before, &after, &fabric);
    assert_int_equal(reassignment.left_out, 1);
    assert_int_equal(reassignment.first.count, 0);
    assert_true(reassignment.keys[KEY]);
    oneib_reassignment_clear(&reassignment);
}

static void a_key_that_no_port_holds_needs_no_first_step(void **state)
{
    (void)state;
    struct fabric fabric;
    struct oneib_member a = member_of(PORT_A), b = member_of(PORT_B);
    struct oneib_partition before = partition("one1", KEY, &a), after = partition("one2", KEY, &b);
    fill(&fabric, 0, 0);
    struct oneib_reassignment reassignment = hand_over(&before, &after, &fabric);
    assert_int_equal(reassignment.left_out, 0);
    assert_int_equal(reassignment.first.count, 1);
    oneib_reassignment_clear(&reassignment);
}

static void a_cluster_that_loses_a_member_keeps_the_others(void **state)
{
    (void)state;
    struct fabric fabric;
    struct oneib_member a = member_of(PORT_A), b = member_of(PORT_B);
    struct oneib_partition before = partition("one1", KEY, &a), after = partition("one1", KEY, &b);
    fill(&fabric, KEY, KEY);
    struct oneib_reassignment reassignment = hand_over(&before, &after, &fabric);
    assert_int_equal(reassignment.left_out, 0);
    assert_false(reassignment.keys[KEY]);
    oneib_reassignment_clear(&reassignment);
}

/* Its VFs are open there: an empty place would be the next key's. */
static void what_is_kept_under_an_old_key_stays_while_others_leave(void **state)
{
    (void)state;
    struct fabric fabric;
    struct oneib_member a = member_of(PORT_A), b = member_of(PORT_B);
    struct oneib_partition before = partition("one1", KEY, &a),
                           after = partition("one1-0101", KEY, &b);
    fill(&fabric, KEY, KEY);
    struct oneib_reassignment reassignment = hand_over(&before, &after, &fabric);
    assert_int_equal(reassignment.left_out, 0);
    oneib_reassignment_clear(&reassignment);
    reassignment = hand_over(&after, &before, &fabric); /* and when it has that key again */
    assert_int_equal(reassignment.left_out, 0);
    oneib_reassignment_clear(&reassignment);
}

static void nobody_waits_for_a_key_that_only_goes(void **state)
{
    (void)state;
    struct fabric fabric;
    struct oneib_member a = member_of(PORT_A), b = member_of(PORT_B);
    struct oneib_partition before = partition("one1", KEY, &a),
                           after = partition("one2", OTHER_KEY, &b);
    fill(&fabric, KEY, 0);
    struct oneib_reassignment reassignment = hand_over(&before, &after, &fabric);
    assert_int_equal(reassignment.left_out, 0);
    assert_false(reassignment.keys[KEY]);
    oneib_reassignment_clear(&reassignment);
}

static void without_a_file_in_force_a_strangers_key_is_taken_away_first(void **state)
{
    (void)state;
    struct fabric fabric;
    struct oneib_member b = member_of(PORT_B);
    struct oneib_partition after = partition("one2", KEY, &b);
    fill(&fabric, KEY, KEY);
    struct oneib_reassignment reassignment = hand_over(NULL, &after, &fabric);
    assert_int_equal(reassignment.left_out, 1);
    oneib_reassignment_clear(&reassignment);
}

static void the_default_partition_is_never_left_out(void **state)
{
    (void)state;
    struct fabric fabric;
    struct oneib_member a = member_of(PORT_A), nobody = member_of(0);
    struct oneib_partition before = partition("one1", KEY, &a),
                           after = partition("Default", ONEIB_PKEY_DEFAULT, &nobody);
    fill(&fabric, ONEIB_PKEY_DEFAULT, ONEIB_PKEY_DEFAULT);
    struct oneib_reassignment reassignment = hand_over(&before, &after, &fabric);
    assert_int_equal(reassignment.left_out, 0);
    assert_int_equal(reassignment.first.count, 1);
    oneib_reassignment_clear(&reassignment);
}

static bool possible(struct oneib_partition *before, struct oneib_partition *after)
{
    bool answer;
    const struct oneib_partition_table in_force = {.items = before, .count = before ? 1 : 0};
    const struct oneib_partition_table desired = {.items = after, .count = after ? 1 : 0};
    oneib_reassignment_possible(&in_force, &desired, &answer);
    return answer;
}

static void only_a_partition_that_is_not_in_force_can_take_over_a_key(void **state)
{
    (void)state;
    struct oneib_member a = member_of(PORT_A), b = member_of(PORT_B);
    struct oneib_partition one = partition("one1", KEY, &a), grown = partition("one1", KEY, &b),
                           renamed = partition("one2", KEY, &a),
                           rekeyed = partition("one1", OTHER_KEY, &a),
                           standard = partition("Default", ONEIB_PKEY_DEFAULT, &a);
    assert_false(possible(&one, &grown));
    assert_false(possible(&one, NULL));
    assert_false(possible(NULL, &standard));
    assert_true(possible(&one, &renamed));
    assert_true(possible(&one, &rekeyed));
    assert_true(possible(NULL, &one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_of_another_cluster_is_taken_away_first),
        cmocka_unit_test(a_key_that_no_port_holds_needs_no_first_step),
        cmocka_unit_test(a_cluster_that_loses_a_member_keeps_the_others),
        cmocka_unit_test(what_is_kept_under_an_old_key_stays_while_others_leave),
        cmocka_unit_test(nobody_waits_for_a_key_that_only_goes),
        cmocka_unit_test(without_a_file_in_force_a_strangers_key_is_taken_away_first),
        cmocka_unit_test(the_default_partition_is_never_left_out),
        cmocka_unit_test(only_a_partition_that_is_not_in_force_can_take_over_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
