// SPDX-License-Identifier: Apache-2.0
#include "oneibd/poll_schedule.h"
#include "base/clock.h"

#define NEVER (-1.0)

/* How late a poll may be because events and nodes go first. */
#define LATEST_POLL_MS 5000.0
/* And a reading for a client. */
#define LATEST_ASKED_MS 5000.0

#define FIRST_RETRY_MS 500.0
#define LONGEST_RETRY_MS 15000.0
#define LONGEST_UNFINISHED_MS 300000.0

/* What reading everything may cost: of a site that tells what changes, and of one that does not. */
#define TRUSTED_SHARE 1000.0
#define DISTRUSTED_SHARE 3.0
#define LONGEST_REREAD_MS 3600000.0

static double larger(double a, double b)
{
    return a > b ? a : b;
}

void oneib_poll_schedule_begin(struct oneib_poll_schedule *schedule,
                               const struct oneib_config *config, double now)
{
    *schedule = (struct oneib_poll_schedule){
        .poll_preparing_ms = config->daemon.poll_preparing_ms,
        .poll_idle_ms = config->daemon.poll_idle_ms,
        .reread_ms = config->daemon.reread_ms,
        .verify_ms = config->daemon.verify_ms,
        .event_ms = NEVER,
        .applied_ms = now - ONEIB_BURST_MS,
        .poll_at = now,
        .reread_at = now,
        .verify_at = now,
        .asked_at = NEVER,
        .ask_again_at = now,
        .retry_at = NEVER,
        .retry_pause = FIRST_RETRY_MS,
    };
}

void oneib_poll_schedule_event(struct oneib_poll_schedule *schedule, double now)
{
    if (schedule->event_ms < 0)
        schedule->event_ms = now;
}

void oneib_poll_schedule_events_taken(struct oneib_poll_schedule *schedule)
{
    schedule->event_ms = NEVER;
}

static double events_at(const struct oneib_poll_schedule *schedule)
{
    if (schedule->event_ms - schedule->applied_ms >= ONEIB_BURST_MS)
        return schedule->event_ms;
    return larger(schedule->event_ms, schedule->applied_ms) + ONEIB_COALESCE_MS;
}

/* What an event names comes first. */
static double polls_at(const struct oneib_poll_schedule *schedule)
{
    return schedule->poll_at + (schedule->event_ms >= 0 ? LATEST_POLL_MS : 0);
}

static bool waits_to_retry(const struct oneib_poll_schedule *schedule, double now)
{
    return schedule->retry_at >= 0 && now < schedule->retry_at;
}

struct oneib_due oneib_poll_schedule_due(const struct oneib_poll_schedule *schedule, double now)
{
    struct oneib_due due = {
        .events = schedule->event_ms >= 0 && now >= events_at(schedule),
    };
    const bool waits = waits_to_retry(schedule, now);
    if (waits && schedule->failed)
        return due;
    due.poll = now >= polls_at(schedule);
    due.reread = now >= schedule->reread_at;
    due.verify = !waits && now >= schedule->verify_at;
    due.asked = schedule->asked_at >= 0 && now >= schedule->asked_at;
    due.retry = schedule->retry_at >= 0 && !waits;
    return due;
}

void oneib_poll_schedule_put_off(const struct oneib_poll_schedule *schedule, double now,
                                 struct oneib_due *due)
{
    if (due->nodes && now < schedule->poll_at + LATEST_POLL_MS)
        due->poll = false;
}

bool oneib_poll_schedule_anything(const struct oneib_due *due)
{
    return due->events || due->poll || due->reread || due->verify || due->asked || due->retry ||
           due->nodes || due->fences || due->places;
}

