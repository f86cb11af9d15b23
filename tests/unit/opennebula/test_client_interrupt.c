// SPDX-License-Identifier: Apache-2.0
/* Giving up a call that is under way. */
#include "base/clock.h"
#include "oned_stand_in.h"
#include "opennebula/one_client.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include <cmocka.h>

#define TIMEOUT_MS 20000
#define INTERRUPT_MS 300
/* xmlrpc-c looks at the flag every three seconds by itself; a signal wakes it. */
#define PATIENCE_MS 2500
#define LONG_PATIENCE_MS 12000

static int interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    __atomic_store_n(&interrupted, 1, __ATOMIC_RELAXED);
}

static void *interrupt_silently(void *nothing)
{
    const struct timespec soon = {.tv_nsec = INTERRUPT_MS * 1000000L};
    nanosleep(&soon, NULL);
    interrupt(0);
    return nothing;
}

static void interrupt_soon(void)
{
    const struct sigaction action = {.sa_handler = interrupt};
    const struct itimerval soon = {.it_value.tv_usec = INTERRUPT_MS * 1000};
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
}

/* No answer about a VM until the client hangs up; one at once about a host. */
static void answer(int connection, const char *request)
{
    char byte;
    if (strstr(request, ">one.vm.info<"))
        while (read(connection, &byte, 1) > 0)
            continue;
    else
        stand_in_document(connection, "<HOST/>");
}

struct fixture {
    struct stand_in server;
    struct oneib_one *one;
    struct oneib_error err;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    char session[] = "oneadmin:open-sesame";
    if (!fixture || stand_in_start(&fixture->server, answer) < 0)
        return -1;
    const struct oneib_credentials credentials = {.endpoint = fixture->server.endpoint,
                                                  .session = session};
    interrupted = 0;
    fixture->one = oneib_one_open(&credentials, TIMEOUT_MS, &fixture->err);
    *state = fixture;
    return fixture->one ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    oneib_one_close(fixture->one);
    stand_in_stop(&fixture->server);
    free(fixture);
    return 0;
}

static void must_be_given_up(struct fixture *fixture, double patience_ms)
{
    char *xml = NULL;
    size_t length;
    const double begin = oneib_now_ms();
    assert_int_equal(oneib_one_vm(fixture->one, 5, &xml, &length, &fixture->err), -1);
    assert_null(xml);
    assert_int_equal(fixture->err.code, ONEIB_ERROR_TIMEOUT);
    assert_non_null(strstr(fixture->err.text, "VM 5"));
    assert_true(oneib_now_ms() - begin < patience_ms);
}

static void must_answer(struct fixture *fixture)
{
    char *xml = NULL;
    size_t length;
    if (oneib_one_host(fixture->one, 3, &xml, &length, &fixture->err) < 0)
        fail_msg("%s", fixture->err.text);
    assert_string_equal(xml, "<HOST/>");
    free(xml);
}

static void a_call_under_way_is_given_up_when_the_flag_is_set(void **state)
{
    oneib_one_set_interrupt(((struct fixture *)*state)->one, &interrupted);
    interrupt_soon();
    must_be_given_up(*state, PATIENCE_MS);
}

static void a_flag_that_another_thread_sets_is_seen_too(void **state)
{
    pthread_t thread;
    oneib_one_set_interrupt(((struct fixture *)*state)->one, &interrupted);
    assert_int_equal(pthread_create(&thread, NULL, interrupt_silently, NULL), 0);
    must_be_given_up(*state, LONG_PATIENCE_MS);
    pthread_join(thread, NULL);
}

static void a_call_that_begins_with_the_flag_set_is_given_up(void **state)
{
    oneib_one_set_interrupt(((struct fixture *)*state)->one, &interrupted);
    interrupted = 1;
    must_be_given_up(*state, PATIENCE_MS);
}

static void a_client_is_usable_after_it_was_interrupted(void **state)
{
    struct fixture *fixture = *state;
    oneib_one_set_interrupt(fixture->one, &interrupted);
    for (int i = 0; i < 3; i++) {
        interrupt_soon();
        must_be_given_up(fixture, PATIENCE_MS);
        interrupted = 0;
        must_answer(fixture);
    }
}

static void without_a_flag_nothing_is_given_up(void **state)
{
    struct fixture *fixture = *state;
    oneib_one_set_interrupt(fixture->one, &interrupted);
    oneib_one_set_interrupt(fixture->one, NULL);
    interrupted = 1;
    must_answer(fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_under_way_is_given_up_when_the_flag_is_set),
        TEST(a_flag_that_another_thread_sets_is_seen_too),
        TEST(a_call_that_begins_with_the_flag_set_is_given_up),
        TEST(a_client_is_usable_after_it_was_interrupted),
        TEST(without_a_flag_nothing_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
