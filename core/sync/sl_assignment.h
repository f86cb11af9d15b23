// SPDX-License-Identifier: Apache-2.0
/* Which of its class's service levels a cluster gets that comes into force. */
#ifndef ONEIB_SYNC_SL_ASSIGNMENT_H
#define ONEIB_SYNC_SL_ASSIGNMENT_H

#include "sync/sync.h"
#include "topology/routes.h"

/*
 * For each cluster of snapshot->desired whose partition is not in force, and whose class has
 * several SLs: that on which the fewest of the clusters in force, and of those before it, meet it
 * on a link, the own links of its members among them in any case, for clusters begin with one; the
 * one that it has where none is better, else the lowest. What is to change becomes an sl_request of
 * snapshot->desired, for oneib_allocate(): nobody has a group of it yet. Nothing where routes are
 * empty, or what is in force is not oneib's.
 */
void oneib_choose_levels(const struct oneib_config *config, struct oneib_snapshot *snapshot,
                         struct oneib_routes *routes);

#endif
