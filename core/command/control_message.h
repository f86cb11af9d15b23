// SPDX-License-Identifier: Apache-2.0
/*
 * What oneib and oneibd send each other over the control socket (docs/design/control.md): one
 * request of a fixed size, then one answer, a head and the texts that it counts. Numbers are
 * little-endian. Pure.
 */
#ifndef ONEIB_COMMAND_CONTROL_MESSAGE_H
#define ONEIB_COMMAND_CONTROL_MESSAGE_H

#include "base/error.h"
#include "command/answer.h"
#include <stddef.h>
#include <stdint.h>

#define ONEIB_CONTROL_REQUEST_SIZE (8 + 8 + 4 + 4 + ONEIB_NETWORK_NAME_SIZE)
#define ONEIB_CONTROL_HEAD_SIZE (8 + 6 * 4)
/* Bytes of all texts of one answer. */
#define ONEIB_CONTROL_TEXTS_MAX (256u << 20)

struct oneib_control_request {
    uint64_t partitions; /* oneib_control_partitions() of the client's configuration */
    struct oneib_command_request request;
};

/* What follows an answer's head. */
struct oneib_control_head {
    enum oneib_exit outcome;    /* REFUSED: the daemon keeps other partitions */
    enum oneib_error_code code; /* NONE after DONE and DIFFERENCE alone */
    /* Bytes on standard output, on standard error before and after it; then the error's text. */
    uint32_t out_length, err_length, end_length, failure_length;
};

/* A hash of the partitions' path: a daemon that keeps other partitions refuses the request. */
uint64_t oneib_control_partitions(const struct oneib_config *config);

void oneib_control_request_encode(const struct oneib_control_request *request,
                                  uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE]);
/* ONEIB_ERROR_PROTOCOL: not a request of this version. */
int oneib_control_request_decode(const uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE],
                                 struct oneib_control_request *request, struct oneib_error *err);

/* Appends the whole answer. failure->code NONE: no failure. Texts that are too long are replaced by a
 * failure. */
void oneib_control_answer_encode(enum oneib_exit outcome, const struct oneib_command_answer *answer,
                                 const struct oneib_error *failure, struct oneib_text *bytes);
int oneib_control_head_decode(const uint8_t bytes[ONEIB_CONTROL_HEAD_SIZE],
                              struct oneib_control_head *head, struct oneib_error *err);

#endif
