// SPDX-License-Identifier: Apache-2.0
#include "../base/random_source.h"
#include "host/cores.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define GIB UINT64_C(1048576) /* KiB */

static struct oneib_error err;
static struct oneib_cores cores;

/* ---- sets ------------------------------------------------------------------------------------ */

static struct oneib_cpu_set set_of(const char *list)
{
    struct oneib_cpu_set set;
    assert_true(oneib_cpu_set_parse(list, &set));
    return set;
}

static void assert_set(const struct oneib_cpu_set *set, const char *wanted)
{
    struct oneib_text text = {0};
    oneib_text_append(&text, "");
    oneib_cpu_set_render(set, &text);
    assert_string_equal(text.data, wanted);
    oneib_text_clear(&text);
}

static void assert_reads_as(const char *list, const char *wanted)
{
    const struct oneib_cpu_set set = set_of(list);
    assert_set(&set, wanted);
}

static void a_list_is_written_as_the_kernel_writes_it(void **state)
{
    (void)state;
    assert_reads_as("", "");
    assert_reads_as("0", "0");
    assert_reads_as("0-3,8,10-11", "0-3,8,10-11");
    assert_reads_as("63-64", "63-64");
    assert_reads_as("8191", "8191");
    assert_reads_as("0-8191", "0-8191");
}

static void neighbours_are_joined_and_order_does_not_matter(void **state)
{
    (void)state;
    assert_reads_as("5,4,3,1,0", "0-1,3-5");
    assert_reads_as("2-4,3-6,6", "2-6");
}

static void a_cpu_is_excluded_from_what_stands_before_it(void **state)
{
    (void)state;
    assert_reads_as("0-3,^2", "0-1,3");
    assert_reads_as("0-3,^0,^3", "1-2");
    assert_reads_as("^1,0-3", "0-3");
    assert_reads_as("7,^7", "");
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {",",
                                        "0,",
                                        ",0",
                                        "0,,1",
                                        "-",
                                        "0-",
                                        "-3",
                                        "3-2",
                                        "0-1-2",
                                        "a",
                                        "0x1",
                                        "+1",
                                        "01",
                                        "1 ",
                                        " 1",
                                        "0-3, 5",
                                        "^",
                                        "^^1",
                                        "0,^",
                                        "^0-1",
                                        "8192",
                                        "0-8192",
                                        "99999999999999999999",
                                        "1.5",
                                        "0\n",
                                        "0;1",
                                        "\xc3\xa9"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct oneib_cpu_set set;
        if (oneib_cpu_set_parse(wrong[i], &set))
            fail_msg("\"%s\" is taken for a list of CPUs", wrong[i]);
    }
}

static void a_list_that_was_written_reads_the_same(void **state)
{
    (void)state;
    struct random_source random = random_seeded(42);
    for (unsigned round = 0; round < 200; round++) {
        struct oneib_text text = {0};
        struct oneib_cpu_set set = {0}, again;
        const uint64_t count = random_below(&random, 64);
        for (unsigned i = 0; i < count; i++)
            oneib_cpu_set_add(&set,
                              (uint32_t)random_below(&random, round % 2 ? 128 : ONEIB_CPUS_MAX));
        oneib_text_append(&text, "");
        oneib_cpu_set_render(&set, &text);
        assert_true(oneib_cpu_set_parse(text.data, &again));
        assert_memory_equal(&set, &again, sizeof set);
        oneib_text_clear(&text);
    }
}

static void a_cpu_that_no_set_can_hold_is_in_none(void **state)
{
    (void)state;
    struct oneib_cpu_set set = {0};
    oneib_cpu_set_add(&set, ONEIB_CPUS_MAX);
    assert_true(oneib_cpu_set_is_empty(&set));
    assert_false(oneib_cpu_set_has(&set, ONEIB_CPUS_MAX));
    assert_false(oneib_cpu_set_has(&set, UINT32_MAX));
}

