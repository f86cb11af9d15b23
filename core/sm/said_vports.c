// SPDX-License-Identifier: Apache-2.0
#include "sm/said_vports.h"
#include "base/order.h"
#include <stdlib.h>

const struct oneib_said_vport *oneib_said_vport_find(const struct oneib_said_vports *said,
                                                     oneib_guid guid)
{
    size_t first = ONEIB_LOWER_BOUND(i, said->count, said->items[i].guid < guid);
    const struct oneib_said_vport *found = NULL;
    for (; first < said->count && said->items[first].guid == guid; first++)
        if (!found || said->items[first].is_active)
            found = &said->items[first];
    return found;
}

void oneib_said_vports_clear(struct oneib_said_vports *said)
{
    free(said->items);
    *said = (struct oneib_said_vports){0};
}
