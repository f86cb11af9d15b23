// SPDX-License-Identifier: Apache-2.0
/*
 * oned publishes a state before it has written it to its database (VirtualMachinePool::update and
 * its likes, 7.4.0), so whoever asks at once may be told the state before. What events name is
 * therefore looked at a second time, between half a second and a second later. Pure; times as in
 * pace.h.
 */
#ifndef ONEIB_ONEIBD_ECHO_H
#define ONEIB_ONEIBD_ECHO_H

#include "base/error.h"
#include "opennebula/events.h"
#include "opennebula/mirror.h"
#include <stdbool.h>

#define ONEIB_ECHO_MS 500.0

/* Zeroed: nothing to repeat. */
struct oneib_echo {
    struct oneib_agenda young, old; /* named in this half second, and in the one before */
    double turn_at; /* when the young ones become the old ones, the old ones are due */
};

/* Puts what an event names onto the agenda; a GAP is everything, NOTHING is nothing. */
int oneib_event_note(struct oneib_agenda *agenda, struct oneib_event event,
                     struct oneib_error *err);

/* An event has come. A GAP has no echo: everything is read after it anyway. */
int oneib_echo_note(struct oneib_echo *echo, double now, struct oneib_event event,
                    struct oneib_error *err);
/* Moves what is due onto the agenda. Returns whether there was something. */
bool oneib_echo_take(struct oneib_echo *echo, double now, struct oneib_agenda *agenda);
/* Milliseconds until something is due; `otherwise` when nothing is to be repeated. */
double oneib_echo_wait(const struct oneib_echo *echo, double now, double otherwise);
void oneib_echo_clear(struct oneib_echo *echo);

#endif
