// SPDX-License-Identifier: Apache-2.0
#include "grants/daemons.h"
#include "oneibd/registration.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct oneib_error err;
static struct oneib_ledger ledger;
static struct oneib_config config;
static char grants[64], address[ONEIB_ADDRESS_SIZE];

static int begin(void **state)
{
    (void)state;
    config = (struct oneib_config){.daemon.grants = grants};
    snprintf(grants, sizeof grants, "tcp://*:9678");
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_ledger_clear(&ledger);
    return 0;
}

/* Its keys are this byte, and the next one, repeated. */
static struct oneib_ledger_daemon daemon_at(const char *where, uint8_t key)
{
    struct oneib_ledger_daemon daemon = {.since = 1000};
    snprintf(daemon.address, sizeof daemon.address, "%s", where);
    memset(daemon.curve, key, sizeof daemon.curve);
    memset(daemon.sign, key + 1, sizeof daemon.sign);
    return daemon;
}

static void put(const char *where, uint8_t key)
{
    const struct oneib_ledger_daemon daemon = daemon_at(where, key);
    assert_int_equal(oneib_registration_put(&ledger, &daemon, &err), 0);
}

static void put_since(const char *where, uint8_t key, int64_t since)
{
    struct oneib_ledger_daemon daemon = daemon_at(where, key);
    daemon.since = since;
    assert_int_equal(oneib_registration_put(&ledger, &daemon, &err), 0);
}

static bool stands(const char *where, uint8_t key)
{
    const struct oneib_ledger_daemon daemon = daemon_at(where, key);
    return oneib_registration_stands(&ledger, &daemon);
}

static void the_address_is_the_configurations(void **state)
{
    (void)state;
    struct oneib_ledger_daemon entry = daemon_at("", 1);
    snprintf(address, sizeof address, "tcp://10.0.0.1:77");
    config.daemon.address = address;
    assert_int_equal(oneib_registration_set_address(&config, "", &entry, &err), 0);
    assert_string_equal(entry.address, "tcp://10.0.0.1:77");
}

static void without_one_it_is_the_hosts_name_and_the_port_of_grants(void **state)
{
    (void)state;
    struct oneib_ledger_daemon entry = daemon_at("", 1);
    assert_int_equal(oneib_registration_set_address(&config, "one.example.org", &entry, &err), 0);
    assert_string_equal(entry.address, "tcp://one.example.org:9678");
    snprintf(grants, sizeof grants, "tcp://[::]:80");
    assert_int_equal(oneib_registration_set_address(&config, "one", &entry, &err), 0);
    assert_string_equal(entry.address, "tcp://one:80");
}

static void a_name_that_nodes_cannot_use_is_refused_with_the_setting(void **state)
{
    (void)state;
    char long_name[ONEIB_ADDRESS_SIZE];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    const char *const names[] = {"",       "localhost", "localhost.localdomain",
                                 "my_one", "a\nb",      long_name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct oneib_ledger_daemon entry = daemon_at("", 1);
        assert_int_equal(oneib_registration_set_address(&config, names[i], &entry, &err), -1);
        assert_non_null(strstr(err.text, "set daemon.address"));
    }
    struct oneib_ledger_daemon entry = daemon_at("", 1);
    assert_int_equal(oneib_registration_set_address(&config, "localhost-7", &entry, &err), 0);
}

static void this_host_has_a_name(void **state)
{
    (void)state;
    char name[ONEIB_ADDRESS_SIZE];
    oneib_registration_host_name(name);
    assert_int_not_equal(name[0], '\0');
}

static void what_was_put_stands_until_keys_or_address_are_others(void **state)
{
    (void)state;
    assert_false(stands("tcp://a:1", 1));
    put("tcp://a:1", 1);
    assert_true(stands("tcp://a:1", 1));
    assert_false(stands("tcp://b:1", 1));
    assert_false(stands("tcp://a:1", 5));
}

static void another_address_of_the_same_keys_takes_the_place_of_the_old(void **state)
{
    (void)state;
    put("tcp://b:1", 9);
    put("tcp://a:1", 1);
    put("tcp://c:1", 1);
    assert_int_equal(ledger.daemon_count, 2);
    assert_true(stands("tcp://c:1", 1));
    assert_true(stands("tcp://b:1", 9));
}

/* A service that was installed anew. */
static void other_keys_at_the_same_address_take_the_place_of_the_old(void **state)
{
    (void)state;
    put("tcp://a:1", 1);
    put("tcp://a:1", 5);
    assert_int_equal(ledger.daemon_count, 1);
    assert_true(stands("tcp://a:1", 5));
}

static void of_more_than_nodes_can_know_the_oldest_goes(void **state)
{
    (void)state;
    put_since("tcp://a:1", 10, 300);
    put_since("tcp://b:1", 20, 100);
    put_since("tcp://c:1", 30, 200);
    put_since("tcp://d:1", 40, 400);
    put_since("tcp://e:1", 50, 500);
    assert_int_equal(ledger.daemon_count, ONEIB_DAEMONS_MAX);
    assert_false(stands("tcp://b:1", 20));
    assert_true(stands("tcp://c:1", 30));
    assert_true(stands("tcp://e:1", 50));
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_address_is_the_configurations),
        test(without_one_it_is_the_hosts_name_and_the_port_of_grants),
        test(a_name_that_nodes_cannot_use_is_refused_with_the_setting),
        test(this_host_has_a_name),
        test(what_was_put_stands_until_keys_or_address_are_others),
        test(another_address_of_the_same_keys_takes_the_place_of_the_old),
        test(other_keys_at_the_same_address_take_the_place_of_the_old),
        test(of_more_than_nodes_can_know_the_oldest_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
