// SPDX-License-Identifier: Apache-2.0
/*
 * oned publishes a state before it has written it to its database (VirtualMachinePool::update and
 * its likes, 7.4.0), so whoever asks at once may be told the state before. What events name is
 * therefore looked at a second time, between half a second and a second later. Pure; times as in
 * poll_schedule.h.
 */
#ifndef ONEIB_ONEIBD_DELAYED_RECHECK_H
#define ONEIB_ONEIBD_DELAYED_RECHECK_H

#include "opennebula/cache.h"
#include "opennebula/events.h"
#include <stdbool.h>

#define ONEIB_DELAYED_RECHECK_MS 500.0

/* Zeroed: nothing to repeat. */
struct oneib_delayed_recheck {
    struct oneib_work_queue young, old; /* named in this half second, and in the one before */
    double turn_at; /* when the young ones become the old ones, the old ones are due */
};

/* Puts what an event names onto the work queue; a GAP is everything, NOTHING is nothing. */
void oneib_event_note(struct oneib_work_queue *queue, struct oneib_event event);

/* An event has come. A GAP has no re-read: everything is read after it anyway. */
void oneib_delayed_recheck_note(struct oneib_delayed_recheck *reread, double now,
                                struct oneib_event event);
/* Moves what is due onto the work queue. Returns whether there was something. */
bool oneib_delayed_recheck_take(struct oneib_delayed_recheck *reread, double now,
                                struct oneib_work_queue *queue);
/* Milliseconds until something is due; `otherwise` when nothing is to be repeated. */
double oneib_delayed_recheck_wait(const struct oneib_delayed_recheck *reread, double now,
                                  double otherwise);
void oneib_delayed_recheck_clear(struct oneib_delayed_recheck *reread);

#endif
