// SPDX-License-Identifier: Apache-2.0
/*
 * How many keys of one owner's networks a port may have while removals are held: pkeys.per_owner,
 * or as many as are in force. So held keys and new ones are one owner's together, and an answer
 * that lost his networks, or his VMs, is held whole. For core/cluster alone.
 */
#ifndef ONEIB_CLUSTER_HELD_PLACES_H
#define ONEIB_CLUSTER_HELD_PLACES_H

#include "cluster/desired.h"
#include <stddef.h>
#include <stdint.h>

/* Of one owner at one port. */
struct oneib_held_place {
    oneib_guid guid;
    uint32_t owner;
    size_t taken, limit; /* keys */
};

struct oneib_held_places {
    struct oneib_held_place *items; /* owned; by port and owner; those in force */
    size_t count, capacity;
};

/* The owner of a cluster's partition in force, as oned says, or the ledger where oned has the
 * network no more, or does not say whose it is; ONEIB_NO_ID: an operator's, or not known: it has no
 * limit. */
uint32_t oneib_held_owner(const struct oneib_desired_input *input, uint32_t network_id,
                          oneib_pkey pkey);
/* input->in_force is there. What desired has takes its places. *places is to be cleared. */
void oneib_held_places_count(const struct oneib_desired_input *input,
                             const struct oneib_partition_table *desired,
                             struct oneib_held_places *places);
/* The place of one that is in force; NULL: there is no limit. */
struct oneib_held_place *oneib_held_place(struct oneib_held_places *places, oneib_guid guid,
                                          uint32_t owner);
void oneib_held_places_clear(struct oneib_held_places *places);

#endif
