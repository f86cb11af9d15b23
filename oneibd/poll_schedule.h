// SPDX-License-Identifier: Apache-2.0
/*
 * When to look. Pure: the time is given, in milliseconds of the monotonic clock (oneib_now_ms()),
 * so a wall clock that jumps changes nothing.
 *
 * The first event after a quiet time is looked at at once; one that comes while the last change has
 * just been put into force waits ONEIB_COALESCE_MS, so that a burst of changes becomes few reloads.
 */
#ifndef ONEIB_ONEIBD_POLL_SCHEDULE_H
#define ONEIB_ONEIBD_POLL_SCHEDULE_H

#include "config/config.h"
#include <stdbool.h>

/* Longest wait of an event for others. */
#define ONEIB_COALESCE_MS 20.0
/* A change this long after the last one was put into force is not part of a burst. */
#define ONEIB_BURST_MS 100.0

/* How often clients can make oneibd read the ports: a tenth of the time, and once a second. */
#define ONEIB_ASKED_PAUSE_MS 1000.0
#define ONEIB_ASKED_SHARE 9
#define ONEIB_ASKED_LONGEST_MS 20000.0

/* Why to look now. */
struct oneib_due {
    bool events; /* something named has waited long enough */
    bool poll;   /* unsettled and new VMs, the files */
    bool reread; /* everything in oned */
    bool verify; /* every port */
    bool asked;  /* every port, because a client of the control socket waits for a fresh reading */
    bool retry;  /* what went wrong */
    bool nodes;  /* what nodes have said: not known here, for whoever adds it */
    bool fences; /* ports of fenced hosts; likewise */
    bool places; /* where hosts' ports are linked; likewise */
};

struct oneib_poll_schedule {
    double poll_preparing_ms, poll_idle_ms, reread_ms, verify_ms; /* from the configuration */
    double event_ms;                                              /* the oldest that waits; < 0 */
    double applied_ms; /* last time that a change was put into force */
    double poll_at, reread_at, verify_at;
    double asked_at;     /* when ports are read for a client; < 0: none waits */
    double ask_again_at; /* and when at the earliest for the next one */
    double retry_at;     /* < 0: nothing went wrong */
    bool failed;         /* polls would fail again, so they wait for the retry too */
    double retry_pause;
};

/* Everything is due at once. */
void oneib_poll_schedule_begin(struct oneib_poll_schedule *schedule,
                               const struct oneib_config *config, double now);
void oneib_poll_schedule_event(struct oneib_poll_schedule *schedule, double now);
/* What events have named is being read now. */
void oneib_poll_schedule_events_taken(struct oneib_poll_schedule *schedule);
struct oneib_due oneib_poll_schedule_due(const struct oneib_poll_schedule *schedule, double now);
/* Takes the poll out of what is due while nodes are due, too, and it is not late: a node that
 * waits for a grant does not wait for the VMs that a poll reads. oneib_poll_schedule_due() has
 * already put it off for events. */
void oneib_poll_schedule_put_off(const struct oneib_poll_schedule *schedule, double now,
                                 struct oneib_due *due);
bool oneib_poll_schedule_anything(const struct oneib_due *due);
/* Milliseconds until something is due, at least 0. */
double oneib_poll_schedule_wait(const struct oneib_poll_schedule *schedule, double now);

/* A poll was done; preparing: a VM is arriving or migrating. */
void oneib_poll_schedule_polled(struct oneib_poll_schedule *schedule, double now, bool preparing);
/* A VM began to arrive or migrate: the next poll comes as soon as after one that saw it. */
void oneib_poll_schedule_preparing(struct oneib_poll_schedule *schedule, double now);
/*
 * Everything was read, in so many milliseconds. trusted: events tell what changes; then it comes
 * again after daemon.reread, but it takes at most a thousandth of the time (at least once an hour,
 * though), else after daemon.poll_preparing, but it takes at most a third of the time.
 */
void oneib_poll_schedule_reread(struct oneib_poll_schedule *schedule, double now, double took,
                                bool trusted);
/* Events cannot be trusted any more: everything is read again soon. */
void oneib_poll_schedule_distrust(struct oneib_poll_schedule *schedule, double now);
void oneib_poll_schedule_verified(struct oneib_poll_schedule *schedule, double now);
/*
 * A client waits for a fresh reading of the ports. It is due ONEIB_ASKED_PAUSE_MS after the end of the
 * last one for a client, and after ONEIB_ASKED_SHARE times its duration, at most ONEIB_ASKED_LONGEST_MS;
 * while a failure waits for its retry it comes with that.
 */
void oneib_poll_schedule_ask(struct oneib_poll_schedule *schedule, double now);
/* Whether that reading has waited for changes so long that it goes before them. */
bool oneib_poll_schedule_ask_is_late(const struct oneib_poll_schedule *schedule, double now);
/* All clients that waited have their answers, or errors; the reading and they took so many milliseconds. */
void oneib_poll_schedule_answered(struct oneib_poll_schedule *schedule, double now, double took);
/* Ports should be read again in so many milliseconds, if not sooner. */
void oneib_poll_schedule_verify_in(struct oneib_poll_schedule *schedule, double now,
                                   double milliseconds);
void oneib_poll_schedule_applied(struct oneib_poll_schedule *schedule, double now);
/* Something went wrong: again after 500 ms, then twice as long each time, up to 15 s. */
void oneib_poll_schedule_failed(struct oneib_poll_schedule *schedule, double now);
/* It waits to be tried again. */
bool oneib_poll_schedule_is_failing(const struct oneib_poll_schedule *schedule);
/* Ports do not take what opensm gives them: likewise, but up to five minutes, because each try
 * costs the whole fabric a sweep. */
void oneib_poll_schedule_unfinished(struct oneib_poll_schedule *schedule, double now);
void oneib_poll_schedule_succeeded(struct oneib_poll_schedule *schedule);

#endif
