// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "partitions/partition.h"
#include <stdlib.h>

/* A member and how many wildcards stand before it: a later entry overrides an earlier one in
 * opensm. */
struct place {
    const struct oneib_member *member;
    size_t wildcards_before;
};

struct places {
    struct place *items;
    size_t count, capacity;
};

struct comparison {
    struct places before, after; /* scratch of the pair of partitions at hand */
    struct oneib_changes *changes;
};

/* Equal ones in the order of the file. */
ONEIB_ORDER(compare_places, struct place,
            oneib_member_compare(left->member, right->member)
                ?: ONEIB_COMPARE(left->member, right->member));

static void keep_last_of_equals(struct places *places)
{
    size_t kept = 0;
    for (size_t i = 0; i < places->count; i++) {
        if (kept > 0 &&
            oneib_member_compare(places->items[kept - 1].member, places->items[i].member) == 0)
            kept--;
        places->items[kept++] = places->items[i];
    }
    places->count = kept;
}

/* The members of a partition (NULL: none) in canonical order, each once. */
static void collect_places(const struct oneib_partition *partition, struct places *places)
{
    places->count = 0;
    if (!partition)
        return;
    ONEIB_RESERVE(places->items, places->capacity, partition->member_count);

    size_t wildcards = 0;
    for (size_t i = 0; i < partition->member_count; i++) {
        const struct oneib_member *member = &partition->members[i];
        places->items[places->count++] = (struct place){member, wildcards};
        wildcards += member->kind != ONEIB_MEMBER_GUID;
    }
    ONEIB_SORT(places->items, places->count, compare_places);
    keep_last_of_equals(places);
}

static bool same_wildcards(const struct places *a, const struct places *b)
{
    for (size_t i = 0;; i++) {
        bool a_has = i < a->count && a->items[i].member->kind != ONEIB_MEMBER_GUID;
        bool b_has = i < b->count && b->items[i].member->kind != ONEIB_MEMBER_GUID;
        if (!a_has && !b_has)
            return true;
        if (a_has != b_has || a->items[i].member->kind != b->items[i].member->kind)
            return false;
    }
}

/* <0, 0, >0; a list that is used up comes after everything. */
static int compare_heads(const struct places *a, size_t i, const struct places *b, size_t j)
{
    if (i == a->count)
        return 1;
    if (j == b->count)
        return -1;
    return oneib_member_compare(a->items[i].member, b->items[j].member);
}

/*
 * Whether a member that both have stands elsewhere among the wildcards. Where the wildcards
 * themselves differ, that difference is reported, and places cannot be compared.
 */
static bool order_differs(const struct places *before, const struct places *after)
{
    if (!same_wildcards(before, after))
        return false;

    size_t i = 0;
    size_t j = 0;
    while (i < before->count) {
        int order = compare_heads(before, i, after, j);
        if (order == 0 && before->items[i].wildcards_before != after->items[j].wildcards_before)
            return true;
        i += order <= 0;
        j += order >= 0;
    }
    return false;
}

static void add_change(struct comparison *comparison, struct oneib_change change)
{
    struct oneib_changes *changes = comparison->changes;
    ONEIB_APPEND(changes->items, changes->count, changes->capacity, change);
    changes->members_added += change.kind == ONEIB_MEMBER_ADDED;
    changes->members_removed += change.kind == ONEIB_MEMBER_REMOVED;
    changes->members_changed += change.kind == ONEIB_MEMBER_CHANGED;
}

static void compare_members(struct comparison *comparison, const struct oneib_partition *before,
                            const struct oneib_partition *after)
{
    const struct places *old = &comparison->before;
    const struct places *new = &comparison->after;
    size_t i = 0;
    size_t j = 0;
    while (i < old->count || j < new->count) {
        struct oneib_change change = {.before = before, .after = after};
        int order = compare_heads(old, i, new, j);
        bool changed = true;
        if (order < 0) {
            change.kind = ONEIB_MEMBER_REMOVED;
            change.member = *old->items[i].member;
        } else if (order > 0) {
            change.kind = ONEIB_MEMBER_ADDED;
            change.member = *new->items[j].member;
        } else {
            change.kind = ONEIB_MEMBER_CHANGED;
            change.member = *new->items[j].member;
            change.old_membership = old->items[i].member->membership;
            changed = change.old_membership != change.member.membership;
        }
        if (changed)
            add_change(comparison, change);
        i += order <= 0;
        j += order >= 0;
    }
}

/* One of the two may be NULL. */
static void compare_pair(struct comparison *comparison, const struct oneib_partition *before,
                         const struct oneib_partition *after)
{
    collect_places(before, &comparison->before);
    collect_places(after, &comparison->after);

    const struct oneib_change change = {.kind = !before  ? ONEIB_PARTITION_ADDED
                                                : !after ? ONEIB_PARTITION_REMOVED
                                                         : ONEIB_PARTITION_CHANGED,
                                        .before = before,
                                        .after = after};
    bool same = before && after && oneib_partition_heads_equal(before, after) &&
                !order_differs(&comparison->before, &comparison->after);
    if (!same)
        add_change(comparison, change);
    compare_members(comparison, before, after);
}

ONEIB_ORDER(compare_partition_pointers, struct oneib_partition *const,
            oneib_partition_compare(*left, *right));

/* The partitions of a table in canonical order; the table itself stays as it is. */
static const struct oneib_partition **sorted_partitions(const struct oneib_partition_table *table)
{
    const struct oneib_partition **sorted = oneib_alloc(table->count + 1, sizeof *sorted);
    for (size_t i = 0; i < table->count; i++)
        sorted[i] = &table->items[i];
    ONEIB_SORT(sorted, table->count, compare_partition_pointers);
    return sorted;
}

/* Both lists end in NULL. A name is a property, not an identity: pairs are made by key alone. */
static void compare_lists(struct comparison *comparison, const struct oneib_partition **before,
                          const struct oneib_partition **after)
{
    while (*before || *after) {
        bool same_key = *before && *after && (*before)->pkey == (*after)->pkey;
        bool take_before =
            same_key || !*after || (*before && oneib_partition_compare(*before, *after) < 0);
        bool take_after = same_key || !take_before;
        compare_pair(comparison, take_before ? *before : NULL, take_after ? *after : NULL);
        before += take_before;
        after += take_after;
    }
}

void oneib_partitions_diff(const struct oneib_partition_table *before,
                           const struct oneib_partition_table *after, struct oneib_changes *changes)
{
    struct comparison comparison = {.changes = changes};
    const struct oneib_partition **old = sorted_partitions(before);
    const struct oneib_partition **new = sorted_partitions(after);

    oneib_changes_clear(changes);
    compare_lists(&comparison, old, new);

    free(old);
    free(new);
    free(comparison.before.items);
    free(comparison.after.items);
}

void oneib_changes_clear(struct oneib_changes *changes)
{
    free(changes->items);
    *changes = (struct oneib_changes){0};
}
