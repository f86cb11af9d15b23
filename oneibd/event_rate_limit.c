// SPDX-License-Identifier: Apache-2.0
#include "oneibd/event_rate_limit.h"
#include "base/memory.h"
#include "oneibd/delayed_recheck.h"
#include <stdlib.h>

#define FIRST_PLACES 64
/* 2^64 divided by the golden ratio: numbers that follow each other, as oned's do, go far apart. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

static bool is_bounded(struct oneib_event event)
{
    return event.kind == ONEIB_EVENT_VM || event.kind == ONEIB_EVENT_NETWORK;
}

static uint64_t object_of(struct oneib_event event)
{
    return (uint64_t)event.kind << 32 | event.id;
}

/* The object's place, or the empty one where it would be. place_count is a power of two. */
static struct oneib_event_rate_limit_entry *place_of(struct oneib_event_rate_limit_entry *places,
                                                     size_t place_count, uint64_t object)
{
    size_t at = (size_t)((object * SPREAD) >> 32) & (place_count - 1);
    while (places[at].object != 0 && places[at].object != object)
        at = (at + 1) & (place_count - 1);
    return &places[at];
}

static void grow(struct oneib_event_rate_limit *rate_limit)
{
    const size_t more = rate_limit->place_count ? 2 * rate_limit->place_count : FIRST_PLACES;
    struct oneib_event_rate_limit_entry *places = oneib_alloc(more, sizeof *places);
    for (size_t i = 0; i < rate_limit->place_count; i++)
        if (rate_limit->places[i].object != 0)
            *place_of(places, more, rate_limit->places[i].object) = rate_limit->places[i];
    free(rate_limit->places);
    rate_limit->places = places;
    rate_limit->place_count = more;
}

/* The object's count. */
static unsigned *count_of(struct oneib_event_rate_limit *rate_limit, uint64_t object)
{
    if (2 * (rate_limit->taken + 1) > rate_limit->place_count)
        grow(rate_limit);
    struct oneib_event_rate_limit_entry *place =
        place_of(rate_limit->places, rate_limit->place_count, object);
    if (place->object == 0) {
        place->object = object;
        rate_limit->taken++;
    }
    return &place->events;
}

static void forget_counts(struct oneib_event_rate_limit *rate_limit)
{
    free(rate_limit->places);
    rate_limit->places = NULL;
    rate_limit->place_count = rate_limit->taken = 0;
}

static bool has_ended(const struct oneib_event_rate_limit *rate_limit, double now)
{
    return now - rate_limit->began >= ONEIB_EVENT_RATE_MS;
}

/* An object that waits and is named by 100,000 events more still waits once. */
static void let_wait(struct oneib_event_rate_limit *rate_limit, struct oneib_event event)
{
    oneib_event_note(&rate_limit->waiting, event);
}

bool oneib_event_rate_limit_take(struct oneib_event_rate_limit *rate_limit, double now,
                                 struct oneib_event event)
{
    if (!is_bounded(event))
        return true;
    if (has_ended(rate_limit, now) && oneib_work_queue_is_empty(&rate_limit->waiting))
        forget_counts(rate_limit);
    if (rate_limit->taken == 0)
        rate_limit->began = now;

    unsigned *events = count_of(rate_limit, object_of(event));
    if (*events < ONEIB_EVENT_RATE_EVENTS) {
        (*events)++;
        return true;
    }
    if (*events == ONEIB_EVENT_RATE_EVENTS)
        let_wait(rate_limit, event);
    *events = ONEIB_EVENT_RATE_EVENTS + 1;
    return false;
}

bool oneib_event_rate_limit_release(struct oneib_event_rate_limit *rate_limit, double now,
                                    struct oneib_work_queue *released)
{
    if (rate_limit->taken == 0 || !has_ended(rate_limit, now))
        return false;
    *released = rate_limit->waiting;
    rate_limit->waiting = (struct oneib_work_queue){0};
    forget_counts(rate_limit);
    return !oneib_work_queue_is_empty(released);
}

double oneib_event_rate_limit_wait(const struct oneib_event_rate_limit *rate_limit, double now,
                                   double otherwise)
{
    if (oneib_work_queue_is_empty(&rate_limit->waiting))
        return otherwise;
    const double end = rate_limit->began + ONEIB_EVENT_RATE_MS;
    const double wait = end > now ? end - now : 0;
    return wait < otherwise ? wait : otherwise;
}

void oneib_event_rate_limit_clear(struct oneib_event_rate_limit *rate_limit)
{
    forget_counts(rate_limit);
    oneib_work_queue_clear(&rate_limit->waiting);
}
