// SPDX-License-Identifier: Apache-2.0
#include "sm/ufm_plan.h"
#include "base/array.h"
#include "base/order.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what UFM is to have --------------------------------------------------------------------- */

static void refuse(struct oneib_ufm_wanted *result, struct oneib_ufm_refused refused)
{
    ONEIB_APPEND(result->refused, result->refused_count, result->refused_capacity, refused);
}

static bool has_wildcard(const struct oneib_partition *partition)
{
    for (size_t i = 0; i < partition->member_count; i++)
        if (partition->members[i].kind != ONEIB_MEMBER_GUID)
            return true;
    return false;
}

static size_t count_limited(const struct oneib_partition *partition)
{
    size_t count = 0;
    for (size_t i = 0; i < partition->member_count; i++)
        count += partition->members[i].membership != ONEIB_FULL;
    return count;
}

static void copy_members(const struct oneib_partition *from, bool with_limited,
                         struct oneib_partition *to)
{
    if (with_limited)
        oneib_partition_add_members(to, from->members, from->member_count);
    for (size_t i = 0; !with_limited && i < from->member_count; i++)
        if (from->members[i].membership == ONEIB_FULL)
            oneib_partition_add_member(to, from->members[i]);
}

/* A partition without members is none to UFM. */
static void take(const struct oneib_partition *partition, struct oneib_ufm_abilities abilities,
                 struct oneib_ufm_wanted *result)
{
    const size_t limited = count_limited(partition);
    const size_t left_out = abilities.memberships ? 0 : limited;
    if (left_out > 0)
        refuse(result, (struct oneib_ufm_refused){ONEIB_UFM_LIMITED, partition->pkey, left_out});
    if (partition->member_count == left_out)
        return;
    struct oneib_partition *taken = oneib_partition_table_add(&result->table);
    memcpy(taken->name, partition->name, sizeof taken->name);
    taken->pkey = partition->pkey;
    taken->indx0 = partition->indx0;
    taken->ipoib = partition->ipoib;
    copy_members(partition, left_out == 0, taken);
}

static void want_one(const struct oneib_partition *partition, struct oneib_ufm_range range,
                     struct oneib_ufm_abilities abilities, struct oneib_ufm_wanted *result)
{
    if (partition->pkey == ONEIB_PKEY_DEFAULT)
        return;
    if (partition->pkey < range.first || partition->pkey > range.last) {
        refuse(result, (struct oneib_ufm_refused){ONEIB_UFM_OUT_OF_RANGE, partition->pkey, 0});
        return;
    }
    if (has_wildcard(partition)) {
        refuse(result, (struct oneib_ufm_refused){ONEIB_UFM_WILDCARD, partition->pkey, 0});
        return;
    }
    take(partition, abilities, result);
}

void oneib_ufm_want(const struct oneib_partition_table *wanted, struct oneib_ufm_range range,
                    struct oneib_ufm_abilities abilities, struct oneib_ufm_wanted *result)
{
    *result = (struct oneib_ufm_wanted){0};
    for (size_t i = 0; i < wanted->count; i++)
        want_one(&wanted->items[i], range, abilities, result);
}

