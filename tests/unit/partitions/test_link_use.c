// SPDX-License-Identifier: Apache-2.0
#include "partitions/link_use.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GBPS 32.0                           /* of data: 40 Gb/s QDR */
#define UNITS_A_SECOND UINT64_C(1000000000) /* that a link of so much sends: 4 bytes each */
#define FULL UINT32_MAX

static struct oneib_counters wide(double at_ms, uint64_t data)
{
    return (struct oneib_counters){.at_ms = at_ms, .data = data, .is_wide = true};
}

static struct oneib_counters narrow(double at_ms, uint64_t data)
{
    return (struct oneib_counters){.at_ms = at_ms, .data = data};
}

static struct oneib_link_use use_of(struct oneib_counters before, struct oneib_counters after)
{
    return oneib_link_use(&before, &after, GBPS);
}

static void near(double value, double wanted)
{
    if (fabs(value - wanted) > 1e-6)
        fail_msg("%g is not %g", value, wanted);
}

static void the_share_is_what_was_sent_by_what_the_link_can_carry(void **state)
{
    (void)state;
    const struct oneib_link_use use =
        use_of(wide(1000, 7), wide(11000, 7 + UNITS_A_SECOND * 10 / 4));
    assert_int_equal(use.kind, ONEIB_USE_KNOWN);
    near(use.seconds, 10);
    near(use.gbps, GBPS / 4);
    near(use.share, 0.25);
}

/* More than 32 bits in the time: what the extended counters are for. */
static void wide_counters_go_beyond_32_bits(void **state)
{
    (void)state;
    const struct oneib_link_use use =
        use_of(wide(0, FULL), wide(10000, FULL + UNITS_A_SECOND * 10));
    assert_int_equal(use.kind, ONEIB_USE_KNOWN);
    near(use.share, 1);
}

static void without_a_rate_there_is_no_share_but_what_was_sent(void **state)
{
    (void)state;
    const struct oneib_counters before = wide(0, 0), after = wide(1000, UNITS_A_SECOND);
    const struct oneib_link_use use = oneib_link_use(&before, &after, 0);
    assert_int_equal(use.kind, ONEIB_USE_KNOWN);
    assert_true(use.share < 0);
    near(use.gbps, GBPS);
}

static void no_time_between_is_no_measurement(void **state)
{
    (void)state;
    assert_int_equal(use_of(wide(5, 0), wide(5, 100)).kind, ONEIB_USE_TOO_SHORT);
    assert_int_equal(use_of(wide(6, 0), wide(5, 100)).kind, ONEIB_USE_TOO_SHORT);
    assert_int_equal(use_of(wide(0, 0), wide(NAN, 100)).kind, ONEIB_USE_TOO_SHORT);
}

static void a_wrap_of_32_bits_is_counted_over_the_end(void **state)
{
    (void)state;
    const struct oneib_link_use use =
        use_of(narrow(0, FULL - 99), narrow(1000, UNITS_A_SECOND - 100));
    assert_int_equal(use.kind, ONEIB_USE_KNOWN);
    near(use.share, 1);
}

static void what_the_link_cannot_have_sent_is_a_reset_and_no_wrap(void **state)
{
    (void)state;
    assert_int_equal(use_of(narrow(0, 5000), narrow(1000, 4999)).kind, ONEIB_USE_RESET);
}

/* 10 seconds are more than twice around at this rate: how often it went nobody knows. */
static void where_it_may_wrap_more_than_once_a_smaller_number_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(use_of(narrow(0, FULL - 99), narrow(10000, 100)).kind, ONEIB_USE_RESET);
    const struct oneib_counters before = narrow(0, FULL - 99), after = narrow(1000, 100);
    assert_int_equal(oneib_link_use(&before, &after, 0).kind, ONEIB_USE_RESET);
}

static void wide_counters_do_not_wrap(void **state)
{
    (void)state;
    assert_int_equal(use_of(wide(0, FULL - 99), wide(1000, 100)).kind, ONEIB_USE_RESET);
}

static void full_counters_measure_nothing(void **state)
{
    (void)state;
    assert_int_equal(use_of(narrow(0, 1), narrow(1000, FULL)).kind, ONEIB_USE_SATURATED);
    assert_int_equal(use_of(narrow(0, FULL), narrow(1000, FULL)).kind, ONEIB_USE_SATURATED);
    assert_int_equal(use_of(narrow(0, FULL), narrow(1000, 3)).kind, ONEIB_USE_SATURATED);
    assert_int_equal(use_of(wide(0, FULL), wide(1000, FULL)).kind, ONEIB_USE_STILL);
}

/* A port that answered with 64 bits once, and refused them then. */
static void two_widths_are_not_compared(void **state)
{
    (void)state;
    assert_int_equal(use_of(wide(0, 1), narrow(1000, 5)).kind, ONEIB_USE_RESET);
}

static struct oneib_counters waiting(double at_ms, uint64_t data, uint32_t wait)
{
    return (struct oneib_counters){
        .at_ms = at_ms, .data = data, .is_wide = true, .has_wait = true, .wait = wait};
}

static void waits_are_ticks_by_the_second(void **state)
{
    (void)state;
    near(use_of(waiting(0, 0, 10), waiting(2000, 9, 30)).wait_per_second, 10);
    near(use_of(waiting(0, 0, 10), waiting(2000, 9, 10)).wait_per_second, 0);
    assert_true(use_of(wide(0, 0), wide(2000, 9)).wait_per_second < 0);
    assert_true(use_of(wide(0, 0), waiting(2000, 9, 30)).wait_per_second < 0);
    assert_true(use_of(waiting(0, 0, 0), wide(2000, 9)).wait_per_second < 0);
    assert_true(use_of(waiting(0, 0, 10), waiting(2000, 9, 9)).wait_per_second < 0);
    assert_true(use_of(waiting(0, 0, 10), waiting(2000, 9, FULL)).wait_per_second < 0);
}

static void only_what_moves_in_neither_counter_is_still(void **state)
{
    (void)state;
    assert_int_equal(use_of(waiting(0, 5, 1), waiting(1000, 5, 1)).kind, ONEIB_USE_STILL);
    assert_int_equal(use_of(waiting(0, 5, 1), waiting(1000, 5, 2)).kind, ONEIB_USE_KNOWN);
    near(use_of(waiting(0, 5, 1), waiting(1000, 5, 1)).share, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_share_is_what_was_sent_by_what_the_link_can_carry),
        cmocka_unit_test(wide_counters_go_beyond_32_bits),
        cmocka_unit_test(without_a_rate_there_is_no_share_but_what_was_sent),
        cmocka_unit_test(no_time_between_is_no_measurement),
        cmocka_unit_test(a_wrap_of_32_bits_is_counted_over_the_end),
        cmocka_unit_test(what_the_link_cannot_have_sent_is_a_reset_and_no_wrap),
        cmocka_unit_test(where_it_may_wrap_more_than_once_a_smaller_number_says_nothing),
        cmocka_unit_test(wide_counters_do_not_wrap),
        cmocka_unit_test(full_counters_measure_nothing),
        cmocka_unit_test(two_widths_are_not_compared),
        cmocka_unit_test(waits_are_ticks_by_the_second),
        cmocka_unit_test(only_what_moves_in_neither_counter_is_still),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
