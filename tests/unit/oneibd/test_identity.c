// SPDX-License-Identifier: Apache-2.0
#include "oneibd/identity.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct oneib_cloud cloud;
static struct oneib_ledger ledger;
static struct oneib_findings findings;
static struct oneib_identities identities;

static int begin(void **state)
{
    (void)state;
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_cloud_clear(&cloud);
    oneib_ledger_clear(&ledger);
    oneib_findings_clear(&findings);
    oneib_identities_clear(&identities);
    return 0;
}

/* The key is one byte, repeated; 0: it reports none. */
static void host_says(uint32_t id, uint8_t key)
{
    struct oneib_host *host = oneib_cloud_add_host(&cloud);
    assert_non_null(host);
    host->id = id;
    for (size_t i = 0; key && i < ONEIB_PUBLIC_KEY_SIZE; i++)
        snprintf(host->node_key + 2 * i, 3, "%02x", key);
}

static void pin(uint32_t id, uint8_t key)
{
    struct oneib_ledger_host host = {.host_id = id};
    memset(host.key, key, sizeof host.key);
    oneib_ledger_pin(&ledger, &host);
}

static void find(void)
{
    oneib_cloud_sort(&cloud);
    oneib_identities_find(&cloud, &ledger, false, &identities, &findings);
}

static void find_again(void)
{
    oneib_identities_clear(&identities);
    oneib_findings_clear(&findings);
    find();
}

static void assert_believed(size_t index, uint32_t host, uint8_t key)
{
    assert_true(index < identities.count);
    assert_int_equal(identities.items[index].host_id, host);
    assert_int_equal(identities.items[index].key[0], key);
    assert_int_equal(identities.items[index].key[ONEIB_PUBLIC_KEY_SIZE - 1], key);
}

static void assert_finding(const char *code, uint32_t host)
{
    char name[32];
    snprintf(name, sizeof name, "host %u", host);
    for (size_t i = 0; i < findings.count; i++)
        if (strcmp(findings.items[i].code, code) == 0 && strstr(findings.items[i].text, name))
            return;
    fail_msg("no %s of %s", code, name);
}

static void a_first_key_waits_for_an_operator(void **state)
{
    (void)state;
    host_says(5, 0xbb);
    host_says(3, 0xaa);
    host_says(4, 0);
    find();
    assert_int_equal(identities.count, 0);
    assert_int_equal(findings.count, 2);
    assert_finding("node-key-waiting", 3);
    assert_finding("node-key-waiting", 5);
    pin(5, 0xbb);
    find_again();
    assert_int_equal(identities.count, 1);
    assert_believed(0, 5, 0xbb);
    assert_int_equal(findings.count, 1);
}

static void a_host_that_was_forgotten_waits_for_its_name_to_be_said(void **state)
{
    (void)state;
    host_says(3, 0xaa);
    pin(3, 0xaa);
    oneib_ledger_forget_host(&ledger, 3, 9);
    find();
    assert_int_equal(identities.count, 0);
    assert_finding("node-key-waiting", 3);
    assert_non_null(strstr(findings.items[0].text, "forgotten"));
    assert_null(strstr(findings.items[0].fix, "--all"));
    pin(3, 0xaa);
    find_again();
    assert_believed(0, 3, 0xaa);
    assert_int_equal(findings.count, 0);
}

static void the_pinned_key_stays_whatever_the_probe_reports(void **state)
{
    (void)state;
    pin(3, 0xaa);
    pin(4, 0xcc);
    pin(5, 0xdd);
    host_says(3, 0xbb); /* forged, or installed anew */
    host_says(4, 0);    /* its probe has said nothing yet */
    host_says(5, 0xdd);
    find();
    assert_int_equal(identities.count, 3);
    assert_believed(0, 3, 0xaa);
    assert_believed(1, 4, 0xcc);
    assert_believed(2, 5, 0xdd);
    assert_int_equal(findings.count, 1);
    assert_finding("node-key-changed", 3);
}

/* Forged for another new host it must keep neither from being accepted. */
static void a_key_that_two_hosts_report_is_whose_operator_accepts_it(void **state)
{
    (void)state;
    host_says(3, 0xaa);
    host_says(4, 0xaa);
    find();
    assert_int_equal(identities.count, 0);
    assert_finding("node-key-waiting", 3);
    assert_finding("node-key-waiting", 4);
    pin(4, 0xaa);
    find_again();
    assert_int_equal(identities.count, 1);
    assert_believed(0, 4, 0xaa);
    assert_finding("node-key-twice", 3);
}

