// SPDX-License-Identifier: Apache-2.0
/* Which ports are waited for, and in which order they are asked. */
#include "sync/watch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PORTS 40
#define CAP 8
#define KEY 0x0101
#define OTHER_KEY 0x0102

/* Port i has GUID i + 1. Its table begins with the default partition. */
static uint16_t keys[PORTS][CAP];
static struct oneib_subnet_port ports[PORTS];
static const struct oneib_subnet subnet = {.ports = ports, .port_count = PORTS};

static int clear_ports(void **state)
{
    (void)state;
    memset(keys, 0, sizeof keys);
    for (size_t i = 0; i < PORTS; i++) {
        keys[i][0] = ONEIB_PKEY_DEFAULT;
        ports[i] = (struct oneib_subnet_port){.guid = i + 1,
                                              .node_type = ONEIB_NODE_CA,
                                              .partition_cap = CAP,
                                              .answered = true,
                                              .pkeys = keys[i]};
    }
    return 0;
}

static void hold(size_t port, oneib_pkey pkey)
{
    size_t index = 0;
    while (keys[port][index])
        index++;
    keys[port][index] = oneib_pkey_raw(pkey, ONEIB_FULL);
}

/* A table of one partition of KEY or OTHER_KEY with ports [first, end). */
struct table {
    struct oneib_member members[PORTS];
    struct oneib_partition partition;
    struct oneib_partition_table table;
};

static const struct oneib_partition_table *members_of(struct table *table, oneib_pkey pkey,
                                                      size_t first, size_t end)
{
    memset(table, 0, sizeof *table);
    for (size_t i = first; i < end; i++)
        table->members[i - first] = (struct oneib_member){
            .guid = i + 1, .kind = ONEIB_MEMBER_GUID, .membership = ONEIB_FULL};
    table->partition = (struct oneib_partition){
        .pkey = pkey, .members = table->members, .member_count = end - first};
    snprintf(table->partition.name, sizeof table->partition.name, "one1");
    table->table = (struct oneib_partition_table){.items = &table->partition, .count = 1};
    return &table->table;
}

static void look(struct oneib_watch *watch, const struct oneib_partition_table *table)
{
    oneib_watch_read(&subnet, table, watch);
}

static void owe(struct oneib_watch *watch, const struct oneib_partition_table *before)
{
    oneib_watch_owe(&subnet, before, watch);
}

static void ports_that_are_right_are_not_waited_for(void **state)
{
    (void)state;
    struct table table;
    struct oneib_watch watch = {0};
    hold(0, KEY);
    look(&watch, members_of(&table, KEY, 0, 2));
    assert_int_equal(watch.count, 1);
    assert_int_equal(watch.caused, 1);
    assert_int_equal(watch.ports[0], 1);
    hold(1, KEY);
    look(&watch, &table.table);
    assert_int_equal(watch.count, 0);
    oneib_watch_clear(&watch);
}

static void a_port_that_was_wrong_before_is_preexisting(void **state)
{
    (void)state;
    struct table before, after;
    struct oneib_watch watch = {0};
    owe(&watch, members_of(&before, KEY, 0, 3));
    hold(1, KEY);
    hold(2, KEY);
    look(&watch, members_of(&after, KEY, 0, 4));
    assert_int_equal(watch.count, 2); /* port 0, and port 3, which is new */
    assert_int_equal(watch.caused, 1);
    assert_int_equal(watch.ports[0], 3);
    assert_int_equal(watch.ports[1], 0);
    oneib_watch_clear(&watch);
}

static void a_port_with_a_new_reason_is_concerned_whatever_it_owes(void **state)
{
    (void)state;
    struct table before, after;
    struct oneib_watch watch = {0};
    hold(5, OTHER_KEY); /* nobody's, before and after */
    owe(&watch, members_of(&before, KEY, 0, 0));
    look(&watch, members_of(&after, KEY, 5, 6));
    assert_int_equal(watch.caused, 1);
    assert_int_equal(watch.ports[0], 5);
    hold(5, KEY);
    look(&watch, &after.table);
    assert_int_equal(watch.caused, 0);
    assert_int_equal(watch.count, 1);
    oneib_watch_clear(&watch);
}

static void a_key_that_only_moved_in_its_table_is_still_preexisting(void **state)
{
    (void)state;
    struct table before, after;
    struct oneib_watch watch = {0};
    hold(5, OTHER_KEY);
    owe(&watch, members_of(&before, KEY, 0, 0));
    keys[5][1] = 0;
    keys[5][3] = oneib_pkey_raw(OTHER_KEY, ONEIB_FULL);
    look(&watch, members_of(&after, KEY, 0, 0));
    assert_int_equal(watch.caused, 0);
    assert_int_equal(watch.count, 1);
    oneib_watch_clear(&watch);
}

static void a_key_that_the_change_takes_away_is_not_preexisting(void **state)
{
    (void)state;
    struct table before, after;
    struct oneib_watch watch = {0};
    hold(0, KEY);
    hold(1, KEY);
    owe(&watch, members_of(&before, KEY, 0, 2));
    look(&watch, members_of(&after, KEY, 0, 1));
    assert_int_equal(watch.caused, 1);
    assert_int_equal(watch.ports[0], 1);
    oneib_watch_clear(&watch);
}

