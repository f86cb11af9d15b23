// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include <stdint.h>

/* -1: not of the alphabet. */
static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

#define NO_SEXTET 0xff

size_t oneib_base64_decode_groups(const char *text, size_t length, char *bytes)
{
    uint8_t sextets[UINT8_MAX + 1];
    size_t done = 0;
    for (size_t i = 0; i < sizeof sextets; i++)
        sextets[i] = (uint8_t)sextet((char)i);
    for (const uint8_t *at = (const uint8_t *)text; length - done >= 4; done += 4, at += 4) {
        const uint8_t a = sextets[at[0]], b = sextets[at[1]], c = sextets[at[2]],
                      d = sextets[at[3]];
        if ((a | b | c | d) == NO_SEXTET)
            break;
        *bytes++ = (char)(a << 2 | b >> 4);
        *bytes++ = (char)(b << 4 | c >> 2);
        *bytes++ = (char)(c << 6 | d);
    }
    return done;
}

char *oneib_base64_decode(const char *text, size_t length, size_t *decoded)
{
    *decoded = 0;
    oneib_autofree char *bytes = oneib_alloc(length + 1, 1);
    size_t count = 0, padding = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '\n' && text[i] != '\r')
            bytes[count++] = text[i];
    for (; padding < 2 && padding < count && bytes[count - 1 - padding] == '='; padding++)
        bytes[count - 1 - padding] = 'A';
    /* In place: what is written is always behind what is read. */
    if (count == 0 || count % 4 != 0 || oneib_base64_decode_groups(bytes, count, bytes) != count)
        return NULL;
    *decoded = count / 4 * 3 - padding;
    bytes[*decoded] = '\0';
    return oneib_steal(&bytes);
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Up to three bytes as four characters. */
static void encode_group(const unsigned char *bytes, size_t count, char *out)
{
    const uint32_t bits = (uint32_t)bytes[0] << 16 | (count > 1 ? (uint32_t)bytes[1] << 8 : 0) |
                          (count > 2 ? bytes[2] : 0u);
    out[0] = alphabet[bits >> 18];
    out[1] = alphabet[bits >> 12 & 63];
    out[2] = count > 1 ? alphabet[bits >> 6 & 63] : '=';
    out[3] = count > 2 ? alphabet[bits & 63] : '=';
}

char *oneib_base64_encode(const char *bytes, size_t length, size_t *encoded)
{
    char *text = oneib_alloc(length / 3 * 4 + 5, 1);
    *encoded = 0;
    for (size_t i = 0; i < length; i += 3, *encoded += 4)
        encode_group((const unsigned char *)bytes + i, length - i, text + *encoded);
    text[*encoded] = '\0';
    return text;
}
