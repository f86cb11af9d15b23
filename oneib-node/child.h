// SPDX-License-Identifier: Apache-2.0
/*
 * A program without privileges that oneib-node listens to: oneib-domains, oneib-grants. A
 * supervisor runs it, with one end of a socket that carries packets as its standard input. It is
 * started again when it has ended, or has said nothing for too long: later each time, until it is
 * well.
 */
#ifndef ONEIB_NODE_CHILD_H
#define ONEIB_NODE_CHILD_H

#include "base/error.h"
#include "oneib-node/supervisor.h"
#include <stdbool.h>
#include <stdint.h>

struct oneib_child {
    struct oneib_supervisor supervisor;
    int poll_fd; /* epoll: of the supervisor and of the socket */
    int socket;  /* -1: it does not run */
    double due;  /* oneib_now_ms(); it runs: when it has been silent for too long; else: when to
                    start it */
    uint32_t silence_ms;
    uint32_t restart_ms;
};

/* What is closed already, or was never begun. */
#define ONEIB_CHILD_NONE                                                                           \
    ((struct oneib_child){.supervisor = {.pid = -1, .control = -1}, .poll_fd = -1, .socket = -1})

/* Starts its supervisor alone. `child` is ONEIB_CHILD_NONE, and is closed by the caller whatever
 * this returns. */
int oneib_child_open(const struct oneib_supervisor_options *options, uint32_t silence_ms,
                     struct oneib_child *child, struct oneib_error *err);
void oneib_child_close(struct oneib_child *child);

/* Makes the socket and has the program started. Bytes in `room` may wait in the socket each way; 0:
 * as many as the kernel gives. When it fails, the caller calls oneib_child_start_later(). */
int oneib_child_start(struct oneib_child *child, int room, struct oneib_error *err);
/* Hears it no more, and is due to start it. The supervisor ends it before it starts the next one.
 */
void oneib_child_start_later(struct oneib_child *child);
bool oneib_child_is_due(const struct oneib_child *child);

/* It has said something. */
void oneib_child_heard(struct oneib_child *child);
/* It does what it is for: when it ends, it is started again soon. */
void oneib_child_is_well(struct oneib_child *child);

/* UNREACHABLE: the supervisor has ended, and nobody else can start the program. */
int oneib_child_check_supervisor(const struct oneib_child *child, struct oneib_error *err);

#endif