double oneib_poll_schedule_wait(const struct oneib_poll_schedule *schedule, double now)
{
    double next = oneib_sooner(polls_at(schedule), schedule->reread_at);
    if (schedule->asked_at >= 0)
        next = oneib_sooner(next, schedule->asked_at);
    if (schedule->retry_at < 0)
        next = oneib_sooner(next, schedule->verify_at);
    else
        next = schedule->failed ? schedule->retry_at : oneib_sooner(next, schedule->retry_at);
    if (schedule->event_ms >= 0)
        next = oneib_sooner(next, events_at(schedule));
    return larger(next - now, 0);
}

void oneib_poll_schedule_polled(struct oneib_poll_schedule *schedule, double now, bool preparing)
{
    schedule->poll_at = now + (preparing ? schedule->poll_preparing_ms : schedule->poll_idle_ms);
}

void oneib_poll_schedule_preparing(struct oneib_poll_schedule *schedule, double now)
{
    schedule->poll_at = oneib_sooner(schedule->poll_at, now + schedule->poll_preparing_ms);
}

void oneib_poll_schedule_reread(struct oneib_poll_schedule *schedule, double now, double took,
                                bool trusted)
{
    const double least = trusted ? schedule->reread_ms : schedule->poll_preparing_ms;
    const double affordable = took * (trusted ? TRUSTED_SHARE : DISTRUSTED_SHARE);
    schedule->reread_at = now + larger(least, oneib_sooner(affordable, LONGEST_REREAD_MS));
}

void oneib_poll_schedule_distrust(struct oneib_poll_schedule *schedule, double now)
{
    schedule->reread_at = oneib_sooner(schedule->reread_at, now + schedule->poll_preparing_ms);
}

void oneib_poll_schedule_verified(struct oneib_poll_schedule *schedule, double now)
{
    schedule->verify_at = now + schedule->verify_ms;
}

void oneib_poll_schedule_ask(struct oneib_poll_schedule *schedule, double now)
{
    if (schedule->asked_at < 0)
        schedule->asked_at = larger(now, schedule->ask_again_at);
}

bool oneib_poll_schedule_ask_is_late(const struct oneib_poll_schedule *schedule, double now)
{
    return schedule->asked_at >= 0 && now >= schedule->asked_at + LATEST_ASKED_MS;
}

void oneib_poll_schedule_answered(struct oneib_poll_schedule *schedule, double now, double took)
{
    if (schedule->asked_at < 0)
        return;
    schedule->asked_at = NEVER;
    schedule->ask_again_at =
        now + larger(ONEIB_ASKED_PAUSE_MS,
                     oneib_sooner(took * ONEIB_ASKED_SHARE, ONEIB_ASKED_LONGEST_MS));
}

void oneib_poll_schedule_verify_in(struct oneib_poll_schedule *schedule, double now,
                                   double milliseconds)
{
    schedule->verify_at = oneib_sooner(schedule->verify_at, now + milliseconds);
}

void oneib_poll_schedule_applied(struct oneib_poll_schedule *schedule, double now)
{
    schedule->applied_ms = now;
}

static void try_again(struct oneib_poll_schedule *schedule, double now, double longest)
{
    const double pause = oneib_sooner(schedule->retry_pause, longest);
    schedule->retry_at = now + pause;
    schedule->retry_pause = pause * 2;
}

void oneib_poll_schedule_failed(struct oneib_poll_schedule *schedule, double now)
{
    try_again(schedule, now, LONGEST_RETRY_MS);
    schedule->failed = true;
}

bool oneib_poll_schedule_is_failing(const struct oneib_poll_schedule *schedule)
{
    return schedule->retry_at >= 0 && schedule->failed;
}

void oneib_poll_schedule_unfinished(struct oneib_poll_schedule *schedule, double now)
{
    try_again(schedule, now, LONGEST_UNFINISHED_MS);
    schedule->failed = false;
}

void oneib_poll_schedule_succeeded(struct oneib_poll_schedule *schedule)
{
    schedule->retry_at = NEVER;
    schedule->retry_pause = FIRST_RETRY_MS;
}
