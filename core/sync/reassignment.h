// SPDX-License-Identifier: Apache-2.0
/*
 * Keys that change hands. opensm programs port after port, so a key that leaves one cluster and
 * enters another in one reload is, for a moment, shared by ports of both. Such a key is taken away
 * everywhere first.
 */
#ifndef ONEIB_SYNC_REASSIGNMENT_H
#define ONEIB_SYNC_REASSIGNMENT_H

#include "partitions/partition.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>

struct oneib_reassignment {
    struct oneib_partition_table first; /* desired without the partitions whose key has to be taken
                                           away first; borrows everything but its items array */
    bool *keys;                         /* owned; by key, ONEIB_PKEY_DEFAULT + 1 of them: theirs */
    size_t left_out;                    /* how many partitions that are */
};

/*
 * Whether a key can change hands at all: `desired` has a partition that is not in force for the
 * same cluster, or under the same name, with that key. Only then does it matter what the ports hold
 * this very moment.
 */
void oneib_reassignment_possible(const struct oneib_partition_table *in_force,
                                 const struct oneib_partition_table *desired, bool *possible);

/*
 * Left out are those that are not in force so, while some port of the
 * subnet holds the key without being meant to. `desired` must stay alive while *reassignment is
 * used.
 */
void oneib_reassignment_make(const struct oneib_partition_table *in_force,
                             const struct oneib_partition_table *desired,
                             const struct oneib_subnet *subnet,
                             struct oneib_reassignment *reassignment);
void oneib_reassignment_clear(struct oneib_reassignment *reassignment);

#endif
