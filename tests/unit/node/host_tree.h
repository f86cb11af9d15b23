// SPDX-License-Identifier: Apache-2.0
/* Cores and memory of a host below tree_root(), as its kernel shows them in /sys and /proc. */
#ifndef ONEIB_UNIT_HOST_TREE_H
#define ONEIB_UNIT_HOST_TREE_H

#include <stdint.h>

/* Online CPUs: "0-7". Each is a core of its own until host_tree_core() says otherwise. */
void host_tree_cpus(const char *online);
/* These CPUs share a core. */
void host_tree_core(const char *threads);

/* Of a node, or of a host without NUMA. */
#define HOST_TREE_NO_NUMA (-1)

/* A node with these CPUs and no huge pages; of a host without NUMA only memory counts. file_kib: in
 * caches of files. */
void host_tree_node(int node, const char *cpus, uint64_t total_kib, uint64_t free_kib,
                    uint64_t file_kib);
void host_tree_pages(int node, uint64_t page_kib, uint64_t free);

/* A PCI device; numa_node: what its file says, NULL: it has no such file. */
void host_tree_device(const char *pci, const char *numa_node);

/* 16 CPUs, two threads a core: cores 0-3 (CPUs n and n + 8) on node 0, 4-7 on node 1; 16 GiB a
 * node, 8 GiB of them free. */
void host_tree_two_nodes(void);

#endif
