// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's timers. Each belongs to one module, which sets it; the loop asks for the next one
 * that wakes it. Pure: times are milliseconds of the monotonic clock (oneib_now_ms()), given.
 */
#ifndef ONEIB_ONEIBD_TIMERS_H
#define ONEIB_ONEIBD_TIMERS_H

#include <stdbool.h>

enum oneib_timer {
    ONEIB_TIMER_TURN,           /* poll_schedule.h */
    ONEIB_TIMER_EVENT_QUEUE,    /* release what events have named (oned.h) */
    ONEIB_TIMER_NODES,          /* nodes' reports, or that they are missing, need a turn */
    ONEIB_TIMER_FENCES,         /* read the ports of fenced hosts (fencing.h) */
    ONEIB_TIMER_FENCE_REQUESTS, /* the same, at the earliest, when the ledger asks for it */
    ONEIB_TIMER_FENCES_LIFTED,  /* enable ports whose fence was lifted while oned was away */
    ONEIB_TIMER_PORT_PLACES,    /* find the switches of hosts' ports (ports.c) */
    ONEIB_TIMER_QOS,            /* read service levels and multicast groups (qos_check.h) */
    ONEIB_TIMER_LINKS_FILE,     /* write qos.links_file (qos_check.h) */
    ONEIB_TIMER_KEY_SERIALS,    /* write the serials of IB_KEYS into the ledger */
    ONEIB_TIMER_VIRTUAL_PORTS,  /* read virtual ports that nodes have reported */
    ONEIB_TIMER_NODE_REPORTS,   /* write what nodes have reported to its file */
    ONEIB_TIMER_COUNT
};

struct oneib_timers {
    double at[ONEIB_TIMER_COUNT];
    bool wakes[ONEIB_TIMER_COUNT];
};

/* Each is due, and none wakes the loop, but for TURN and NODES, which wake it, and for those of work
 * that nothing has asked for yet, which are cancelled and wake it once they are set: EVENT_QUEUE,
 * VIRTUAL_PORTS and NODE_REPORTS. */
void oneib_timers_begin(struct oneib_timers *timers);
/* Due at that time, and not before. */
void oneib_timer_set(struct oneib_timers *timers, enum oneib_timer timer, double at);
/* Not due until it is set again. */
void oneib_timer_cancel(struct oneib_timers *timers, enum oneib_timer timer);
/* Whether the loop wakes for it. A timer that only keeps work from being done too often does not
 * wake it, nor does one whose work cannot be done now. */
void oneib_timer_wake(struct oneib_timers *timers, enum oneib_timer timer, bool wakes);
bool oneib_timer_is_due(const struct oneib_timers *timers, enum oneib_timer timer, double now);
/* Milliseconds until the first that wakes the loop is due, at least 0 and at most `longest`. */
double oneib_timers_wait(const struct oneib_timers *timers, double now, double longest);

#endif
