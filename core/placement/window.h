// SPDX-License-Identifier: Apache-2.0
/*
 * One window of the scheduler: which of the hosts that OpenNebula found fit for each waiting VM it
 * is to be offered, so that members of a cluster come to few leaf switches, and so that no host is
 * offered to more VMs than it has free virtual functions. Pure. Whom the host takes decides
 * OpenNebula's own placement among what is offered (docs/design/placement.md).
 */
#ifndef ONEIB_PLACEMENT_WINDOW_H
#define ONEIB_PLACEMENT_WINDOW_H

#include "cluster/cloud.h"
#include "ib/guid.h"
#include "placement/used_links.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_NO_HOST SIZE_MAX

/* A host that was found fit for somebody. */
struct oneib_open_host {
    uint32_t id;
    oneib_guid leaf;   /* node GUID of the switch that it is linked to; 0: not known */
    uint32_t vfs_free; /* when the window begins */
};

/* How many VMs of a cluster are at a leaf already. */
struct oneib_settled {
    uint32_t network_id;
    oneib_guid leaf; /* not 0 */
    uint32_t vms;
};

/* A VM that waits, and has InfiniBand. */
struct oneib_waiting_vm {
    uint32_t id;
    uint32_t network_id; /* of its first InfiniBand NIC: the cluster that it is placed with */
    uint32_t nics;       /* how many virtual functions it takes; 1 or more */
    enum oneib_placement placement; /* what the network says */
    bool has_waited;   /* for so long that it is offered every host with room, near or not */
    uint64_t turn;     /* drawn for its owner: who has the smaller one is served before; 0: the
                          order is that of ids */
    uint64_t *fit;     /* owned: bit n % 64 of word n / 64 is window.hosts[n]; NULL: none is fit */
    uint64_t *meets;   /* owned, likewise: hosts that would make its cluster share a link */
    uint32_t *offered; /* owned: indices of those of them that it is offered; ascending */
    size_t offered_count, offered_capacity;
    size_t meant; /* of those the one that is meant for it, by index; ONEIB_NO_HOST: none */
};

struct oneib_window {
    struct oneib_open_host *hosts; /* owned */
    size_t host_count, host_capacity;
    struct oneib_settled *settled; /* owned; in any order, each network and leaf once */
    size_t settled_count, settled_capacity;
    struct oneib_waiting_vm *vms; /* owned; in the order in which they are served */
    size_t vm_count, vm_capacity;
    struct oneib_links *links; /* borrowed; NULL: nothing is known of links */
};

/* This host of the window, which has all its hosts by now, is fit for the VM. */
void oneib_waiting_allow(const struct oneib_window *window, struct oneib_waiting_vm *vm,
                         size_t host);
/* One more VM of the cluster is at the leaf, which is not 0. */
void oneib_window_settle(struct oneib_window *window, uint32_t network_id, oneib_guid leaf);
/*
 * Fills what each VM is offered: nothing when no fit host has room beside the VMs before it.
 * hosts' order decides between equals. settled and links are changed: they hold these VMs too
 * then.
 */
void oneib_window_offer(struct oneib_window *window);
void oneib_window_clear(struct oneib_window *window);

#endif
