// SPDX-License-Identifier: Apache-2.0
#include "command/output.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/memory.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define ELLIPSIS "..."

/* ECMA-48, Select Graphic Rendition. */
static const char *const style_codes[] = {
    [ONEIB_PLAIN] = "",           [ONEIB_GOOD] = "\033[32m",  [ONEIB_BAD] = "\033[31m",
    [ONEIB_CHANGED] = "\033[33m", [ONEIB_STRONG] = "\033[1m", [ONEIB_FAINT] = "\033[2m",
};
#define STYLE_END "\033[0m"

struct oneib_cell {
    char *text; /* escaped */
    enum oneib_style style;
};

static bool is_painted(bool on, enum oneib_style style)
{
    return on && style != ONEIB_PLAIN;
}

void oneib_paint(struct oneib_text *text, bool on, enum oneib_style style, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (is_painted(on, style))
        oneib_text_append(text, style_codes[style]);
    oneib_text_vprintf(text, format, arguments);
    if (is_painted(on, style))
        oneib_text_append(text, STYLE_END);
    va_end(arguments);
}

/* Columns of a terminal that an escaped text takes. */
static size_t width_of(const char *string)
{
    size_t width = 0;
    mbstate_t state = {0};
    while (*string) {
        wchar_t character;
        const size_t length = mbrtowc(&character, string, MB_CUR_MAX, &state);
        if (length == 0 || length > MB_CUR_MAX)
            return width + strlen(string);
        const int columns = wcwidth(character);
        width += columns > 0 ? (size_t)columns : 1;
        string += length;
    }
    return width;
}

/* Bytes of the longest beginning of an escaped text that takes at most `columns`. */
static size_t bytes_that_fit(const char *string, size_t columns)
{
    size_t bytes = 0, width = 0;
    mbstate_t state = {0};
    while (string[bytes]) {
        wchar_t character;
        size_t length = mbrtowc(&character, string + bytes, MB_CUR_MAX, &state);
        if (length == 0 || length > MB_CUR_MAX)
            length = 1;
        const int taken = wcwidth(character);
        width += taken > 0 ? (size_t)taken : 1;
        if (width > columns)
            break;
        bytes += length;
    }
    return bytes;
}

void oneib_append_untrusted(struct oneib_text *text, const char *string, size_t columns)
{
    oneib_autotext struct oneib_text escaped = {0};
    oneib_text_append_escaped(&escaped, string, SIZE_MAX);
    const char *whole = escaped.data ? escaped.data : "";
    if (columns == 0 || width_of(whole) <= columns) {
        oneib_text_append(text, whole);
        return;
    }
    oneib_text_append_bytes(text, whole, bytes_that_fit(whole, columns - strlen(ELLIPSIS)));
    oneib_text_append(text, ELLIPSIS);
}

void oneib_append_message(struct oneib_text *text, const char *string)
{
    oneib_autofree char *copy = oneib_strdup(string);
    char *rest = copy;
    for (char *mark; (mark = strpbrk(rest, "\"\\")); rest = mark + 1) {
        const char kept = *mark;
        *mark = '\0';
        oneib_text_append_escaped(text, rest, SIZE_MAX);
        oneib_text_append_bytes(text, &kept, 1);
    }
    oneib_text_append_escaped(text, rest, SIZE_MAX);
}

void oneib_append_quoted(struct oneib_text *text, const char *string)
{
    oneib_text_append(text, "\"");
    oneib_append_untrusted(text, string, 0);
    oneib_text_append(text, "\"");
}

