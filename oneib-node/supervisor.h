// SPDX-License-Identifier: Apache-2.0
/*
 * The process without privileges that starts and ends one program, oneib-domains or oneib-grants:
 * see oneib-node/domains_feed.h and oneib-node/grants_feed.h. Of oneib-node it hears one thing:
 * start it, with this socket. It then ends the one before, however that is. It sleeps otherwise,
 * and ends when oneib-node does.
 */
#ifndef ONEIB_NODE_SUPERVISOR_H
#define ONEIB_NODE_SUPERVISOR_H

#include "base/error.h"
#include <stdbool.h>
#include <sys/types.h>

struct oneib_supervisor {
    pid_t pid;
    int control;      /* readable when the supervisor has ended */
    const char *name; /* options' */
};

struct oneib_supervisor_options {
    const char *name;      /* of the program, for errors: "oneib-domains" */
    const char *program;   /* its path */
    const char *argument;  /* its only one; NULL: none */
    const char *user;      /* whom both become in a privileged run */
    bool without_internet; /* it makes no sockets of the internet, for good */
    /* Tells whoever reads the socket's other end why the program could not be started, in the
     * program's own words. Called in the supervisor, or in the program's place. */
    void (*tell_failure)(int socket, const struct oneib_error *why);
};

/* Returns when it has become that user. NOT_FOUND: there is none. `options`, and what they name,
 * must stay for as long as the call lasts. */
int oneib_supervisor_start(const struct oneib_supervisor_options *options,
                           struct oneib_supervisor *supervisor, struct oneib_error *err);
/* Has the program started, with `socket` as its standard input. Never waits. What goes wrong on
 * the way there is told on the socket, or ends it. The caller closes its own descriptor of it. */
int oneib_supervisor_order(const struct oneib_supervisor *supervisor, int socket,
                           struct oneib_error *err);
/* Ends it and the program. */
void oneib_supervisor_end(struct oneib_supervisor *supervisor);

#endif
