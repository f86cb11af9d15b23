// SPDX-License-Identifier: Apache-2.0
#include "node/host_cpus.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/order.h"
#include "hca/attribute.h"
#include "hca/place.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 768
/* A list of CPUs is at most a page; so is a node's meminfo, and the host's is smaller. */
#define TEXT_SIZE 8192
/* The kernel counts bytes in 64 bits. */
#define KIB_MAX (UINT64_MAX / 1024)

#define NODES "/sys/devices/system/node"
#define CPUS "/sys/devices/system/cpu"

/* A host while it is read. */
struct reading {
    struct oneib_host_cpus *host;
    bool has_numa; /* else all is the one node's */
    struct oneib_cpu_set online;
    struct oneib_cpu_set placed; /* CPUs that a node has said are its own */
};

/* ---- sets of CPUs ---------------------------------------------------------------------------- */

static int read_cpus(const char *path, struct oneib_cpu_set *cpus, struct oneib_error *err)
{
    char text[TEXT_SIZE];
    if (oneib_attribute_read(path, text, sizeof text, err) < 0)
        return -1;
    if (!oneib_cpu_set_parse(text, cpus))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s holds no list of CPUs below %d", path,
                          ONEIB_CPUS_MAX);
    return 0;
}

static void keep_online(const struct reading *reading, struct oneib_cpu_set *cpus)
{
    struct oneib_cpu_set offline = *cpus;
    oneib_cpu_set_remove_all(&offline, &reading->online);
    oneib_cpu_set_remove_all(cpus, &offline);
}

static int read_online(struct reading *reading, struct oneib_error *err)
{
    char path[PATH_SIZE];
    if (oneib_node_path(path, sizeof path, err, CPUS "/online") < 0)
        return -1;
    return read_cpus(path, &reading->online, err);
}

/* An older kernel has no such file. */
static int read_floating(struct reading *reading, struct oneib_error *err)
{
    char path[PATH_SIZE];
    struct oneib_cpu_set isolated;
    struct oneib_error why = {0};
    reading->host->floating = reading->online;
    if (oneib_node_path(path, sizeof path, err, CPUS "/isolated") < 0)
        return -1;
    if (read_cpus(path, &isolated, &why) == 0)
        oneib_cpu_set_remove_all(&reading->host->floating, &isolated);
    else if (why.code != ONEIB_ERROR_NOT_FOUND) {
        *err = why;
        return -1;
    }
    return 0;
}

static int read_node_cpus(struct reading *reading, uint32_t node, struct oneib_cpu_set *cpus,
                          struct oneib_error *err)
{
    char path[PATH_SIZE];
    if (!reading->has_numa) {
        *cpus = reading->online;
        return 0;
    }
    if (oneib_node_path(path, sizeof path, err, NODES "/node%" PRIu32 "/cpulist", node) < 0 ||
        read_cpus(path, cpus, err) < 0)
        return -1;
    keep_online(reading, cpus);
    if (oneib_cpu_set_overlaps(cpus, &reading->placed))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s names CPUs that another node has too", path);
    oneib_cpu_set_add_all(&reading->placed, cpus);
    return 0;
}

/* ---- cores ----------------------------------------------------------------------------------- */

static int read_threads(const struct reading *reading, uint32_t cpu, struct oneib_cpu_set *threads,
                        struct oneib_error *err)
{
    char path[PATH_SIZE];
    if (oneib_node_path(path, sizeof path, err,
                        CPUS "/cpu%" PRIu32 "/topology/thread_siblings_list", cpu) < 0 ||
        read_cpus(path, threads, err) < 0)
        return -1;
    keep_online(reading, threads);
    if (!oneib_cpu_set_has(threads, cpu))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s does not name CPU %" PRIu32 " itself", path,
                          cpu);
    return 0;
}

