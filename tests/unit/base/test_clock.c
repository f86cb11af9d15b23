// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW 1000.0

/* In the place of core/base/clock.c: time stands still. */
double oneib_now_ms(void)
{
    return NOW;
}

static void a_part_of_a_millisecond_is_waited_for_too(void **state)
{
    (void)state;
    assert_int_equal(oneib_ms_until(NOW + 0.25), 1);
    assert_int_equal(oneib_ms_until(NOW + 1.25), 2);
}

static void what_is_over_is_not_waited_for(void **state)
{
    (void)state;
    assert_int_equal(oneib_ms_until(NOW), 0);
    assert_int_equal(oneib_ms_until(NOW - 5), 0);
}

static void what_never_comes_is_waited_for_as_long_as_can_be(void **state)
{
    (void)state;
    assert_int_equal(oneib_ms_until(HUGE_VAL), UINT32_MAX);
    assert_int_equal(oneib_ms_until(NOW + UINT32_MAX), UINT32_MAX);
    assert_int_equal(oneib_ms_until(NOW + UINT32_MAX - 2), UINT32_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_a_millisecond_is_waited_for_too),
        cmocka_unit_test(what_is_over_is_not_waited_for),
        cmocka_unit_test(what_never_comes_is_waited_for_as_long_as_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