/* A clone of it, or somebody who forges what the other's probe reports. */
static void a_pinned_host_stays_heard_whoever_reports_its_key(void **state)
{
    (void)state;
    pin(3, 0xaa);
    pin(5, 0xbb);
    host_says(3, 0xaa);
    host_says(4, 0xaa); /* pinned to none */
    host_says(5, 0xaa); /* pinned to another one */
    find();
    assert_int_equal(identities.count, 2);
    assert_believed(0, 3, 0xaa);
    assert_true(identities.items[0].is_contested);
    assert_believed(1, 5, 0xbb);
    assert_false(identities.items[1].is_contested);
    assert_finding("node-key-twice", 4);
    assert_finding("node-key-twice", 5);
    assert_finding("node-key-changed", 5);
}

static void own_port(uint32_t host_id, oneib_guid guid, enum oneib_ledger_port_state state)
{
    struct oneib_error err;
    const struct oneib_ledger_port port = {.guid = guid, .host_id = host_id, .state = state};
    assert_int_equal(oneib_ledger_set_port(&ledger, &port, &err), 0);
}

static void a_pinned_host_is_known_by_its_ports_in_the_ledger_too(void **state)
{
    (void)state;
    pin(3, 0xaa);
    pin(5, 0xbb);
    pin(6, 0xcc); /* OpenNebula has it no more */
    own_port(6, 0x10, ONEIB_LEDGER_PORT_PRESENT);
    own_port(3, 0x13, ONEIB_LEDGER_PORT_PRESENT);
    own_port(3, 0x11, ONEIB_LEDGER_PORT_RENEWED);
    own_port(3, 0x12, ONEIB_LEDGER_PORT_ABSENT);
    host_says(3, 0xaa);
    host_says(5, 0xbb);
    find();
    assert_int_equal(identities.count, 2);
    assert_int_equal(identities.items[0].port_count, 2);
    assert_int_equal(identities.items[0].ports[0], 0x11);
    assert_int_equal(identities.items[0].ports[1], 0x13);
    assert_int_equal(identities.items[1].port_count, 0);
}

static void a_pinned_host_stays_heard_though_its_own_probe_says_nothing(void **state)
{
    (void)state;
    pin(4, 0xaa);
    host_says(3, 0xaa);
    host_says(4, 0);
    find();
    assert_int_equal(identities.count, 1);
    assert_believed(0, 4, 0xaa);
    assert_true(identities.items[0].is_contested);
}

static void a_key_that_two_are_pinned_to_is_nobodys(void **state)
{
    (void)state;
    pin(3, 0xaa);
    pin(4, 0xaa);
    host_says(3, 0xaa);
    host_says(4, 0xaa);
    find();
    assert_int_equal(identities.count, 0);
    assert_finding("node-key-twice", 3);
    assert_finding("node-key-twice", 4);
}

static void whose_a_key_is_and_how_it_is_known_is_a_difference(void **state)
{
    (void)state;
    struct oneib_identity plain = {.host_id = 3};
    struct oneib_identity others[] = {{.host_id = 3, .is_contested = true},
                                      {.host_id = 3, .key = {1}},
                                      {.host_id = 4},
                                      {.host_id = 3, .ports = {7}, .port_count = 1}};
    const struct oneib_identities a = {.items = &plain, .count = 1};
    assert_true(oneib_identities_equal(&a, &a));
    for (size_t i = 0; i < 4; i++) {
        const struct oneib_identities b = {.items = &others[i], .count = 1};
        assert_false(oneib_identities_equal(&a, &b));
    }
}

static void a_pin_of_a_host_that_is_gone_is_nobodys(void **state)
{
    (void)state;
    pin(3, 0xaa);
    pin(4, 0xaa);
    host_says(4, 0xaa); /* the same machine, made again in oned */
    find();
    assert_int_equal(identities.count, 1);
    assert_believed(0, 4, 0xaa);
}

/* Who damages the ledger must not have his own key believed as a host's. */
static void while_the_ledger_is_lost_nobody_new_is_believed(void **state)
{
    (void)state;
    pin(3, 0xaa);
    host_says(3, 0xbb);
    host_says(4, 0xcc);
    oneib_cloud_sort(&cloud);
    oneib_identities_find(&cloud, &ledger, true, &identities, &findings);
    assert_int_equal(identities.count, 1);
    assert_believed(0, 3, 0xaa);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_first_key_waits_for_an_operator),
        test(a_host_that_was_forgotten_waits_for_its_name_to_be_said),
        test(the_pinned_key_stays_whatever_the_probe_reports),
        test(a_key_that_two_hosts_report_is_whose_operator_accepts_it),
        test(a_pinned_host_stays_heard_whoever_reports_its_key),
        test(a_pinned_host_is_known_by_its_ports_in_the_ledger_too),
        test(a_pinned_host_stays_heard_though_its_own_probe_says_nothing),
        test(a_key_that_two_are_pinned_to_is_nobodys),
        test(whose_a_key_is_and_how_it_is_known_is_a_difference),
        test(a_pin_of_a_host_that_is_gone_is_nobodys),
        test(while_the_ledger_is_lost_nobody_new_is_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
