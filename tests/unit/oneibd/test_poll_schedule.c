// SPDX-License-Identifier: Apache-2.0
#include "oneibd/poll_schedule.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START 1000.0

static struct oneib_poll_schedule begun(void)
{
    const struct oneib_config config = {
        .daemon = {.poll_preparing_ms = 5000,
                   .poll_idle_ms = 15000,
                   .reread_ms = 600000,
                   .verify_ms = 120000},
    };
    struct oneib_poll_schedule schedule;
    oneib_poll_schedule_begin(&schedule, &config, START);
    return schedule;
}

/* After a first look that found nothing unusual. */
static struct oneib_poll_schedule at_rest(void)
{
    struct oneib_poll_schedule schedule = begun();
    oneib_poll_schedule_reread(&schedule, START, 10, true);
    oneib_poll_schedule_polled(&schedule, START, false);
    oneib_poll_schedule_verified(&schedule, START);
    return schedule;
}

static bool due_for_events(const struct oneib_poll_schedule *schedule, double now)
{
    return oneib_poll_schedule_due(schedule, now).events;
}

static void everything_is_due_at_the_start(void **state)
{
    (void)state;
    const struct oneib_poll_schedule schedule = begun();
    const struct oneib_due due = oneib_poll_schedule_due(&schedule, START);
    assert_true(due.poll && due.reread && due.verify);
    assert_false(due.retry);
    assert_true(oneib_poll_schedule_wait(&schedule, START) == 0);
}

static void nothing_is_due_at_rest(void **state)
{
    (void)state;
    const struct oneib_poll_schedule schedule = at_rest();
    const struct oneib_due due = oneib_poll_schedule_due(&schedule, START + 14999);
    assert_false(oneib_poll_schedule_anything(&due));
    assert_true(oneib_poll_schedule_wait(&schedule, START + 14000) == 1000);
}

static void the_first_event_after_a_quiet_time_is_due_at_once(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_event(&schedule, START + 500);
    assert_true(due_for_events(&schedule, START + 500));
    oneib_poll_schedule_events_taken(&schedule);
    assert_false(due_for_events(&schedule, START + 501));
}

static void an_event_in_a_burst_waits_20_ms_and_no_longer(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_applied(&schedule, START + 500);
    oneib_poll_schedule_event(&schedule, START + 510);
    oneib_poll_schedule_event(&schedule, START + 529);
    assert_false(due_for_events(&schedule, START + 529));
    assert_true(due_for_events(&schedule, START + 530));
    assert_true(oneib_poll_schedule_wait(&schedule, START + 520) == 10);
}

static void an_event_that_came_during_a_change_waits_20_ms_after_it(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_event(&schedule, START + 400);
    oneib_poll_schedule_applied(&schedule, START + 500);
    assert_false(due_for_events(&schedule, START + 519));
    assert_true(due_for_events(&schedule, START + 520));
}

static void events_are_due_while_something_else_goes_wrong(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_failed(&schedule, START);
    oneib_poll_schedule_event(&schedule, START + 1);
    assert_true(due_for_events(&schedule, START + 1));
}

static void a_poll_lets_what_somebody_waits_for_go_first_for_five_seconds(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_applied(&schedule, START + 15000);
    oneib_poll_schedule_event(&schedule, START + 15001); /* due 20 ms after the change */
    assert_false(oneib_poll_schedule_due(&schedule, START + 15001).poll);
    assert_true(oneib_poll_schedule_wait(&schedule, START + 15001) == 20);
    assert_true(oneib_poll_schedule_due(&schedule, START + 20000).poll);
    oneib_poll_schedule_events_taken(&schedule);
    struct oneib_due due = oneib_poll_schedule_due(&schedule, START + 15100);
    assert_true(due.poll);
    oneib_poll_schedule_put_off(&schedule, START + 15100, &due);
    assert_true(due.poll);
    due.nodes = true;
    oneib_poll_schedule_put_off(&schedule, START + 20000, &due);
    assert_true(due.poll);
    oneib_poll_schedule_put_off(&schedule, START + 15100, &due);
    assert_false(due.poll);
}

