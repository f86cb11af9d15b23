// SPDX-License-Identifier: Apache-2.0
/* Running a program without a shell. Private to core/fabric. */
#ifndef ONEIB_FABRIC_COMMAND_H
#define ONEIB_FABRIC_COMMAND_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

/*
 * Runs argv[0] (found in PATH unless it has a slash) and waits for it. What it writes to standard
 * output and standard error goes to `output`: at most size - 1 bytes, NUL terminated; the rest is
 * dropped. Anything but exit status 0 is an error that quotes the output. After timeout_ms the
 * program and its process group are killed.
 */
int oneib_command_run(const char *const *argv, uint32_t timeout_ms, char *output, size_t size,
                      struct oneib_error *err);

#endif
