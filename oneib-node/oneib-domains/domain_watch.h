// SPDX-License-Identifier: Apache-2.0
/*
 * Following the domains of one libvirt, by its events, and telling oneib-node what they are: all of
 * it after each connection, before anything else is said, and all of it again at each change. One
 * thread; libvirt's own event loop, of which a process has one.
 *
 * It may hang in a call of libvirt's: whoever listens ends it then.
 */
#ifndef ONEIB_ONEIB_NODE_ONEIB_DOMAINS_DOMAIN_WATCH_H
#define ONEIB_ONEIB_NODE_ONEIB_DOMAINS_DOMAIN_WATCH_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

struct oneib_domain_watch;

struct oneib_domain_watch_options {
    const char *uri; /* borrowed until the end */
    int socket;      /* oneib-node's, SOCK_SEQPACKET; borrowed */
    /* Milliseconds between two questions to libvirt that only prove that it answers; 0: 4000, below
     * ONEIB_DOMAIN_NEWS_PAUSE_MS */
    uint32_t beat_ms;
    const char *processes; /* borrowed; NULL: ONEIB_DOMAIN_PROCESSES */
};

/* NULL in *watch on failure. Connecting is the first turn's. */
int oneib_domain_watch_open(const struct oneib_domain_watch_options *options,
                            struct oneib_domain_watch **watch, struct oneib_error *err);
void oneib_domain_watch_close(struct oneib_domain_watch *watch); /* NULL is fine */

/* Sleeps until something happens, and does what is to be done then. False: oneib-node is gone, or
 * says what cannot be understood. */
bool oneib_domain_watch_turn(struct oneib_domain_watch *watch);

#endif
