// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "base/array.h"
#include "base/memory.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` bytes and a NUL. */
static void make_room(struct oneib_text *text, size_t more)
{
    if (more > SIZE_MAX - text->length - 1)
        oneib_out_of_memory();
    ONEIB_RESERVE(text->data, text->capacity, text->length + more + 1);
}

void oneib_text_append_bytes(struct oneib_text *text, const char *bytes, size_t length)
{
    make_room(text, length);
    if (length) /* memcpy() may not be given the NULL of an empty text */
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void oneib_text_append(struct oneib_text *text, const char *string)
{
    oneib_text_append_bytes(text, string, strlen(string));
}

void oneib_text_vprintf(struct oneib_text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0)
        oneib_out_of_memory();
    make_room(text, (size_t)length);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
    va_end(again);
}

void oneib_text_printf(struct oneib_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    oneib_text_vprintf(text, format, arguments);
    va_end(arguments);
}

void oneib_text_clear(struct oneib_text *text)
{
    free(text->data);
    *text = (struct oneib_text){0};
}
