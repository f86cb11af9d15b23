// SPDX-License-Identifier: Apache-2.0
#include "partitions/partition.h"
#include "base/array.h"
#include "base/order.h"
#include <stdlib.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_character(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

bool oneib_partition_name_valid(const char *name)
{
    if (!is_name_character(name[0]) || (name[0] >= '0' && name[0] <= '9'))
        return false;
    size_t length = 1;
    while (length < ONEIB_PARTITION_NAME_SIZE && is_name_character(name[length]))
        length++;
    return length < ONEIB_PARTITION_NAME_SIZE && name[length] == '\0';
}

const char *oneib_member_kind_name(enum oneib_member_kind kind)
{
    switch (kind) {
    case ONEIB_MEMBER_ALL:
        return "ALL";
    case ONEIB_MEMBER_ALL_CAS:
        return "ALL_CAS";
    case ONEIB_MEMBER_ALL_SWITCHES:
        return "ALL_SWITCHES";
    case ONEIB_MEMBER_ALL_ROUTERS:
        return "ALL_ROUTERS";
    case ONEIB_MEMBER_SELF:
        return "SELF";
    case ONEIB_MEMBER_GUID:
        break;
    }
    return NULL;
}

struct oneib_partition *oneib_partition_table_add(struct oneib_partition_table *table)
{
    struct oneib_partition *added = ONEIB_ADD(table->items, table->count, table->capacity);
    *added = (struct oneib_partition){0};
    return added;
}

struct oneib_partition *oneib_partition_table_add_like(struct oneib_partition_table *table,
                                                       const struct oneib_partition *partition)
{
    struct oneib_partition *added = oneib_partition_table_add(table);
    *added = *partition;
    added->members = NULL;
    added->member_count = added->member_capacity = 0;
    return added;
}

void oneib_partition_add_members(struct oneib_partition *partition,
                                 const struct oneib_member *members, size_t count)
{
    if (count == 0)
        return;
    ONEIB_RESERVE(partition->members, partition->member_capacity, partition->member_count + count);
    memcpy(partition->members + partition->member_count, members, count * sizeof *members);
    partition->member_count += count;
}

void oneib_partition_add_member(struct oneib_partition *partition, struct oneib_member member)
{
    oneib_partition_add_members(partition, &member, 1);
}

int oneib_member_compare(const void *left_item, const void *right_item)
{
    const struct oneib_member *left = left_item, *right = right_item;
    return ONEIB_BY(kind, guid);
}

ONEIB_ORDER_BY(compare_members_narrow_first, struct oneib_member, kind, guid, membership);

static bool is_sorted(const struct oneib_partition *partition)
{
    for (size_t i = 1; i < partition->member_count; i++)
        if (oneib_member_compare(&partition->members[i - 1], &partition->members[i]) >= 0)
            return false;
    return true;
}

/* They mostly are already: a computed table's, and one that was sorted before. */
void oneib_partition_sort_members(struct oneib_partition *partition)
{
    struct oneib_member *members = partition->members;
    if (is_sorted(partition))
        return;
    ONEIB_SORT(members, partition->member_count, compare_members_narrow_first);
    ONEIB_UNIQUE(members, partition->member_count, oneib_member_compare);
}

int oneib_partition_compare_keys(const void *a, const void *b)
{
    const struct oneib_partition *left = a, *right = b;
    const bool left_default = left->pkey == ONEIB_PKEY_DEFAULT;
    const bool right_default = right->pkey == ONEIB_PKEY_DEFAULT;
    if (left_default != right_default)
        return left_default ? -1 : 1;
    return ONEIB_BY(pkey);
}

int oneib_partition_compare(const struct oneib_partition *a, const struct oneib_partition *b)
{
    return oneib_partition_compare_keys(a, b) ?: strncmp(a->name, b->name, sizeof a->name);
}

ONEIB_ORDER(compare_partitions, struct oneib_partition, oneib_partition_compare(left, right));

void oneib_partition_table_sort(struct oneib_partition_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        oneib_partition_sort_members(&table->items[i]);
    ONEIB_SORT(table->items, table->count, compare_partitions);
}

void oneib_partition_table_clear(struct oneib_partition_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->items[i].members);
    free(table->items);
    *table = (struct oneib_partition_table){0};
}

const struct oneib_partition *oneib_partition_table_find(const struct oneib_partition_table *table,
                                                         oneib_pkey pkey)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].pkey == pkey)
            return &table->items[i];
    return NULL;
}

bool oneib_partition_lists(const struct oneib_partition *partition, oneib_guid guid)
{
    for (size_t i = 0; i < partition->member_count; i++)
        if (partition->members[i].kind == ONEIB_MEMBER_GUID && partition->members[i].guid == guid)
            return true;
    return false;
}

bool oneib_partition_heads_equal(const struct oneib_partition *a, const struct oneib_partition *b)
{
    return strncmp(a->name, b->name, sizeof a->name) == 0 && a->pkey == b->pkey &&
           a->indx0 == b->indx0 && a->ipoib == b->ipoib && a->mtu == b->mtu && a->rate == b->rate &&
           a->sl == b->sl && a->has_sl == b->has_sl && a->scopes == b->scopes &&
           a->q_key == b->q_key && a->t_class == b->t_class && a->flow_label == b->flow_label &&
           a->default_membership == b->default_membership;
}

bool oneib_partition_members_equal(const struct oneib_partition *a, const struct oneib_partition *b)
{
    return ONEIB_ALIKE(a->members, a->member_count, b->members, b->member_count,
                       compare_members_narrow_first);
}

bool oneib_partition_table_equal(const struct oneib_partition_table *a,
                                 const struct oneib_partition_table *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!oneib_partition_heads_equal(&a->items[i], &b->items[i]) ||
            !oneib_partition_members_equal(&a->items[i], &b->items[i]))
            return false;
    return true;
}
