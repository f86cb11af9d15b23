// SPDX-License-Identifier: Apache-2.0
/* A growing text. Out of memory: memory.h. */
#ifndef ONEIB_BASE_TEXT_H
#define ONEIB_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct oneib_text {
    char *data;    /* NUL terminated once anything was appended; NULL before. Owned. */
    size_t length; /* bytes, without the NUL */
    size_t capacity;
};

void oneib_text_append(struct oneib_text *text, const char *string);
void oneib_text_append_bytes(struct oneib_text *text, const char *bytes, size_t length);
void oneib_text_printf(struct oneib_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void oneib_text_vprintf(struct oneib_text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
/* Frees the memory and makes *text empty and usable again. */
void oneib_text_clear(struct oneib_text *text);

#define oneib_autotext __attribute__((cleanup(oneib_text_clear)))

#endif
