// SPDX-License-Identifier: Apache-2.0
/* Running a program without a shell. */
#ifndef ONEIB_BASE_COMMAND_H
#define ONEIB_BASE_COMMAND_H

#include "base/error.h"
#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

/* Borrowed pointers. */
struct oneib_command {
    const char *const *argv; /* argv[0] is found in PATH unless it has a slash */
    const char *input;       /* its standard input; NULL: nothing */
    size_t input_length;
    int input_fd; /* above 0: its standard input, in place of `input`; it stays the caller's */
    uint32_t timeout_ms;
    size_t output_max;              /* bytes kept of each of its outputs; the rest is dropped */
    const char *const *environment; /* "NAME=value", NULL-terminated; NULL: this process's */
};

/*
 * Runs it in a process group of its own and waits for it. Standard output is appended to *output,
 * standard error to *errors; they may be the same text, which then has both in their order. Whoever
 * needs all of it takes output_max bytes as too much. *status is the exit status, whatever it is.
 *
 * Errors: SYSTEM, it could not be started (system_errno ENOENT: there is no such program);
 * UNREACHABLE, a signal ended it (with what it wrote); TIMEOUT after timeout_ms: its group was
 * killed, or, when it is more privileged than this process, left alone. What it wrote until then is
 * in the texts.
 */
int oneib_command_capture(const struct oneib_command *command, struct oneib_text *output,
                          struct oneib_text *errors, int *status, struct oneib_error *err);

/*
 * The same for programs that just have to succeed: no input, both outputs go to `output`, at most
 * size - 1 bytes, NUL terminated. Anything but exit status 0 is an error that quotes the output.
 */
int oneib_command_run(const char *const *argv, uint32_t timeout_ms, char *output, size_t size,
                      struct oneib_error *err);

#endif
