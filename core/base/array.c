// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/memory.h"
#include <stdint.h>
#include <string.h>

void oneib_grow(void *items, size_t *capacity, size_t needed, size_t item_size)
{
    if (needed <= *capacity)
        return;

    size_t wanted = *capacity ? *capacity : 8;
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2)
            oneib_out_of_memory();
        wanted *= 2;
    }

    /* `items` points to a pointer of the caller's own type: copied as bytes, so that no type is
     * punned. */
    void *old;
    memcpy(&old, items, sizeof old);
    void *grown = oneib_realloc(old, wanted, item_size);
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
}

void oneib_open_gap(void *items, size_t count, size_t place, size_t item_size)
{
    char *at = (char *)items + place * item_size;
    memmove(at + item_size, at, (count - place) * item_size);
}

void oneib_close_gap(void *items, size_t count, size_t place, size_t item_size)
{
    char *at = (char *)items + place * item_size;
    memmove(at, at + item_size, (count - place - 1) * item_size);
}
