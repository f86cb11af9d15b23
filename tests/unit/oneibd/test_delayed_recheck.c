// SPDX-License-Identifier: Apache-2.0
#include "oneibd/delayed_recheck.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START 1000.0

static void note(struct oneib_delayed_recheck *reread, double now, enum oneib_event_kind kind,
                 uint32_t id)
{
    oneib_delayed_recheck_note(reread, now, (struct oneib_event){kind, id});
}

static void what_an_event_names_comes_again_within_half_a_second_to_a_second(void **state)
{
    (void)state;
    struct oneib_delayed_recheck reread = {0};
    struct oneib_work_queue queue = {0};
    note(&reread, START, ONEIB_EVENT_VM, 7);
    assert_false(oneib_delayed_recheck_take(&reread, START + 499, &queue));
    assert_false(oneib_delayed_recheck_take(&reread, START + 500, &queue));
    note(&reread, START + 600, ONEIB_EVENT_NETWORK, 3);
    assert_true(oneib_delayed_recheck_take(&reread, START + 1000, &queue));
    assert_int_equal(queue.vms.count, 1);
    assert_int_equal(queue.vms.items[0], 7);
    assert_int_equal(queue.networks.count, 0);
    assert_true(oneib_delayed_recheck_take(&reread, START + 1500, &queue));
    assert_int_equal(queue.networks.items[0], 3);
    oneib_work_queue_clear(&queue);
    oneib_delayed_recheck_clear(&reread);
}

static void an_reread_has_no_reread(void **state)
{
    (void)state;
    struct oneib_delayed_recheck reread = {0};
    struct oneib_work_queue queue = {0};
    note(&reread, START, ONEIB_EVENT_HOST, 1);
    oneib_delayed_recheck_take(&reread, START + 500, &queue);
    assert_true(oneib_delayed_recheck_take(&reread, START + 1000, &queue));
    oneib_work_queue_clear(&queue);
    assert_false(oneib_delayed_recheck_take(&reread, START + 5000, &queue));
    assert_true(oneib_delayed_recheck_wait(&reread, START + 5000, 777) == 777);
    oneib_delayed_recheck_clear(&reread);
}

static void the_wait_ends_when_something_is_due(void **state)
{
    (void)state;
    struct oneib_delayed_recheck reread = {0};
    assert_true(oneib_delayed_recheck_wait(&reread, START, 15000) == 15000);
    note(&reread, START, ONEIB_EVENT_VM, 7);
    assert_true(oneib_delayed_recheck_wait(&reread, START + 100, 15000) == 400);
    assert_true(oneib_delayed_recheck_wait(&reread, START + 100, 20) == 20);
    assert_true(oneib_delayed_recheck_wait(&reread, START + 900, 15000) == 0);
    oneib_delayed_recheck_clear(&reread);
}

static void a_gap_and_nothing_have_no_reread(void **state)
{
    (void)state;
    struct oneib_delayed_recheck reread = {0};
    note(&reread, START, ONEIB_EVENT_GAP, 0);
    note(&reread, START, ONEIB_EVENT_NOTHING, 0);
    assert_true(oneib_delayed_recheck_wait(&reread, START, 15000) == 15000);
    oneib_delayed_recheck_clear(&reread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_event_names_comes_again_within_half_a_second_to_a_second),
        cmocka_unit_test(an_reread_has_no_reread),
        cmocka_unit_test(the_wait_ends_when_something_is_due),
        cmocka_unit_test(a_gap_and_nothing_have_no_reread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