static void opensm_cannot_make_a_silent_port_speak(void **state)
{
    (void)state;
    struct table table;
    struct oneib_watch watch = {0};
    ports[0].answered = false;
    look(&watch, members_of(&table, KEY, 0, 1));
    assert_int_equal(watch.count, 0);
    oneib_watch_clear(&watch);
}

static void of_keys_that_change_hands_only_those_are_waited_for(void **state)
{
    (void)state;
    static bool handed[ONEIB_PKEY_DEFAULT + 1];
    struct table table;
    struct oneib_watch watch = {.keys = handed};
    handed[KEY] = true;
    hold(0, KEY);
    hold(1, OTHER_KEY);
    ports[2].answered = false;
    look(&watch, members_of(&table, OTHER_KEY, 5, 6));
    assert_int_equal(watch.caused, 2);
    assert_int_equal(watch.ports[0], 0);
    assert_int_equal(watch.ports[1], 2);
    oneib_watch_clear(&watch);
}

static void every_wrong_port_is_asked_in_its_turn(void **state)
{
    (void)state;
    struct table table;
    struct oneib_watch watch = {0};
    unsigned asked[PORTS] = {0};
    size_t batch[ONEIB_PORTS_WATCHED];
    look(&watch, members_of(&table, KEY, 0, PORTS)); /* none of them ever comes right */
    for (unsigned round = 0; round < 5; round++) {
        assert_int_equal(oneib_watch_next(&watch, batch), ONEIB_PORTS_WATCHED);
        for (size_t i = 0; i < ONEIB_PORTS_WATCHED; i++)
            asked[batch[i]]++;
        look(&watch, &table.table);
    }
    for (size_t i = 0; i < PORTS; i++) /* 5 * 16 = 2 * 40 */
        assert_int_equal(asked[i], 2);
    oneib_watch_clear(&watch);
}

static void no_port_is_asked_twice_at_a_time(void **state)
{
    (void)state;
    struct table table;
    struct oneib_watch watch = {0};
    size_t batch[ONEIB_PORTS_WATCHED];
    look(&watch, members_of(&table, KEY, 0, 3));
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(oneib_watch_next(&watch, batch), 3);
        assert_int_equal(batch[0] + batch[1] + batch[2], 0 + 1 + 2);
    }
    oneib_watch_clear(&watch);
}

static void ports_that_came_right_do_not_hold_up_the_turn(void **state)
{
    (void)state;
    struct table table;
    struct oneib_watch watch = {0};
    size_t batch[ONEIB_PORTS_WATCHED];
    look(&watch, members_of(&table, KEY, 0, PORTS));
    oneib_watch_next(&watch, batch);
    for (size_t i = 0; i < 20; i++)
        hold(i, KEY);
    look(&watch, &table.table);
    assert_int_equal(oneib_watch_next(&watch, batch), ONEIB_PORTS_WATCHED);
    assert_int_equal(batch[0], 20);
    oneib_watch_clear(&watch);
}

static void what_is_preexisting_is_asked_only_when_nothing_else_is_wrong(void **state)
{
    (void)state;
    struct table before, after;
    struct oneib_watch watch = {0};
    size_t batch[ONEIB_PORTS_WATCHED];
    owe(&watch, members_of(&before, KEY, 0, 30));
    look(&watch, members_of(&after, KEY, 0, 31));
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(oneib_watch_next(&watch, batch), 1);
        assert_int_equal(batch[0], 30);
    }
    hold(30, KEY);
    look(&watch, &after.table);
    assert_int_equal(watch.caused, 0);
    assert_int_equal(oneib_watch_next(&watch, batch), ONEIB_PORTS_WATCHED);
    oneib_watch_clear(&watch);
}

static void nothing_wrong_asks_nobody(void **state)
{
    (void)state;
    struct table table;
    struct oneib_watch watch = {0};
    size_t batch[ONEIB_PORTS_WATCHED];
    look(&watch, members_of(&table, KEY, 0, 0));
    assert_int_equal(oneib_watch_next(&watch, batch), 0);
    oneib_watch_clear(&watch);
}

#define CASE(test) cmocka_unit_test_setup(test, clear_ports)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ports_that_are_right_are_not_waited_for),
        CASE(a_port_that_was_wrong_before_is_preexisting),
        CASE(a_port_with_a_new_reason_is_concerned_whatever_it_owes),
        CASE(a_key_that_only_moved_in_its_table_is_still_preexisting),
        CASE(a_key_that_the_change_takes_away_is_not_preexisting),
        CASE(opensm_cannot_make_a_silent_port_speak),
        CASE(of_keys_that_change_hands_only_those_are_waited_for),
        CASE(every_wrong_port_is_asked_in_its_turn),
        CASE(no_port_is_asked_twice_at_a_time),
        CASE(ports_that_came_right_do_not_hold_up_the_turn),
        CASE(what_is_preexisting_is_asked_only_when_nothing_else_is_wrong),
        CASE(nothing_wrong_asks_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
