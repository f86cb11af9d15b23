// SPDX-License-Identifier: Apache-2.0
/*
 * Which ports are waited for after a reload, and which of them are asked next. Pure: compares what
 * was read of the subnet with a table; reading is the caller's. docs/design/sync.md says why.
 */
#ifndef ONEIB_SYNC_WATCH_H
#define ONEIB_SYNC_WATCH_H

#include "partitions/partition.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>

/* Waiting must not slow down opensm, which is busy programming the very same ports. */
#define ONEIB_PORTS_WATCHED 16

/* Zeroed: every deviation that opensm can mend is waited for. */
struct oneib_watch {
    const bool *keys; /* borrowed; by key: only these have to go, and from everywhere; NULL: all
                         that opensm can mend has to be mended */
    struct oneib_verification preexisting; /* what was wrong before this change already; sorted so
                                       that one is found quickly */
    /* owned; indices into the subnet's ports, ascending within each of the two groups: */
    size_t *ports;
    size_t caused; /* first come the ports that this change has to put right, */
    size_t count;  /* then those where all that is wrong is owed */
    bool begun;
    size_t last; /* the port that was asked last */
};

/* Takes the deviations from the table that was in force: the same ones are owed from then on. */
void oneib_watch_owe(const struct oneib_subnet *subnet, const struct oneib_partition_table *before,
                     struct oneib_watch *watch);

/* Finds the ports that are not as the table says, by what *subnet holds now. */
void oneib_watch_read(const struct oneib_subnet *subnet, const struct oneib_partition_table *table,
                      struct oneib_watch *watch);

/*
 * Those to ask now: the ports that this change concerns, or, when none of them is wrong any more,
 * the others; at most ONEIB_PORTS_WATCHED of them, and each time the ones behind those of the time
 * before, so that a port that never comes right hides no other. Returns how many.
 */
size_t oneib_watch_next(struct oneib_watch *watch, size_t ports[ONEIB_PORTS_WATCHED]);

void oneib_watch_clear(struct oneib_watch *watch);

#endif
