// SPDX-License-Identifier: Apache-2.0
/* By which ports members are on the fabric. */
#include "cluster/member_ports.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Virtual port 0x11 is behind port 1, 0x12 too; 0x21 migrates from port 2 to port 1. Port 3 has a
 * table of its own alone. */
static struct oneib_desired_binding bindings[] = {
    {.member = 0x21, .port = 2}, {.member = 0x11, .port = 1}, {.member = 0x12, .port = 1},
    {.member = 0x21, .port = 1}, {.member = 3, .port = 3},    {.member = 0, .port = 4},
    {.member = 0x51, .port = 0}, {.member = 0x10, .port = 6},
};
static const struct oneib_desired desired = {.bindings = bindings,
                                             .binding_count = sizeof bindings / sizeof *bindings};

static void must_be(const struct oneib_subnet *subnet, const oneib_guid *members,
                    size_t member_count, const oneib_guid *expected, size_t expected_count)
{
    struct oneib_member_ports ports;
    struct oneib_member list[8] = {0};
    oneib_guid *guids;
    size_t count;
    for (size_t i = 0; i < member_count; i++)
        list[i].guid = members[i];
    const struct oneib_partition partition = {.members = list, .member_count = member_count};
    oneib_member_ports_make(&desired, subnet, &ports);
    oneib_member_ports_of(&ports, &partition, &guids, &count);
    assert_int_equal(count, expected_count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(guids[i], expected[i]);
    free(guids);
    oneib_member_ports_clear(&ports);
}
#define GUIDS(...)                                                                                 \
    (const oneib_guid[]){__VA_ARGS__}, sizeof((oneib_guid[]){__VA_ARGS__}) / sizeof(oneib_guid)

static const struct oneib_subnet nothing_seen = {0};

static void a_virtual_port_is_behind_its_hosts_port(void **state)
{
    (void)state;
    must_be(&nothing_seen, GUIDS(0x11), GUIDS(1));
    must_be(&nothing_seen, GUIDS(0x10), GUIDS(6));
}

static void a_port_with_a_table_of_its_own_is_itself(void **state)
{
    (void)state;
    must_be(&nothing_seen, GUIDS(3), GUIDS(3));
}

static void two_behind_one_port_are_one(void **state)
{
    (void)state;
    must_be(&nothing_seen, GUIDS(0x12, 3, 0x11), GUIDS(1, 3));
}

static void one_that_migrates_is_behind_both_ports(void **state)
{
    (void)state;
    must_be(&nothing_seen, GUIDS(0x21), GUIDS(1, 2));
}

static void one_without_a_known_port_stands_for_itself(void **state)
{
    (void)state;
    must_be(&nothing_seen, GUIDS(0x51, 0x99), GUIDS(0x51, 0x99));
}

static void what_the_fabric_shows_counts_too(void **state)
{
    (void)state;
    struct oneib_subnet_port seen[] = {{.guid = 5}, {.guid = 0x99, .owner = 5}};
    const struct oneib_subnet subnet = {.ports = seen, .port_count = 2};
    must_be(&subnet, GUIDS(0x99, 0x11), GUIDS(1, 5));
}

static void nobody_has_no_ports(void **state)
{
    (void)state;
    must_be(&nothing_seen, NULL, 0, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_virtual_port_is_behind_its_hosts_port),
        cmocka_unit_test(a_port_with_a_table_of_its_own_is_itself),
        cmocka_unit_test(two_behind_one_port_are_one),
        cmocka_unit_test(one_that_migrates_is_behind_both_ports),
        cmocka_unit_test(one_without_a_known_port_stands_for_itself),
        cmocka_unit_test(what_the_fabric_shows_counts_too),
        cmocka_unit_test(nobody_has_no_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
