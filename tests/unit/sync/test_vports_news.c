// SPDX-License-Identifier: Apache-2.0
/* Virtual ports that hosts have reported since all were read. Adapters are a table here, behind
 * oneib_fabric_read_vports(); how they are asked is tested in tests/unit/fabric. */
#include "fabric/virtual_ports_read.h"
#include "sync/vports.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOST_1 UINT64_C(0x0002c90300000001)
#define HOST_2 UINT64_C(0x0002c90300000002)
#define VM(n) (UINT64_C(0x0200070000000000) + 0x100 * (n))
#define RED 5
#define BLUE 6
#define FULL 0x8000
#define ACTIVE 4

/* ---- adapters -------------------------------------------------------------------------------- */

static struct held {
    oneib_guid port, guid;
    uint16_t key;
} table[8];
static size_t held_count;

static void hold(oneib_guid port, oneib_guid guid, uint16_t key)
{
    for (size_t i = 0; i < held_count; i++)
        if (table[i].guid == guid) {
            table[i].key = key;
            return;
        }
    table[held_count++] = (struct held){port, guid, key};
}

static oneib_guid asked[8];
static size_t asked_count;

static bool was_asked(oneib_guid port)
{
    for (size_t i = 0; i < asked_count; i++)
        if (asked[i] == port)
            return true;
    return false;
}

static void fill(struct oneib_vport_owner *owner)
{
    owner->items = calloc(held_count, sizeof *owner->items);
    for (size_t i = 0; i < held_count; i++) {
        if (table[i].port != owner->guid)
            continue;
        struct oneib_vport *vport = &owner->items[owner->count++];
        *vport = (struct oneib_vport){.guid = table[i].guid, .state = ACTIVE, .pkey_cap = 1};
        vport->pkeys = calloc(1, sizeof *vport->pkeys);
        vport->pkeys[0] = table[i].key;
    }
}

int __wrap_oneib_fabric_read_vports(struct oneib_fabric *fabric, const struct oneib_subnet *of,
                                    const struct oneib_vport_report *by, size_t count,
                                    struct oneib_vport_reading *reading, struct oneib_error *err);

int __wrap_oneib_fabric_read_vports(struct oneib_fabric *fabric, const struct oneib_subnet *of,
                                    const struct oneib_vport_report *by, size_t count,
                                    struct oneib_vport_reading *reading, struct oneib_error *err)
{
    (void)fabric;
    (void)of;
    (void)err;
    asked_count = 0;
    *reading = (struct oneib_vport_reading){.items = calloc(8, sizeof *reading->items)};
    for (size_t i = 0; i < count; i++) {
        if (was_asked(by[i].port))
            continue;
        asked[asked_count++] = by[i].port;
        reading->items[reading->count].guid = by[i].port;
        fill(&reading->items[reading->count++]);
    }
    return 0;
}

/* ---- the scene ------------------------------------------------------------------------------- */

static const struct oneib_config try = {.fabric.virtual_ports = ONEIB_VPORTS_TRY};
static struct oneib_vports vports;
static struct oneib_subnet subnet;
static struct oneib_error err;

/* Twice the same, as each turn does it: reports are made anew. */
static void report(oneib_guid port, oneib_guid guid, oneib_pkey pkey)
{
    vports.reports = realloc(vports.reports, (vports.report_count + 1) * sizeof *vports.reports);
    vports.reports[vports.report_count++] = (struct oneib_vport_report){port, guid, pkey};
    vports.report_capacity = vports.report_count;
}

static void report_two(void)
{
    oneib_vports_forget_reports(&vports);
    report(HOST_1, VM(2), BLUE);
    report(HOST_1, VM(1), RED);
}

static void read_all(void)
{
    oneib_subnet_clear(&subnet);
    assert_int_equal(oneib_vports_read(&try, NULL, &vports, &subnet, &err), 0);
}

/* Two clusters on one host, which proves how tables are read. */
static int begin(void **state)
{
    (void)state;
    held_count = asked_count = 0;
    vports = (struct oneib_vports){0};
    subnet = (struct oneib_subnet){0};
    hold(HOST_1, VM(1), FULL | RED);
    hold(HOST_1, VM(2), FULL | BLUE);
    report_two();
    read_all();
    assert_int_equal(vports.result.proof, ONEIB_VPORTS_PROVEN);
    assert_int_equal(vports.result.added, 2);
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_vports_clear(&vports);
    oneib_subnet_clear(&subnet);
    return 0;
}

static bool read_news(void)
{
    bool proves;
    assert_int_equal(oneib_vports_read_news(NULL, &vports, &subnet, &proves, &err), 0);
    return proves;
}

