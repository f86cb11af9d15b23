// SPDX-License-Identifier: Apache-2.0
/*
 * The process without privileges that starts and ends oneib-domains: see oneib-node/domains.h. Of
 * oneib-node it hears one thing: start it, with this socket. It then ends the one before, however
 * that is. It sleeps otherwise, and ends when oneib-node does.
 */
#ifndef ONEIB_NODE_SUPERVISOR_H
#define ONEIB_NODE_SUPERVISOR_H

#include "base/error.h"
#include <sys/types.h>

struct oneib_supervisor {
    pid_t pid;
    int control; /* readable when the supervisor has ended */
};

struct oneib_supervisor_options {
    const char *program; /* path of oneib-domains */
    const char *uri;     /* its argument */
    const char *user;    /* whom both become; NULL: they stay who this process is */
};

/* Returns when it has become that user. NOT_FOUND: there is none. */
int oneib_supervisor_start(const struct oneib_supervisor_options *options,
                           struct oneib_supervisor *supervisor, struct oneib_error *err);
/* Has oneib-domains started, with `socket` as its standard input. Never waits. What goes wrong on
 * the way there is told on the socket, or ends it. The caller closes its own descriptor of it. */
int oneib_supervisor_order(const struct oneib_supervisor *supervisor, int socket,
                           struct oneib_error *err);
/* Ends it and oneib-domains. */
void oneib_supervisor_end(struct oneib_supervisor *supervisor);

#endif
