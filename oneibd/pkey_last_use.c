// SPDX-License-Identifier: Apache-2.0
#include "oneibd/pkey_last_use.h"
#include "base/array.h"
#include "base/order.h"
#include <stdbool.h>
#include <stdlib.h>

static bool has_key(const oneib_pkey *keys, size_t count, oneib_pkey pkey)
{
    return ONEIB_FIND(&pkey, keys, count, oneib_compare_u16);
}

static double since_when(const struct oneib_pkey_last_uses *uses, oneib_pkey pkey, double now)
{
    for (size_t i = 0; i < uses->count; i++)
        if (uses->items[i].pkey == pkey)
            return uses->items[i].since;
    return now;
}

void oneib_pkey_last_uses_keep(struct oneib_pkey_last_uses *uses, const oneib_pkey *written,
                               size_t written_count, double now, oneib_pkey keys[ONEIB_PKEY_COUNT],
                               size_t *count)
{
    const size_t known = *count;
    struct oneib_pkey_last_uses next = {0};
    ONEIB_RESERVE(next.items, next.capacity, written_count);
    for (size_t i = 0; i < written_count; i++) {
        if (has_key(keys, known, written[i]))
            continue;
        const struct oneib_pkey_last_use use = {written[i], since_when(uses, written[i], now)};
        next.items[next.count++] = use;
        if (now - use.since < ONEIB_KEY_DOUBT_MS)
            keys[(*count)++] = use.pkey;
    }
    if (*count > known)
        ONEIB_SORT(keys, *count, oneib_compare_u16);
    oneib_pkey_last_uses_clear(uses);
    *uses = next;
}

void oneib_pkey_last_uses_clear(struct oneib_pkey_last_uses *uses)
{
    free(uses->items);
    *uses = (struct oneib_pkey_last_uses){0};
}
