// SPDX-License-Identifier: Apache-2.0
/*
 * How often events make the daemon look at one VM or network. Its owner can change it as often as
 * oned takes calls, and oned must not answer us as often: in ONEIB_EVENT_RATE_MS events of one
 * object count ONEIB_EVENT_RATE_EVENTS times, each for a look and its re-read (delayed_recheck.h); a further
 * one waits for the end of that time. None is lost: what is looked at then is what is there then.
 * What waits is that object alone.
 *
 * Of hosts every event counts: no user changes one. What a node wants has a bound of its own
 * (grants.c), so a lying node cannot use up what a VM elsewhere is allowed. Pure; times as in
 * poll_schedule.h.
 */
#ifndef ONEIB_ONEIBD_EVENT_RATE_LIMIT_H
#define ONEIB_ONEIBD_EVENT_RATE_LIMIT_H

#include "opennebula/cache.h"
#include "opennebula/events.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_EVENT_RATE_MS 10000.0
/* The start of a VM has five events, attaching a NIC three. */
#define ONEIB_EVENT_RATE_EVENTS 16

struct oneib_event_rate_limit_entry {
    uint64_t object; /* its kind and id; 0: an empty place */
    unsigned events;
};

/* Zeroed: nothing has happened. */
struct oneib_event_rate_limit {
    struct oneib_event_rate_limit_entry *places; /* owned; a hash table, at most half full */
    size_t place_count, taken;
    double began;                    /* of the time that is counted now; places are taken in it */
    struct oneib_work_queue waiting; /* for its end */
};

/* Whether the event counts now. If not, its object waits (rate_limit->waiting). */
bool oneib_event_rate_limit_take(struct oneib_event_rate_limit *rate_limit, double now,
                                 struct oneib_event event);
/* When the time that is counted has ended: a new one begins with the next event, and what waited
 * moves to `released`, which is empty and the caller's to clear. Returns whether there was
 * something. */
bool oneib_event_rate_limit_release(struct oneib_event_rate_limit *rate_limit, double now,
                                    struct oneib_work_queue *released);
/* Milliseconds until something that waits is released; `otherwise` when nothing waits. */
double oneib_event_rate_limit_wait(const struct oneib_event_rate_limit *rate_limit, double now,
                                   double otherwise);
void oneib_event_rate_limit_clear(struct oneib_event_rate_limit *rate_limit);

#endif
