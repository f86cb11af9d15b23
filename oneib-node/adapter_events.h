// SPDX-License-Identifier: Apache-2.0
/*
 * Asynchronous events of the host's adapters, through libibverbs (ibv_get_async_event(3)): a P_Key
 * table changed, a port went up or down, a device is being reset. What happened does not matter,
 * only that something did: whoever waits looks at everything.
 */
#ifndef ONEIB_NODE_ADAPTER_EVENTS_H
#define ONEIB_NODE_ADAPTER_EVENTS_H

#include "base/error.h"
#include "hca/hca.h"
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* As many adapters as a host has slots for. */
#define ONEIB_ADAPTERS_MAX 16

struct oneib_adapter_events {
    struct oneib_adapter {
        char name[ONEIB_DEVICE_NAME_SIZE];
        void *context; /* struct ibv_context *; owned */
    } items[ONEIB_ADAPTERS_MAX];
    size_t count;
};

/*
 * Opens those of the adapters that are not open yet, and closes those that are gone. A simulated
 * node has none. On failure (no device file, no provider) the others are open all the same; *err
 * names one that is not.
 */
int oneib_adapter_events_follow(struct oneib_adapter_events *events, const struct oneib_hcas *hcas,
                                struct oneib_error *err);

/* One for each open adapter, at most ONEIB_ADAPTERS_MAX. Returns how many. */
size_t oneib_adapter_events_poll(const struct oneib_adapter_events *events, struct pollfd *files);

/* Takes and acknowledges all events that wait; true when there was one. A device that reports its
 * end is closed. */
bool oneib_adapter_events_take(struct oneib_adapter_events *events);

void oneib_adapter_events_close(struct oneib_adapter_events *events);

#endif
