// SPDX-License-Identifier: Apache-2.0
/* The multicast groups of clusters on the fabric, and service levels there, against what the
 * operator's classes say. */
#ifndef ONEIB_SYNC_LEVELS_H
#define ONEIB_SYNC_LEVELS_H

#include "fabric/fabric.h"
#include "sync/sync.h"
#include "topology/routes.h"

struct oneib_levels_result {
    bool is_configured; /* there are classes; else nothing follows */
    size_t ports, port_drift;
    size_t clusters, cluster_drift; /* of those with a member on the fabric */
};

/*
 * Asks the SA for the multicast group of each cluster of snapshot->seen (ipoib-group). Where there
 * are classes also for a path within it, and reads what the ports of snapshot->subnet do with
 * service levels (partitions/qos_verify.h). Adds findings to *findings, which are sorted then.
 * *routes, made anew, are how packets go; they are empty where there are no classes. After a
 * failure the result is of what was read so far.
 */
int oneib_levels_verify(const struct oneib_config *config, struct oneib_fabric *fabric,
                        const struct oneib_snapshot *snapshot, struct oneib_findings *findings,
                        struct oneib_levels_result *result, struct oneib_routes *routes,
                        struct oneib_error *err);
/* Of clusters in force that share a level and a link: sl-shared (sync/sharing.h). */
void oneib_levels_judge_sharing(const struct oneib_snapshot *snapshot, struct oneib_routes *routes,
                                struct oneib_findings *findings);

#endif
