// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int oneib_reserve(void *items, size_t *capacity, size_t needed, size_t item_size,
                  struct oneib_error *err)
{
    if (needed <= *capacity)
        return 0;

    size_t wanted = *capacity ? *capacity : 8;
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2)
            return oneib_fail_memory(err);
        wanted *= 2;
    }

    /* `items` points to a pointer of the caller's own type: copied as bytes, so that no type is
     * punned. */
    void *old;
    memcpy(&old, items, sizeof old);
    void *grown = reallocarray(old, wanted, item_size);
    if (!grown)
        return oneib_fail_memory(err);
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return 0;
}
