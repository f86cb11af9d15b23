// SPDX-License-Identifier: Apache-2.0
#include "sync/reassignment.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cluster/port_index.h"
#include <stdlib.h>
#include <string.h>

#define KEYS (ONEIB_PKEY_DEFAULT + 1)

static void mark_excess_keys(const struct oneib_verification *verification, bool *excess)
{
    for (size_t i = 0; i < verification->count; i++)
        if (verification->items[i].kind == ONEIB_KEY_EXCESS)
            excess[oneib_pkey_base(verification->items[i].found)] = true;
}

static void find_excess_keys(const struct oneib_partition_table *desired,
                             const struct oneib_subnet *subnet, bool *excess)
{
    oneib_autoverification struct oneib_verification verification = {0};
    oneib_subnet_verify(subnet, desired, &verification);
    mark_excess_keys(&verification, excess);
}

/* The partitions of a table by key; the first one that has a key counts. */
static const struct oneib_partition **index_by_key(const struct oneib_partition_table *table)
{
    const struct oneib_partition **by_key = oneib_alloc(KEYS, sizeof *by_key);
    for (size_t i = table->count; i > 0; i--)
        by_key[table->items[i - 1].pkey] = &table->items[i - 1];
    return by_key;
}

/* What is kept of a cluster under its old key has another name by then, and is the same cluster. */
static bool is_same_cluster(const struct oneib_partition *a, const struct oneib_partition *b)
{
    uint32_t left, right;
    return oneib_partition_cluster(a, &left) && oneib_partition_cluster(b, &right) && left == right;
}

static bool is_in_force(const struct oneib_partition *const *in_force,
                        const struct oneib_partition *partition)
{
    const struct oneib_partition *before = in_force[partition->pkey];
    return before &&
           (strcmp(before->name, partition->name) == 0 || is_same_cluster(before, partition));
}

/* opensm has a default partition whatever its file says. */
static bool is_new(const struct oneib_partition *const *in_force,
                   const struct oneib_partition *partition)
{
    return partition->pkey != ONEIB_PKEY_DEFAULT && !is_in_force(in_force, partition);
}

void oneib_reassignment_possible(const struct oneib_partition_table *in_force,
                                 const struct oneib_partition_table *desired, bool *possible)
{
    const struct oneib_partition **by_key = index_by_key(in_force);
    *possible = false;
    for (size_t i = 0; i < desired->count && !*possible; i++)
        *possible = is_new(by_key, &desired->items[i]);
    free(by_key);
}

static void leave_out(const struct oneib_partition *const *in_force,
                      const struct oneib_partition_table *desired, const bool *excess,
                      struct oneib_reassignment *reassignment)
{
    for (size_t i = 0; i < desired->count; i++) {
        const struct oneib_partition *partition = &desired->items[i];
        if (excess[partition->pkey] && is_new(in_force, partition)) {
            reassignment->keys[partition->pkey] = true;
            reassignment->left_out++;
        } else {
            reassignment->first.items[reassignment->first.count++] = *partition;
        }
    }
}

void oneib_reassignment_make(const struct oneib_partition_table *in_force,
                             const struct oneib_partition_table *desired,
                             const struct oneib_subnet *subnet,
                             struct oneib_reassignment *reassignment)
{
    *reassignment = (struct oneib_reassignment){
        .first = {.items = oneib_alloc(desired->count + 1, sizeof *reassignment->first.items),
                  .capacity = desired->count + 1},
        .keys = oneib_alloc(KEYS, sizeof *reassignment->keys),
    };
    oneib_autofree bool *excess = oneib_alloc(KEYS, sizeof *excess);
    oneib_autofree const struct oneib_partition **by_key = index_by_key(in_force);
    find_excess_keys(desired, subnet, excess);
    leave_out(by_key, desired, excess, reassignment);
}

void oneib_reassignment_clear(struct oneib_reassignment *reassignment)
{
    free(reassignment->first.items);
    free(reassignment->keys);
    *reassignment = (struct oneib_reassignment){0};
}
