// SPDX-License-Identifier: Apache-2.0
#include "oneibd/echo.h"

/* Events of a burst repeat themselves. */
#define TIDY 65536

static void tidy(struct oneib_id_set *ids)
{
    if (ids->count > 0 && ids->count % TIDY == 0)
        oneib_id_set_sort(ids);
}

int oneib_event_note(struct oneib_agenda *agenda, struct oneib_event event, struct oneib_error *err)
{
    switch (event.kind) {
    case ONEIB_EVENT_NOTHING:
    case ONEIB_EVENT_DOCUMENT: /* of no object in the cloud */
        return 0;
    case ONEIB_EVENT_VM:
        tidy(&agenda->vms);
        return oneib_agenda_vm(agenda, event.id, err);
    case ONEIB_EVENT_NETWORK:
        tidy(&agenda->networks);
        return oneib_agenda_network(agenda, event.id, err);
    case ONEIB_EVENT_HOST:
        tidy(&agenda->hosts);
        return oneib_agenda_host(agenda, event.id, err);
    case ONEIB_EVENT_GAP:
        agenda->everything = true;
        return 0;
    }
    return 0;
}

static bool is_silent(const struct oneib_echo *echo)
{
    return oneib_agenda_is_empty(&echo->young) && oneib_agenda_is_empty(&echo->old);
}

int oneib_echo_note(struct oneib_echo *echo, double now, struct oneib_event event,
                    struct oneib_error *err)
{
    if (event.kind == ONEIB_EVENT_GAP)
        return 0;
    if (is_silent(echo))
        echo->turn_at = now + ONEIB_ECHO_MS;
    return oneib_event_note(&echo->young, event, err);
}

bool oneib_echo_take(struct oneib_echo *echo, double now, struct oneib_agenda *agenda)
{
    if (is_silent(echo) || now < echo->turn_at)
        return false;

    const bool something = !oneib_agenda_is_empty(&echo->old);
    struct oneib_error failure;
    if (oneib_agenda_join(agenda, &echo->old, &failure) < 0)
        agenda->everything = true;
    oneib_agenda_clear(&echo->old);
    echo->old = echo->young;
    echo->young = (struct oneib_agenda){0};
    echo->turn_at = now + ONEIB_ECHO_MS;
    return something;
}

double oneib_echo_wait(const struct oneib_echo *echo, double now, double otherwise)
{
    if (is_silent(echo))
        return otherwise;
    const double wait = echo->turn_at > now ? echo->turn_at - now : 0;
    return wait < otherwise ? wait : otherwise;
}

void oneib_echo_clear(struct oneib_echo *echo)
{
    oneib_agenda_clear(&echo->young);
    oneib_agenda_clear(&echo->old);
}
