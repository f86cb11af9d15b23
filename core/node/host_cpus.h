// SPDX-License-Identifier: Apache-2.0
/*
 * The host's NUMA nodes, cores, memory and huge pages, from sysfs (Documentation/ABI/stable/
 * sysfs-devices-node, testing/sysfs-devices-system-cpu): devices/system/node/nodeN/{cpulist,
 * meminfo,hugepages}, devices/system/cpu/{online,isolated,cpuN/topology/thread_siblings_list}. A kernel
 * without NUMA has no node directory: all is node 0 then, its memory /proc/meminfo's.
 */
#ifndef ONEIB_NODE_HOST_CPUS_H
#define ONEIB_NODE_HOST_CPUS_H

#include "base/error.h"
#include "host/cores.h"
#include "ib/pci.h"
#include <stdint.h>

int oneib_host_cpus_read(struct oneib_host_cpus *host, struct oneib_error *err);

/* The NUMA node of a PCI device (its file numa_node), as far as the host tells: -1 means node 0 on
 * a host with one node, and is REFUSED on one with several. */
int oneib_pci_numa_node(const struct oneib_host_cpus *host, const struct oneib_pci *device,
                        uint32_t *node, struct oneib_error *err);

#endif
