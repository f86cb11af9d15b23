// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"
#include "base/exit.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not by exit(): what others have registered for it may want memory, and other threads run on. */
void oneib_out_of_memory(void)
{
    static const char line[] = "oneib: out of memory\n";
    const ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
    (void)ignored;
    _exit(ONEIB_EXIT_FAILURE);
}

void *oneib_allocated(void *memory)
{
    if (!memory)
        oneib_out_of_memory();
    return memory;
}

void *oneib_alloc(size_t count, size_t size)
{
    return oneib_allocated(calloc(count ? count : 1, size ? size : 1));
}

void *oneib_realloc(void *old, size_t count, size_t size)
{
    return oneib_allocated(reallocarray(old, count ? count : 1, size ? size : 1));
}

char *oneib_strdup(const char *text)
{
    return oneib_allocated(strdup(text));
}

char *oneib_strndup(const char *text, size_t most)
{
    return oneib_allocated(strndup(text, most));
}

char *oneib_asprintf(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        oneib_out_of_memory();
    return text;
}
