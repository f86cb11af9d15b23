// SPDX-License-Identifier: Apache-2.0
/* What the gate (cluster/grants.h) holds up is no news yet. Pure. */
#ifndef ONEIB_ONEIBD_POSTPONE_H
#define ONEIB_ONEIBD_POSTPONE_H

#include "cluster/roster.h"
#include "partitions/partition.h"

/*
 * Makes of *now, the roster of the desired state, what it is by `written`, the partitions that may
 * be written now (sorted): a member whose entry is still withheld is as it was `before`, and one
 * that has left stays while its entry does and nobody else of *now has it.
 */
void oneib_roster_postpone(const struct oneib_roster *before,
                           const struct oneib_partition_table *written, struct oneib_roster *now);

#endif
