// SPDX-License-Identifier: Apache-2.0
/* Which physical cores of a host a VM gets, and why none. Pure: the host is passed in. */
#ifndef ONEIB_HOST_CORES_H
#define ONEIB_HOST_CORES_H

#include "base/error.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_CPUS_MAX 8192       /* CONFIG_NR_CPUS of distributions' kernels */
#define ONEIB_NUMA_NODES_MAX 1024 /* 1 << CONFIG_NODES_SHIFT */
#define ONEIB_VCPUS_MAX 1024

/* A set of logical CPUs of the host. */
struct oneib_cpu_set {
    uint64_t words[ONEIB_CPUS_MAX / 64];
};

bool oneib_cpu_set_has(const struct oneib_cpu_set *set, uint32_t cpu);
void oneib_cpu_set_add(struct oneib_cpu_set *set, uint32_t cpu);
void oneib_cpu_set_add_all(struct oneib_cpu_set *set, const struct oneib_cpu_set *other);
void oneib_cpu_set_remove_all(struct oneib_cpu_set *set, const struct oneib_cpu_set *other);
bool oneib_cpu_set_is_empty(const struct oneib_cpu_set *set);
bool oneib_cpu_set_is_equal(const struct oneib_cpu_set *set, const struct oneib_cpu_set *other);
bool oneib_cpu_set_overlaps(const struct oneib_cpu_set *set, const struct oneib_cpu_set *other);
/* "0-3,8,10-11", the kernel's and libvirt's list format, with libvirt's "^2" for exclusion when
 * reading; "" is the empty set. False: malformed, or a CPU over the maximum. */
bool oneib_cpu_set_parse(const char *text, struct oneib_cpu_set *set);
void oneib_cpu_set_render(const struct oneib_cpu_set *set, struct oneib_text *text);

/* A physical core: the logical CPUs (threads) that share it; the first one is the lowest. */
struct oneib_core {
    uint32_t node;
    uint32_t first; /* lowest logical CPU */
    struct oneib_cpu_set threads;
};

struct oneib_host_pages {
    uint64_t page_kib;
    uint64_t free; /* pages */
};
#define ONEIB_PAGE_SIZES_MAX 8

struct oneib_numa_node {
    uint32_t id;
    uint64_t memory_kib;    /* all of it: MemTotal */
    uint64_t available_kib; /* what can be had without swapping: free, and caches of files */
    struct oneib_host_pages pages[ONEIB_PAGE_SIZES_MAX]; /* huge ones, ascending */
    size_t page_sizes;
};

struct oneib_host_cpus {
    struct oneib_core *cores; /* owned: by node, then first; online CPUs only */
    size_t core_count, core_capacity;
    struct oneib_numa_node *nodes; /* owned: by id; a host without NUMA has node 0 */
    size_t node_count, node_capacity;
    struct oneib_cpu_set floating; /* where threads run that nobody has pinned: those that are
                                      online, but for the kernel's isolcpus */
};
void oneib_host_cpus_clear(struct oneib_host_cpus *host);
#define oneib_autocpus __attribute__((cleanup(oneib_host_cpus_clear)))

/* What a VM got. */
struct oneib_cores {
    uint32_t vcpus[ONEIB_VCPUS_MAX]; /* logical CPU of each virtual core: its core's first */
    size_t count;
    struct oneib_cpu_set
        threads; /* all threads of those cores: nobody else is to be pinned there */
};

/*
 * `count` whole cores of that node, none of whose threads is in `taken`, lowest first; core 0 of
 * the host (its first one) last, since the kernel's own work gathers there. REFUSED with numbers:
 * "node 1 has 6 cores, 2 of them free, and the VM wants 4".
 */
int oneib_cores_choose(const struct oneib_host_cpus *host, uint32_t node, uint32_t count,
                       const struct oneib_cpu_set *taken, struct oneib_cores *cores,
                       struct oneib_error *err);
/* Adds all threads of the cores that have one of these CPUs. */
void oneib_cores_whole(const struct oneib_host_cpus *host, const struct oneib_cpu_set *cpus,
                       struct oneib_cpu_set *cores);
/*
 * The node's memory is enough; *page_kib: the largest huge page that divides part_kib and of which
 * the node has enough free, 0: none, and then ordinary memory must be available. REFUSED with
 * numbers. part_kib divides every piece of memory that the VM has (memory_kib, when it is all one);
 * 0: huge pages are not wanted.
 */
int oneib_memory_choose(const struct oneib_host_cpus *host, uint32_t node, uint64_t memory_kib,
                        uint64_t part_kib, uint64_t *page_kib, struct oneib_error *err);
/* NULL: there is no such node. */
const struct oneib_numa_node *oneib_numa_node_of(const struct oneib_host_cpus *host, uint32_t id);

#endif
