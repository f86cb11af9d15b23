// SPDX-License-Identifier: Apache-2.0
/* Colours and escaping for drawings. Private to core/topology. */
#ifndef ONEIB_TOPOLOGY_TOPOLOGY_PALETTE_H
#define ONEIB_TOPOLOGY_TOPOLOGY_PALETTE_H

#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>

#define ONEIB_PALETTE_SIZE 7

#define ONEIB_PALETTE_GREY "#94a3b8" /* of what has no colour of its own */

/* The n-th colour, "#rrggbb"; they repeat after ONEIB_PALETTE_SIZE. */
const char *oneib_palette_colour(size_t n);
/* Black is easier to read on it than white. */
bool oneib_palette_is_light(size_t n);

/*
 * Appends an untrusted string, cut to at most max_columns with its "…", and with what cannot be
 * shown as U+FFFD. A character of three bytes or more counts as two columns: those of East Asia
 * are that wide. XML: for text and attributes. DOT: for quoted strings.
 */
void oneib_append_xml(struct oneib_text *text, const char *string, size_t max_columns);
void oneib_append_dot(struct oneib_text *text, const char *string, size_t max_columns);
/* The columns that all of it takes. */
size_t oneib_columns_of(const char *string);

#endif
