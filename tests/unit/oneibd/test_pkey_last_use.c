// SPDX-License-Identifier: Apache-2.0
#include "oneibd/pkey_last_use.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct oneib_pkey_last_uses ages;
static oneib_pkey keys[ONEIB_PKEY_COUNT];
static size_t count;

static int end(void **state)
{
    (void)state;
    oneib_pkey_last_uses_clear(&ages);
    return 0;
}

/* 5 is known to be in use. */
static void keep(const oneib_pkey *written, size_t written_count, double now)
{
    keys[0] = 5;
    count = 1;
    oneib_pkey_last_uses_keep(&ages, written, written_count, now, keys, &count);
}

static void a_key_without_a_known_use_stays_as_long_as_another_daemons_list_may_count(void **state)
{
    const oneib_pkey written[] = {3, 5, 7};
    (void)state;
    keep(written, 3, 1000);
    assert_int_equal(count, 3);
    assert_int_equal(keys[0], 3);
    assert_int_equal(keys[1], 5);
    assert_int_equal(keys[2], 7);
    keep(written, 3, 1000 + ONEIB_KEY_DOUBT_MS - 1);
    assert_int_equal(count, 3);
    keep(written, 3, 1000 + ONEIB_KEY_DOUBT_MS);
    assert_int_equal(count, 1);
    assert_int_equal(keys[0], 5);
}

/* Another daemon adds what it is about to grant. */
static void each_key_has_a_time_of_its_own(void **state)
{
    const oneib_pkey written[] = {3, 5, 7};
    (void)state;
    keep(written, 2, 1000);
    keep(written, 3, 2000);
    keep(written, 3, 1000 + ONEIB_KEY_DOUBT_MS);
    assert_int_equal(count, 2);
    assert_int_equal(keys[1], 7);
    keep(written, 3, 1999 + ONEIB_KEY_DOUBT_MS);
    assert_int_equal(count, 2);
    assert_int_equal(keys[1], 7);
    keep(written, 3, 2000 + ONEIB_KEY_DOUBT_MS);
    assert_int_equal(count, 1);
}

static void a_key_that_was_in_use_again_begins_anew(void **state)
{
    const oneib_pkey written[] = {3, 5}, other[] = {5};
    (void)state;
    keep(written, 2, 1000);
    keep(other, 1, 2000);
    keep(written, 2, 3000);
    keep(written, 2, 1000 + ONEIB_KEY_DOUBT_MS);
    assert_int_equal(count, 2);
}

#define test(name) cmocka_unit_test_setup_teardown(name, NULL, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_key_without_a_known_use_stays_as_long_as_another_daemons_list_may_count),
        test(each_key_has_a_time_of_its_own),
        test(a_key_that_was_in_use_again_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
