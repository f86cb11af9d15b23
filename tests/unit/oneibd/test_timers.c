// SPDX-License-Identifier: Apache-2.0
#include "oneibd/timers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW 1000.0
#define LONGEST 5000.0

static struct oneib_timers timers;

static int begin(void **state)
{
    (void)state;
    oneib_timers_begin(&timers);
    oneib_timer_cancel(&timers, ONEIB_TIMER_TURN);
    oneib_timer_cancel(&timers, ONEIB_TIMER_NODES);
    return 0;
}

static void a_timer_is_due_from_its_time_on(void **state)
{
    (void)state;
    assert_true(oneib_timer_is_due(&timers, ONEIB_TIMER_QOS, NOW));
    oneib_timer_set(&timers, ONEIB_TIMER_QOS, NOW + 10);
    assert_false(oneib_timer_is_due(&timers, ONEIB_TIMER_QOS, NOW + 9));
    assert_true(oneib_timer_is_due(&timers, ONEIB_TIMER_QOS, NOW + 10));
    oneib_timer_cancel(&timers, ONEIB_TIMER_QOS);
    assert_false(oneib_timer_is_due(&timers, ONEIB_TIMER_QOS, 1e12));
}

static void the_loop_sleeps_until_the_first_timer_that_wakes_it(void **state)
{
    (void)state;
    assert_true(oneib_timers_wait(&timers, NOW, LONGEST) == LONGEST);
    oneib_timer_set(&timers, ONEIB_TIMER_NODE_REPORTS, NOW + 400);
    oneib_timer_set(&timers, ONEIB_TIMER_FENCES, NOW + 300);
    assert_true(oneib_timers_wait(&timers, NOW, LONGEST) == 400);
    oneib_timer_wake(&timers, ONEIB_TIMER_FENCES, true);
    assert_true(oneib_timers_wait(&timers, NOW, LONGEST) == 300);
    assert_true(oneib_timers_wait(&timers, NOW, 20) == 20);
}

static void a_timer_that_is_late_ends_the_sleep_at_once(void **state)
{
    (void)state;
    oneib_timer_set(&timers, ONEIB_TIMER_VIRTUAL_PORTS, NOW - 100);
    assert_true(oneib_timers_wait(&timers, NOW, LONGEST) == 0);
}

static void a_turn_is_due_at_the_start(void **state)
{
    (void)state;
    oneib_timers_begin(&timers);
    assert_true(oneib_timers_wait(&timers, NOW, LONGEST) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_is_due_at_the_start),
        cmocka_unit_test_setup(a_timer_is_due_from_its_time_on, begin),
        cmocka_unit_test_setup(the_loop_sleeps_until_the_first_timer_that_wakes_it, begin),
        cmocka_unit_test_setup(a_timer_that_is_late_ends_the_sleep_at_once, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