static void sets_are_added_and_taken_away(void **state)
{
    (void)state;
    struct oneib_cpu_set set = set_of("0-3");
    const struct oneib_cpu_set other = set_of("3-5,100"), far = set_of("200");
    assert_true(oneib_cpu_set_overlaps(&set, &other));
    assert_false(oneib_cpu_set_overlaps(&set, &far));
    oneib_cpu_set_add_all(&set, &other);
    assert_set(&set, "0-5,100");
    oneib_cpu_set_remove_all(&set, &other);
    assert_set(&set, "0-2");
}

/* ---- cores ----------------------------------------------------------------------------------- */

static struct oneib_core host_cores[64];
static struct oneib_numa_node host_nodes[2];

/* Two nodes of four cores, two threads each: core n has CPUs n and n + 8. */
static struct oneib_host_cpus two_nodes(void)
{
    for (uint32_t i = 0; i < 8; i++) {
        host_cores[i] = (struct oneib_core){.node = i / 4, .first = i};
        oneib_cpu_set_add(&host_cores[i].threads, i);
        oneib_cpu_set_add(&host_cores[i].threads, i + 8);
    }
    for (uint32_t i = 0; i < 2; i++)
        host_nodes[i] =
            (struct oneib_numa_node){.id = i, .memory_kib = 64 * GIB, .available_kib = 32 * GIB};
    return (struct oneib_host_cpus){
        .cores = host_cores, .core_count = 8, .nodes = host_nodes, .node_count = 2};
}

static int choose(uint32_t node, uint32_t count, const char *taken)
{
    const struct oneib_host_cpus host = two_nodes();
    const struct oneib_cpu_set taken_cpus = set_of(taken);
    err = (struct oneib_error){0};
    return oneib_cores_choose(&host, node, count, &taken_cpus, &cores, &err);
}

