// SPDX-License-Identifier: Apache-2.0
#include "oneibd/event_queue.h"
#include "base/clock.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>

/* Events of a burst repeat themselves: ids are sorted, and repetitions dropped, each time that there
 * are so many more. */
#define SORT_EVERY 65536
#define FIRST_SLOTS 64
/* 2^64 divided by the golden ratio: numbers that follow each other, as oned's do, go far apart. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

static void drop_repetitions(struct oneib_id_set *ids)
{
    if (ids->count > 0 && ids->count % SORT_EVERY == 0)
        oneib_id_set_sort(ids);
}

static void add(struct oneib_work_queue *work, struct oneib_event event)
{
    switch (event.kind) {
    case ONEIB_EVENT_NOTHING:
    case ONEIB_EVENT_DOCUMENT: /* of no object in the cloud */
        return;
    case ONEIB_EVENT_VM:
        drop_repetitions(&work->vms);
        oneib_work_queue_vm(work, event.id);
        return;
    case ONEIB_EVENT_NETWORK:
        drop_repetitions(&work->networks);
        oneib_work_queue_network(work, event.id);
        return;
    case ONEIB_EVENT_HOST:
        drop_repetitions(&work->hosts);
        oneib_work_queue_host(work, event.id);
        return;
    case ONEIB_EVENT_GAP:
        work->everything = true;
        return;
    }
}

/* ---- once more ------------------------------------------------------------------------------- */

static bool has_rechecks(const struct oneib_event_queue *queue)
{
    return !oneib_work_queue_is_empty(&queue->young) || !oneib_work_queue_is_empty(&queue->old);
}

/* After a GAP everything is read anyway. */
void oneib_event_queue_add(struct oneib_event_queue *queue, double now, struct oneib_event event)
{
    add(&queue->due, event);
    if (event.kind == ONEIB_EVENT_GAP)
        return;
    if (!has_rechecks(queue))
        queue->recheck_at = now + ONEIB_RECHECK_MS;
    add(&queue->young, event);
}

static bool release_rechecks(struct oneib_event_queue *queue, double now)
{
    if (!has_rechecks(queue) || now < queue->recheck_at)
        return false;
    const bool something = !oneib_work_queue_is_empty(&queue->old);
    oneib_work_queue_join(&queue->due, &queue->old);
    oneib_work_queue_clear(&queue->old);
    queue->old = queue->young;
    queue->young = (struct oneib_work_queue){0};
    queue->recheck_at = now + ONEIB_RECHECK_MS;
    return something;
}

/* ---- delayed --------------------------------------------------------------------------------- */

/* The object's slot, or the empty one where it would be. slot_count is a power of two. */
static struct oneib_event_count *slot_of(struct oneib_event_count *counts, size_t slot_count,
                                         uint64_t object)
{
    size_t at = (size_t)((object * SPREAD) >> 32) & (slot_count - 1);
    while (counts[at].object != 0 && counts[at].object != object)
        at = (at + 1) & (slot_count - 1);
    return &counts[at];
}

static void grow(struct oneib_event_queue *queue)
{
    const size_t more = queue->slot_count ? 2 * queue->slot_count : FIRST_SLOTS;
    struct oneib_event_count *counts = oneib_alloc(more, sizeof *counts);
    for (size_t i = 0; i < queue->slot_count; i++)
        if (queue->counts[i].object != 0)
            *slot_of(counts, more, queue->counts[i].object) = queue->counts[i];
    free(queue->counts);
    queue->counts = counts;
    queue->slot_count = more;
}

static unsigned *count_of(struct oneib_event_queue *queue, struct oneib_event event)
{
    const uint64_t object = (uint64_t)event.kind << 32 | event.id;
    if (2 * (queue->used_slots + 1) > queue->slot_count)
        grow(queue);
    struct oneib_event_count *count = slot_of(queue->counts, queue->slot_count, object);
    queue->used_slots += count->object == 0;
    count->object = object;
    return &count->events;
}

static void clear_counts(struct oneib_event_queue *queue)
{
    free(queue->counts);
    queue->counts = NULL;
    queue->slot_count = queue->used_slots = 0;
}

static bool has_period_ended(const struct oneib_event_queue *queue, double now)
{
    return now - queue->period_began >= ONEIB_EVENT_PERIOD_MS;
}

bool oneib_event_queue_note(struct oneib_event_queue *queue, double now, struct oneib_event event)
{
    if (event.kind == ONEIB_EVENT_VM || event.kind == ONEIB_EVENT_NETWORK) {
        if (has_period_ended(queue, now) && oneib_work_queue_is_empty(&queue->delayed))
            clear_counts(queue);
        if (queue->used_slots == 0)
            queue->period_began = now;
        unsigned *count = count_of(queue, event);
        /* An object that waits and is named by 100,000 more events still waits once. */
        if (*count == ONEIB_EVENTS_PER_PERIOD)
            add(&queue->delayed, event);
        if (*count <= ONEIB_EVENTS_PER_PERIOD)
            (*count)++;
        if (*count > ONEIB_EVENTS_PER_PERIOD)
            return false;
    }
    oneib_event_queue_add(queue, now, event);
    return true;
}

static void note_all(struct oneib_event_queue *queue, double now, enum oneib_event_kind kind,
                     const struct oneib_id_set *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        oneib_event_queue_note(queue, now, (struct oneib_event){kind, ids->items[i]});
}

static bool release_delayed(struct oneib_event_queue *queue, double now)
{
    struct oneib_work_queue released = queue->delayed;
    if (queue->used_slots == 0 || !has_period_ended(queue, now))
        return false;
    const bool something = !oneib_work_queue_is_empty(&released);
    queue->delayed = (struct oneib_work_queue){0};
    clear_counts(queue);
    note_all(queue, now, ONEIB_EVENT_VM, &released.vms);
    note_all(queue, now, ONEIB_EVENT_NETWORK, &released.networks);
    oneib_work_queue_clear(&released);
    return something;
}

/* ---- together -------------------------------------------------------------------------------- */

bool oneib_event_queue_release(struct oneib_event_queue *queue, double now)
{
    const bool has_delayed = release_delayed(queue, now);
    return release_rechecks(queue, now) || has_delayed;
}

double oneib_event_queue_next(const struct oneib_event_queue *queue)
{
    const double delayed = oneib_work_queue_is_empty(&queue->delayed)
                               ? HUGE_VAL
                               : queue->period_began + ONEIB_EVENT_PERIOD_MS;
    return has_rechecks(queue) ? oneib_sooner(queue->recheck_at, delayed) : delayed;
}

void oneib_event_queue_clear(struct oneib_event_queue *queue)
{
    clear_counts(queue);
    oneib_work_queue_clear(&queue->due);
    oneib_work_queue_clear(&queue->young);
    oneib_work_queue_clear(&queue->old);
    oneib_work_queue_clear(&queue->delayed);
}
