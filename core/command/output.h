// SPDX-License-Identifier: Apache-2.0
/*
 * Writing for people: colour, tables, findings. Names, node descriptions and texts of other
 * programs are untrusted; what goes through here reaches a terminal escaped.
 */
#ifndef ONEIB_COMMAND_OUTPUT_H
#define ONEIB_COMMAND_OUTPUT_H

#include "base/error.h"
#include "base/finding.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>

enum oneib_style { ONEIB_PLAIN, ONEIB_GOOD, ONEIB_BAD, ONEIB_CHANGED, ONEIB_STRONG, ONEIB_FAINT };

/* Appends the formatted text in a style. on: colour is wanted where this text goes. */
void oneib_paint(struct oneib_text *text, bool on, enum oneib_style style, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends an untrusted name, escaped, cut to `columns` (0: not cut) with "..." at its end. */
void oneib_append_untrusted(struct oneib_text *text, const char *string, size_t columns);
/* The same, not cut, in double quotes. */
void oneib_append_quoted(struct oneib_text *text, const char *string);
/*
 * Appends an error's or a finding's text: the names in it were escaped and quoted by whoever wrote
 * it, so quotes and backslashes stay; anything that could steer a terminal is escaped all the same.
 */
void oneib_append_message(struct oneib_text *text, const char *string);

/* "1 partition", "2 partitions". */
void oneib_append_count(struct oneib_text *text, size_t count, const char *noun);

/* A table: cells row by row; columns as wide as their widest cell, two blanks between them. */
struct oneib_table {
    size_t columns;
    unsigned right; /* bit n: column n is aligned to the right */
    struct oneib_cell *cells;
    size_t count, capacity;
};

void oneib_table_cell(struct oneib_table *table, enum oneib_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The first row, which says how many columns there are. */
void oneib_table_titles(struct oneib_table *table, const char *const *titles, size_t count);
void oneib_table_untrusted(struct oneib_table *table, const char *string, size_t columns);
/*
 * Cuts cells of the columns of `which` (bit n: column n), the widest of them first, until lines fit
 * a terminal of 80 columns or these columns have 8 each. What is cut ends with "...".
 */
#define ONEIB_LINE_COLUMNS 80
void oneib_table_fit(struct oneib_table *table, unsigned which);
/* Appends the table to text, each line behind `indent`. */
void oneib_table_render(const struct oneib_table *table, bool color, const char *indent,
                        struct oneib_text *text);
void oneib_table_clear(struct oneib_table *table);
#define oneib_autotable __attribute__((cleanup(oneib_table_clear)))

/* Appends "oneib: note: ...": something about this run that is neither data nor an error. */
void oneib_append_note(struct oneib_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends severity, text and code of each, the fix below. */
void oneib_append_findings(struct oneib_text *text, bool color,
                           const struct oneib_findings *findings);

#endif
