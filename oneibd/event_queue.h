// SPDX-License-Identifier: Apache-2.0
/*
 * From an event to the turn that reads what it names:
 *
 *   event ─▶ due ─▶ (a turn) ... half a second to a second later ─▶ due once more
 *     └─▶ delayed, where its object has had too many ─▶ as if the event came then
 *
 * Once more, because oned publishes a state before it has written it to its database
 * (VirtualMachinePool::update and its likes, 7.4.0): a reading at once may give the state before.
 *
 * Delayed, because an owner can change a VM or network as often as oned takes calls, and oned must
 * not answer us as often: in ONEIB_EVENT_PERIOD_MS ONEIB_EVENTS_PER_PERIOD events of one object
 * count, and a further one waits for the end of that time. None is lost, and no other object waits.
 * Of hosts every event counts: no user changes one.
 *
 * Pure; times as in timers.h.
 */
#ifndef ONEIB_ONEIBD_EVENT_QUEUE_H
#define ONEIB_ONEIBD_EVENT_QUEUE_H

#include "opennebula/cache.h"
#include "opennebula/events.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_RECHECK_MS 500.0
#define ONEIB_EVENT_PERIOD_MS 10000.0
/* The start of a VM has five events, attaching a NIC three. */
#define ONEIB_EVENTS_PER_PERIOD 16

struct oneib_event_count {
    uint64_t object; /* its kind and id; 0: an empty slot */
    unsigned events;
};

/* Zeroed: no event has come. */
struct oneib_event_queue {
    struct oneib_work_queue due;        /* to be read by the next turn, which clears it */
    struct oneib_work_queue young, old; /* to be due once more: named in this half second, and in
                                           the one before */
    double recheck_at;                  /* then the old ones are due, and the young ones old */
    struct oneib_work_queue delayed;    /* for the end of the period */
    struct oneib_event_count *counts;   /* owned; a hash table, at most half full */
    size_t slot_count, used_slots;
    double period_began; /* of the events that are counted */
};

/* An event has come. false: its object is delayed. */
bool oneib_event_queue_note(struct oneib_event_queue *queue, double now, struct oneib_event event);
/* The same for a reading that another limit bounds; never delayed. */
void oneib_event_queue_add(struct oneib_event_queue *queue, double now, struct oneib_event event);
/* Makes due what is due once more, and what was delayed when the period has ended. Whether there
 * was something. */
bool oneib_event_queue_release(struct oneib_event_queue *queue, double now);
/* When oneib_event_queue_release() has something to do; HUGE_VAL: not before another event. */
double oneib_event_queue_next(const struct oneib_event_queue *queue);
void oneib_event_queue_clear(struct oneib_event_queue *queue);

#endif
