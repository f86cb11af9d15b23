// SPDX-License-Identifier: Apache-2.0
/* Which clusters meet on links: two leaves with two hosts each, whose ports are GUIDs 1 to 4. */
#include "sync/sharing.h"
#include "tests/tree_routes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const unsigned leaf_of[] = {0, 0, 1, 1}, pod_of[] = {0, 0};
static const struct tree tree = {4, 2, 1, 2, leaf_of, pod_of};

struct cluster {
    oneib_guid members[2];
};

static size_t pairs_that_meet(const struct oneib_member_ports *ports, struct cluster a,
                              struct cluster b)
{
    struct oneib_sharing sharing;
    struct oneib_routes routes = tree_routes(&tree);
    struct oneib_member members[4] = {{.guid = a.members[0]},
                                      {.guid = a.members[1]},
                                      {.guid = b.members[0]},
                                      {.guid = b.members[1]}};
    struct oneib_partition partitions[2] = {
        {.name = "one7", .pkey = 257, .sl = 1, .members = members, .member_count = 2},
        {.name = "one8", .pkey = 258, .sl = 1, .members = members + 2, .member_count = 2}};
    const struct oneib_partition_table table = {.items = partitions, .count = 2};
    oneib_sharing_make(&table, ports, &routes, ONEIB_SHARED_NOW, &sharing);
    const size_t count = sharing.shared_count;
    oneib_sharing_clear(&sharing);
    oneib_routes_clear(&routes);
    return count;
}

/* 0x11 and 0x12 are behind port 1, 0x31 and 0x32 behind port 3, 0x21 behind port 2, 0x41 behind 4. */
static struct oneib_member_port behind[] = {{0x11, 1}, {0x12, 1}, {0x21, 2},
                                            {0x31, 3}, {0x32, 3}, {0x41, 4}};
static const struct oneib_member_ports ports = {.items = behind,
                                                .count = sizeof behind / sizeof *behind};

static void clusters_of_virtual_ports_behind_the_same_ports_meet(void **state)
{
    (void)state;
    assert_int_equal(
        pairs_that_meet(&ports, (struct cluster){{0x11, 0x31}}, (struct cluster){{0x12, 0x32}}), 1);
}

static void clusters_of_virtual_ports_on_leaves_of_their_own_do_not(void **state)
{
    (void)state;
    assert_int_equal(
        pairs_that_meet(&ports, (struct cluster){{0x11, 0x21}}, (struct cluster){{0x31, 0x41}}), 0);
}

static void a_virtual_port_meets_the_host_port_that_it_is_behind(void **state)
{
    (void)state;
    assert_int_equal(
        pairs_that_meet(&ports, (struct cluster){{0x11, 0x31}}, (struct cluster){{1, 2}}), 1);
}

/* Two VMs of one host reach each other in its adapter. */
static void two_virtual_ports_behind_one_port_use_no_link(void **state)
{
    (void)state;
    assert_int_equal(
        pairs_that_meet(&ports, (struct cluster){{0x11, 0x12}}, (struct cluster){{1, 2}}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_of_virtual_ports_behind_the_same_ports_meet),
        cmocka_unit_test(clusters_of_virtual_ports_on_leaves_of_their_own_do_not),
        cmocka_unit_test(a_virtual_port_meets_the_host_port_that_it_is_behind),
        cmocka_unit_test(two_virtual_ports_behind_one_port_use_no_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