static int read_cores(struct reading *reading, uint32_t node, struct oneib_error *err)
{
    struct oneib_host_cpus *host = reading->host;
    struct oneib_cpu_set left, threads;
    if (read_node_cpus(reading, node, &left, err) < 0)
        return -1;
    for (uint32_t cpu = 0; cpu < ONEIB_CPUS_MAX; cpu++) {
        if (!oneib_cpu_set_has(&left, cpu))
            continue;
        if (read_threads(reading, cpu, &threads, err) < 0)
            return -1;
        ONEIB_APPEND(host->cores, host->core_count, host->core_capacity,
                     (struct oneib_core){.node = node, .first = cpu, .threads = threads});
        oneib_cpu_set_remove_all(&left, &threads);
    }
    return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* "Node 0 MemFree:  1024 kB", and in /proc/meminfo "MemFree:  1024 kB". */
static bool parse_meminfo(const char *text, const char *name, uint64_t *kib)
{
    char wanted[32];
    const int length = snprintf(wanted, sizeof wanted, "%s:", name);
    const char *at = strstr(text, wanted);
    while (at && at != text && at[-1] != ' ' && at[-1] != '\n')
        at = strstr(at + 1, wanted);
    if (!at)
        return false;
    at += length;
    at += strspn(at, " ");
    const size_t digits = strspn(at, "0123456789");
    return strncmp(at + digits, " kB", 3) == 0 && oneib_parse_decimal_n(at, digits, KIB_MAX, kib);
}

static int meminfo_path(const struct reading *reading, uint32_t node, char path[PATH_SIZE],
                        struct oneib_error *err)
{
    if (!reading->has_numa)
        return oneib_node_path(path, PATH_SIZE, err, "/proc/meminfo");
    return oneib_node_path(path, PATH_SIZE, err, NODES "/node%" PRIu32 "/meminfo", node);
}

static int read_memory(const struct reading *reading, struct oneib_numa_node *node,
                       struct oneib_error *err)
{
    static const char *const names[] = {"MemTotal", "MemFree", "Active(file)", "Inactive(file)"};
    char path[PATH_SIZE], text[TEXT_SIZE];
    uint64_t kib[4];
    if (meminfo_path(reading, node->id, path, err) < 0 ||
        oneib_attribute_read(path, text, sizeof text, err) < 0)
        return -1;
    for (size_t i = 0; i < 4; i++)
        if (!parse_meminfo(text, names[i], &kib[i]))
            return oneib_fail(err, ONEIB_ERROR_INPUT, "%s does not say %s in kB", path, names[i]);
    node->memory_kib = kib[0];
    node->available_kib = kib[1] + kib[2] + kib[3];
    return 0;
}

/* ---- huge pages ------------------------------------------------------------------------------ */

/* "hugepages-2048kB" */
static bool parse_page_directory(const char *name, uint64_t *page_kib)
{
    static const char prefix[] = "hugepages-";
    const size_t length = strlen(name), before = sizeof prefix - 1;
    return length > before + 2 && strncmp(name, prefix, before) == 0 &&
           strcmp(name + length - 2, "kB") == 0 &&
           oneib_parse_decimal_n(name + before, length - before - 2, KIB_MAX, page_kib) &&
           *page_kib > 0;
}

ONEIB_ORDER_BY(compare_pages, struct oneib_host_pages, page_kib);

static int read_page_size(struct oneib_numa_node *node, const char *directory, const char *name,
                          struct oneib_error *err)
{
    char path[PATH_SIZE + ONEIB_ATTRIBUTE_SIZE];
    struct oneib_host_pages pages;
    if (!parse_page_directory(name, &pages.page_kib))
        return 0;
    if (node->page_sizes == ONEIB_PAGE_SIZES_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s has more than %d sizes of huge pages",
                          directory, ONEIB_PAGE_SIZES_MAX);
    snprintf(path, sizeof path, "%s/%s/free_hugepages", directory, name);
    if (oneib_attribute_decimal(path, UINT64_MAX, &pages.free, err) < 0)
        return -1;
    node->pages[node->page_sizes++] = pages;
    return 0;
}

static int pages_path(const struct reading *reading, uint32_t node, char path[PATH_SIZE],
                      struct oneib_error *err)
{
    if (!reading->has_numa)
        return oneib_node_path(path, PATH_SIZE, err, "/sys/kernel/mm/hugepages");
    return oneib_node_path(path, PATH_SIZE, err, NODES "/node%" PRIu32 "/hugepages", node);
}

static int read_pages(const struct reading *reading, struct oneib_numa_node *node,
                      struct oneib_error *err)
{
    char directory[PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count = 0;
    if (pages_path(reading, node->id, directory, err) < 0 ||
        oneib_attribute_list(directory, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (read_page_size(node, directory, names[i], err) < 0)
            return -1;
    ONEIB_SORT(node->pages, node->page_sizes, compare_pages);
    return 0;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void add_node(struct oneib_host_cpus *host, uint32_t id)
{
    ONEIB_APPEND(host->nodes, host->node_count, host->node_capacity,
                 (struct oneib_numa_node){.id = id});
}

ONEIB_ORDER_BY(compare_nodes, struct oneib_numa_node, id);

/* Beside the nodes' directories are files of other names. */
static int list_nodes(struct reading *reading, struct oneib_error *err)
{
    char directory[PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count = 0;
    struct oneib_host_cpus *host = reading->host;
    if (oneib_node_path(directory, sizeof directory, err, NODES) < 0 ||
        oneib_attribute_list(directory, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        uint64_t id;
        if (strncmp(names[i], "node", 4) == 0 &&
            oneib_parse_decimal(names[i] + 4, ONEIB_NUMA_NODES_MAX - 1, &id))
            add_node(host, (uint32_t)id);
    }
    reading->has_numa = host->node_count > 0;
    if (!reading->has_numa) {
        add_node(host, 0);
        return 0;
    }
    ONEIB_SORT(host->nodes, host->node_count, compare_nodes);
    return 0;
}

static int read_all(struct reading *reading, struct oneib_error *err)
{
    if (read_online(reading, err) < 0 || read_floating(reading, err) < 0 ||
        list_nodes(reading, err) < 0)
        return -1;
    for (size_t i = 0; i < reading->host->node_count; i++) {
        struct oneib_numa_node *node = &reading->host->nodes[i];
        if (read_cores(reading, node->id, err) < 0 || read_memory(reading, node, err) < 0 ||
            read_pages(reading, node, err) < 0)
            return -1;
    }
    return 0;
}

int oneib_host_cpus_read(struct oneib_host_cpus *host, struct oneib_error *err)
{
    *host = (struct oneib_host_cpus){0};
    struct reading reading = {.host = host};
    if (read_all(&reading, err) == 0)
        return 0;
    oneib_host_cpus_clear(host);
    return oneib_wrap(err, "reading the host's cores and memory");
}

/* ---- devices --------------------------------------------------------------------------------- */

/* "-1" where the firmware does not tell; a kernel without NUMA has no such file. */
static int read_numa_node(const char *address, char *text, size_t size, struct oneib_error *err)
{
    char path[PATH_SIZE];
    struct oneib_error why = {0};
    snprintf(text, size, "-1");
    if (oneib_node_path(path, sizeof path, err, "/sys/bus/pci/devices/%s", address) < 0)
        return -1;
    if (access(path, F_OK) < 0)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "there is no PCI device %s", address);
    if (oneib_node_path(path, sizeof path, err, "/sys/bus/pci/devices/%s/numa_node", address) < 0)
        return -1;
    if (oneib_attribute_read(path, text, size, &why) == 0 || why.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = why;
    return -1;
}

int oneib_pci_numa_node(const struct oneib_host_cpus *host, const struct oneib_pci *device,
                        uint32_t *node, struct oneib_error *err)
{
    char address[ONEIB_PCI_TEXT_SIZE], text[ONEIB_ATTRIBUTE_SIZE];
    uint64_t value;
    oneib_pci_format(device, address);
    if (read_numa_node(address, text, sizeof text, err) < 0)
        return -1;
    if (strcmp(text, "-1") == 0 && host->node_count == 1) {
        *node = host->nodes[0].id;
        return 0;
    }
    if (strcmp(text, "-1") == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the host has %zu NUMA nodes and does not tell which one %s is on: its "
                          "firmware (ACPI _PXM) has to",
                          host->node_count, address);
    if (!oneib_parse_decimal(text, ONEIB_NUMA_NODES_MAX - 1, &value) ||
        !oneib_numa_node_of(host, (uint32_t)value))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "%s says that it is on a NUMA node that this host does not have",
                          address);
    *node = (uint32_t)value;
    return 0;
}
