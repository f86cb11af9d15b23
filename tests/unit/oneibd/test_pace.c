// SPDX-License-Identifier: Apache-2.0
#include "oneibd/pace.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START 1000.0

static struct oneib_pace begun(void)
{
    const struct oneib_config config = {
        .daemon = {.poll_preparing_ms = 5000,
                   .poll_idle_ms = 15000,
                   .reread_ms = 600000,
                   .verify_ms = 120000},
    };
    struct oneib_pace pace;
    oneib_pace_begin(&pace, &config, START);
    return pace;
}

/* After a first look that found nothing unusual. */
static struct oneib_pace at_rest(void)
{
    struct oneib_pace pace = begun();
    oneib_pace_reread(&pace, START, 10, true);
    oneib_pace_polled(&pace, START, false);
    oneib_pace_verified(&pace, START);
    return pace;
}

static bool due_for_events(const struct oneib_pace *pace, double now)
{
    return oneib_pace_due(pace, now).events;
}

static void everything_is_due_at_the_start(void **state)
{
    (void)state;
    const struct oneib_pace pace = begun();
    const struct oneib_due due = oneib_pace_due(&pace, START);
    assert_true(due.poll && due.reread && due.verify);
    assert_false(due.retry);
    assert_true(oneib_pace_wait(&pace, START) == 0);
}

static void nothing_is_due_at_rest(void **state)
{
    (void)state;
    const struct oneib_pace pace = at_rest();
    const struct oneib_due due = oneib_pace_due(&pace, START + 14999);
    assert_false(oneib_pace_anything(&due));
    assert_true(oneib_pace_wait(&pace, START + 14000) == 1000);
}

static void the_first_event_after_a_quiet_time_is_due_at_once(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_event(&pace, START + 500);
    assert_true(due_for_events(&pace, START + 500));
    oneib_pace_events_taken(&pace);
    assert_false(due_for_events(&pace, START + 501));
}

static void an_event_in_a_burst_waits_20_ms_and_no_longer(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_applied(&pace, START + 500);
    oneib_pace_event(&pace, START + 510);
    oneib_pace_event(&pace, START + 529);
    assert_false(due_for_events(&pace, START + 529));
    assert_true(due_for_events(&pace, START + 530));
    assert_true(oneib_pace_wait(&pace, START + 520) == 10);
}

static void an_event_that_came_during_a_change_waits_20_ms_after_it(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_event(&pace, START + 400);
    oneib_pace_applied(&pace, START + 500);
    assert_false(due_for_events(&pace, START + 519));
    assert_true(due_for_events(&pace, START + 520));
}

static void events_are_due_while_something_else_goes_wrong(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_failed(&pace, START);
    oneib_pace_event(&pace, START + 1);
    assert_true(due_for_events(&pace, START + 1));
}

static void polls_come_every_5_s_while_a_vm_is_being_prepared(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_polled(&pace, START, true);
    assert_false(oneib_pace_due(&pace, START + 4999).poll);
    assert_true(oneib_pace_due(&pace, START + 5000).poll);
}

static void an_event_of_a_vm_that_is_being_prepared_brings_the_next_poll_forward(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_preparing(&pace, START + 1000);
    assert_true(oneib_pace_due(&pace, START + 6000).poll);
    oneib_pace_preparing(&pace, START + 3000);
    assert_true(oneib_pace_due(&pace, START + 6000).poll);
}

static void reading_everything_comes_seldomer_where_it_takes_long(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_reread(&pace, START, 100, true);
    assert_true(oneib_pace_due(&pace, START + 600000).reread);
    oneib_pace_reread(&pace, START, 2000, true);
    assert_false(oneib_pace_due(&pace, START + 1999999).reread);
    assert_true(oneib_pace_due(&pace, START + 2000000).reread);
    oneib_pace_reread(&pace, START, 100000, true);
    assert_true(oneib_pace_due(&pace, START + 3600000).reread);
}

static void without_trust_in_events_everything_is_read_every_5_s(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_distrust(&pace, START);
    assert_true(oneib_pace_due(&pace, START + 5000).reread);
    oneib_pace_reread(&pace, START, 100, false);
    assert_false(oneib_pace_due(&pace, START + 4999).reread);
    assert_true(oneib_pace_due(&pace, START + 5000).reread);
}

