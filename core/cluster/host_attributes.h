// SPDX-License-Identifier: Apache-2.0
/*
 * What oned's scheduler is told about hosts: IB_VFS_FREE, the virtual functions that no VM has, and
 * IB_SWITCH, the leaf switches of the host's ports. Pure: what should stand there, and where it
 * does not.
 */
#ifndef ONEIB_CLUSTER_HOST_ATTRIBUTES_H
#define ONEIB_CLUSTER_HOST_ATTRIBUTES_H

#include "cluster/cloud.h"
#include "cluster/grants.h"
#include <stddef.h>
#include <stdint.h>

/* Where a port is linked. */
struct oneib_leaf {
    oneib_guid port_guid;
    oneib_guid switch_guid; /* node GUID; 0: not known */
};

struct oneib_host_attributes {
    uint32_t host_id;
    uint32_t vfs_total; /* of all adapters of the host: the ports of one (same device name) share
                           its VFs, so each counts once, with the most that a port of it says;
                           at most IB_VFS_TOTAL */
    uint32_t vfs_used;  /* the attachments that are on the host, see vfs_free */
    uint32_t vfs_free;  /* total less the attachments that are on the host, at least 0, on both
                           hosts of a migration: of VMs that are there those for which its node has
                           a VF; of VMs that come, and where the node's table is not known, those
                           to which networks lease addresses */
    char *switches;     /* owned: "0x...,0x...", distinct, in order of the host's ports; NULL when
                           none is known */
    bool differs_free;  /* from what oned has */
    bool differs_switches; /* never because something is not known now: while the switch of a port
                              is not, those that are known have to be among oned's */
};

struct oneib_hosts_attributes {
    struct oneib_host_attributes *items; /* by host id; hosts with InfiniBand ports, and those that
                                            still have an IB_VFS_FREE without (0 then) */
    size_t count, capacity;
    uint64_t vfs_total, vfs_free; /* of all */
};

/* What nodes have said: host_id, table_known and records count. */
struct oneib_node_table {
    const struct oneib_node_snapshot *items; /* borrowed; by host id */
    size_t count;
};

/* cloud: sorted. leaves: sorted by port GUID. */
void oneib_host_attributes_compute(const struct oneib_cloud *cloud,
                                   const struct oneib_node_table *nodes,
                                   const struct oneib_leaf *leaves, size_t leaf_count,
                                   struct oneib_hosts_attributes *attributes);
/* NULL: the host is not among them. Valid until they are cleared. */
struct oneib_host_attributes *
oneib_host_attributes_of(const struct oneib_hosts_attributes *attributes, uint32_t host_id);
void oneib_host_attributes_clear(struct oneib_hosts_attributes *attributes);

#endif
