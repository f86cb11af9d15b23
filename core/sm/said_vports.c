// SPDX-License-Identifier: Apache-2.0
#include "sm/said_vports.h"
#include <stdlib.h>

const struct oneib_said_vport *oneib_said_vport_find(const struct oneib_said_vports *said,
                                                     oneib_guid guid)
{
    size_t low = 0, high = said->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (said->items[middle].guid < guid)
            low = middle + 1;
        else
            high = middle;
    }
    const struct oneib_said_vport *found = NULL;
    for (; low < said->count && said->items[low].guid == guid; low++)
        if (!found || said->items[low].is_active)
            found = &said->items[low];
    return found;
}

void oneib_said_vports_clear(struct oneib_said_vports *said)
{
    free(said->items);
    *said = (struct oneib_said_vports){0};
}
