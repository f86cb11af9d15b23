// SPDX-License-Identifier: Apache-2.0
#include "oneibd/snapshot_age.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static void answer(struct oneib_snapshot_age *age, double asked_ms)
{
    oneib_snapshot_age_cloud(age, asked_ms);
    oneib_snapshot_age_ledger(age);
}

static void before_the_first_list_they_are_of_never(void **state)
{
    struct oneib_snapshot_age age = {0};
    (void)state;
    oneib_snapshot_age_changed(&age);
    answer(&age, 1000);
    assert_true(oneib_snapshot_age_of_lists(&age) == 0);
    oneib_snapshot_age_listed(&age);
    assert_true(oneib_snapshot_age_of_lists(&age) == 1000);
}

static void asking_in_vain_keeps_lists_young(void **state)
{
    struct oneib_snapshot_age age = {0};
    (void)state;
    answer(&age, 1000);
    oneib_snapshot_age_listed(&age);
    answer(&age, 2000);
    assert_true(oneib_snapshot_age_of_lists(&age) == 2000);
}

/* A mistake in the static partitions, a ledger that cannot be written: oned is asked again and
 * again, and answers. */
static void lists_that_lack_what_was_seen_grow_old_however_often_oned_is_asked(void **state)
{
    struct oneib_snapshot_age age = {0};
    (void)state;
    answer(&age, 1000);
    oneib_snapshot_age_listed(&age);
    oneib_snapshot_age_changed(&age);
    answer(&age, 2000);
    answer(&age, 3000);
    oneib_snapshot_age_changed(&age);
    answer(&age, 4000);
    assert_true(oneib_snapshot_age_of_lists(&age) == 1000);
    oneib_snapshot_age_listed(&age);
    assert_true(oneib_snapshot_age_of_lists(&age) == 4000);
}

/* Somebody may be fenced, or have another key, and nobody here knows. */
static void while_the_ledger_is_not_read_lists_grow_old(void **state)
{
    struct oneib_snapshot_age age = {0};
    (void)state;
    answer(&age, 1000);
    oneib_snapshot_age_listed(&age);
    oneib_snapshot_age_cloud(&age, 2000);
    assert_true(oneib_snapshot_age_of_lists(&age) == 1000);
    oneib_snapshot_age_cloud(&age, 3000);
    oneib_snapshot_age_changed(&age); /* by what the ledger says */
    oneib_snapshot_age_ledger(&age);
    assert_true(oneib_snapshot_age_of_lists(&age) == 1000);
    oneib_snapshot_age_listed(&age);
    assert_true(oneib_snapshot_age_of_lists(&age) == 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_list_they_are_of_never),
        cmocka_unit_test(asking_in_vain_keeps_lists_young),
        cmocka_unit_test(while_the_ledger_is_not_read_lists_grow_old),
        cmocka_unit_test(lists_that_lack_what_was_seen_grow_old_however_often_oned_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
