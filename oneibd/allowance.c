// SPDX-License-Identifier: Apache-2.0
#include "oneibd/allowance.h"
#include "base/memory.h"
#include "oneibd/reread.h"
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
static struct oneib_allowance_entry *place_of(struct oneib_allowance_entry *places,
                                              size_t place_count, uint64_t object)
{
    size_t at = (size_t)((object * SPREAD) >> 32) & (place_count - 1);
    while (places[at].object != 0 && places[at].object != object)
        at = (at + 1) & (place_count - 1);
    return &places[at];
}

static void grow(struct oneib_allowance *allowance)
{
    const size_t more = allowance->place_count ? 2 * allowance->place_count : FIRST_PLACES;
    struct oneib_allowance_entry *places = oneib_alloc(more, sizeof *places);
    for (size_t i = 0; i < allowance->place_count; i++)
        if (allowance->places[i].object != 0)
            *place_of(places, more, allowance->places[i].object) = allowance->places[i];
    free(allowance->places);
    allowance->places = places;
    allowance->place_count = more;
}

/* The object's count. */
static unsigned *count_of(struct oneib_allowance *allowance, uint64_t object)
{
    if (2 * (allowance->taken + 1) > allowance->place_count)
        grow(allowance);
    struct oneib_allowance_entry *place =
        place_of(allowance->places, allowance->place_count, object);
    if (place->object == 0) {
        place->object = object;
        allowance->taken++;
    }
    return &place->events;
}

static void forget_counts(struct oneib_allowance *allowance)
{
    free(allowance->places);
    allowance->places = NULL;
    allowance->place_count = allowance->taken = 0;
}

static bool has_ended(const struct oneib_allowance *allowance, double now)
{
    return now - allowance->began >= ONEIB_ALLOWANCE_MS;
}

/* An object that waits and is named by 100,000 events more still waits once. */
static void let_wait(struct oneib_allowance *allowance, struct oneib_event event)
{
    oneib_event_note(&allowance->waiting, event);
}

bool oneib_allowance_take(struct oneib_allowance *allowance, double now, struct oneib_event event)
{
    if (!is_bounded(event))
        return true;
    if (has_ended(allowance, now) && oneib_work_queue_is_empty(&allowance->waiting))
        forget_counts(allowance);
    if (allowance->taken == 0)
        allowance->began = now;

    unsigned *events = count_of(allowance, object_of(event));
    if (*events < ONEIB_ALLOWANCE_EVENTS) {
        (*events)++;
        return true;
    }
    if (*events == ONEIB_ALLOWANCE_EVENTS)
        let_wait(allowance, event);
    *events = ONEIB_ALLOWANCE_EVENTS + 1;
    return false;
}

bool oneib_allowance_release(struct oneib_allowance *allowance, double now,
                             struct oneib_work_queue *released)
{
    if (allowance->taken == 0 || !has_ended(allowance, now))
        return false;
    *released = allowance->waiting;
    allowance->waiting = (struct oneib_work_queue){0};
    forget_counts(allowance);
    return !oneib_work_queue_is_empty(released);
}

double oneib_allowance_wait(const struct oneib_allowance *allowance, double now, double otherwise)
{
    if (oneib_work_queue_is_empty(&allowance->waiting))
        return otherwise;
    const double end = allowance->began + ONEIB_ALLOWANCE_MS;
    const double wait = end > now ? end - now : 0;
    return wait < otherwise ? wait : otherwise;
}

void oneib_allowance_clear(struct oneib_allowance *allowance)
{
    forget_counts(allowance);
    oneib_work_queue_clear(&allowance->waiting);
}
