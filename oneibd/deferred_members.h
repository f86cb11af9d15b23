// SPDX-License-Identifier: Apache-2.0
/* What the gate (cluster/grants.h) holds up is no news yet. Pure. */
#ifndef ONEIB_ONEIBD_DEFERRED_MEMBERS_H
#define ONEIB_ONEIBD_DEFERRED_MEMBERS_H

#include "cluster/member_list.h"
#include "partitions/partition.h"

/*
 * Makes of *now, the member list of the desired state, what it is by `written`, the partitions that may
 * be written now (sorted): a member whose entry is still withheld is as it was `before`, and one
 * that has left stays while its entry does and no other member of *now has it.
 */
void oneib_member_list_defer(const struct oneib_member_list *before,
                             const struct oneib_partition_table *written,
                             struct oneib_member_list *now);

#endif
