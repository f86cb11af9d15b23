// SPDX-License-Identifier: Apache-2.0
/* Asking oneibd at its control socket (docs/design/control.md). */
#ifndef ONEIB_ONEIB_CONTROL_CLIENT_H
#define ONEIB_ONEIB_CONTROL_CLIENT_H

#include "base/error.h"
#include "command/answer.h"
#include "config/config.h"

enum oneib_control_outcome {
    ONEIB_CONTROL_NOBODY,   /* no daemon of these partitions listens: nothing is set */
    ONEIB_CONTROL_ANSWERED, /* *answer and *outcome are set; after FAILURE *err, too */
    ONEIB_CONTROL_FAILED,   /* one listens, and there is no answer: *err */
};

/* *answer is zeroed before. A server that runs as another user than root, this one and the owner of
 * the socket's directory is not asked. */
enum oneib_control_outcome oneib_control_ask(const struct oneib_config *config,
                                             const struct oneib_command_request *request,
                                             struct oneib_command_answer *answer,
                                             enum oneib_exit *outcome, struct oneib_error *err);

#endif
