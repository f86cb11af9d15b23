// SPDX-License-Identifier: Apache-2.0
/* The audit log: a line for each member that was added, removed or refused. */
#ifndef ONEIB_ONEIBD_AUDIT_LOG_H
#define ONEIB_ONEIBD_AUDIT_LOG_H

#include "cluster/member_events.h"
#include "cluster/member_list.h"
#include "partitions/partition.h"
#include "sync/sync.h"
#include <stdbool.h>

struct oneib_audit_log {
    struct oneib_member_list member_list; /* members and refused attachments, as logged last */
    struct oneib_member_events leaving;   /* removals that were logged, and that a port still has */
    bool begun; /* member_list is valid; before, the file in force names the members */
};

/*
 * Logs what has changed since the last call: at most ONEIB_MEMBER_EVENT_LINES lines, refusals as
 * warnings, all else as information, and one that counts the rest. changes: from the file that was
 * in force to snapshot->desired.table. fresh: snapshot->subnet was read in this turn. are_deferred:
 * snapshot->desired.table is not yet all that is desired; a deferred change is logged when it is not
 * deferred any more.
 */
void oneib_audit_log_follow(struct oneib_audit_log *audit_log,
                            const struct oneib_snapshot *snapshot,
                            const struct oneib_changes *changes, bool fresh, bool are_deferred);
/*
 * Makes of *now, the member list of the desired state, what it is by `written`, the partitions that may
 * be written now (sorted): a member whose entry is deferred is as it was `before`, and one that has
 * left stays while its entry does and no other member of *now has it. Pure.
 */
void oneib_member_list_defer(const struct oneib_member_list *before,
                             const struct oneib_partition_table *written,
                             struct oneib_member_list *now);
void oneib_audit_log_clear(struct oneib_audit_log *audit_log);

#endif
