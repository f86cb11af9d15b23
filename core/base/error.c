// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Marks a text that did not fit, so that nobody takes the cut for the end; no character is cut in
 * two. */
static void mark_cut(char *text, size_t size, int length)
{
    if (length < 0 || (size_t)length < size)
        return;

    size_t end = size - sizeof "...";
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    memcpy(text + end, "...", sizeof "...");
}

__attribute__((format(printf, 3, 0))) static void format_text(char *text, size_t size,
                                                              const char *format, va_list arguments)
{
    text[0] = '\0';
    mark_cut(text, size, vsnprintf(text, size, format, arguments));
}

int oneib_fail(struct oneib_error *err, enum oneib_error_code code, const char *format, ...)
{
    /* Not straight into err->text: it may be among the arguments. */
    char text[sizeof err->text];
    va_list arguments;
    va_start(arguments, format);
    format_text(text, sizeof text, format, arguments);
    va_end(arguments);

    err->code = code;
    err->system_errno = 0;
    strcpy(err->text, text);
    return -1;
}

int oneib_fail_errno(struct oneib_error *err, int errnum, const char *format, ...)
{
    char what[sizeof err->text];
    va_list arguments;
    va_start(arguments, format);
    format_text(what, sizeof what, format, arguments);
    va_end(arguments);

    err->code = ONEIB_ERROR_SYSTEM;
    err->system_errno = errnum;
    int length = snprintf(err->text, sizeof err->text, "%s: %s", what, strerror(errnum));
    mark_cut(err->text, sizeof err->text, length);
    return -1;
}

int oneib_wrap(struct oneib_error *err, const char *format, ...)
{
    char context[sizeof err->text];
    va_list arguments;
    va_start(arguments, format);
    format_text(context, sizeof context, format, arguments);
    va_end(arguments);

    char inner[sizeof err->text];
    strcpy(inner, err->text);
    int length = snprintf(err->text, sizeof err->text, "%s: %s", context, inner);
    mark_cut(err->text, sizeof err->text, length);
    return -1;
}

const char *oneib_error_code_name(enum oneib_error_code code)
{
    switch (code) {
    case ONEIB_ERROR_NONE:
        return "none";
    case ONEIB_ERROR_INPUT:
        return "input";
    case ONEIB_ERROR_CONFIG:
        return "config";
    case ONEIB_ERROR_SYSTEM:
        return "system";
    case ONEIB_ERROR_UNREACHABLE:
        return "unreachable";
    case ONEIB_ERROR_AUTH:
        return "auth";
    case ONEIB_ERROR_PERMISSION:
        return "permission";
    case ONEIB_ERROR_NOT_FOUND:
        return "not-found";
    case ONEIB_ERROR_PROTOCOL:
        return "protocol";
    case ONEIB_ERROR_TOO_LARGE:
        return "too-large";
    case ONEIB_ERROR_TIMEOUT:
        return "timeout";
    case ONEIB_ERROR_REFUSED:
        return "refused";
    }
    return "unknown";
}
