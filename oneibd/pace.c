// SPDX-License-Identifier: Apache-2.0
#include "oneibd/pace.h"

#define NEVER (-1.0)

#define FIRST_RETRY_MS 500.0
#define LONGEST_RETRY_MS 15000.0
#define LONGEST_UNFINISHED_MS 300000.0

/* What reading everything may cost: of a site that tells what changes, and of one that does not. */
#define TRUSTED_SHARE 1000.0
#define DISTRUSTED_SHARE 3.0
#define LONGEST_REREAD_MS 3600000.0

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

void oneib_pace_begin(struct oneib_pace *pace, const struct oneib_config *config, double now)
{
    *pace = (struct oneib_pace){
        .poll_preparing_ms = config->daemon.poll_preparing_ms,
        .poll_idle_ms = config->daemon.poll_idle_ms,
        .reread_ms = config->daemon.reread_ms,
        .verify_ms = config->daemon.verify_ms,
        .event_ms = NEVER,
        .applied_ms = now - ONEIB_BURST_MS,
        .poll_at = now,
        .reread_at = now,
        .verify_at = now,
        .retry_at = NEVER,
        .retry_pause = FIRST_RETRY_MS,
    };
}

void oneib_pace_event(struct oneib_pace *pace, double now)
{
    if (pace->event_ms < 0)
        pace->event_ms = now;
}

void oneib_pace_events_taken(struct oneib_pace *pace)
{
    pace->event_ms = NEVER;
}

static double events_at(const struct oneib_pace *pace)
{
    if (pace->event_ms - pace->applied_ms >= ONEIB_BURST_MS)
        return pace->event_ms;
    return larger(pace->event_ms, pace->applied_ms) + ONEIB_COALESCE_MS;
}

static bool waits_to_retry(const struct oneib_pace *pace, double now)
{
    return pace->retry_at >= 0 && now < pace->retry_at;
}

struct oneib_due oneib_pace_due(const struct oneib_pace *pace, double now)
{
    struct oneib_due due = {
        .events = pace->event_ms >= 0 && now >= events_at(pace),
    };
    const bool waits = waits_to_retry(pace, now);
    if (waits && pace->failed)
        return due;
    due.poll = now >= pace->poll_at;
    due.reread = now >= pace->reread_at;
    due.verify = !waits && now >= pace->verify_at;
    due.retry = pace->retry_at >= 0 && !waits;
    return due;
}

bool oneib_pace_anything(const struct oneib_due *due)
{
    return due->events || due->poll || due->reread || due->verify || due->retry || due->nodes ||
           due->fences || due->places;
}

double oneib_pace_wait(const struct oneib_pace *pace, double now)
{
    double next = smaller(pace->poll_at, pace->reread_at);
    if (pace->retry_at < 0)
        next = smaller(next, pace->verify_at);
    else
        next = pace->failed ? pace->retry_at : smaller(next, pace->retry_at);
    if (pace->event_ms >= 0)
        next = smaller(next, events_at(pace));
    return larger(next - now, 0);
}

void oneib_pace_polled(struct oneib_pace *pace, double now, bool preparing)
{
    pace->poll_at = now + (preparing ? pace->poll_preparing_ms : pace->poll_idle_ms);
}

void oneib_pace_preparing(struct oneib_pace *pace, double now)
{
    pace->poll_at = smaller(pace->poll_at, now + pace->poll_preparing_ms);
}

void oneib_pace_reread(struct oneib_pace *pace, double now, double took, bool trusted)
{
    const double least = trusted ? pace->reread_ms : pace->poll_preparing_ms;
    const double affordable = took * (trusted ? TRUSTED_SHARE : DISTRUSTED_SHARE);
    pace->reread_at = now + larger(least, smaller(affordable, LONGEST_REREAD_MS));
}

void oneib_pace_distrust(struct oneib_pace *pace, double now)
{
    pace->reread_at = smaller(pace->reread_at, now + pace->poll_preparing_ms);
}

void oneib_pace_verified(struct oneib_pace *pace, double now)
{
    pace->verify_at = now + pace->verify_ms;
}

void oneib_pace_verify_in(struct oneib_pace *pace, double now, double milliseconds)
{
    pace->verify_at = smaller(pace->verify_at, now + milliseconds);
}

void oneib_pace_applied(struct oneib_pace *pace, double now)
{
    pace->applied_ms = now;
}

static void try_again(struct oneib_pace *pace, double now, double longest)
{
    const double pause = smaller(pace->retry_pause, longest);
    pace->retry_at = now + pause;
    pace->retry_pause = pause * 2;
}

void oneib_pace_failed(struct oneib_pace *pace, double now)
{
    try_again(pace, now, LONGEST_RETRY_MS);
    pace->failed = true;
}

void oneib_pace_unfinished(struct oneib_pace *pace, double now)
{
    try_again(pace, now, LONGEST_UNFINISHED_MS);
    pace->failed = false;
}

void oneib_pace_succeeded(struct oneib_pace *pace)
{
    pace->retry_at = NEVER;
    pace->retry_pause = FIRST_RETRY_MS;
}
