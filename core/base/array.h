// SPDX-License-Identifier: Apache-2.0
/* Growing arrays: items, count and capacity live in the structure that owns them. */
#ifndef ONEIB_BASE_ARRAY_H
#define ONEIB_BASE_ARRAY_H

#include "base/error.h"
#include <stddef.h>

/*
 * Makes room for at least `needed` items of `item_size` bytes in *items (a pointer to a pointer;
 * *items may be NULL with *capacity 0). Grows by doubling, checks for overflow; new memory is not
 * initialised. Out of memory: memory.h.
 */
void oneib_grow(void *items, size_t *capacity, size_t needed, size_t item_size);

#endif