static bool is_there(oneib_guid guid)
{
    return oneib_subnet_find(&subnet, guid) != NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void what_was_read_with_all_is_no_news(void **state)
{
    (void)state;
    assert_false(oneib_vports_have_news(&vports));
    report_two();
    assert_false(oneib_vports_have_news(&vports));
}

static void a_vm_on_another_host_has_that_host_alone_asked(void **state)
{
    (void)state;
    hold(HOST_2, VM(3), FULL | RED);
    report_two();
    report(HOST_2, VM(3), RED);
    assert_true(oneib_vports_have_news(&vports));
    assert_false(read_news());
    assert_true(was_asked(HOST_2));
    assert_false(was_asked(HOST_1));
    assert_true(is_there(VM(1)) && is_there(VM(2)) && is_there(VM(3)));
    assert_int_equal(vports.result.added, 3);
    assert_false(oneib_vports_have_news(&vports));
}

/* The others of that host are read with it, and those that have gone are there no more. */
static void a_port_that_is_read_again_is_read_whole(void **state)
{
    (void)state;
    held_count = 0;
    hold(HOST_1, VM(1), FULL | BLUE);
    hold(HOST_1, VM(3), FULL | RED);
    oneib_vports_forget_reports(&vports);
    report(HOST_1, VM(1), BLUE);
    report(HOST_1, VM(3), RED);
    assert_true(oneib_vports_have_news(&vports));
    read_news();
    assert_false(is_there(VM(2)));
    assert_int_equal(oneib_subnet_find(&subnet, VM(1))->pkeys[0], FULL | BLUE);
    assert_int_equal(vports.result.added, 2);
}

static void a_key_that_is_not_there_yet_changes_nothing_and_is_asked_for_again(void **state)
{
    (void)state;
    hold(HOST_1, VM(3), 0x7fff);
    report(HOST_1, VM(3), RED);
    read_news();
    assert_false(is_there(VM(3)));
    assert_true(is_there(VM(1)) && is_there(VM(2)));
    assert_true(oneib_vports_have_news(&vports));
    hold(HOST_1, VM(3), FULL | RED);
    read_news();
    assert_true(is_there(VM(3)));
    assert_false(oneib_vports_have_news(&vports));
}

static void a_port_that_does_not_show_it_is_left_alone_after_some_tries(void **state)
{
    (void)state;
    report(HOST_1, VM(3), RED);
    for (int i = 0; i < ONEIB_VPORT_TRIES; i++) {
        assert_true(oneib_vports_have_news(&vports));
        read_news();
    }
    assert_false(oneib_vports_have_news(&vports));
    assert_true(is_there(VM(1)));
    /* Another VM of that host is news all the same. */
    report(HOST_1, VM(4), BLUE);
    assert_true(oneib_vports_have_news(&vports));
}

/* One that came too early is no reason to wait for the next one. */
static void readings_of_all_count_like_others(void **state)
{
    (void)state;
    report(HOST_1, VM(3), RED);
    for (int i = 0; i < ONEIB_VPORT_TRIES; i++) {
        assert_true(oneib_vports_have_news(&vports));
        read_all();
    }
    assert_false(oneib_vports_have_news(&vports));
}

static void a_key_that_a_reading_of_all_came_too_early_for_is_asked_for_again(void **state)
{
    (void)state;
    hold(HOST_2, VM(3), 0x7fff);
    report(HOST_2, VM(3), RED);
    read_all();
    assert_true(is_there(VM(3)));
    assert_true(oneib_vports_have_news(&vports));
    hold(HOST_2, VM(3), FULL | RED);
    read_news();
    assert_int_equal(oneib_subnet_find(&subnet, VM(3))->pkeys[0], FULL | RED);
}

/* A GUID at another port than its report's is not what was reported. */
static void what_another_port_shows_is_not_this_ones(void **state)
{
    (void)state;
    report_two();
    report(HOST_2, VM(1), RED);
    read_news();
    assert_true(oneib_vports_have_news(&vports));
}

static void before_anything_was_proved_a_port_that_proves_it_asks_for_all(void **state)
{
    (void)state;
    held_count = 0;
    hold(HOST_1, VM(1), FULL | RED);
    oneib_vports_forget_reports(&vports);
    report(HOST_1, VM(1), RED);
    read_all();
    assert_int_equal(vports.result.proof, ONEIB_VPORTS_NO_KEYS);
    report(HOST_1, VM(2), BLUE);
    assert_false(read_news());
    hold(HOST_1, VM(2), FULL | BLUE);
    report(HOST_1, VM(3), BLUE);
    assert_false(read_news()); /* not all that was reported is there */
    hold(HOST_1, VM(3), FULL | BLUE);
    assert_true(read_news());
    assert_int_equal(subnet.port_count, 0);
    assert_int_equal(vports.result.added, 0);
}

static void where_they_are_not_wanted_nothing_is_news(void **state)
{
    const struct oneib_config off = {.fabric.virtual_ports = ONEIB_VPORTS_OFF};
    (void)state;
    assert_int_equal(oneib_vports_read(&off, NULL, &vports, &subnet, &err), 0);
    report(HOST_2, VM(3), RED);
    assert_false(oneib_vports_have_news(&vports));
}

int main(void)
{
#define SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        SCENE(what_was_read_with_all_is_no_news),
        SCENE(a_vm_on_another_host_has_that_host_alone_asked),
        SCENE(a_port_that_is_read_again_is_read_whole),
        SCENE(a_key_that_is_not_there_yet_changes_nothing_and_is_asked_for_again),
        SCENE(a_port_that_does_not_show_it_is_left_alone_after_some_tries),
        SCENE(readings_of_all_count_like_others),
        SCENE(a_key_that_a_reading_of_all_came_too_early_for_is_asked_for_again),
        SCENE(what_another_port_shows_is_not_this_ones),
        SCENE(before_anything_was_proved_a_port_that_proves_it_asks_for_all),
        SCENE(where_they_are_not_wanted_nothing_is_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
