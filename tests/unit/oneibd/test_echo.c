// SPDX-License-Identifier: Apache-2.0
#include "oneibd/echo.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START 1000.0

static void note(struct oneib_echo *echo, double now, enum oneib_event_kind kind, uint32_t id)
{
    struct oneib_error err;
    assert_int_equal(oneib_echo_note(echo, now, (struct oneib_event){kind, id}, &err), 0);
}

static void what_an_event_names_comes_again_within_half_a_second_to_a_second(void **state)
{
    (void)state;
    struct oneib_echo echo = {0};
    struct oneib_agenda agenda = {0};
    note(&echo, START, ONEIB_EVENT_VM, 7);
    assert_false(oneib_echo_take(&echo, START + 499, &agenda));
    assert_false(oneib_echo_take(&echo, START + 500, &agenda));
    note(&echo, START + 600, ONEIB_EVENT_NETWORK, 3);
    assert_true(oneib_echo_take(&echo, START + 1000, &agenda));
    assert_int_equal(agenda.vms.count, 1);
    assert_int_equal(agenda.vms.items[0], 7);
    assert_int_equal(agenda.networks.count, 0);
    assert_true(oneib_echo_take(&echo, START + 1500, &agenda));
    assert_int_equal(agenda.networks.items[0], 3);
    oneib_agenda_clear(&agenda);
    oneib_echo_clear(&echo);
}

static void an_echo_has_no_echo(void **state)
{
    (void)state;
    struct oneib_echo echo = {0};
    struct oneib_agenda agenda = {0};
    note(&echo, START, ONEIB_EVENT_HOST, 1);
    oneib_echo_take(&echo, START + 500, &agenda);
    assert_true(oneib_echo_take(&echo, START + 1000, &agenda));
    oneib_agenda_clear(&agenda);
    assert_false(oneib_echo_take(&echo, START + 5000, &agenda));
    assert_true(oneib_echo_wait(&echo, START + 5000, 777) == 777);
    oneib_echo_clear(&echo);
}

static void the_wait_ends_when_something_is_due(void **state)
{
    (void)state;
    struct oneib_echo echo = {0};
    assert_true(oneib_echo_wait(&echo, START, 15000) == 15000);
    note(&echo, START, ONEIB_EVENT_VM, 7);
    assert_true(oneib_echo_wait(&echo, START + 100, 15000) == 400);
    assert_true(oneib_echo_wait(&echo, START + 100, 20) == 20);
    assert_true(oneib_echo_wait(&echo, START + 900, 15000) == 0);
    oneib_echo_clear(&echo);
}

static void a_gap_and_nothing_have_no_echo(void **state)
{
    (void)state;
    struct oneib_echo echo = {0};
    note(&echo, START, ONEIB_EVENT_GAP, 0);
    note(&echo, START, ONEIB_EVENT_NOTHING, 0);
    assert_true(oneib_echo_wait(&echo, START, 15000) == 15000);
    oneib_echo_clear(&echo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_event_names_comes_again_within_half_a_second_to_a_second),
        cmocka_unit_test(an_echo_has_no_echo),
        cmocka_unit_test(the_wait_ends_when_something_is_due),
        cmocka_unit_test(a_gap_and_nothing_have_no_echo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
