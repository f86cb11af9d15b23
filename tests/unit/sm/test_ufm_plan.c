// SPDX-License-Identifier: Apache-2.0
/* What is sent to UFM. A make-believe one here does what a PUT and a DELETE say, and no more. */
#include "../base/random_source.h"
#include "sm/ufm_plan.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WALKS 300
#define KEYS 6
#define PORTS 8

static const struct oneib_ufm_range range = {256, 32766};
static const struct oneib_ufm_abilities able = {.memberships = true}, unable;

struct tables {
    struct oneib_partition_table wanted, seen;
    struct oneib_ufm_wanted ufm;
    struct oneib_ufm_plan plan;
};

static int make(void **state)
{
    *state = calloc(1, sizeof(struct tables));
    return *state ? 0 : -1;
}

static void forget(struct tables *tables)
{
    oneib_ufm_plan_clear(&tables->plan);
    oneib_ufm_wanted_clear(&tables->ufm);
    oneib_partition_table_clear(&tables->seen);
    oneib_partition_table_clear(&tables->wanted);
}

static int drop(void **state)
{
    forget(*state);
    free(*state);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

static struct oneib_partition *add(struct oneib_partition_table *table, oneib_pkey pkey)
{
    struct oneib_partition *partition = oneib_partition_table_add(table);
    assert_non_null(partition);
    partition->pkey = pkey;
    partition->ipoib = true;
    snprintf(partition->name, sizeof partition->name, "key%u", pkey);
    return partition;
}

static void member(struct oneib_partition *partition, oneib_guid guid,
                   enum oneib_membership membership)
{
    const struct oneib_member added = {guid, ONEIB_MEMBER_GUID, (uint8_t)membership};
    oneib_partition_add_member(partition, added);
}

static void plan_with(struct tables *tables, struct oneib_ufm_abilities abilities)
{
    oneib_partition_table_sort(&tables->wanted);
    oneib_partition_table_sort(&tables->seen);
    oneib_ufm_want(&tables->wanted, range, abilities, &tables->ufm);
    oneib_ufm_plan(&tables->ufm.table, &tables->seen, &tables->plan);
}

static void plan(struct tables *tables)
{
    plan_with(tables, able);
}

static void sends(const struct tables *tables, size_t index, enum oneib_ufm_step step,
                  oneib_pkey pkey)
{
    assert_true(index < tables->plan.count);
    assert_int_equal(tables->plan.items[index].step, step);
    assert_int_equal(tables->plan.items[index].pkey, pkey);
}

/* ---- what is wanted of UFM ------------------------------------------------------------------- */

static void refuses(const struct tables *tables, enum oneib_ufm_refusal why, oneib_pkey pkey)
{
    for (size_t i = 0; i < tables->ufm.refused_count; i++)
        if (tables->ufm.refused[i].why == why && tables->ufm.refused[i].pkey == pkey)
            return;
    fail_msg("0x%04x was not refused", pkey);
}

static void keys_out_of_the_range_and_wildcards_are_refused_and_0x7fff_is_ufms(void **state)
{
    struct tables *tables = *state;
    member(add(&tables->wanted, 255), 1, ONEIB_FULL);
    member(add(&tables->wanted, ONEIB_PKEY_DEFAULT), 1, ONEIB_FULL);
    member(add(&tables->wanted, 256), 1, ONEIB_FULL);
    struct oneib_partition *everybody = add(&tables->wanted, 257);
    const struct oneib_member all = {0, ONEIB_MEMBER_ALL, ONEIB_LIMITED};
    oneib_partition_add_member(everybody, all);
    plan(tables);
    assert_int_equal(tables->ufm.refused_count, 2);
    refuses(tables, ONEIB_UFM_OUT_OF_RANGE, 255);
    refuses(tables, ONEIB_UFM_WILDCARD, 257);
    assert_int_equal(tables->plan.count, 1);
    sends(tables, 0, ONEIB_UFM_PUT_MORE, 256);
}

/* The attacker: a user who is a limited member of somebody's network. */
static void a_release_that_ignores_memberships_gets_no_limited_member(void **state)
{
    struct tables *tables = *state;
    struct oneib_partition *storage = add(&tables->wanted, 300);
    member(storage, 1, ONEIB_FULL);
    member(storage, 2, ONEIB_LIMITED);
    member(add(&tables->wanted, 301), 3, ONEIB_LIMITED);
    plan_with(tables, unable);
    refuses(tables, ONEIB_UFM_LIMITED, 300);
    refuses(tables, ONEIB_UFM_LIMITED, 301);
    assert_int_equal(tables->plan.count, 1);
    assert_int_equal(tables->plan.items[0].wanted->member_count, 1);
    assert_true(tables->plan.items[0].wanted->members[0].guid == 1);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void what_is_as_it_should_be_is_asked_for_nothing(void **state)
{
    struct tables *tables = *state;
    member(add(&tables->wanted, 300), 1, ONEIB_FULL);
    tables->wanted.items[0].mtu = 5;
    tables->wanted.items[0].has_sl = true;
    member(add(&tables->seen, 300), 1, ONEIB_FULL);
    tables->seen.items[0].name[0] = '\0';
    plan(tables);
    assert_int_equal(tables->plan.count, 0);
}

static void one_changed_member_is_one_put_of_all_members(void **state)
{
    struct tables *tables = *state;
    member(add(&tables->seen, 301), 9, ONEIB_FULL);
    member(add(&tables->wanted, 301), 9, ONEIB_FULL);
    struct oneib_partition *before = add(&tables->seen, 0x31a);
    struct oneib_partition *after = add(&tables->wanted, 0x31a);
    member(before, 0x10, ONEIB_FULL);
    member(after, 0x10, ONEIB_FULL);
    member(after, 0x946dae03005985c8, ONEIB_LIMITED);
    plan(tables);
    assert_int_equal(tables->plan.count, 1);
    sends(tables, 0, ONEIB_UFM_PUT_MORE, 0x31a);
    oneib_autotext struct oneib_text body = {0};
    oneib_ufm_render_put(tables->plan.items[0].wanted, &body);
    assert_string_equal(body.data, "{\"pkey\":\"0x31a\",\"ip_over_ib\":true,\"index0\":false,"
                                   "\"guids\":[\"0000000000000010\",\"946dae03005985c8\"],"
                                   "\"memberships\":[\"full\",\"limited\"]}");
}

static void who_goes_goes_first(void **state)
{
    struct tables *tables = *state;
    member(add(&tables->wanted, 300), 1, ONEIB_FULL); /* comes */
    member(add(&tables->seen, 301), 1, ONEIB_FULL);   /* its key goes */
    member(add(&tables->seen, 302), 1, ONEIB_FULL);   /* is narrowed */
    member(add(&tables->wanted, 302), 1, ONEIB_LIMITED);
    member(add(&tables->seen, 303), 1, ONEIB_FULL); /* is another's */
    member(add(&tables->wanted, 303), 2, ONEIB_FULL);
    plan(tables);
    assert_int_equal(tables->plan.count, 4);
    sends(tables, 0, ONEIB_UFM_DELETE, 301);
    sends(tables, 1, ONEIB_UFM_PUT_LESS, 302);
    sends(tables, 2, ONEIB_UFM_PUT_CHANGE, 303);
    sends(tables, 3, ONEIB_UFM_PUT_MORE, 300);
}

static void a_partition_without_members_is_deleted_or_not_made(void **state)
{
    struct tables *tables = *state;
    add(&tables->wanted, 300);
    add(&tables->wanted, 301);
    member(add(&tables->seen, 301), 1, ONEIB_FULL);
    plan(tables);
    assert_int_equal(tables->plan.count, 1);
    sends(tables, 0, ONEIB_UFM_DELETE, 301);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void a_difference_tells_who_has_more_from_who_has_less(void **state)
{
    struct tables *tables = *state;
    struct oneib_partition *wanted = add(&tables->wanted, 300), *seen = add(&tables->seen, 300);
    member(wanted, 1, ONEIB_FULL);
    member(wanted, 2, ONEIB_LIMITED);
    member(wanted, 3, ONEIB_FULL);
    member(seen, 1, ONEIB_LIMITED);
    member(seen, 2, ONEIB_FULL);
    member(seen, 4, ONEIB_LIMITED);
    const struct oneib_ufm_difference difference = oneib_ufm_compare(wanted, seen);
    assert_int_equal(difference.lacking, 2);
    assert_int_equal(difference.widened, 1);
    assert_int_equal(difference.excess, 1);
    assert_false(difference.settings);
    assert_int_equal(oneib_ufm_compare(NULL, seen).excess, 3);
    assert_int_equal(oneib_ufm_compare(wanted, NULL).lacking, 3);
    seen->indx0 = true;
    assert_true(oneib_ufm_compare(wanted, seen).settings);
    const struct oneib_ufm_difference none = oneib_ufm_compare(wanted, wanted);
    assert_false(oneib_ufm_differs(&none));
}

/* ---- any two tables -------------------------------------------------------------------------- */

enum { NONE, AS_LIMITED, AS_FULL };

/* Who has which key, as which member. */
struct model {
    uint8_t has[KEYS][PORTS];
};

static void fill(struct random_source *random, struct oneib_partition_table *table,
                 struct model *model)
{
    *model = (struct model){0};
    for (unsigned key = 0; key < KEYS; key++) {
        if (random_below(random, 3) == 0)
            continue;
        struct oneib_partition *partition = add(table, (oneib_pkey)(300 + key));
        for (unsigned port = 0; port < PORTS; port++) {
            const unsigned has = (unsigned)random_below(random, 3);
            model->has[key][port] = (uint8_t)has;
            if (has != NONE)
                member(partition, port + 1, has == AS_FULL ? ONEIB_FULL : ONEIB_LIMITED);
        }
    }
}

static void do_as_asked(struct model *ufm, const struct oneib_ufm_request *request)
{
    uint8_t *has = ufm->has[request->pkey - 300];
    memset(has, NONE, PORTS);
    for (size_t i = 0; request->wanted && i < request->wanted->member_count; i++) {
        const struct oneib_member *one = &request->wanted->members[i];
        has[one->guid - 1] = one->membership == ONEIB_FULL ? AS_FULL : AS_LIMITED;
    }
}

/* Nobody has at any moment what he had neither before nor is meant to have. */
static void nobody_has_too_much(const struct model *now, const struct model *before,
                                const struct model *after)
{
    for (unsigned key = 0; key < KEYS; key++)
        for (unsigned port = 0; port < PORTS; port++)
            assert_true(now->has[key][port] <= before->has[key][port] ||
                        now->has[key][port] <= after->has[key][port]);
}

static void walk(struct tables *tables, struct random_source *random)
{
    struct model before, after, now;
    fill(random, &tables->seen, &before);
    fill(random, &tables->wanted, &after);
    now = before;
    plan(tables);
    for (size_t i = 0; i < tables->plan.count; i++) {
        assert_true(i == 0 || tables->plan.items[i].step >= tables->plan.items[i - 1].step);
        do_as_asked(&now, &tables->plan.items[i]);
        nobody_has_too_much(&now, &before, &after);
    }
    assert_memory_equal(&now, &after, sizeof now);
    assert_true(tables->plan.count <= KEYS);
}

static void any_table_becomes_any_other_and_nobody_has_too_much_on_the_way(void **state)
{
    struct random_source random = random_seeded(21);
    for (unsigned i = 0; i < WALKS; i++) {
        forget(*state);
        walk(*state, &random);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_out_of_the_range_and_wildcards_are_refused_and_0x7fff_is_ufms),
        TEST(a_release_that_ignores_memberships_gets_no_limited_member),
        TEST(what_is_as_it_should_be_is_asked_for_nothing),
        TEST(one_changed_member_is_one_put_of_all_members),
        TEST(who_goes_goes_first),
        TEST(a_partition_without_members_is_deleted_or_not_made),
        TEST(a_difference_tells_who_has_more_from_who_has_less),
        TEST(any_table_becomes_any_other_and_nobody_has_too_much_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