void oneib_ufm_wanted_clear(struct oneib_ufm_wanted *wanted)
{
    oneib_partition_table_clear(&wanted->table);
    free(wanted->refused);
    *wanted = (struct oneib_ufm_wanted){0};
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void compare_member(const struct oneib_member *wanted, const struct oneib_member *seen,
                           struct oneib_ufm_difference *difference)
{
    const bool is_full = seen->membership == ONEIB_FULL,
               is_meant = wanted->membership == ONEIB_FULL;
    difference->widened += is_full && !is_meant;
    difference->lacking += is_meant && !is_full;
}

static const struct oneib_partition nobody;

struct oneib_ufm_difference oneib_ufm_compare(const struct oneib_partition *wanted,
                                              const struct oneib_partition *seen)
{
    struct oneib_ufm_difference difference = {0};
    const struct oneib_partition *left = wanted ? wanted : &nobody, *right = seen ? seen : &nobody;
    size_t i = 0, j = 0;
    while (i < left->member_count && j < right->member_count) {
        const struct oneib_member *a = &left->members[i], *b = &right->members[j];
        if (a->guid == b->guid)
            compare_member(a, b, &difference);
        difference.lacking += a->guid < b->guid;
        difference.excess += b->guid < a->guid;
        i += a->guid <= b->guid;
        j += b->guid <= a->guid;
    }
    difference.lacking += left->member_count - i;
    difference.excess += right->member_count - j;
    difference.settings = left->member_count > 0 && right->member_count > 0 &&
                          (left->ipoib != right->ipoib || left->indx0 != right->indx0);
    return difference;
}

bool oneib_ufm_differs(const struct oneib_ufm_difference *difference)
{
    return difference->excess > 0 || difference->widened > 0 || difference->lacking > 0 ||
           difference->settings;
}

/* ---- requests -------------------------------------------------------------------------------- */

static enum oneib_ufm_step step_of(const struct oneib_ufm_difference *difference)
{
    const bool less = difference->excess > 0 || difference->widened > 0;
    if (!less)
        return ONEIB_UFM_PUT_MORE;
    return difference->lacking > 0 ? ONEIB_UFM_PUT_CHANGE : ONEIB_UFM_PUT_LESS;
}

static void add_request(const struct oneib_partition *wanted, const struct oneib_partition *seen,
                        struct oneib_ufm_plan *plan)
{
    const struct oneib_ufm_difference difference = oneib_ufm_compare(wanted, seen);
    if (wanted && !oneib_ufm_differs(&difference))
        return;
    ONEIB_APPEND(
        plan->items, plan->count, plan->capacity,
        (struct oneib_ufm_request){.step = wanted ? step_of(&difference) : ONEIB_UFM_DELETE,
                                   .pkey = wanted ? wanted->pkey : seen->pkey,
                                   .wanted = wanted,
                                   .seen = seen});
}

ONEIB_ORDER_BY(compare_requests, struct oneib_ufm_request, step, pkey);

static void add_requests(const struct oneib_partition_table *wanted,
                         const struct oneib_partition_table *seen, struct oneib_ufm_plan *plan)
{
    size_t i = 0, j = 0;
    while (i < wanted->count || j < seen->count) {
        const struct oneib_partition *a = i < wanted->count ? &wanted->items[i] : NULL;
        const struct oneib_partition *b = j < seen->count ? &seen->items[j] : NULL;
        if (a && b && a->pkey != b->pkey) {
            if (a->pkey < b->pkey)
                b = NULL;
            else
                a = NULL;
        }
        add_request(a, b, plan);
        i += a != NULL;
        j += b != NULL;
    }
}

void oneib_ufm_plan(const struct oneib_partition_table *wanted,
                    const struct oneib_partition_table *seen, struct oneib_ufm_plan *plan)
{
    *plan = (struct oneib_ufm_plan){0};
    add_requests(wanted, seen, plan);
    ONEIB_SORT(plan->items, plan->count, compare_requests);
}

void oneib_ufm_plan_clear(struct oneib_ufm_plan *plan)
{
    free(plan->items);
    *plan = (struct oneib_ufm_plan){0};
}

static const char *yes_or_no(bool value)
{
    return value ? "true" : "false";
}

void oneib_ufm_render_put(const struct oneib_partition *wanted, struct oneib_text *text)
{
    oneib_text_printf(text, "{\"pkey\":\"0x%x\",\"ip_over_ib\":%s,\"index0\":%s,\"guids\":[",
                      wanted->pkey, yes_or_no(wanted->ipoib), yes_or_no(wanted->indx0));
    for (size_t i = 0; i < wanted->member_count; i++)
        oneib_text_printf(text, "%s\"%016" PRIx64 "\"", i > 0 ? "," : "", wanted->members[i].guid);
    oneib_text_append(text, "],\"memberships\":[");
    for (size_t i = 0; i < wanted->member_count; i++)
        oneib_text_printf(text, "%s\"%s\"", i > 0 ? "," : "",
                          wanted->members[i].membership == ONEIB_FULL ? "full" : "limited");
    oneib_text_append(text, "]}");
}
