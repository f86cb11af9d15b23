// SPDX-License-Identifier: Apache-2.0
/* What an answer is computed from: what the command has read, or what oneibd has. */
#ifndef ONEIB_COMMAND_VIEW_H
#define ONEIB_COMMAND_VIEW_H

#include "base/exit.h"
#include "base/text.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "sm/sm.h"
#include "sync/heard.h"
#include "sync/leaves.h"
#include "sync/sync.h"
#include <jansson.h>
#include <stdbool.h>

/* All of it is borrowed. */
struct oneib_view {
    const struct oneib_config *config;
    struct oneib_sm *sm;
    struct oneib_fabric *fabric; /* NULL: not open */
    struct oneib_snapshot *snapshot;
    struct oneib_findings *findings; /* the snapshot's, and oneibd's about nodes; worst first */
    const struct oneib_heard *heard; /* what nodes have reported */
    const struct oneib_error *heard_error; /* why that is not known; code NONE: it is */
    bool has_daemon;                       /* an oneibd keeps these partitions */
    bool is_live;                          /* what nodes have reported is as of now */
    const struct oneib_leaves *leaves;     /* where hosts are linked; NULL: hosts looks */
    /* What of the desired table oneibd may write by what nodes have reported; NULL: the command
     * asks, which hears none. */
    const struct oneib_partition_table *may_be_written;
};

/* The result of sync and verify: isolation could be broken, or is not what OpenNebula wants. */
bool oneib_deviates(const struct oneib_view *view, const struct oneib_verification *verification);

/* Of list and show, whose states are what ports hold: DIFFERENCE when these could not be read. */
enum oneib_exit oneib_exit_of_view(const struct oneib_view *view);

/* It was to be read, and could not be. */
bool oneib_fabric_failed(const struct oneib_snapshot *snapshot);

/* A line that says how old is what nodes have reported; columns: those that show it. Nothing where
 * nobody hears nodes, or it is not old. */
void oneib_append_reports_age(const struct oneib_view *view, const char *columns,
                              struct oneib_text *text);
/* In seconds; null where nobody hears nodes. */
json_t *oneib_reports_age_json(const struct oneib_view *view);

/* {known, error}: whether the fabric was read. */
json_t *oneib_fabric_json(const struct oneib_snapshot *snapshot);

#endif
