// SPDX-License-Identifier: Apache-2.0
/*
 * Keys that change hands. opensm programs port after port, so a key that leaves one cluster and
 * enters another in one reload is, for a moment, shared by ports of both. Such a key is taken away
 * everywhere first.
 */
#ifndef ONEIB_SYNC_HANDOVER_H
#define ONEIB_SYNC_HANDOVER_H

#include "base/error.h"
#include "model/partition.h"
#include "model/subnet.h"

/*
 * *first becomes `desired` without the partitions whose key has to be taken away first: those that
 * are not in force under the same name and key, while some port of the subnet holds the key without
 * being meant to. *left_out says how many. *first borrows everything but its items array: release
 * it with oneib_handover_clear(), never with oneib_partition_table_clear().
 */
int oneib_handover_first(const struct oneib_partition_table *in_force,
                         const struct oneib_partition_table *desired,
                         const struct oneib_subnet *subnet, struct oneib_partition_table *first,
                         size_t *left_out, struct oneib_error *err);
void oneib_handover_clear(struct oneib_partition_table *first);

#endif