static void without_trust_reading_everything_takes_a_third_of_the_time_at_most(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_reread(&pace, START, 10000, false);
    assert_false(oneib_pace_due(&pace, START + 29999).reread);
    assert_true(oneib_pace_due(&pace, START + 30000).reread);
}

static void retries_come_ever_more_slowly_and_never_end(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    double now = START;
    const double pauses[] = {500, 1000, 2000, 4000, 8000, 15000, 15000};
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        oneib_pace_failed(&pace, now);
        assert_false(oneib_pace_due(&pace, now + pauses[i] - 1).retry);
        assert_true(oneib_pace_due(&pace, now + pauses[i]).retry);
        assert_true(oneib_pace_wait(&pace, now) == pauses[i]);
        now += pauses[i];
    }
    oneib_pace_succeeded(&pace);
    assert_false(oneib_pace_due(&pace, now + 100000).retry);
    oneib_pace_failed(&pace, now);
    assert_true(oneib_pace_due(&pace, now + 500).retry);
}

static void ports_that_stay_wrong_cost_a_sweep_every_five_minutes_in_the_end(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    for (int i = 0; i < 20; i++)
        oneib_pace_unfinished(&pace, START);
    assert_false(oneib_pace_due(&pace, START + 299999).retry);
    assert_true(oneib_pace_due(&pace, START + 300000).retry);
    oneib_pace_failed(&pace, START);
    assert_true(oneib_pace_wait(&pace, START) == 15000);
}

static void ports_that_stay_wrong_do_not_hold_up_polls(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    for (int i = 0; i < 20; i++)
        oneib_pace_unfinished(&pace, START);
    assert_true(oneib_pace_due(&pace, START + 15000).poll);
    assert_false(oneib_pace_due(&pace, START + 200000).verify);
    assert_false(oneib_pace_due(&pace, START + 200000).retry);
    assert_true(oneib_pace_due(&pace, START + 300000).retry);
}

static void a_poll_that_would_fail_waits_for_the_retry(void **state)
{
    (void)state;
    struct oneib_pace pace = begun();
    oneib_pace_failed(&pace, START);
    assert_false(oneib_pace_due(&pace, START + 499).poll);
    assert_true(oneib_pace_due(&pace, START + 500).poll);
}

static void ports_are_read_sooner_but_never_later_than_asked_before(void **state)
{
    (void)state;
    struct oneib_pace pace = at_rest();
    oneib_pace_verify_in(&pace, START, 3000);
    oneib_pace_verify_in(&pace, START, 9000);
    assert_true(oneib_pace_due(&pace, START + 3000).verify);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_due_at_the_start),
        cmocka_unit_test(nothing_is_due_at_rest),
        cmocka_unit_test(the_first_event_after_a_quiet_time_is_due_at_once),
        cmocka_unit_test(an_event_in_a_burst_waits_20_ms_and_no_longer),
        cmocka_unit_test(an_event_that_came_during_a_change_waits_20_ms_after_it),
        cmocka_unit_test(events_are_due_while_something_else_goes_wrong),
        cmocka_unit_test(polls_come_every_5_s_while_a_vm_is_being_prepared),
        cmocka_unit_test(an_event_of_a_vm_that_is_being_prepared_brings_the_next_poll_forward),
        cmocka_unit_test(reading_everything_comes_seldomer_where_it_takes_long),
        cmocka_unit_test(without_trust_in_events_everything_is_read_every_5_s),
        cmocka_unit_test(without_trust_reading_everything_takes_a_third_of_the_time_at_most),
        cmocka_unit_test(retries_come_ever_more_slowly_and_never_end),
        cmocka_unit_test(ports_that_stay_wrong_cost_a_sweep_every_five_minutes_in_the_end),
        cmocka_unit_test(ports_that_stay_wrong_do_not_hold_up_polls),
        cmocka_unit_test(a_poll_that_would_fail_waits_for_the_retry),
        cmocka_unit_test(ports_are_read_sooner_but_never_later_than_asked_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
