// SPDX-License-Identifier: Apache-2.0
/* One look at everything: how list, show, plan, sync and verify begin. */
#ifndef ONEIB_ONEIB_COMMAND_READ_H
#define ONEIB_ONEIB_COMMAND_READ_H

#include "command/view.h"
#include "oneib/open.h"
#include <stdbool.h>
#include <stddef.h>

enum oneib_read_fabric {
    ONEIB_FABRIC_LEFT_ALONE,
    ONEIB_FABRIC_IF_POSSIBLE, /* a note says why not */
    ONEIB_FABRIC_NEEDED,
};

struct oneib_reading {
    struct oneib_session session; /* still open */
    struct oneib_snapshot snapshot;
    struct oneib_findings
        findings;             /* all of the snapshot's, and of oneibd's about nodes, worst first */
    struct oneib_heard heard; /* what nodes have said */
    struct oneib_error heard_error;    /* why that is not known; code NONE: it is */
    struct oneib_fabric_checks checks; /* verify's, empty until it reads them */
    struct oneib_view view;            /* of all this */
};

/*
 * Reads the configuration, opens what is wanted and looks, with progress on a terminal; leaves the
 * fabric alone when --no-fabric is given. On failure *reading holds nothing that must be cleared.
 */
int oneib_read_all(const struct oneib_run *run, enum oneib_read_fabric fabric, bool force,
                   struct oneib_reading *reading, struct oneib_error *err);
/* The same with reading->session configured, and all else of *reading zeroed. The caller clears
 * *reading in any case. */
int oneib_read_configured(const struct oneib_run *run, enum oneib_read_fabric fabric, bool force,
                          struct oneib_reading *reading, struct oneib_error *err);
/* The same for those who are going to write: first it waits until nobody else is. */
int oneib_read_to_write(const struct oneib_run *run, bool force, struct oneib_reading *reading,
                        struct oneib_error *err);
/* Looks again with what is open; what was seen before is forgotten. The caller clears *reading in
 * any case. */
int oneib_read_again(const struct oneib_run *run, bool force, struct oneib_reading *reading,
                     struct oneib_error *err);
void oneib_reading_clear(struct oneib_reading *reading);
#define oneib_autoreading __attribute__((cleanup(oneib_reading_clear)))

/* A snapshot of what a session has open, with progress on a terminal. */
int oneib_snapshot_of(const struct oneib_run *run, struct oneib_session *session, bool force,
                      struct oneib_snapshot *snapshot, struct oneib_error *err);

/*
 * Reads virtual ports into snapshot->subnet, which is known, where that is wanted, by what nodes
 * have said.
 */
int oneib_read_virtual_ports(const struct oneib_session *session, const struct oneib_heard *heard,
                             struct oneib_snapshot *snapshot, struct oneib_error *err);

#endif
