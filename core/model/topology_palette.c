// SPDX-License-Identifier: Apache-2.0
#include "model/topology_palette.h"

#include "base/escape.h"
#include <string.h>

/*
 * M. Okabe and K. Ito, "Color Universal Design" (2008): told apart with every kind of colour
 * vision. Black is left out: lines and text have it.
 */
static const struct {
    const char *colour;
    bool light;
} palette[ONEIB_PALETTE_SIZE] = {
    {"#0072b2", false}, {"#e69f00", true},  {"#009e73", false}, {"#cc79a7", true},
    {"#56b4e9", true},  {"#d55e00", false}, {"#f0e442", true},
};

const char *oneib_palette_colour(size_t n)
{
    return palette[n % ONEIB_PALETTE_SIZE].colour;
}

bool oneib_palette_is_light(size_t n)
{
    return palette[n % ONEIB_PALETTE_SIZE].light;
}

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define ELLIPSIS "\xe2\x80\xa6"    /* U+2026 */

/* U+FFFE and U+FFFF are UTF-8, but no characters of XML (XML 1.0, 2.2). */
static bool is_noncharacter(const char *bytes, size_t length)
{
    return length == 3 &&
           (memcmp(bytes, "\xef\xbf\xbe", 3) == 0 || memcmp(bytes, "\xef\xbf\xbf", 3) == 0);
}

/* One character of it for which `entity` knows no other spelling. */
static size_t append_character(struct oneib_text *text, const char *string,
                               const char *(*entity)(char))
{
    size_t length = oneib_printable_length(string);
    if (length == 0 || is_noncharacter(string, length)) {
        oneib_text_append(text, REPLACEMENT);
        return length ? length : 1;
    }
    const char *spelling = length == 1 ? entity(*string) : NULL;
    if (spelling)
        oneib_text_append(text, spelling);
    else
        oneib_text_append_bytes(text, string, length);
    return length;
}

static void append(struct oneib_text *text, const char *string, size_t max_characters,
                   const char *(*entity)(char))
{
    for (; *string && max_characters; max_characters--)
        string += append_character(text, string, entity);
    if (*string)
        oneib_text_append(text, ELLIPSIS);
}

static const char *xml_entity(char character)
{
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static const char *dot_entity(char character)
{
    if (character == '"')
        return "\\\"";
    return character == '\\' ? "\\\\" : NULL;
}

void oneib_append_xml(struct oneib_text *text, const char *string, size_t max_characters)
{
    append(text, string, max_characters, xml_entity);
}

void oneib_append_dot(struct oneib_text *text, const char *string, size_t max_characters)
{
    append(text, string, max_characters, dot_entity);
}
