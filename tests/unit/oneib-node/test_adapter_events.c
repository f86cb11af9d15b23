// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/adapter_events.h"
#include "verbs_standin.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct host {
    struct oneib_hca adapters[4];
    struct oneib_hcas hcas;
    struct oneib_adapter_events events;
    struct oneib_error err;
};

static int begin(void **state)
{
    standin_reset();
    struct host *host = calloc(1, sizeof *host);
    host->hcas.items = host->adapters;
    *state = host;
    return 0;
}

static int end(void **state)
{
    struct host *host = *state;
    oneib_adapter_events_close(&host->events);
    free(host);
    standin_reset();
    return 0;
}

static void add_adapter(struct host *host, const char *name)
{
    strcpy(host->adapters[host->hcas.count++].name, name);
}

static void each_adapter_is_opened_once(void **state)
{
    struct host *host = *state;
    standin_add_device("mlx4_0");
    standin_add_device("mlx5_0");
    add_adapter(host, "mlx4_0");
    add_adapter(host, "mlx5_0");
    for (int i = 0; i < 3; i++)
        assert_int_equal(oneib_adapter_events_follow(&host->events, &host->hcas, &host->err), 0);
    assert_int_equal(host->events.count, 2);
    assert_int_equal(standin_open_count(), 2);
}

static void a_device_that_is_no_adapter_is_left_alone(void **state)
{
    struct host *host = *state;
    standin_add_device("mlx4_0");
    standin_add_device("mlx4_1"); /* a virtual function that the host's driver holds */
    add_adapter(host, "mlx4_0");
    assert_int_equal(oneib_adapter_events_follow(&host->events, &host->hcas, &host->err), 0);
    assert_int_equal(standin_open_count(), 1);
}

static void all_events_that_wait_are_taken_and_acknowledged(void **state)
{
    struct host *host = *state;
    standin_add_device("mlx4_0");
    add_adapter(host, "mlx4_0");
    oneib_adapter_events_follow(&host->events, &host->hcas, &host->err);
    assert_false(oneib_adapter_events_take(&host->events));

    standin_send_event("mlx4_0", IBV_EVENT_PKEY_CHANGE);
    standin_send_event("mlx4_0", IBV_EVENT_PORT_ACTIVE);
    struct pollfd files[ONEIB_ADAPTERS_MAX];
    assert_int_equal(oneib_adapter_events_poll(&host->events, files), 1);
    assert_int_equal(poll(files, 1, 0), 1);
    assert_true(oneib_adapter_events_take(&host->events));
    assert_int_equal(standin_unacknowledged(), 0);
    assert_int_equal(poll(files, 1, 0), 0);
    assert_int_equal(standin_open_count(), 1);
}

static void a_device_that_reports_its_end_is_closed_and_opened_again(void **state)
{
    struct host *host = *state;
    standin_add_device("mlx4_0");
    add_adapter(host, "mlx4_0");
    oneib_adapter_events_follow(&host->events, &host->hcas, &host->err);
    standin_send_event("mlx4_0", IBV_EVENT_DEVICE_FATAL);
    assert_true(oneib_adapter_events_take(&host->events));
    assert_int_equal(standin_open_count(), 0);
    assert_int_equal(oneib_adapter_events_follow(&host->events, &host->hcas, &host->err), 0);
    assert_int_equal(standin_open_count(), 1);
}

static void a_device_that_vanishes_does_not_keep_the_watch_awake(void **state)
{
    struct host *host = *state;
    standin_add_device("mlx4_0");
    add_adapter(host, "mlx4_0");
    oneib_adapter_events_follow(&host->events, &host->hcas, &host->err);
    standin_remove_device("mlx4_0");
    assert_false(oneib_adapter_events_take(&host->events));
    assert_int_equal(host->events.count, 0);
}

static void an_adapter_that_is_gone_is_closed(void **state)
{
    struct host *host = *state;
    standin_add_device("mlx4_0");
    standin_add_device("mlx5_0");
    add_adapter(host, "mlx4_0");
    add_adapter(host, "mlx5_0");
    oneib_adapter_events_follow(&host->events, &host->hcas, &host->err);
    host->hcas.count = 1;
    assert_int_equal(oneib_adapter_events_follow(&host->events, &host->hcas, &host->err), 0);
    assert_int_equal(standin_open_count(), 1);
    assert_string_equal(host->events.items[0].name, "mlx4_0");
}

static void one_that_cannot_be_opened_is_named_and_the_others_are_open(void **state)
{
    struct host *host = *state;
    standin_add_device("mlx4_0");
    standin_add_device("mlx5_0");
    standin_forbid_device("mlx4_0", EACCES);
    add_adapter(host, "mlx4_0");
    add_adapter(host, "mlx5_0");
    assert_int_equal(oneib_adapter_events_follow(&host->events, &host->hcas, &host->err), -1);
    assert_non_null(strstr(host->err.text, "mlx4_0"));
    assert_int_equal(standin_open_count(), 1);
}

static void one_that_libibverbs_does_not_know_is_named_with_the_fix(void **state)
{
    struct host *host = *state;
    add_adapter(host, "mlx5_0");
    assert_int_equal(oneib_adapter_events_follow(&host->events, &host->hcas, &host->err), -1);
    assert_non_null(strstr(host->err.text, "mlx5_0"));
    assert_non_null(strstr(host->err.text, "ibverbs-providers"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(each_adapter_is_opened_once),
        TEST(a_device_that_is_no_adapter_is_left_alone),
        TEST(all_events_that_wait_are_taken_and_acknowledged),
        TEST(a_device_that_reports_its_end_is_closed_and_opened_again),
        TEST(a_device_that_vanishes_does_not_keep_the_watch_awake),
        TEST(an_adapter_that_is_gone_is_closed),
        TEST(one_that_cannot_be_opened_is_named_and_the_others_are_open),
        TEST(one_that_libibverbs_does_not_know_is_named_with_the_fix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
