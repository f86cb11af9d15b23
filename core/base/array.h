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
/* The items from `place` on, of `count`, go one further, or one back over the first of them. */
void oneib_open_gap(void *items, size_t count, size_t place, size_t item_size);
void oneib_close_gap(void *items, size_t count, size_t place, size_t item_size);

/* The macros take the fields themselves, and use them more than once. */

#define ONEIB_RESERVE(items, capacity, needed)                                                     \
    oneib_grow(&(items), &(capacity), needed, sizeof *(items))

/* One more item at the end: its value, which is computed when the room is there. */
#define ONEIB_APPEND(items, count, capacity, ...)                                                  \
    (ONEIB_RESERVE(items, capacity, (count) + 1), (void)((items)[(count)++] = (__VA_ARGS__)))

/* A pointer to one more item at the end, which is not initialised. */
#define ONEIB_ADD(items, count, capacity)                                                          \
    (ONEIB_RESERVE(items, capacity, (count) + 1), &(items)[(count)++])

/* One more item at the index `place`, which is not initialised. */
#define ONEIB_INSERT(items, count, capacity, place)                                                \
    (ONEIB_RESERVE(items, capacity, (count) + 1),                                                  \
     oneib_open_gap(items, (count)++, place, sizeof *(items)))

#define ONEIB_REMOVE(items, count, place) oneib_close_gap(items, (count)--, place, sizeof *(items))

#endif