static void assert_refused(int outcome, const char *text)
{
    assert_int_equal(outcome, -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_string_equal(err.text, text);
}

static void a_virtual_core_gets_a_whole_one_lowest_first(void **state)
{
    (void)state;
    assert_int_equal(choose(1, 3, ""), 0);
    assert_int_equal(cores.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(cores.vcpus[i], 4 + i);
    assert_set(&cores.threads, "4-6,12-14");
}

static void the_hosts_first_core_is_the_last_one_given(void **state)
{
    (void)state;
    assert_int_equal(choose(0, 3, ""), 0);
    assert_set(&cores.threads, "1-3,9-11");
    assert_int_equal(choose(0, 4, ""), 0);
    assert_int_equal(cores.vcpus[0], 1);
    assert_int_equal(cores.vcpus[3], 0);
    assert_set(&cores.threads, "0-3,8-11");
}

static void the_hosts_first_core_is_that_of_its_lowest_cpu_on_whatever_node(void **state)
{
    (void)state;
    struct oneib_host_cpus host = two_nodes();
    const struct oneib_cpu_set nobodys = {0};
    for (size_t i = 0; i < 8; i++)
        host_cores[i].node = 1 - host_cores[i].node;
    assert_int_equal(oneib_cores_choose(&host, 1, 1, &nobodys, &cores, &err), 0);
    assert_int_equal(cores.vcpus[0], 1);
    assert_int_equal(oneib_cores_choose(&host, 0, 1, &nobodys, &cores, &err), 0);
    assert_int_equal(cores.vcpus[0], 4);
}

static void a_core_one_of_whose_threads_is_taken_is_not_given(void **state)
{
    (void)state;
    assert_int_equal(choose(1, 2, "4,13"), 0);
    assert_set(&cores.threads, "6-7,14-15");
    assert_int_equal(choose(0, 1, "1-3"), 0);
    assert_int_equal(cores.vcpus[0], 0);
}

static void too_few_cores_are_refused_with_numbers(void **state)
{
    (void)state;
    assert_refused(choose(1, 3, "4,13"), "node 1 has 4 cores, 2 of them free, and the VM wants 3");
    assert_refused(choose(0, 5, ""), "node 0 has 4 cores, 4 of them free, and the VM wants 5");
    assert_refused(choose(0, 1, "0-15"), "node 0 has 4 cores, 0 of them free, and the VM wants 1");
}

static void cores_of_another_node_do_not_help(void **state)
{
    (void)state;
    assert_refused(choose(1, 4, "4"), "node 1 has 4 cores, 3 of them free, and the VM wants 4");
}

static void a_node_that_the_host_lacks_is_refused(void **state)
{
    (void)state;
    assert_refused(choose(2, 1, ""), "this host has no NUMA node 2");
}

static void a_node_of_memory_alone_has_no_cores(void **state)
{
    (void)state;
    struct oneib_host_cpus host = two_nodes();
    const struct oneib_cpu_set nobodys = {0};
    host.core_count = 4;
    assert_refused(oneib_cores_choose(&host, 1, 1, &nobodys, &cores, &err),
                   "node 1 has 0 cores, 0 of them free, and the VM wants 1");
}

static void more_virtual_cores_than_a_choice_can_hold_are_refused(void **state)
{
    (void)state;
    static struct oneib_core many[ONEIB_VCPUS_MAX + 1];
    struct oneib_host_cpus host = two_nodes();
    const struct oneib_cpu_set nobodys = {0};
    for (uint32_t i = 0; i < COUNT(many); i++) {
        many[i] = (struct oneib_core){.first = i};
        oneib_cpu_set_add(&many[i].threads, i);
    }
    host.cores = many;
    host.core_count = COUNT(many);
    assert_int_equal(oneib_cores_choose(&host, 0, ONEIB_VCPUS_MAX, &nobodys, &cores, &err), 0);
    assert_int_equal(oneib_cores_choose(&host, 0, ONEIB_VCPUS_MAX + 1, &nobodys, &cores, &err), -1);
    assert_int_equal(oneib_cores_choose(&host, 0, UINT32_MAX, &nobodys, &cores, &err), -1);
}

static void what_is_given_is_never_taken_and_never_twice(void **state)
{
    (void)state;
    struct random_source random = random_seeded(7);
    for (unsigned round = 0; round < 500; round++) {
        const struct oneib_host_cpus host = two_nodes();
        struct oneib_cpu_set taken = {0};
        for (uint64_t i = random_below(&random, 10); i > 0; i--)
            oneib_cpu_set_add(&taken, (uint32_t)random_below(&random, 16));
        const uint32_t node = (uint32_t)random_below(&random, 2),
                       count = 1 + (uint32_t)random_below(&random, 4);
        if (oneib_cores_choose(&host, node, count, &taken, &cores, &err) < 0)
            continue;
        assert_int_equal(cores.count, count);
        assert_false(oneib_cpu_set_overlaps(&cores.threads, &taken));
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(cores.vcpus[i] / 4, node);
            for (uint32_t j = 0; j < i; j++)
                assert_int_not_equal(cores.vcpus[i], cores.vcpus[j]);
        }
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t page;

static int choose_memory(uint64_t memory_kib, uint64_t part_kib, uint64_t small, uint64_t large)
{
    const struct oneib_host_cpus host = two_nodes();
    host_nodes[1].pages[0] = (struct oneib_host_pages){2048, small};
    host_nodes[1].pages[1] = (struct oneib_host_pages){GIB, large};
    host_nodes[1].page_sizes = 2;
    err = (struct oneib_error){0};
    return oneib_memory_choose(&host, 1, memory_kib, part_kib, &page, &err);
}

static void the_largest_pages_that_divide_the_memory_are_used(void **state)
{
    (void)state;
    assert_int_equal(choose_memory(4 * GIB, 4 * GIB, 10000, 4), 0);
    assert_int_equal(page, GIB);
    assert_int_equal(choose_memory(GIB + 2048, GIB + 2048, 10000, 4), 0);
    assert_int_equal(page, 2048);
    assert_int_equal(choose_memory(GIB + 4, GIB + 4, 10000, 4), 0);
    assert_int_equal(page, 0);
}

static void too_few_huge_pages_are_not_used(void **state)
{
    (void)state;
    assert_int_equal(choose_memory(4 * GIB, 4 * GIB, 2048, 3), 0);
    assert_int_equal(page, 2048);
    assert_int_equal(choose_memory(4 * GIB, 4 * GIB, 2047, 3), 0);
    assert_int_equal(page, 0);
}

static void every_piece_of_the_memory_must_be_whole_pages(void **state)
{
    (void)state;
    assert_int_equal(choose_memory(4 * GIB, GIB / 2, 10000, 4), 0);
    assert_int_equal(page, 2048);
    assert_int_equal(choose_memory(4 * GIB, 1024, 10000, 4), 0);
    assert_int_equal(page, 0);
}

static void huge_pages_that_are_not_wanted_are_not_used(void **state)
{
    (void)state;
    assert_int_equal(choose_memory(4 * GIB, 0, 10000, 4), 0);
    assert_int_equal(page, 0);
}

static void memory_in_huge_pages_need_not_be_free_otherwise(void **state)
{
    (void)state;
    assert_int_equal(choose_memory(40 * GIB, 40 * GIB, 0, 40), 0);
    assert_int_equal(page, GIB);
}

static void too_little_memory_is_refused_with_numbers(void **state)
{
    (void)state;
    assert_int_equal(choose_memory(32 * GIB, 32 * GIB, 0, 0), 0);
    assert_refused(choose_memory(32 * GIB + 1, 32 * GIB + 1, 10, 31),
                   "node 1 has 67108864 KiB of memory, 33554432 KiB of them available, and the VM "
                   "wants 33554433 KiB");
    const struct oneib_host_cpus host = two_nodes();
    assert_refused(oneib_memory_choose(&host, 9, 1, 1, &page, &err),
                   "this host has no NUMA node 9");
}

static void a_host_that_was_cleared_is_empty(void **state)
{
    (void)state;
    struct oneib_host_cpus host = {.cores = calloc(1, sizeof *host.cores), .core_count = 1};
    assert_non_null(host.cores);
    oneib_host_cpus_clear(&host);
    assert_null(host.cores);
    assert_int_equal(host.core_count, 0);
    oneib_host_cpus_clear(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_written_as_the_kernel_writes_it),
        cmocka_unit_test(neighbours_are_joined_and_order_does_not_matter),
        cmocka_unit_test(a_cpu_is_excluded_from_what_stands_before_it),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(a_list_that_was_written_reads_the_same),
        cmocka_unit_test(a_cpu_that_no_set_can_hold_is_in_none),
        cmocka_unit_test(sets_are_added_and_taken_away),
        cmocka_unit_test(a_virtual_core_gets_a_whole_one_lowest_first),
        cmocka_unit_test(the_hosts_first_core_is_the_last_one_given),
        cmocka_unit_test(the_hosts_first_core_is_that_of_its_lowest_cpu_on_whatever_node),
        cmocka_unit_test(a_core_one_of_whose_threads_is_taken_is_not_given),
        cmocka_unit_test(too_few_cores_are_refused_with_numbers),
        cmocka_unit_test(cores_of_another_node_do_not_help),
        cmocka_unit_test(a_node_that_the_host_lacks_is_refused),
        cmocka_unit_test(a_node_of_memory_alone_has_no_cores),
        cmocka_unit_test(more_virtual_cores_than_a_choice_can_hold_are_refused),
        cmocka_unit_test(what_is_given_is_never_taken_and_never_twice),
        cmocka_unit_test(the_largest_pages_that_divide_the_memory_are_used),
        cmocka_unit_test(too_few_huge_pages_are_not_used),
        cmocka_unit_test(every_piece_of_the_memory_must_be_whole_pages),
        cmocka_unit_test(huge_pages_that_are_not_wanted_are_not_used),
        cmocka_unit_test(memory_in_huge_pages_need_not_be_free_otherwise),
        cmocka_unit_test(too_little_memory_is_refused_with_numbers),
        cmocka_unit_test(a_host_that_was_cleared_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
