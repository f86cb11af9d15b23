// SPDX-License-Identifier: Apache-2.0
/* The state that an answer is computed from: the command's reading, or oneibd's. */
#ifndef ONEIB_COMMAND_VIEW_H
#define ONEIB_COMMAND_VIEW_H

#include "base/exit.h"
#include "base/text.h"
#include "command/fabric_checks.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "sm/sm.h"
#include "sync/heard.h"
#include "sync/leaves.h"
#include "sync/sync.h"
#include <jansson.h>
#include <stdbool.h>

/* All pointers are borrowed. */
struct oneib_view {
    const struct oneib_config *config;
    struct oneib_sm *sm;
    struct oneib_fabric *fabric; /* NULL: not open */
    struct oneib_snapshot *snapshot;
    struct oneib_findings *findings; /* the snapshot's, and oneibd's about nodes; worst first */
    const struct oneib_heard *heard; /* the nodes' reports */
    const struct oneib_error *heard_error; /* why reports are not known; code NONE: known */
    struct oneib_fabric_checks *checks;    /* verify and links: read after the snapshot */
    uint64_t mads_before; /* sent by this process before this snapshot's subnet was read */
    bool has_daemon;      /* an oneibd keeps these partitions */
    bool is_live;         /* reports are current, not read from oneibd's file */
    const struct oneib_leaves *leaves; /* where hosts are linked; NULL: hosts looks */
    /* The part of the desired table that oneibd may write, by the nodes' reports. NULL: the command
     * answers by itself and treats every node as unreachable. */
    const struct oneib_partition_table *may_be_written;
    size_t left; /* with may_be_written: members whose keys oneibd adds later */
};

/* The result of sync and verify: isolation could be broken, or is not what OpenNebula wants. */
bool oneib_deviates(const struct oneib_view *view, const struct oneib_verification *verification);

/* Of list and show, whose states are what ports hold: DIFFERENCE when these could not be read. */
enum oneib_exit oneib_exit_of_view(const struct oneib_view *view);

/* The fabric was to be read, and reading failed. */
bool oneib_fabric_failed(const struct oneib_snapshot *snapshot);

/* Appends a line with the age of the nodes' reports; columns: those that show them. Appends nothing
 * when there are no reports, or when they are current. */
void oneib_append_reports_age(const struct oneib_view *view, const char *columns,
                              struct oneib_text *text);
/* The age in seconds; null when there are no reports. */
json_t *oneib_reports_age_json(const struct oneib_view *view);

/* {known, error}: whether the fabric was read. */
json_t *oneib_fabric_json(const struct oneib_snapshot *snapshot);

#endif
