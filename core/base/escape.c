// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"
#include "base/order.h"
#include <stdint.h>
#include <string.h>

#include "base/invisible_characters.h"

/* Bytes of the UTF-8 sequence that begins with this one; 0: none does (RFC 3629). */
static size_t sequence_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    if (first >= 0xf0 && first <= 0xf4)
        return 4;
    return 0;
}

/* Decodes the sequence at `bytes` (NUL terminated). Returns its length, 0 when it is not UTF-8. */
static size_t decode(const unsigned char *bytes, uint32_t *point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = sequence_length(bytes[0]);
    if (length < 2) {
        *point = bytes[0];
        return length;
    }

    uint32_t value = bytes[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *point = value;
    return length;
}

/* Without a glyph, or acting on others: by Unicode's properties. */
static bool is_invisible(uint32_t point)
{
    const size_t count = sizeof invisible_characters / sizeof *invisible_characters;
    if (point < 0x80)
        return point < 0x20 || point == 0x7f;
    const size_t place = ONEIB_LOWER_BOUND(i, count, invisible_characters[i].last < point);
    return place < count && invisible_characters[place].first <= point;
}

size_t oneib_printable_length(const char *string)
{
    uint32_t point = 0;
    size_t length = decode((const unsigned char *)string, &point);
    return is_invisible(point) ? 0 : length;
}

void oneib_text_append_escaped(struct oneib_text *text, const char *string, size_t max)
{
    if (!string)
        return;

    size_t at = 0;
    while (string[at] && at < max) {
        size_t length = oneib_printable_length(string + at);
        if (length == 0 || string[at] == '"' || string[at] == '\\') {
            oneib_text_printf(text, "\\x%02x", (unsigned char)string[at]);
            at++;
        } else {
            oneib_text_append_bytes(text, string + at, length);
            at += length;
        }
    }
    if (string[at])
        oneib_text_append(text, "...");
}

void oneib_text_append_last_line(struct oneib_text *text, const char *said)
{
    const char *at = said ? said : "";
    for (const char *newline; (newline = strchr(at, '\n')) && newline[1];)
        at = newline + 1;
    while (*at && *at != '\n') {
        const size_t length = oneib_printable_length(at);
        if (length > 0)
            oneib_text_append_bytes(text, at, length);
        else
            oneib_text_printf(text, "\\x%02x", (unsigned char)*at);
        at += length > 0 ? length : 1;
    }
}
