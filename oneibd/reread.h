// SPDX-License-Identifier: Apache-2.0
/*
 * oned publishes a state before it has written it to its database (VirtualMachinePool::update and
 * its likes, 7.4.0), so whoever asks at once may be told the state before. What events name is
 * therefore looked at a second time, between half a second and a second later. Pure; times as in
 * poll_schedule.h.
 */
#ifndef ONEIB_ONEIBD_ECHO_H
#define ONEIB_ONEIBD_ECHO_H

#include "opennebula/cache.h"
#include "opennebula/events.h"
#include <stdbool.h>

#define ONEIB_ECHO_MS 500.0

/* Zeroed: nothing to repeat. */
struct oneib_reread {
    struct oneib_work_queue young, old; /* named in this half second, and in the one before */
    double turn_at; /* when the young ones become the old ones, the old ones are due */
};

/* Puts what an event names onto the work queue; a GAP is everything, NOTHING is nothing. */
void oneib_event_note(struct oneib_work_queue *queue, struct oneib_event event);

/* An event has come. A GAP has no re-read: everything is read after it anyway. */
void oneib_reread_note(struct oneib_reread *reread, double now, struct oneib_event event);
/* Moves what is due onto the work queue. Returns whether there was something. */
bool oneib_reread_take(struct oneib_reread *reread, double now, struct oneib_work_queue *queue);
/* Milliseconds until something is due; `otherwise` when nothing is to be repeated. */
double oneib_reread_wait(const struct oneib_reread *reread, double now, double otherwise);
void oneib_reread_clear(struct oneib_reread *reread);

#endif
