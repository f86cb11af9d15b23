// SPDX-License-Identifier: Apache-2.0
/*
 * Virtual functions that nodes report and OpenNebula knows nothing of, or that are open though they
 * are not granted. Pure; times are oneib_now_ms()'s, given. A change takes some seconds: only
 * VFs that last are reported.
 */
#ifndef ONEIB_ONEIBD_UNEXPECTED_VFS_H
#define ONEIB_ONEIBD_UNEXPECTED_VFS_H

#include "base/finding.h"
#include "cluster/cloud.h"
#include "cluster/grants.h"
#include <stddef.h>
#include <stdint.h>

/* How long it lasts before it is reported. */
#define ONEIB_UNEXPECTED_VF_MS 10000.0

enum oneib_unexpected_vf_kind {
    ONEIB_UNEXPECTED_VF_OPEN,   /* open, and not granted by the list that its node was sent last */
    ONEIB_UNEXPECTED_VF_ORPHAN, /* a domain has it, and OpenNebula's VM has no such NIC */
    ONEIB_UNEXPECTED_VF_UNTOLD, /* reported, and never granted to this host */
    ONEIB_UNEXPECTED_VF_ZOMBIE, /* a domain has it whose VM is not on that host for OpenNebula */
};

struct oneib_unexpected_vf {
    uint32_t host_id;
    struct oneib_vf_record record;
    enum oneib_unexpected_vf_kind kind;
    double since;
};

struct oneib_unexpected_vfs {
    struct oneib_unexpected_vf *items; /* owned; by host, VF */
    size_t count, capacity;
};

/* What there is now; `since` of what was there stays. nodes: by host id. */
void oneib_unexpected_vfs_follow(struct oneib_unexpected_vfs *vfs, const struct oneib_cloud *cloud,
                                 const struct oneib_node_snapshot *nodes, size_t node_count,
                                 double now);
/* VFs of that host that are no longer free without OpenNebula knowing of it. */
size_t oneib_unexpected_vfs_of_host(const struct oneib_unexpected_vfs *vfs, uint32_t host_id);
/* Adds vf-not-granted, vf-untold, vf-orphan and vf-zombie for those that last. */
void oneib_unexpected_vfs_report(const struct oneib_unexpected_vfs *vfs,
                                 const struct oneib_cloud *cloud, double now,
                                 struct oneib_findings *findings);
/* How many last. */
size_t oneib_unexpected_vfs_lasting(const struct oneib_unexpected_vfs *vfs, double now);
void oneib_unexpected_vfs_clear(struct oneib_unexpected_vfs *vfs);

#endif
