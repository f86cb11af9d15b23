// SPDX-License-Identifier: Apache-2.0
/* base64 on one line, as oned's events carry their documents (RFC 4648, section 4). */
#ifndef ONEIB_TESTS_BASE64_H
#define ONEIB_TESTS_BASE64_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline size_t base64_length(size_t length)
{
    return (length + 2) / 3 * 4;
}

/* text has room for base64_length(length) bytes; no NUL is appended. */
static inline void base64_encode(const void *data, size_t length, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i += 3, text += 4) {
        size_t left = length - i;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0);
        text[0] = digits[bits >> 18];
        text[1] = digits[bits >> 12 & 63];
        text[2] = left > 1 ? digits[bits >> 6 & 63] : '=';
        text[3] = left > 2 ? digits[bits & 63] : '=';
    }
}

/* Of what base64_encode() made: NUL terminated, to be freed; NULL: it is no base64. */
static inline char *base64_decode(const char *text, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *bytes = calloc(1, length + 1);
    size_t count = 0;
    uint32_t bits = 0;
    for (size_t i = 0; bytes && i < length && text[i] != '='; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit || length % 4 != 0) {
            free(bytes);
            return NULL;
        }
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (i % 4 != 0)
            bytes[count++] = (char)(bits >> (6 - i % 4 * 2) & 255);
    }
    return bytes;
}

#endif
