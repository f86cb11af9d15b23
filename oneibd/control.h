// SPDX-License-Identifier: Apache-2.0
/*
 * The control socket, at which oneib asks this daemon (docs/design/control.md). A thread of its own
 * accepts, reads and writes, within bounds, so that no client delays a turn; the daemon takes
 * requests from it between turns and gives the answers back.
 */
#ifndef ONEIB_ONEIBD_CONTROL_H
#define ONEIB_ONEIBD_CONTROL_H

#include "base/error.h"
#include "command/control_message.h"
#include <stdbool.h>
#include <stdint.h>

struct oneib_control_options {
    const char *path;    /* of the socket */
    const char *readers; /* the group whose members may ask, besides root and the daemon's own user
                            and group; one that there is not has no members */
    unsigned places;     /* connections at a time */
    unsigned places_of_uid; /* likewise, of one user but root */
    double request_ms;      /* from accept to the whole request, and to take an answer */
    double answer_ms;       /* from accept until the daemon has answered */
};

/* The bounds of oneibd. */
#define ONEIB_CONTROL_BOUNDS                                                                       \
    .places = 32, .places_of_uid = 4, .request_ms = 5000, .answer_ms = 60000

struct oneib_control;

/*
 * Listens. A socket at the path that nobody listens at any more is replaced; anything else there is
 * an error. For everybody to connect: the peer's uid and groups decide.
 */
struct oneib_control *oneib_control_open(const struct oneib_control_options *options,
                                         struct oneib_error *err);
/* Removes the socket; who waits is hung up on. NULL: nothing. */
void oneib_control_close(struct oneib_control *control);
/* Whether it was opened with these. */
bool oneib_control_is(const struct oneib_control *control, const char *path, const char *readers);

/* Readable while a request waits to be taken. */
int oneib_control_fd(const struct oneib_control *control);
/* The oldest that waits, and the number to answer it by; false: none. */
bool oneib_control_take(struct oneib_control *control, struct oneib_control_request *request,
                        uint64_t *number);
/* Of one that has given up meanwhile nothing is done. failure: code NONE after DONE
 * and DIFFERENCE alone. */
void oneib_control_answer(struct oneib_control *control, uint64_t number, enum oneib_exit outcome,
                          const struct oneib_command_answer *answer,
                          const struct oneib_error *failure);

#endif
