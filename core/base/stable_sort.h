// SPDX-License-Identifier: Apache-2.0
/* A sort that keeps equal items in their order. */
#ifndef ONEIB_BASE_STABLE_SORT_H
#define ONEIB_BASE_STABLE_SORT_H

#include <stddef.h>

/*
 * Like qsort(), but stable. Items that are sorted already cost one pass; a few out of place at the
 * end cost little more; at worst O(n log n). Takes room for half of them meanwhile.
 */
void oneib_stable_sort(void *items, size_t count, size_t size,
                       int (*compare)(const void *, const void *));

#endif
