// SPDX-License-Identifier: Apache-2.0
/*
 * One turn under the lock of the partitions file: read oned, compute, put into force. It owns what is
 * known of the file between two turns.
 */
#ifndef ONEIB_ONEIBD_RECONCILE_H
#define ONEIB_ONEIBD_RECONCILE_H

#include "base/error.h"
#include "oneibd/poll_schedule.h"
#include <stdbool.h>

struct oneib_daemon;
struct oneib_turn;

/* Never NULL; to be freed. */
struct oneib_turn *oneib_turn_new(void);
void oneib_turn_free(struct oneib_turn *turn);
/* The file is the same as before: it was oneib's own, if it was then. */
void oneib_turn_keep_file(struct oneib_turn *turn, const struct oneib_turn *before);

int oneib_turn_run(struct oneib_daemon *daemon, const struct oneib_due *due,
                   struct oneib_error *err);
/* What was computed last is in force, as far as opensm can bring it there. */
bool oneib_turn_is_settled(const struct oneib_daemon *daemon);
/* The file was written, and whether the fabric follows it is not known. */
bool oneib_turn_is_file_ahead(const struct oneib_daemon *daemon);

#endif
