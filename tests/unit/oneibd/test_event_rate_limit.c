// SPDX-License-Identifier: Apache-2.0
#include "oneibd/event_rate_limit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START 50000.0

static bool event_of(struct oneib_event_rate_limit *rate_limit, double now,
                     enum oneib_event_kind kind, uint32_t id)
{
    return oneib_event_rate_limit_take(rate_limit, now, (struct oneib_event){kind, id});
}

static void use_up(struct oneib_event_rate_limit *rate_limit, enum oneib_event_kind kind,
                   uint32_t id)
{
    for (unsigned i = 0; i < ONEIB_EVENT_RATE_EVENTS; i++)
        assert_true(event_of(rate_limit, START, kind, id));
}

static void the_seventeenth_event_of_a_vm_waits_for_the_end_of_ten_seconds(void **state)
{
    (void)state;
    struct oneib_event_rate_limit rate_limit = {0};
    struct oneib_work_queue released = {0};
    use_up(&rate_limit, ONEIB_EVENT_VM, 7);
    assert_true(oneib_event_rate_limit_wait(&rate_limit, START, 5000) == 5000);
    assert_false(event_of(&rate_limit, START + 9000, ONEIB_EVENT_VM, 7));
    assert_true(oneib_event_rate_limit_wait(&rate_limit, START + 9000, 5000) == 1000);
    assert_false(oneib_event_rate_limit_release(&rate_limit, START + 9999, &released));
    assert_true(oneib_event_rate_limit_wait(&rate_limit, START + 11000, 5000) == 0);
    assert_true(oneib_event_rate_limit_release(&rate_limit, START + 10000, &released));
    assert_int_equal(released.vms.count, 1);
    assert_int_equal(released.vms.items[0], 7);
    oneib_work_queue_clear(&released);
    assert_false(oneib_event_rate_limit_release(&rate_limit, START + 30000, &released));
    oneib_event_rate_limit_clear(&rate_limit);
}

static void however_many_wait_it_is_looked_at_once(void **state)
{
    (void)state;
    struct oneib_event_rate_limit rate_limit = {0};
    struct oneib_work_queue released = {0};
    use_up(&rate_limit, ONEIB_EVENT_NETWORK, 3);
    for (unsigned i = 0; i < 100000; i++)
        assert_false(event_of(&rate_limit, START + 1, ONEIB_EVENT_NETWORK, 3));
    assert_true(oneib_event_rate_limit_release(&rate_limit, START + 10000, &released));
    assert_int_equal(released.networks.count, 1);
    assert_int_equal(released.vms.count, 0);
    oneib_work_queue_clear(&released);
    oneib_event_rate_limit_clear(&rate_limit);
}

/* Also when it comes after the time has ended, and nobody has released what waits yet. */
static void what_waits_is_never_lost(void **state)
{
    (void)state;
    struct oneib_event_rate_limit rate_limit = {0};
    struct oneib_work_queue released = {0};
    use_up(&rate_limit, ONEIB_EVENT_VM, 7);
    assert_false(event_of(&rate_limit, START, ONEIB_EVENT_VM, 7));
    event_of(&rate_limit, START + 20000, ONEIB_EVENT_VM, 8);
    event_of(&rate_limit, START + 20000, ONEIB_EVENT_VM, 7);
    assert_true(oneib_event_rate_limit_release(&rate_limit, START + 20000, &released));
    assert_int_equal(released.vms.count, 1);
    assert_int_equal(released.vms.items[0], 7);
    oneib_work_queue_clear(&released);
    oneib_event_rate_limit_clear(&rate_limit);
}

static void a_vm_that_used_its_own_up_takes_nothing_from_others(void **state)
{
    (void)state;
    struct oneib_event_rate_limit rate_limit = {0};
    use_up(&rate_limit, ONEIB_EVENT_VM, 7);
    assert_false(event_of(&rate_limit, START, ONEIB_EVENT_VM, 7));
    use_up(&rate_limit, ONEIB_EVENT_NETWORK, 7);
    for (uint32_t vm = 8; vm < 5000; vm++)
        use_up(&rate_limit, ONEIB_EVENT_VM, vm);
    for (uint32_t vm = 7; vm < 5000; vm++)
        assert_false(event_of(&rate_limit, START, ONEIB_EVENT_VM, vm));
    oneib_event_rate_limit_clear(&rate_limit);
}

static void ten_seconds_later_it_is_allowed_as_much_again(void **state)
{
    (void)state;
    struct oneib_event_rate_limit rate_limit = {0};
    struct oneib_work_queue released = {0};
    use_up(&rate_limit, ONEIB_EVENT_VM, 7);
    for (unsigned i = 0; i < ONEIB_EVENT_RATE_EVENTS; i++)
        assert_true(event_of(&rate_limit, START + 10000, ONEIB_EVENT_VM, 7));
    assert_false(event_of(&rate_limit, START + 19999, ONEIB_EVENT_VM, 7));
    assert_true(oneib_event_rate_limit_release(&rate_limit, START + 20000, &released));
    assert_true(event_of(&rate_limit, START + 20000, ONEIB_EVENT_VM, 7));
    oneib_work_queue_clear(&released);
    oneib_event_rate_limit_clear(&rate_limit);
}

static void hosts_and_gaps_always_count(void **state)
{
    (void)state;
    struct oneib_event_rate_limit rate_limit = {0};
    for (unsigned i = 0; i < 1000; i++) {
        assert_true(event_of(&rate_limit, START, ONEIB_EVENT_HOST, 1));
        assert_true(event_of(&rate_limit, START, ONEIB_EVENT_GAP, 0));
    }
    oneib_event_rate_limit_clear(&rate_limit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seventeenth_event_of_a_vm_waits_for_the_end_of_ten_seconds),
        cmocka_unit_test(however_many_wait_it_is_looked_at_once),
        cmocka_unit_test(what_waits_is_never_lost),
        cmocka_unit_test(a_vm_that_used_its_own_up_takes_nothing_from_others),
        cmocka_unit_test(ten_seconds_later_it_is_allowed_as_much_again),
        cmocka_unit_test(hosts_and_gaps_always_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
