// SPDX-License-Identifier: Apache-2.0
/* The log as an audit trail: a line for each member that was added, removed or refused. */
#ifndef ONEIB_ONEIBD_AUDIT_LOG_H
#define ONEIB_ONEIBD_AUDIT_LOG_H

#include "cluster/member_events.h"
#include "cluster/member_list.h"
#include "sync/sync.h"
#include <stdbool.h>

struct oneib_audit_log {
    struct oneib_member_list
        member_list; /* who was a member, and who was refused, when it was said last */
    struct oneib_member_events
        leaving; /* removals that were said and that a port does not bear out yet */
    bool begun;  /* the member_list is one; before, the file in force says who was there */
};

/*
 * Logs what is news since the last call: at most ONEIB_MEMBER_EVENT_LINES lines, refusals as warnings, all
 * else as information, and one that counts the rest. changes: from the file that was in force to
 * snapshot->desired.table. fresh: snapshot->subnet was read in this reconciliation. gated:
 * snapshot->desired.table is not yet all that is desired; a deferred change is logged when it is not
 * any more.
 */
void oneib_audit_log_follow(struct oneib_audit_log *trail, const struct oneib_snapshot *snapshot,
                            const struct oneib_changes *changes, bool fresh, bool gated);
void oneib_audit_log_clear(struct oneib_audit_log *trail);

#endif
