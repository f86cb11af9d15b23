// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that is there, or the end of the process: whoever has none writes one line to standard
 * error and ends with ONEIB_EXIT_FAILURE (base/exit.h). oneib may be killed between any two steps, so
 * what that leaves behind is what a kill leaves. None of these functions returns NULL; what they
 * return is the caller's, for free().
 *
 * How much is asked for is bounded before, by a limit of what is read: a document that is too large
 * is an error, and ends nothing.
 */
#ifndef ONEIB_BASE_MEMORY_H
#define ONEIB_BASE_MEMORY_H

#include <stddef.h>

_Noreturn void oneib_out_of_memory(void);

/* `count` items of `size` bytes, all zero. */
void *oneib_alloc(size_t count, size_t size) __attribute__((returns_nonnull));
/* `old` (may be NULL) with room for `count` items of `size` bytes; what is new is not set. */
void *oneib_realloc(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
char *oneib_strdup(const char *text) __attribute__((returns_nonnull));
char *oneib_strndup(const char *text, size_t most) __attribute__((returns_nonnull));
char *oneib_asprintf(const char *format, ...)
    __attribute__((format(printf, 1, 2), returns_nonnull));

/* What another library has allocated, where NULL can mean nothing but that there was no memory:
 * never where it may mean that an input is bad. */
void *oneib_allocated(void *memory) __attribute__((returns_nonnull));

#endif
