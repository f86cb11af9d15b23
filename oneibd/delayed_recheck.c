// SPDX-License-Identifier: Apache-2.0
#include "oneibd/delayed_recheck.h"

/* Events of a burst repeat themselves. */
#define TIDY 65536

static void tidy(struct oneib_id_set *ids)
{
    if (ids->count > 0 && ids->count % TIDY == 0)
        oneib_id_set_sort(ids);
}

void oneib_event_note(struct oneib_work_queue *queue, struct oneib_event event)
{
    switch (event.kind) {
    case ONEIB_EVENT_NOTHING:
    case ONEIB_EVENT_DOCUMENT: /* of no object in the cloud */
        return;
    case ONEIB_EVENT_VM:
        tidy(&queue->vms);
        oneib_work_queue_vm(queue, event.id);
        return;
    case ONEIB_EVENT_NETWORK:
        tidy(&queue->networks);
        oneib_work_queue_network(queue, event.id);
        return;
    case ONEIB_EVENT_HOST:
        tidy(&queue->hosts);
        oneib_work_queue_host(queue, event.id);
        return;
    case ONEIB_EVENT_GAP:
        queue->everything = true;
        return;
    }
}

static bool is_silent(const struct oneib_delayed_recheck *reread)
{
    return oneib_work_queue_is_empty(&reread->young) && oneib_work_queue_is_empty(&reread->old);
}

void oneib_delayed_recheck_note(struct oneib_delayed_recheck *reread, double now,
                                struct oneib_event event)
{
    if (event.kind == ONEIB_EVENT_GAP)
        return;
    if (is_silent(reread))
        reread->turn_at = now + ONEIB_DELAYED_RECHECK_MS;
    oneib_event_note(&reread->young, event);
}

bool oneib_delayed_recheck_take(struct oneib_delayed_recheck *reread, double now,
                                struct oneib_work_queue *queue)
{
    if (is_silent(reread) || now < reread->turn_at)
        return false;

    const bool something = !oneib_work_queue_is_empty(&reread->old);
    oneib_work_queue_join(queue, &reread->old);
    oneib_work_queue_clear(&reread->old);
    reread->old = reread->young;
    reread->young = (struct oneib_work_queue){0};
    reread->turn_at = now + ONEIB_DELAYED_RECHECK_MS;
    return something;
}

double oneib_delayed_recheck_wait(const struct oneib_delayed_recheck *reread, double now,
                                  double otherwise)
{
    if (is_silent(reread))
        return otherwise;
    const double wait = reread->turn_at > now ? reread->turn_at - now : 0;
    return wait < otherwise ? wait : otherwise;
}

void oneib_delayed_recheck_clear(struct oneib_delayed_recheck *reread)
{
    oneib_work_queue_clear(&reread->young);
    oneib_work_queue_clear(&reread->old);
}
