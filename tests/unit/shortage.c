// SPDX-License-Identifier: Apache-2.0
#include "shortage.h"
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
char *__wrap_strdup(const char *text);

static size_t calls_left;
static bool has_failed, spares_text;

void shortage_begin(size_t nth)
{
    calls_left = nth;
    has_failed = spares_text = false;
}

void shortage_begin_but_of_text(size_t nth)
{
    shortage_begin(nth);
    spares_text = true;
}

bool shortage_end(void)
{
    calls_left = 0;
    return has_failed;
}

static bool fails_now(void)
{
    if (calls_left == 0 || --calls_left > 0)
        return false;
    has_failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    const bool is_text = size == 1; /* base/text.c, by oneib_reserve() */
    return !(is_text && spares_text) && fails_now() ? NULL : __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}
