// SPDX-License-Identifier: Apache-2.0
/* Sends requests to oneibd's control socket (docs/design/control.md). */
#ifndef ONEIB_ONEIB_CONTROL_CLIENT_H
#define ONEIB_ONEIB_CONTROL_CLIENT_H

#include "base/error.h"
#include "command/answer.h"
#include "config/config.h"

enum oneib_control_outcome {
    ONEIB_CONTROL_NO_DAEMON, /* no daemon of these partitions listens: no output is set */
    ONEIB_CONTROL_ANSWERED,  /* *answer and *outcome are set; after FAILURE *err, too */
    ONEIB_CONTROL_FAILED,    /* a daemon listens and did not answer: *err */
};

/* *answer is zeroed by the caller. No request is sent to a server that does not run as root, as this user or
 * as the owner of the socket's directory. */
enum oneib_control_outcome oneib_control_ask(const struct oneib_config *config,
                                             const struct oneib_command_request *request,
                                             struct oneib_command_answer *answer,
                                             enum oneib_exit *outcome, struct oneib_error *err);

#endif
