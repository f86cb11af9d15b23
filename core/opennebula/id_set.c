// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/order.h"
#include "opennebula/documents.h"
#include <stdlib.h>

void oneib_id_set_add(struct oneib_id_set *set, uint32_t id)
{
    ONEIB_APPEND(set->items, set->count, set->capacity, id);
}

void oneib_id_set_sort(struct oneib_id_set *set)
{
    ONEIB_SORT(set->items, set->count, oneib_compare_u32);
    ONEIB_UNIQUE(set->items, set->count, oneib_compare_u32);
}

bool oneib_id_set_has(const struct oneib_id_set *set, uint32_t id)
{
    return ONEIB_FIND(&id, set->items, set->count, oneib_compare_u32) != NULL;
}

void oneib_id_set_clear(struct oneib_id_set *set)
{
    free(set->items);
    *set = (struct oneib_id_set){0};
}