void oneib_append_count(struct oneib_text *text, size_t count, const char *noun)
{
    oneib_text_printf(text, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}

/* Takes ownership of `text`'s memory. */
static void add_cell(struct oneib_table *table, enum oneib_style style, struct oneib_text *text)
{
    oneib_text_append(text, "");
    ONEIB_APPEND(table->cells, table->count, table->capacity,
                 (struct oneib_cell){text->data, style});
}

void oneib_table_cell(struct oneib_table *table, enum oneib_style style, const char *format, ...)
{
    struct oneib_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    oneib_text_vprintf(&text, format, arguments);
    va_end(arguments);
    add_cell(table, style, &text);
}

void oneib_table_titles(struct oneib_table *table, const char *const *titles, size_t count)
{
    table->columns = count;
    for (size_t i = 0; i < count; i++)
        oneib_table_cell(table, ONEIB_STRONG, "%s", titles[i]);
}

void oneib_table_untrusted(struct oneib_table *table, const char *string, size_t columns)
{
    struct oneib_text text = {0};
    oneib_append_untrusted(&text, string, columns);
    add_cell(table, ONEIB_PLAIN, &text);
}

static size_t column_width(const struct oneib_table *table, size_t column)
{
    size_t widest = 0;
    for (size_t i = column; i < table->count; i += table->columns) {
        const size_t width = width_of(table->cells[i].text);
        widest = width > widest ? width : widest;
    }
    return widest;
}

#define NARROWEST_COLUMN 8
#define COLUMNS_MAX 16

/* The widest column of those, or the number of columns when all of them are narrow. */
static size_t widest_of(const size_t *widths, size_t columns, unsigned which)
{
    size_t widest = columns;
    for (size_t i = 0; i < columns; i++)
        if ((which & (1u << i)) && widths[i] > NARROWEST_COLUMN &&
            (widest == columns || widths[i] > widths[widest]))
            widest = i;
    return widest;
}

static void cut_cell(struct oneib_cell *cell, size_t columns)
{
    if (width_of(cell->text) <= columns)
        return;
    struct oneib_text text = {0};
    oneib_text_append_bytes(&text, cell->text,
                            bytes_that_fit(cell->text, columns - strlen(ELLIPSIS)));
    oneib_text_append(&text, ELLIPSIS);
    free(cell->text);
    cell->text = text.data;
}

void oneib_table_fit(struct oneib_table *table, unsigned which)
{
    size_t widths[COLUMNS_MAX], total = 0;
    if (table->columns > COLUMNS_MAX)
        return;
    for (size_t i = 0; i < table->columns; i++) {
        widths[i] = column_width(table, i);
        total += widths[i] + (i > 0 ? 2 : 0);
    }
    for (; total > ONEIB_LINE_COLUMNS; total--) {
        const size_t widest = widest_of(widths, table->columns, which);
        if (widest == table->columns)
            break;
        widths[widest]--;
    }
    for (size_t i = 0; i < table->count; i++)
        if (which & (1u << i % table->columns))
            cut_cell(&table->cells[i], widths[i % table->columns]);
}

static void render_cell(const struct oneib_table *table, size_t index, size_t width, bool color,
                        struct oneib_text *text)
{
    const struct oneib_cell *cell = &table->cells[index];
    const size_t column = index % table->columns;
    const bool last = column + 1 == table->columns;
    const bool right = table->right & (1u << column);
    const int padding = (int)(width - width_of(cell->text));

    if (right)
        oneib_text_printf(text, "%*s", padding, "");
    oneib_paint(text, color, cell->style, "%s", cell->text);
    if (!right && !last)
        oneib_text_printf(text, "%*s", padding, "");
    oneib_text_append(text, last ? "\n" : "  ");
}

void oneib_table_render(const struct oneib_table *table, bool color, const char *indent,
                        struct oneib_text *text)
{
    oneib_autofree size_t *widths = oneib_alloc(table->columns, sizeof *widths);
    for (size_t column = 0; column < table->columns; column++)
        widths[column] = column_width(table, column);
    for (size_t i = 0; i < table->count; i++) {
        if (i % table->columns == 0)
            oneib_text_append(text, indent);
        render_cell(table, i, widths[i % table->columns], color, text);
    }
}

void oneib_table_clear(struct oneib_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
    *table = (struct oneib_table){0};
}

void oneib_append_note(struct oneib_text *text, const char *format, ...)
{
    oneib_autotext struct oneib_text note = {0};
    va_list arguments;
    va_start(arguments, format);
    oneib_text_vprintf(&note, format, arguments);
    va_end(arguments);
    oneib_text_append(text, "oneib: note: ");
    oneib_append_message(text, note.data ? note.data : "");
    oneib_text_append(text, "\n");
}

static const enum oneib_style style_of_severity[] = {
    [ONEIB_NOTICE] = ONEIB_PLAIN,
    [ONEIB_WARNING] = ONEIB_CHANGED,
    [ONEIB_VIOLATION] = ONEIB_BAD,
};

void oneib_append_findings(struct oneib_text *text, bool color,
                           const struct oneib_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct oneib_finding *finding = &findings->items[i];
        oneib_paint(text, color, style_of_severity[finding->severity], "%s",
                    oneib_severity_name(finding->severity));
        oneib_text_append(text, ": ");
        oneib_append_message(text, finding->text);
        oneib_text_printf(text, " [%s]", finding->code);
        if (finding->fix) {
            oneib_text_append(text, "\n    ");
            oneib_append_message(text, finding->fix);
        }
        oneib_text_append(text, "\n");
    }
}
