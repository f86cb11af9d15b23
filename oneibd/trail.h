// SPDX-License-Identifier: Apache-2.0
/* The log as an audit trail: a line for each member that was added, removed or refused. */
#ifndef ONEIB_ONEIBD_TRAIL_H
#define ONEIB_ONEIBD_TRAIL_H

#include "cluster/news.h"
#include "cluster/roster.h"
#include "sync/sync.h"
#include <stdbool.h>

struct oneib_trail {
    struct oneib_roster roster; /* who was a member, and who was refused, when it was said last */
    struct oneib_news leaving;  /* removals that were said and that a port does not bear out yet */
    bool begun; /* the roster is one; before, the file in force says who was there */
};

/*
 * Logs what is news since the last call: at most ONEIB_NEWS_LINES lines, refusals as warnings, all
 * else as information, and one that counts the rest. changes: from the file that was in force to
 * snapshot->desired.table. fresh: snapshot->subnet was read in this reconciliation. gated:
 * snapshot->desired.table is not yet all that is desired; what is held up is told when it is not
 * any more.
 */
void oneib_trail_follow(struct oneib_trail *trail, const struct oneib_snapshot *snapshot,
                        const struct oneib_changes *changes, bool fresh, bool gated);
void oneib_trail_clear(struct oneib_trail *trail);

#endif
