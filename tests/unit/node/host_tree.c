// SPDX-License-Identifier: Apache-2.0
#include "host_tree.h"
#include "../hca/tree.h"
#include "host/cores.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define GIB UINT64_C(1048576) /* KiB */

static struct oneib_cpu_set set_of(const char *list)
{
    struct oneib_cpu_set set;
    if (!oneib_cpu_set_parse(list, &set))
        abort();
    return set;
}

static void set_siblings(uint32_t cpu, const char *threads)
{
    tree_write(threads, "/sys/devices/system/cpu/cpu%" PRIu32 "/topology/thread_siblings_list",
               cpu);
}

void host_tree_cpus(const char *online)
{
    const struct oneib_cpu_set set = set_of(online);
    tree_write(online, "/sys/devices/system/cpu/online");
    for (uint32_t cpu = 0; cpu < ONEIB_CPUS_MAX; cpu++) {
        char alone[16];
        snprintf(alone, sizeof alone, "%" PRIu32, cpu);
        if (oneib_cpu_set_has(&set, cpu))
            set_siblings(cpu, alone);
    }
}

void host_tree_core(const char *threads)
{
    const struct oneib_cpu_set set = set_of(threads);
    for (uint32_t cpu = 0; cpu < ONEIB_CPUS_MAX; cpu++)
        if (oneib_cpu_set_has(&set, cpu))
            set_siblings(cpu, threads);
}

static void write_memory(const char *path, const char *before, uint64_t total_kib,
                         uint64_t free_kib, uint64_t file_kib)
{
    struct oneib_text text = {0};
    const struct {
        const char *name;
        uint64_t kib;
    } fields[] = {
        {"NotMemTotal", 7},
        {"MemTotal", total_kib},
        {"MemFree", free_kib},
        {"SwapCached", 4},
        {"Active", 1000},
        {"Inactive", 1000},
        {"Active(anon)", 600},
        {"Inactive(anon)", 600},
        {"Active(file)", file_kib / 2},
        {"Inactive(file)", file_kib - file_kib / 2},
        {"Shmem", 5},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        oneib_text_printf(&text, "%s%s: %15" PRIu64 " kB\n", before, fields[i].name, fields[i].kib);
    oneib_text_printf(&text, "%sHugePages_Total:     0", before);
    tree_write(text.data, "%s", path);
    oneib_text_clear(&text);
}

void host_tree_node(int node, const char *cpus, uint64_t total_kib, uint64_t free_kib,
                    uint64_t file_kib)
{
    char path[128], before[32];
    if (node == HOST_TREE_NO_NUMA) {
        write_memory("/proc/meminfo", "", total_kib, free_kib, file_kib);
        return;
    }
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", node);
    snprintf(before, sizeof before, "Node %d ", node);
    write_memory(path, before, total_kib, free_kib, file_kib);
    tree_write(cpus, "/sys/devices/system/node/node%d/cpulist", node);
    tree_write("0", "/sys/devices/system/node/online");
}

void host_tree_pages(int node, uint64_t page_kib, uint64_t free)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, free);
    if (node == HOST_TREE_NO_NUMA)
        tree_write(number, "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/free_hugepages",
                   page_kib);
    else
        tree_write(number,
                   "/sys/devices/system/node/node%d/hugepages/hugepages-%" PRIu64
                   "kB/free_hugepages",
                   node, page_kib);
}

void host_tree_device(const char *pci, const char *numa_node)
{
    tree_make_directory("/sys/bus/pci/devices/%s", pci);
    if (numa_node)
        tree_write(numa_node, "/sys/bus/pci/devices/%s/numa_node", pci);
}

void host_tree_two_nodes(void)
{
    host_tree_cpus("0-15");
    for (unsigned core = 0; core < 8; core++) {
        char threads[16];
        snprintf(threads, sizeof threads, "%u,%u", core, core + 8);
        host_tree_core(threads);
    }
    host_tree_node(0, "0-3,8-11", 16 * GIB, 8 * GIB, 0);
    host_tree_node(1, "4-7,12-15", 16 * GIB, 8 * GIB, 0);
}
