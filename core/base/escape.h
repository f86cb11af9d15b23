// SPDX-License-Identifier: Apache-2.0
/* Showing text that somebody else chose: names, attribute values, answers of a service. */
#ifndef ONEIB_BASE_ESCAPE_H
#define ONEIB_BASE_ESCAPE_H

#include "base/text.h"
#include <stddef.h>

/*
 * The length in bytes of the first character of `string` when it is UTF-8, has a glyph or is the
 * blank of ASCII, and acts on nothing: not on a terminal, not on lines, not on the direction of
 * text. Else 0; 0 at the end too. Which do is a table (invisible_characters.h, made by
 * invisible_characters.rb), so that no two names differ in what cannot be seen.
 */
size_t oneib_printable_length(const char *string);

/*
 * Appends `string` so that it cannot forge a line, end the quotes around it, steer a terminal or
 * hide a character: what oneib_printable_length() does not let pass, '"' and '\' become \xNN, byte
 * by byte. At most about `max` bytes of it are shown; "..." follows what was cut. NULL appends
 * nothing.
 */
void oneib_text_append_escaped(struct oneib_text *text, const char *string, size_t max);

/* Appends the last line of what a program said, without its newline; only what could steer a
 * terminal becomes \xNN. NULL appends nothing. */
void oneib_text_append_last_line(struct oneib_text *text, const char *said);

#endif
