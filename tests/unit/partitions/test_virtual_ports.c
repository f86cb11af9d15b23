// SPDX-License-Identifier: Apache-2.0
/* Which of what was read of virtual ports is believed; how it is read, and the proof as a whole, is
 * in tests/unit/fabric. */
#include "partitions/virtual_ports.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HOST UINT64_C(0x0002c90300000001)
#define STRANGER UINT64_C(0x0002c90300000002)
#define VM_A UINT64_C(0x0200070000000100)
#define VM_B UINT64_C(0x0200070000000200)
#define VM_C UINT64_C(0x0200070000000300)
#define ACTIVE 4

#define FULL 0x8000
#define KEY_A 5
#define KEY_B 6

/* Two hosts: A and B are on the first, of two clusters; C, of A's, is on the other one. */
static uint16_t tables[3][2];
static struct oneib_vport on_host[3], on_stranger[2];
static struct oneib_vport_owner owners[2];
static struct oneib_vport_reading reading;
static const struct oneib_vport_report reports[] = {
    {HOST, VM_A, KEY_A}, {HOST, VM_B, KEY_B}, {STRANGER, VM_C, KEY_A}};
static struct oneib_subnet subnet;
static struct oneib_vport_result result;

static struct oneib_vport vport(oneib_guid guid, uint16_t *table)
{
    return (struct oneib_vport){.guid = guid, .state = ACTIVE, .pkey_cap = 2, .pkeys = table};
}

static int begin(void **state)
{
    (void)state;
    memcpy(tables, (uint16_t[3][2]){{FULL | KEY_A}, {FULL | KEY_B}, {FULL | KEY_A}}, sizeof tables);
    on_host[0] = vport(VM_A, tables[0]);
    on_host[1] = vport(VM_B, tables[1]);
    on_stranger[0] = vport(VM_C, tables[2]);
    owners[0] = (struct oneib_vport_owner){.guid = HOST, .items = on_host, .count = 2};
    owners[1] = (struct oneib_vport_owner){.guid = STRANGER, .items = on_stranger, .count = 1};
    reading = (struct oneib_vport_reading){.items = owners, .count = 2};
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_subnet_clear(&subnet);
    return 0;
}

/* By the first so many reports. */
static void add(size_t count)
{
    oneib_vports_add(&reading, reports, count, &subnet, &result);
}

static bool renew(size_t count)
{
    bool proves;
    oneib_vports_renew(&reading, reports, count, &subnet, &result, &proves);
    return proves;
}

static bool is_read(oneib_guid guid)
{
    const struct oneib_subnet_port *port = oneib_subnet_find(&subnet, guid);
    assert_non_null(port);
    return port->answered;
}

/* Of a port that was read though no host has reported anything of it. */
static void a_port_that_nobody_reported_is_not_believed(void **state)
{
    (void)state;
    add(2);
    assert_int_equal(result.proof, ONEIB_VPORTS_PROVEN);
    assert_int_equal(result.believed, 1);
    assert_int_equal(result.added, 2);
    assert_null(oneib_subnet_find(&subnet, VM_C));
}

static void a_virtual_port_without_a_table_does_not_count_as_read(void **state)
{
    (void)state;
    on_host[2] = vport(VM_C, NULL);
    owners[0].count = 3;
    reading.count = 1;
    add(2);
    assert_int_equal(result.added, 3);
    assert_false(is_read(VM_C));
    assert_false(
        oneib_vports_show(&subnet, &(struct oneib_vport_report){HOST, VM_C, ONEIB_PKEY_DEFAULT}));
    assert_true(oneib_vports_show(&subnet, &reports[0]));
}

static void what_has_no_guid_is_no_port(void **state)
{
    (void)state;
    on_host[2] = vport(UINT64_MAX, tables[2]);
    on_stranger[1] = vport(0, tables[2]);
    owners[0].count = 3;
    owners[1].count = 2;
    add(3);
    assert_int_equal(result.added, 3);
}

/* Each of the two has its own key, and one of them the other's as well. */
static void one_table_that_is_as_it_must_be_proves_nothing_alone(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        begin(state);
        tables[i][1] = tables[1 - i][0];
        add(3);
        assert_int_equal(result.proof, ONEIB_VPORTS_NO_KEYS);
        assert_int_equal(subnet.port_count, 0);
    }
}

