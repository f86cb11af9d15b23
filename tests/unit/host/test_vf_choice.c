// SPDX-License-Identifier: Apache-2.0
#include "host/vf_choice.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct oneib_vf_candidate candidate(uint16_t index, int16_t numa_node, bool on_vfio,
                                           enum oneib_vf_use use)
{
    return (struct oneib_vf_candidate){
        .vf = {.bus = 0x81, .slot = (uint8_t)(index / 8), .function = index % 8},
        .index = index,
        .numa_node = numa_node,
        .on_vfio = on_vfio,
        .use = use,
    };
}

static void assert_order(struct oneib_vf_candidate *candidates, size_t count, int16_t numa_node,
                         const uint16_t *indexes)
{
    oneib_vf_candidates_sort(candidates, count, numa_node);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(candidates[i].index, indexes[i]);
}

static const char *refusal(const struct oneib_vf_candidate *candidates, size_t count)
{
    static struct oneib_error err;
    assert_int_equal(oneib_vf_refuse(candidates, count, "mlx4_0", &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    return err.text;
}

static void the_wanted_numa_node_comes_first(void **state)
{
    (void)state;
    struct oneib_vf_candidate some[] = {
        candidate(0, 0, true, ONEIB_VF_FREE),
        candidate(1, 1, false, ONEIB_VF_FREE),
        candidate(2, -1, true, ONEIB_VF_FREE),
        candidate(3, 1, true, ONEIB_VF_FREE),
    };
    assert_order(some, COUNT(some), 1, (const uint16_t[]){3, 1, 0, 2});
}

static void without_a_wanted_node_those_on_vfio_come_first(void **state)
{
    (void)state;
    struct oneib_vf_candidate some[] = {
        candidate(0, -1, false, ONEIB_VF_FREE),
        candidate(2, 1, true, ONEIB_VF_FREE),
        candidate(1, 0, true, ONEIB_VF_FREE),
        candidate(3, -1, false, ONEIB_VF_FREE),
    };
    assert_order(some, COUNT(some), -1, (const uint16_t[]){1, 2, 0, 3});
}

static void those_that_are_not_free_come_last(void **state)
{
    (void)state;
    struct oneib_vf_candidate some[] = {
        candidate(0, 1, true, ONEIB_VF_DOMAIN),
        candidate(1, 1, true, ONEIB_VF_RESERVED),
        candidate(2, 0, false, ONEIB_VF_FREE),
        candidate(3, 1, true, ONEIB_VF_UNKNOWN),
    };
    assert_order(some, COUNT(some), 1, (const uint16_t[]){2, 0, 1, 3});
}

static void the_order_does_not_depend_on_the_order_before(void **state)
{
    (void)state;
    struct oneib_vf_candidate sorted[64], mixed[64];
    for (uint16_t i = 0; i < COUNT(sorted); i++)
        sorted[i] = mixed[(i * 29u + 7) % COUNT(mixed)] =
            candidate(i, (int16_t)(i % 3 - 1), i % 2, (enum oneib_vf_use)(i % 5 ? 0 : i % 8));
    oneib_vf_candidates_sort(sorted, COUNT(sorted), 1);
    oneib_vf_candidates_sort(mixed, COUNT(mixed), 1);
    for (size_t i = 0; i < COUNT(sorted); i++)
        assert_int_equal(sorted[i].index, mixed[i].index);
}

static void nothing_can_be_sorted(void **state)
{
    (void)state;
    oneib_vf_candidates_sort(NULL, 0, 0);
}

static void a_refusal_counts_by_use(void **state)
{
    (void)state;
    const struct oneib_vf_candidate some[] = {
        candidate(0, 0, true, ONEIB_VF_RESERVED), candidate(1, 0, true, ONEIB_VF_DOMAIN),
        candidate(2, 0, true, ONEIB_VF_RESERVED), candidate(3, 0, true, ONEIB_VF_DOMAIN),
        candidate(4, 0, true, ONEIB_VF_RESERVED), candidate(5, 0, true, ONEIB_VF_RESERVED),
        candidate(6, 0, true, ONEIB_VF_RESERVED),
    };
    assert_string_equal(refusal(some, COUNT(some)), "mlx4_0 has no free virtual function: 7 in "
                                                    "all, 5 reserved, 2 of libvirt domains");
}

static void every_use_is_told_in_a_refusal(void **state)
{
    (void)state;
    const struct oneib_vf_candidate some[] = {
        candidate(1, 0, true, ONEIB_VF_RESERVED),   candidate(2, 0, true, ONEIB_VF_DOMAIN),
        candidate(3, 0, true, ONEIB_VF_HOST),       candidate(4, 0, true, ONEIB_VF_NOT_CLOSED),
        candidate(5, 0, true, ONEIB_VF_ETHERNET),   candidate(6, 0, true, ONEIB_VF_NO_PORT),
        candidate(7, 0, true, ONEIB_VF_MANAGEMENT), candidate(8, 0, true, ONEIB_VF_ABSENT),
        candidate(9, 0, true, ONEIB_VF_UNKNOWN),
    };
    assert_string_equal(
        refusal(some, COUNT(some)),
        "mlx4_0 has no free virtual function: 9 in all, 1 reserved, 1 of libvirt domains, 1 the "
        "host's own, 1 left over and not closed, 1 with an Ethernet port, 1 without the port, 1 "
        "that may send management packets, 1 not on the PCI bus, 1 in an unknown state; 'oneib hca "
        "--repair' closes what is left "
        "over");
}

static void an_adapter_without_vfs_is_told_apart(void **state)
{
    (void)state;
    assert_string_equal(refusal(NULL, 0), "mlx4_0 has no virtual functions: SR-IOV is off; see "
                                          "sriov_numvfs of its PCI device");
}

static void uses_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "free",     "reserved", "domain",     "host",   "not closed",
        "ethernet", "no port",  "management", "absent", "unknown",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        assert_string_equal(oneib_vf_use_name((enum oneib_vf_use)i), names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wanted_numa_node_comes_first),
        cmocka_unit_test(without_a_wanted_node_those_on_vfio_come_first),
        cmocka_unit_test(those_that_are_not_free_come_last),
        cmocka_unit_test(the_order_does_not_depend_on_the_order_before),
        cmocka_unit_test(nothing_can_be_sorted),
        cmocka_unit_test(a_refusal_counts_by_use),
        cmocka_unit_test(every_use_is_told_in_a_refusal),
        cmocka_unit_test(an_adapter_without_vfs_is_told_apart),
        cmocka_unit_test(uses_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
