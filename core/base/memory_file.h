// SPDX-License-Identifier: Apache-2.0
/* A file in memory alone, for what a program is to read on its standard input. */
#ifndef ONEIB_BASE_MEMORY_FILE_H
#define ONEIB_BASE_MEMORY_FILE_H

#include <stddef.h>

/* A descriptor (close-on-exec) of a file with this content, to be read from its beginning; -1 with
 * errno set. Unlike with a pipe, who reads may do so late, or never, and nobody waits for it or is
 * told by a signal. */
int oneib_memory_file(const char *content, size_t length);

#endif
