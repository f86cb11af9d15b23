// SPDX-License-Identifier: Apache-2.0
/* A connection of this node's to one oneibd: a ZeroMQ DEALER with CURVE, which comes back by
 * itself. */
#ifndef ONEIB_NODE_ONEIB_GRANTS_LINK_H
#define ONEIB_NODE_ONEIB_GRANTS_LINK_H

#include "base/error.h"
#include "oneib-node/oneib-grants/relay_message.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_link {
    void *context, *socket, *monitor;    /* the context is borrowed */
    const struct oneib_curve_pair *pair; /* the node's; borrowed */
    const struct oneib_relay_peer *peer; /* borrowed */
    char endpoint[32];                   /* of the monitor */
    size_t number;                       /* its index in SETUP */
    unsigned times;                      /* that it was made */
    bool connected;                      /* both have proved their keys to each other */
    bool refused;                        /* since it was made: the other wanted none */
    char why[ONEIB_RELAY_TEXT];          /* not connected: why */
    double due_ms; /* not connected: when everything is begun anew (oneib_now_ms()) */
};

/* INPUT: the address is none. Whether there is anybody turns out later. */
int oneib_link_open(void *context, const struct oneib_curve_pair *pair,
                    const struct oneib_relay_peer *peer, size_t number, struct oneib_link *link,
                    struct oneib_error *err);
void oneib_link_close(struct oneib_link *link); /* one that is all 0 is fine */

/* Learns how the connection is, and begins anew when that is due. */
int oneib_link_follow(struct oneib_link *link, struct oneib_error *err);
/* Lost unless it is connected and has room. */
void oneib_link_send(const struct oneib_link *link, const void *bytes, size_t length);
/* The next frame's length, at most `size`; 0: none now. What is longer, or of several frames, is
 * dropped. */
size_t oneib_link_receive(const struct oneib_link *link, void *bytes, size_t size);

#endif
