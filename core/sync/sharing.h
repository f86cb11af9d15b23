// SPDX-License-Identifier: Apache-2.0
/* Which links the clusters use that are in force, and which two of one service level meet. */
#ifndef ONEIB_SYNC_SHARING_H
#define ONEIB_SYNC_SHARING_H

#include "base/finding.h"
#include "cluster/cloud.h"
#include "cluster/member_ports.h"
#include "partitions/partition.h"
#include "sync/sync.h"
#include "topology/routes_meet.h"

/* The clusters with an SL other than 0, in the order of the table. */
struct oneib_sharing {
    struct oneib_routed_cluster *clusters; /* owned */
    uint64_t *sets;                        /* owned; what clusters[].set points into */
    size_t count;
    struct oneib_shared_level *shared; /* owned */
    size_t shared_count;
};

enum oneib_sharing_of {
    ONEIB_SHARED_NOW,   /* between the members that there are */
    ONEIB_SHARED_LATER, /* and their own links in any case, that of a lone one, too */
};

/* By the members that the table lists, and the ports that they are on the fabric by. */
void oneib_sharing_make(const struct oneib_partition_table *table,
                        const struct oneib_member_ports *ports, struct oneib_routes *routes,
                        enum oneib_sharing_of of, struct oneib_sharing *sharing);
/* The same by the ports of a snapshot's members. */
void oneib_sharing_make_of(const struct oneib_snapshot *snapshot,
                           const struct oneib_partition_table *table, struct oneib_routes *routes,
                           enum oneib_sharing_of of, struct oneib_sharing *sharing);
void oneib_sharing_clear(struct oneib_sharing *sharing);

/* Adds sl-shared for each of the first 100 pairs, with both networks and the first of the links
 * that they share, and one for how many more there are. The cloud (sorted) knows their names. */
void oneib_sharing_judge(const struct oneib_sharing *sharing, const struct oneib_routes *routes,
                         const struct oneib_cloud *cloud, struct oneib_findings *findings);

#endif
