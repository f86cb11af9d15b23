// SPDX-License-Identifier: Apache-2.0
#include "sync/handover.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define KEYS (ONEIB_PKEY_DEFAULT + 1)

static void mark_excess_keys(const struct oneib_verification *verification, bool *excess)
{
    for (size_t i = 0; i < verification->count; i++)
        if (verification->items[i].kind == ONEIB_KEY_EXCESS)
            excess[oneib_pkey_base(verification->items[i].found)] = true;
}

static int find_excess_keys(const struct oneib_partition_table *desired,
                            const struct oneib_subnet *subnet, bool *excess,
                            struct oneib_error *err)
{
    struct oneib_verification verification = {0};
    int result = oneib_subnet_verify(subnet, desired, &verification, err);
    if (result == 0)
        mark_excess_keys(&verification, excess);
    oneib_verification_clear(&verification);
    return result;
}

static bool is_in_force(const struct oneib_partition_table *in_force,
                        const struct oneib_partition *partition)
{
    const struct oneib_partition *before = oneib_partition_table_find(in_force, partition->pkey);
    return before && strcmp(before->name, partition->name) == 0;
}

int oneib_handover_first(const struct oneib_partition_table *in_force,
                         const struct oneib_partition_table *desired,
                         const struct oneib_subnet *subnet, struct oneib_partition_table *first,
                         size_t *left_out, struct oneib_error *err)
{
    *left_out = 0;
    *first = (struct oneib_partition_table){0};

    bool *excess = calloc(KEYS, sizeof *excess);
    struct oneib_partition *kept = calloc(desired->count + 1, sizeof *kept);
    if (!excess || !kept) {
        free(excess);
        free(kept);
        return oneib_fail_memory(err);
    }
    if (find_excess_keys(desired, subnet, excess, err) < 0) {
        free(excess);
        free(kept);
        return -1;
    }

    first->items = kept;
    first->capacity = desired->count + 1;
    for (size_t i = 0; i < desired->count; i++) {
        const struct oneib_partition *partition = &desired->items[i];
        if (excess[partition->pkey] && partition->pkey != ONEIB_PKEY_DEFAULT &&
            !is_in_force(in_force, partition))
            ++*left_out;
        else
            kept[first->count++] = *partition;
    }
    free(excess);
    return 0;
}

void oneib_handover_clear(struct oneib_partition_table *first)
{
    free(first->items);
    *first = (struct oneib_partition_table){0};
}
