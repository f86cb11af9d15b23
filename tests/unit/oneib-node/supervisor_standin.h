// SPDX-License-Identifier: Apache-2.0
/*
 * In the place of oneib-node/supervisor.c: whoever includes this plays the program that would be
 * started, at the other end of its socket.
 */
#ifndef ONEIB_UNIT_ONEIB_NODE_SUPERVISOR_STANDIN_H
#define ONEIB_UNIT_ONEIB_NODE_SUPERVISOR_STANDIN_H

#include "oneib-node/supervisor.h"
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
    int control; /* closed: the supervisor has ended */
    int program; /* its standard input; -1: it has ended */
    void (*tell_failure)(int socket, const struct oneib_error *why);
    char path[PATH_MAX]; /* of the program */
    unsigned starts;
    bool refuses_start, refuses_orders;
} supervisor_standin = {.control = -1, .program = -1};

static inline void end_played_program(void)
{
    if (supervisor_standin.program >= 0)
        close(supervisor_standin.program);
    supervisor_standin.program = -1;
}

static inline void end_played_supervisor(void)
{
    if (supervisor_standin.control >= 0)
        close(supervisor_standin.control);
    supervisor_standin.control = -1;
}

int oneib_supervisor_start(const struct oneib_supervisor_options *options,
                           struct oneib_supervisor *supervisor, struct oneib_error *err)
{
    int ends[2];
    *supervisor = (struct oneib_supervisor){.pid = -1, .control = -1, .name = options->name};
    if (supervisor_standin.refuses_start)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "no user for %s", options->name);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "no socket");
    supervisor->control = ends[0];
    supervisor_standin.control = ends[1];
    supervisor_standin.tell_failure = options->tell_failure;
    snprintf(supervisor_standin.path, sizeof supervisor_standin.path, "%s", options->program);
    return 0;
}

int oneib_supervisor_order(const struct oneib_supervisor *supervisor, int socket,
                           struct oneib_error *err)
{
    if (supervisor_standin.refuses_orders)
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "%s is not started", supervisor->name);
    end_played_program();
    supervisor_standin.program = dup(socket);
    supervisor_standin.starts++;
    return 0;
}

void oneib_supervisor_end(struct oneib_supervisor *supervisor)
{
    if (supervisor->control >= 0)
        close(supervisor->control);
    *supervisor = (struct oneib_supervisor){.pid = -1, .control = -1};
    end_played_supervisor();
    end_played_program();
}

#endif