static void polls_come_every_5_s_while_a_vm_is_being_prepared(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_polled(&schedule, START, true);
    assert_false(oneib_poll_schedule_due(&schedule, START + 4999).poll);
    assert_true(oneib_poll_schedule_due(&schedule, START + 5000).poll);
}

static void an_event_of_a_vm_that_is_being_prepared_brings_the_next_poll_forward(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_preparing(&schedule, START + 1000);
    assert_true(oneib_poll_schedule_due(&schedule, START + 6000).poll);
    oneib_poll_schedule_preparing(&schedule, START + 3000);
    assert_true(oneib_poll_schedule_due(&schedule, START + 6000).poll);
}

static void reading_everything_comes_seldomer_where_it_takes_long(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_reread(&schedule, START, 100, true);
    assert_true(oneib_poll_schedule_due(&schedule, START + 600000).reread);
    oneib_poll_schedule_reread(&schedule, START, 2000, true);
    assert_false(oneib_poll_schedule_due(&schedule, START + 1999999).reread);
    assert_true(oneib_poll_schedule_due(&schedule, START + 2000000).reread);
    oneib_poll_schedule_reread(&schedule, START, 100000, true);
    assert_true(oneib_poll_schedule_due(&schedule, START + 3600000).reread);
}

static void without_trust_in_events_everything_is_read_every_5_s(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_distrust(&schedule, START);
    assert_true(oneib_poll_schedule_due(&schedule, START + 5000).reread);
    oneib_poll_schedule_reread(&schedule, START, 100, false);
    assert_false(oneib_poll_schedule_due(&schedule, START + 4999).reread);
    assert_true(oneib_poll_schedule_due(&schedule, START + 5000).reread);
}

static void without_trust_reading_everything_takes_a_third_of_the_time_at_most(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_reread(&schedule, START, 10000, false);
    assert_false(oneib_poll_schedule_due(&schedule, START + 29999).reread);
    assert_true(oneib_poll_schedule_due(&schedule, START + 30000).reread);
}

static void retries_come_ever_more_slowly_and_never_end(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    double now = START;
    const double pauses[] = {500, 1000, 2000, 4000, 8000, 15000, 15000};
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        oneib_poll_schedule_failed(&schedule, now);
        assert_false(oneib_poll_schedule_due(&schedule, now + pauses[i] - 1).retry);
        assert_true(oneib_poll_schedule_due(&schedule, now + pauses[i]).retry);
        assert_true(oneib_poll_schedule_wait(&schedule, now) == pauses[i]);
        now += pauses[i];
    }
    oneib_poll_schedule_succeeded(&schedule);
    assert_false(oneib_poll_schedule_due(&schedule, now + 100000).retry);
    oneib_poll_schedule_failed(&schedule, now);
    assert_true(oneib_poll_schedule_due(&schedule, now + 500).retry);
}

static void ports_that_stay_wrong_cost_a_sweep_every_five_minutes_in_the_end(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    for (int i = 0; i < 20; i++)
        oneib_poll_schedule_unfinished(&schedule, START);
    assert_false(oneib_poll_schedule_due(&schedule, START + 299999).retry);
    assert_true(oneib_poll_schedule_due(&schedule, START + 300000).retry);
    oneib_poll_schedule_failed(&schedule, START);
    assert_true(oneib_poll_schedule_wait(&schedule, START) == 15000);
}

static void ports_that_stay_wrong_do_not_hold_up_polls(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    for (int i = 0; i < 20; i++)
        oneib_poll_schedule_unfinished(&schedule, START);
    assert_true(oneib_poll_schedule_due(&schedule, START + 15000).poll);
    assert_false(oneib_poll_schedule_due(&schedule, START + 200000).verify);
    assert_false(oneib_poll_schedule_due(&schedule, START + 200000).retry);
    assert_true(oneib_poll_schedule_due(&schedule, START + 300000).retry);
}

