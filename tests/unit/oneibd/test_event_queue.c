// SPDX-License-Identifier: Apache-2.0
#include "oneibd/event_queue.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START 50000.0

static struct oneib_event_queue queue;

static int begin(void **state)
{
    (void)state;
    queue = (struct oneib_event_queue){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_event_queue_clear(&queue);
    return 0;
}

static bool note(double now, enum oneib_event_kind kind, uint32_t id)
{
    return oneib_event_queue_note(&queue, now, (struct oneib_event){kind, id});
}

static void use_up(enum oneib_event_kind kind, uint32_t id)
{
    for (unsigned i = 0; i < ONEIB_EVENTS_PER_PERIOD; i++)
        assert_true(note(START, kind, id));
}

/* A turn reads what is due and what is to be due once more. */
static void run_turns(void)
{
    oneib_event_queue_release(&queue, START + 1000);
    oneib_event_queue_release(&queue, START + 2000);
    oneib_work_queue_clear(&queue.due);
}

/* ---- once more ------------------------------------------------------------------------------- */

static void what_an_event_names_comes_again_within_half_a_second_to_a_second(void **state)
{
    (void)state;
    note(START, ONEIB_EVENT_VM, 7);
    assert_int_equal(queue.due.vms.count, 1);
    oneib_work_queue_clear(&queue.due);
    assert_false(oneib_event_queue_release(&queue, START + 499));
    assert_false(oneib_event_queue_release(&queue, START + 500));
    note(START + 600, ONEIB_EVENT_NETWORK, 3);
    oneib_work_queue_clear(&queue.due);
    assert_true(oneib_event_queue_release(&queue, START + 1000));
    assert_int_equal(queue.due.vms.count, 1);
    assert_int_equal(queue.due.vms.items[0], 7);
    assert_int_equal(queue.due.networks.count, 0);
    assert_true(oneib_event_queue_release(&queue, START + 1500));
    assert_int_equal(queue.due.networks.items[0], 3);
}

static void a_recheck_has_no_recheck(void **state)
{
    (void)state;
    note(START, ONEIB_EVENT_HOST, 1);
    oneib_event_queue_release(&queue, START + 500);
    assert_true(oneib_event_queue_release(&queue, START + 1000));
    assert_false(oneib_event_queue_release(&queue, START + 5000));
    assert_true(oneib_event_queue_next(&queue) == HUGE_VAL);
}

static void the_next_release_is_when_something_is_due_once_more(void **state)
{
    (void)state;
    assert_true(oneib_event_queue_next(&queue) == HUGE_VAL);
    note(START, ONEIB_EVENT_VM, 7);
    note(START + 100, ONEIB_EVENT_VM, 8);
    assert_true(oneib_event_queue_next(&queue) == START + 500);
}

static void a_gap_and_nothing_have_no_recheck(void **state)
{
    (void)state;
    note(START, ONEIB_EVENT_GAP, 0);
    note(START, ONEIB_EVENT_NOTHING, 0);
    assert_true(queue.due.everything);
    assert_true(oneib_event_queue_next(&queue) == HUGE_VAL);
}

/* ---- delayed --------------------------------------------------------------------------------- */

static void the_seventeenth_event_of_a_vm_waits_for_the_end_of_ten_seconds(void **state)
{
    (void)state;
    use_up(ONEIB_EVENT_VM, 7);
    run_turns();
    assert_true(oneib_event_queue_next(&queue) == HUGE_VAL);
    assert_false(note(START + 9000, ONEIB_EVENT_VM, 7));
    assert_int_equal(queue.due.vms.count, 0);
    assert_true(oneib_event_queue_next(&queue) == START + 10000);
    assert_false(oneib_event_queue_release(&queue, START + 9999));
    assert_true(oneib_event_queue_release(&queue, START + 10000));
    assert_int_equal(queue.due.vms.count, 1);
    assert_int_equal(queue.due.vms.items[0], 7);
    oneib_event_queue_release(&queue, START + 11000);
    oneib_event_queue_release(&queue, START + 12000);
    assert_false(oneib_event_queue_release(&queue, START + 30000));
}

static void however_many_wait_it_is_read_once(void **state)
{
    (void)state;
    use_up(ONEIB_EVENT_NETWORK, 3);
    for (unsigned i = 0; i < 100000; i++)
        assert_false(note(START + 1, ONEIB_EVENT_NETWORK, 3));
    run_turns();
    assert_true(oneib_event_queue_release(&queue, START + 10000));
    assert_int_equal(queue.due.networks.count, 1);
    assert_int_equal(queue.due.vms.count, 0);
}

/* Also when it comes after the time has ended, and what waits was not released yet. */
static void what_waits_is_never_lost(void **state)
{
    (void)state;
    use_up(ONEIB_EVENT_VM, 7);
    assert_false(note(START, ONEIB_EVENT_VM, 7));
    run_turns();
    note(START + 20000, ONEIB_EVENT_VM, 8);
    note(START + 20000, ONEIB_EVENT_VM, 7);
    oneib_work_queue_clear(&queue.due);
    assert_true(oneib_event_queue_release(&queue, START + 20000));
    assert_int_equal(queue.due.vms.count, 1);
    assert_int_equal(queue.due.vms.items[0], 7);
}

static void a_vm_that_used_its_own_up_takes_nothing_from_others(void **state)
{
    (void)state;
    use_up(ONEIB_EVENT_VM, 7);
    assert_false(note(START, ONEIB_EVENT_VM, 7));
    use_up(ONEIB_EVENT_NETWORK, 7);
    for (uint32_t vm = 8; vm < 5000; vm++)
        use_up(ONEIB_EVENT_VM, vm);
    for (uint32_t vm = 7; vm < 5000; vm++)
        assert_false(note(START, ONEIB_EVENT_VM, vm));
}

static void ten_seconds_later_it_is_allowed_as_much_again(void **state)
{
    (void)state;
    use_up(ONEIB_EVENT_VM, 7);
    for (unsigned i = 0; i < ONEIB_EVENTS_PER_PERIOD; i++)
        assert_true(note(START + 10000, ONEIB_EVENT_VM, 7));
    assert_false(note(START + 19999, ONEIB_EVENT_VM, 7));
    assert_true(oneib_event_queue_release(&queue, START + 20000));
    assert_true(note(START + 20000, ONEIB_EVENT_VM, 7));
}

static void hosts_and_gaps_always_count(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        assert_true(note(START, ONEIB_EVENT_HOST, 1));
        assert_true(note(START, ONEIB_EVENT_GAP, 0));
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_an_event_names_comes_again_within_half_a_second_to_a_second),
        TEST(a_recheck_has_no_recheck),
        TEST(the_next_release_is_when_something_is_due_once_more),
        TEST(a_gap_and_nothing_have_no_recheck),
        TEST(the_seventeenth_event_of_a_vm_waits_for_the_end_of_ten_seconds),
        TEST(however_many_wait_it_is_read_once),
        TEST(what_waits_is_never_lost),
        TEST(a_vm_that_used_its_own_up_takes_nothing_from_others),
        TEST(ten_seconds_later_it_is_allowed_as_much_again),
        TEST(hosts_and_gaps_always_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
