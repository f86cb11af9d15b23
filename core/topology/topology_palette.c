// SPDX-License-Identifier: Apache-2.0
#include "topology/topology_palette.h"

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

/* The first character: its bytes and columns, and whether it can be shown as it is. */
struct character {
    size_t length, columns;
    bool shown;
};

static struct character first_character(const char *string)
{
    const size_t length = oneib_printable_length(string);
    if (length == 0 || is_noncharacter(string, length))
        return (struct character){length ? length : 1, 1, false};
    return (struct character){length, length > 2 ? 2 : 1, true};
}

size_t oneib_columns_of(const char *string)
{
    size_t columns = 0;
    while (*string) {
        const struct character first = first_character(string);
        columns += first.columns;
        string += first.length;
    }
    return columns;
}

static void append_character(struct oneib_text *text, const char *string, struct character first,
                             const char *(*entity)(char))
{
    const char *spelling = first.length == 1 ? entity(*string) : NULL;
    if (!first.shown)
        oneib_text_append(text, REPLACEMENT);
    else if (spelling)
        oneib_text_append(text, spelling);
    else
        oneib_text_append_bytes(text, string, first.length);
}

static void append(struct oneib_text *text, const char *string, size_t max_columns,
                   const char *(*entity)(char))
{
    const bool fits = oneib_columns_of(string) <= max_columns;
    size_t room = fits || max_columns == 0 ? max_columns : max_columns - 1;
    while (*string) {
        const struct character first = first_character(string);
        if (first.columns > room)
            break;
        append_character(text, string, first, entity);
        string += first.length;
        room -= first.columns;
    }
    if (!fits && max_columns > 0)
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

void oneib_append_xml(struct oneib_text *text, const char *string, size_t max_columns)
{
    append(text, string, max_columns, xml_entity);
}

void oneib_append_dot(struct oneib_text *text, const char *string, size_t max_columns)
{
    append(text, string, max_columns, dot_entity);
}