static void a_poll_that_would_fail_waits_for_the_retry(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = begun();
    oneib_poll_schedule_failed(&schedule, START);
    assert_false(oneib_poll_schedule_due(&schedule, START + 499).poll);
    assert_true(oneib_poll_schedule_due(&schedule, START + 500).poll);
}

static void ports_are_read_sooner_but_never_later_than_asked_before(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_verify_in(&schedule, START, 3000);
    oneib_poll_schedule_verify_in(&schedule, START, 9000);
    assert_true(oneib_poll_schedule_due(&schedule, START + 3000).verify);
}

static bool due_for_client(const struct oneib_poll_schedule *schedule, double now)
{
    return oneib_poll_schedule_due(schedule, now).asked;
}

static void a_client_that_asks_after_a_quiet_time_has_ports_read_at_once(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    assert_false(due_for_client(&schedule, START + 5000));
    oneib_poll_schedule_ask(&schedule, START + 5000);
    assert_true(due_for_client(&schedule, START + 5000));
    assert_true(oneib_poll_schedule_wait(&schedule, START + 5000) == 0);
    oneib_poll_schedule_answered(&schedule, START + 5010, 10);
    assert_false(due_for_client(&schedule, START + 14000));
}

static void clients_have_ports_read_once_a_second_and_a_tenth_of_the_time(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_ask(&schedule, START);
    oneib_poll_schedule_answered(&schedule, START, 10);
    for (unsigned i = 0; i < 5; i++)
        oneib_poll_schedule_ask(&schedule, START + 10);
    assert_false(due_for_client(&schedule, START + 999));
    assert_true(oneib_poll_schedule_wait(&schedule, START + 999) == 1);
    assert_true(due_for_client(&schedule, START + 1000));
    oneib_poll_schedule_answered(&schedule, START + 1500, 500);
    oneib_poll_schedule_ask(&schedule, START + 1500);
    assert_false(due_for_client(&schedule, START + 5999));
    assert_true(due_for_client(&schedule, START + 6000));
    oneib_poll_schedule_answered(&schedule, START + 20000, 14000);
    oneib_poll_schedule_ask(&schedule, START + 20000);
    assert_false(due_for_client(&schedule, START + 39999));
    assert_true(due_for_client(&schedule, START + 40000));
}

static void a_reading_for_a_client_is_late_after_five_seconds(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    assert_false(oneib_poll_schedule_ask_is_late(&schedule, START + 90000));
    oneib_poll_schedule_ask(&schedule, START + 100);
    assert_false(oneib_poll_schedule_ask_is_late(&schedule, START + 5099));
    assert_true(oneib_poll_schedule_ask_is_late(&schedule, START + 5100));
}

static void a_reading_for_a_client_waits_for_the_retry_of_a_failure_alone(void **state)
{
    (void)state;
    struct oneib_poll_schedule schedule = at_rest();
    oneib_poll_schedule_unfinished(&schedule, START);
    oneib_poll_schedule_ask(&schedule, START);
    assert_true(due_for_client(&schedule, START));
    assert_false(oneib_poll_schedule_due(&schedule, START).verify);
    assert_true(oneib_poll_schedule_wait(&schedule, START) == 0);
    assert_false(oneib_poll_schedule_is_failing(&schedule));
    oneib_poll_schedule_failed(&schedule, START);
    assert_true(oneib_poll_schedule_is_failing(&schedule));
    assert_false(due_for_client(&schedule, START));
    assert_true(oneib_poll_schedule_wait(&schedule, START) == 1000);
    assert_true(oneib_poll_schedule_due(&schedule, START + 1000).retry);
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
        cmocka_unit_test(a_poll_lets_what_somebody_waits_for_go_first_for_five_seconds),
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
        cmocka_unit_test(a_client_that_asks_after_a_quiet_time_has_ports_read_at_once),
        cmocka_unit_test(clients_have_ports_read_once_a_second_and_a_tenth_of_the_time),
        cmocka_unit_test(a_reading_for_a_client_is_late_after_five_seconds),
        cmocka_unit_test(a_reading_for_a_client_waits_for_the_retry_of_a_failure_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
