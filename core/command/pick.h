// SPDX-License-Identifier: Apache-2.0
/* One virtual cluster of all: which one is meant, and which findings are its own. */
#ifndef ONEIB_COMMAND_PICK_H
#define ONEIB_COMMAND_PICK_H

#include "base/error.h"
#include "sync/sync.h"
#include <stdint.h>

/* The one InfiniBand network of that name. Of several the error lists their ids and owners. */
int oneib_pick_network(const struct oneib_cloud *cloud, const char *name, uint32_t *id,
                       struct oneib_error *err);

/* Whether the finding names an object of that kind. */
bool oneib_finding_names_any(const struct oneib_finding *finding, enum oneib_subject subject);
/*
 * Drops all findings that are not the cluster's: one that names networks is theirs, one that names
 * VMs and no network theirs; one of a host is the cluster's where its VMs get nothing there. Their
 * order stays.
 */
void oneib_keep_findings_of(const struct oneib_snapshot *snapshot,
                            const struct oneib_cluster *cluster, struct oneib_findings *findings);

#endif
