// SPDX-License-Identifier: Apache-2.0
/* What the configuration file must be before libconfig reads it; for core/base only. */
#ifndef ONEIB_CONFIG_CONFIG_SOURCE_H
#define ONEIB_CONFIG_CONFIG_SOURCE_H

#include "base/error.h"
#include <stddef.h>

/*
 * Refuses, with file and line, what libconfig 1.5 lets pass in silence or cannot survive: whole
 * numbers beyond 32 bits (it keeps the low bits), leading zeros (not octal there, but read as such
 * by many), a comment without an end (it hides the rest of the file), NUL bytes (they end the
 * text), and @include (of a directory: it ends the program).
 */
int oneib_config_check_source(const char *path, const char *source, size_t length,
                              struct oneib_error *err);

#endif
