// SPDX-License-Identifier: Apache-2.0
/*
 * The control socket, on which oneib sends requests to this daemon (docs/design/control.md). A thread
 * accepts, reads and writes within bounds, so that no client delays a turn; the main thread takes
 * requests between turns and returns the answers.
 */
#ifndef ONEIB_ONEIBD_CONTROL_H
#define ONEIB_ONEIBD_CONTROL_H

#include "base/error.h"
#include "command/control_message.h"
#include <stdbool.h>
#include <stdint.h>

struct oneib_control_options {
    const char *path;    /* of the socket */
    const char *readers; /* the group whose members may send requests, besides root and the daemon's
                            user and group; a group that does not exist has no members */
    unsigned places;     /* open connections */
    unsigned places_of_uid; /* open connections of one user other than root */
    double request_ms;      /* from accept to the complete request; to write an answer */
    double answer_ms;       /* from accept to the daemon's answer */
    size_t answers_bytes;   /* of all answers that wait to be read, unless there is only one */
};

/* The bounds of oneibd. */
#define ONEIB_CONTROL_BOUNDS                                                                       \
    .places = 32, .places_of_uid = 4, .request_ms = 5000, .answer_ms = 60000,                      \
    .answers_bytes = ONEIB_CONTROL_TEXTS_MAX

struct oneib_control;

/*
 * Listens. A socket at the path without a listener is replaced; any other file there is an error.
 * Every user may connect: the peer's uid and groups decide. Returns NULL on error.
 */
struct oneib_control *oneib_control_open(const struct oneib_control_options *options,
                                         struct oneib_error *err);
/* Removes the socket and closes all connections. NULL: does nothing. */
void oneib_control_close(struct oneib_control *control);
/* Whether it was opened with this path and group. */
bool oneib_control_is(const struct oneib_control *control, const char *path, const char *readers);

/* Readable while a request waits. */
int oneib_control_fd(const struct oneib_control *control);
/* Takes the oldest waiting request; number identifies it for the answer. False: none waits. */
bool oneib_control_take(struct oneib_control *control, struct oneib_control_request *request,
                        uint64_t *number);
/* Puts a request that was taken aside, for oneib_control_take_deferred(). Does nothing when the client
 * has disconnected. */
void oneib_control_defer(struct oneib_control *control, uint64_t number);
/* As oneib_control_take(), of the requests that were put aside. */
bool oneib_control_take_deferred(struct oneib_control *control,
                                 struct oneib_control_request *request, uint64_t *number);
/* Does nothing when the client has disconnected. failure: code NONE after DONE and DIFFERENCE
 * alone. */
void oneib_control_answer(struct oneib_control *control, uint64_t number, enum oneib_exit outcome,
                          const struct oneib_command_answer *answer,
                          const struct oneib_error *failure);

#endif