/* ---- some of them again ---------------------------------------------------------------------- */

static void what_is_not_read_to_its_end_stays_as_it_was(void **state)
{
    (void)state;
    add(3);
    on_host[0].blocks_due = 1;
    renew(3);
    assert_true(is_read(VM_A));
    assert_int_equal(result.added, 3);
}

static void of_a_port_that_nobody_reported_nothing_is_renewed(void **state)
{
    (void)state;
    add(2);
    assert_false(renew(2)); /* tables were proved before */
    assert_null(oneib_subnet_find(&subnet, VM_C));
}

static void of_two_that_have_one_guid_by_now_neither_counts_as_read(void **state)
{
    (void)state;
    add(3);
    on_stranger[1] = vport(VM_A, tables[0]);
    owners[1].count = 2;
    renew(3);
    size_t twins = 0;
    for (size_t i = 0; i < subnet.port_count; i++)
        if (subnet.ports[i].guid == VM_A) {
            assert_false(subnet.ports[i].answered);
            twins++;
        }
    assert_int_equal(twins, 2);
    assert_true(is_read(VM_B));
}

static void a_port_that_shows_what_was_reported_does_not_prove_its_tables_by_that(void **state)
{
    (void)state;
    reading.count = 1;
    result = (struct oneib_vport_result){.proof = ONEIB_VPORTS_NO_KEYS};
    assert_true(renew(2));
    tables[0][1] = FULL | KEY_B;
    assert_false(renew(2));
}

/* Each port's are looked for among those of all. */
static void reports_count_whatever_order_they_came_in(void **state)
{
    uint16_t a[] = {0x8005}, b[] = {0x8006}, c[] = {0x8007};
    struct oneib_vport hosts[] = {
        {.guid = VM_A, .state = ACTIVE, .pkey_cap = 1, .pkeys = a},
        {.guid = VM_C, .state = ACTIVE, .pkey_cap = 1, .pkeys = c},
    };
    struct oneib_vport others[] = {{.guid = VM_B, .state = ACTIVE, .pkey_cap = 1, .pkeys = b}};
    struct oneib_vport_owner both[] = {
        {.guid = HOST, .items = hosts, .count = 2},
        {.guid = STRANGER, .items = others, .count = 1},
    };
    const struct oneib_vport_reading of_both = {.items = both, .count = 2};
    const struct oneib_vport_report told[] = {
        {STRANGER, VM_B, 6}, {HOST, VM_C, 7}, {HOST, VM_A, 5}};
    struct oneib_subnet seen = {0};
    struct oneib_vport_result outcome;
    (void)state;
    oneib_vports_add(&of_both, told, 3, &seen, &outcome);
    assert_int_equal(outcome.proof, ONEIB_VPORTS_PROVEN);
    assert_int_equal(outcome.added, 3);
    oneib_subnet_clear(&seen);
}

static void reports_differ_by_port_guid_and_key(void **state)
{
    const struct oneib_vport_report report = {HOST, VM_A, 5};
    const struct oneib_vport_report others[] = {
        {STRANGER, VM_A, 5}, {HOST, VM_B, 5}, {HOST, VM_A, 6}};
    (void)state;
    assert_int_equal(oneib_vport_report_compare(&report, &report), 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(oneib_vport_report_compare(&report, &others[i]) < 0);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_port_that_nobody_reported_is_not_believed),
        IN_SCENE(a_virtual_port_without_a_table_does_not_count_as_read),
        IN_SCENE(what_has_no_guid_is_no_port),
        IN_SCENE(one_table_that_is_as_it_must_be_proves_nothing_alone),
        IN_SCENE(what_is_not_read_to_its_end_stays_as_it_was),
        IN_SCENE(of_a_port_that_nobody_reported_nothing_is_renewed),
        IN_SCENE(of_two_that_have_one_guid_by_now_neither_counts_as_read),
        IN_SCENE(a_port_that_shows_what_was_reported_does_not_prove_its_tables_by_that),
        IN_SCENE(reports_count_whatever_order_they_came_in),
        IN_SCENE(reports_differ_by_port_guid_and_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
