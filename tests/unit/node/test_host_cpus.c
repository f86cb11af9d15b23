// SPDX-License-Identifier: Apache-2.0
#include "../hca/tree.h"
#include "host_tree.h"
#include "node/host_cpus.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define VF "0000:81:00.1"
#define NODES "/sys/devices/system/node"
#define CPUS "/sys/devices/system/cpu"

static struct oneib_host_cpus host;
static struct oneib_error err;

static int close_host(void **state)
{
    (void)state;
    oneib_host_cpus_clear(&host);
    return 0;
}

static void read_host(void)
{
    if (oneib_host_cpus_read(&host, &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_not_read(enum oneib_error_code code, const char *part)
{
    err = (struct oneib_error){0};
    assert_int_equal(oneib_host_cpus_read(&host, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, err.text);
    assert_null(host.cores);
    assert_null(host.nodes);
}

/* "NODE:CPUS NODE:CPUS ...", core by core. */
static void assert_cores(const char *wanted)
{
    struct oneib_text text = {0};
    for (size_t i = 0; i < host.core_count; i++) {
        oneib_text_printf(&text, "%s%" PRIu32 ":", i ? " " : "", host.cores[i].node);
        oneib_cpu_set_render(&host.cores[i].threads, &text);
        assert_true(oneib_cpu_set_has(&host.cores[i].threads, host.cores[i].first));
    }
    assert_string_equal(text.data ? text.data : "", wanted);
    oneib_text_clear(&text);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void a_host_with_one_node_is_read(void **state)
{
    (void)state;
    host_tree_cpus("0-1");
    host_tree_node(0, "0-1", 1000, 300, 50);
    read_host();
    assert_cores("0:0 0:1");
    assert_int_equal(host.node_count, 1);
    assert_int_equal(host.nodes[0].memory_kib, 1000);
    assert_int_equal(host.nodes[0].available_kib, 350);
    assert_int_equal(host.nodes[0].page_sizes, 0);
}

static void cores_come_by_node_with_all_their_threads(void **state)
{
    (void)state;
    host_tree_two_nodes();
    read_host();
    assert_cores("0:0,8 0:1,9 0:2,10 0:3,11 1:4,12 1:5,13 1:6,14 1:7,15");
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(host.cores[i].first, i);
}

static void nodes_come_by_number_not_by_name(void **state)
{
    (void)state;
    host_tree_cpus("0-2");
    host_tree_node(10, "0", 10, 1, 0);
    host_tree_node(2, "1", 20, 1, 0);
    host_tree_node(1, "2", 30, 1, 0);
    read_host();
    assert_cores("1:2 2:1 10:0");
    assert_int_equal(oneib_numa_node_of(&host, 10)->memory_kib, 10);
    assert_null(oneib_numa_node_of(&host, 0));
}

static void a_kernel_without_numa_has_one_node(void **state)
{
    (void)state;
    host_tree_cpus("0-3");
    host_tree_core("0-1");
    host_tree_core("2-3");
    host_tree_node(HOST_TREE_NO_NUMA, NULL, 1000, 300, 51);
    host_tree_pages(HOST_TREE_NO_NUMA, 2048, 7);
    read_host();
    assert_cores("0:0-1 0:2-3");
    assert_int_equal(host.node_count, 1);
    assert_int_equal(host.nodes[0].id, 0);
    assert_int_equal(host.nodes[0].available_kib, 351);
    assert_int_equal(host.nodes[0].pages[0].free, 7);
}

static void assert_floating(const char *wanted)
{
    struct oneib_text text = {0};
    oneib_cpu_set_render(&host.floating, &text);
    assert_string_equal(text.data, wanted);
    oneib_text_clear(&text);
}

static void
threads_that_nobody_has_pinned_run_on_cpus_that_are_online_and_not_isolated(void **state)
{
    (void)state;
    host_tree_two_nodes();
    read_host();
    assert_floating("0-15");
    oneib_host_cpus_clear(&host);
    tree_write("0-12", CPUS "/online");
    tree_write("4-5,12-15", CPUS "/isolated");
    read_host();
    assert_floating("0-3,6-11");
    oneib_host_cpus_clear(&host);
    tree_write("", CPUS "/isolated");
    read_host();
    assert_floating("0-12");
    oneib_host_cpus_clear(&host);
    tree_write("x", CPUS "/isolated");
    assert_not_read(ONEIB_ERROR_INPUT, CPUS "/isolated");
}

static void cpus_that_are_offline_are_left_out(void **state)
{
    (void)state;
    host_tree_two_nodes();
    tree_write("0-1,3-8,10-15", CPUS "/online");
    tree_remove(CPUS "/cpu2/topology");
    tree_remove(CPUS "/cpu9/topology");
    read_host();
    assert_cores("0:0,8 0:1 0:3,11 0:10 1:4,12 1:5,13 1:6,14 1:7,15");
}

static void a_node_of_memory_alone_has_no_core(void **state)
{
    (void)state;
    host_tree_cpus("0");
    host_tree_node(0, "0", 10, 1, 0);
    host_tree_node(1, "", 20, 2, 0);
    read_host();
    assert_cores("0:0");
    assert_int_equal(host.node_count, 2);
    assert_int_equal(host.nodes[1].available_kib, 2);
}

static void huge_pages_are_counted_by_size_the_smallest_first(void **state)
{
    (void)state;
    host_tree_two_nodes();
    host_tree_pages(1, 1048576, 3);
    host_tree_pages(1, 2048, 500);
    tree_write("1", NODES "/node1/hugepages/hugepages-kB/free_hugepages");
    tree_write("1", NODES "/node1/hugepages/other-64kB/free_hugepages");
    read_host();
    assert_int_equal(host.nodes[0].page_sizes, 0);
    assert_int_equal(host.nodes[1].page_sizes, 2);
    assert_int_equal(host.nodes[1].pages[0].page_kib, 2048);
    assert_int_equal(host.nodes[1].pages[0].free, 500);
    assert_int_equal(host.nodes[1].pages[1].page_kib, 1048576);
    assert_int_equal(host.nodes[1].pages[1].free, 3);
}

static void a_large_host_is_read(void **state)
{
    (void)state;
    char online[32];
    snprintf(online, sizeof online, "0-%d", 1023);
    host_tree_cpus(online);
    host_tree_node(0, online, 10, 1, 0);
    read_host();
    assert_int_equal(host.core_count, 1024);
}

/* ---- what cannot be read --------------------------------------------------------------------- */

static void a_file_that_is_missing_is_named(void **state)
{
    (void)state;
    static const char *const files[] = {CPUS "/online", CPUS "/cpu5/topology/thread_siblings_list",
                                        NODES "/node1/cpulist", NODES "/node1/meminfo"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        host_tree_two_nodes();
        tree_remove("%s", files[i]);
        assert_not_read(ONEIB_ERROR_NOT_FOUND, files[i]);
    }
}

static void garbage_in_a_file_is_refused_and_named(void **state)
{
    (void)state;
    static const struct {
        const char *file, *content;
    } garbage[] = {
        {CPUS "/online", "all of them"},
        {CPUS "/online", "0-99999"},
        {CPUS "/cpu5/topology/thread_siblings_list", "5,x"},
        {CPUS "/cpu5/topology/thread_siblings_list", "4,12"},
        {CPUS "/cpu5/topology/thread_siblings_list", ""},
        {NODES "/node1/cpulist", "4-"},
        {NODES "/node1/cpulist", "3-7"},
        {NODES "/node1/meminfo", ""},
        {NODES "/node1/meminfo", "Node 1 MemTotal: 12 kB"},
        {NODES "/node1/meminfo", "Node 1 MemTotal: 12 kB\nNode 1 MemFree: 3 pages"},
        {NODES "/node1/meminfo", "Node 1 MemTotal: -12 kB"},
        {NODES "/node1/meminfo", "Node 1 MemTotal: 99999999999999999999 kB"},
        {NODES "/node1/hugepages/hugepages-2048kB/free_hugepages", "many"},
    };
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        tree_reset(NULL);
        host_tree_two_nodes();
        tree_write(garbage[i].content, "%s", garbage[i].file);
        assert_not_read(ONEIB_ERROR_INPUT, garbage[i].file);
    }
}

static void more_sizes_of_huge_pages_than_any_machine_has_are_refused(void **state)
{
    (void)state;
    host_tree_two_nodes();
    for (uint64_t i = 0; i <= ONEIB_PAGE_SIZES_MAX; i++)
        host_tree_pages(0, 64 << i, 1);
    assert_not_read(ONEIB_ERROR_INPUT, "sizes of huge pages");
}

static void a_host_without_anything_is_refused(void **state)
{
    (void)state;
    assert_not_read(ONEIB_ERROR_NOT_FOUND, CPUS "/online");
}

/* ---- devices --------------------------------------------------------------------------------- */

static int node_of(const char *address, uint32_t *node)
{
    struct oneib_pci pci;
    assert_true(oneib_pci_parse(address, &pci));
    err = (struct oneib_error){0};
    return oneib_pci_numa_node(&host, &pci, node, &err);
}

static void a_device_is_where_its_file_says(void **state)
{
    (void)state;
    uint32_t node = 9;
    host_tree_two_nodes();
    host_tree_device(VF, "1");
    read_host();
    assert_int_equal(node_of(VF, &node), 0);
    assert_int_equal(node, 1);
}

static void on_a_host_with_one_node_a_device_is_there(void **state)
{
    (void)state;
    static const char *const untold[] = {"-1", NULL};
    for (size_t i = 0; i < 2; i++) {
        uint32_t node = 9;
        tree_reset(NULL);
        host_tree_cpus("0");
        host_tree_node(3, "0", 10, 1, 0);
        host_tree_device(VF, untold[i]);
        oneib_host_cpus_clear(&host);
        read_host();
        assert_int_equal(node_of(VF, &node), 0);
        assert_int_equal(node, 3);
    }
}

static void a_device_whose_node_is_not_known_is_refused_where_there_are_several(void **state)
{
    (void)state;
    static const char *const untold[] = {"-1", NULL};
    for (size_t i = 0; i < 2; i++) {
        uint32_t node;
        tree_reset(NULL);
        host_tree_two_nodes();
        host_tree_device(VF, untold[i]);
        oneib_host_cpus_clear(&host);
        read_host();
        assert_int_equal(node_of(VF, &node), -1);
        assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
        assert_non_null(
            strstr(err.text, "the host has 2 NUMA nodes and does not tell which one " VF " is on"));
    }
}

static void a_device_on_a_node_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"2", "x", "", "-2", "4294967297", "01"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint32_t node;
        tree_reset(NULL);
        host_tree_two_nodes();
        host_tree_device(VF, wrong[i]);
        oneib_host_cpus_clear(&host);
        read_host();
        assert_int_equal(node_of(VF, &node), -1);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
        assert_non_null(strstr(err.text, VF));
    }
}

static void a_device_that_is_gone_is_not_found(void **state)
{
    (void)state;
    uint32_t node;
    host_tree_cpus("0");
    host_tree_node(0, "0", 10, 1, 0);
    read_host();
    assert_int_equal(node_of(VF, &node), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, VF));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_reset, close_host)
    const struct CMUnitTest tests[] = {
        TEST(a_host_with_one_node_is_read),
        TEST(cores_come_by_node_with_all_their_threads),
        TEST(nodes_come_by_number_not_by_name),
        TEST(a_kernel_without_numa_has_one_node),
        TEST(threads_that_nobody_has_pinned_run_on_cpus_that_are_online_and_not_isolated),
        TEST(cpus_that_are_offline_are_left_out),
        TEST(a_node_of_memory_alone_has_no_core),
        TEST(huge_pages_are_counted_by_size_the_smallest_first),
        TEST(a_large_host_is_read),
        TEST(a_file_that_is_missing_is_named),
        TEST(garbage_in_a_file_is_refused_and_named),
        TEST(more_sizes_of_huge_pages_than_any_machine_has_are_refused),
        TEST(a_host_without_anything_is_refused),
        TEST(a_device_is_where_its_file_says),
        TEST(on_a_host_with_one_node_a_device_is_there),
        TEST(a_device_whose_node_is_not_known_is_refused_where_there_are_several),
        TEST(a_device_on_a_node_that_is_none_is_refused),
        TEST(a_device_that_is_gone_is_not_found),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
