// SPDX-License-Identifier: Apache-2.0
/* What subscribing and reading share; for core/opennebula alone. */
#ifndef ONEIB_OPENNEBULA_EVENTS_INTERNAL_H
#define ONEIB_OPENNEBULA_EVENTS_INTERNAL_H

#include "opennebula/events.h"

/* oned's messages are some 20 KiB of base64; only a user's huge attribute makes longer ones. */
#define ONEIB_EVENT_SIZE_MAX ((size_t)16 << 20)

/* What a subscription is for. */
struct oneib_event_topic {
    const char *prefix; /* of keys */
    enum oneib_event_kind kind;
    bool is_call; /* else a change of state */
};
extern const struct oneib_event_topic oneib_event_topics[]; /* ends with a prefix of NULL */

#endif
