// SPDX-License-Identifier: Apache-2.0
/* Which virtual function a NIC gets, and why none. Pure: the inventory is passed in. */
#ifndef ONEIB_HOST_VF_CHOICE_H
#define ONEIB_HOST_VF_CHOICE_H

#include "base/error.h"
#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oneib_vf_use {
    ONEIB_VF_FREE,
    ONEIB_VF_RESERVED,   /* oneib's table has it */
    ONEIB_VF_DOMAIN,     /* a libvirt domain names it, running or defined */
    ONEIB_VF_HOST,       /* the host itself: a network interface of it is up, or the configuration
                            keeps it for the host (node.host_vfs) */
    ONEIB_VF_NOT_CLOSED, /* nobody's, but mapped, or with a GUID: left over */
    ONEIB_VF_ETHERNET,   /* a port of it is Ethernet */
    ONEIB_VF_NO_PORT,    /* it has not the port that is wanted */
    ONEIB_VF_MANAGEMENT, /* it may send management packets (mlx4's enable_smi_admin) */
    ONEIB_VF_ABSENT,     /* it is not on the PCI bus */
    ONEIB_VF_UNKNOWN,    /* what tells whose it is could not be read: not handed out */
};

/* "free", "reserved", "domain", "host", "not closed", "ethernet", "no port", "management",
 * "absent", "unknown". */
const char *oneib_vf_use_name(enum oneib_vf_use use);

struct oneib_vf_candidate {
    struct oneib_pci vf;
    uint16_t index;
    int16_t numa_node; /* -1: not known */
    bool on_vfio;      /* bound to vfio-pci: never back on a host driver between two tenants */
    enum oneib_vf_use use;
};

/*
 * The order in which free candidates should be tried: on the wanted NUMA node first (-1: none is
 * wanted), then those on vfio-pci, then by index. Sorts in place; those that are not free come
 * last.
 */
void oneib_vf_candidates_sort(struct oneib_vf_candidate *candidates, size_t count,
                              int16_t numa_node);

/*
 * REFUSED: why none of them can be had, in words that count them by use: "mlx4_0 has no free
 * virtual function: 7 in all, 5 reserved, 2 of libvirt domains".
 */
int oneib_vf_refuse(const struct oneib_vf_candidate *candidates, size_t count, const char *device,
                    struct oneib_error *err);

#endif
