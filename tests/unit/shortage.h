// SPDX-License-Identifier: Apache-2.0
/*
 * A machine that is out of memory for a moment: of the calls of malloc() and its like that our own
 * libraries make, one fails, and all others go well. So an error that somebody drops is not made
 * good by the next one. Needs LINKER:--wrap of each.
 */
#ifndef ONEIB_UNIT_SHORTAGE_H
#define ONEIB_UNIT_SHORTAGE_H

#include <stdbool.h>
#include <stddef.h>

/* The call number `nth` from now on, from 1 on, fails. 0: none does. */
void shortage_begin(size_t nth);
/* The same, but memory for a text never lacks: where a name in words may be left out, and the rest
 * goes on. */
void shortage_begin_but_of_text(size_t nth);
/* No call fails any more. Whether one has. */
bool shortage_end(void);

#endif
