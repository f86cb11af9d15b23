// SPDX-License-Identifier: Apache-2.0
#include "grants/seal.h"
#include "oneibd/host_keys.h"
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define HOST 3u

static struct oneib_error err;
static struct oneib_cloud cloud;
static struct oneib_ledger ledger;
static struct oneib_host_keys known;
static struct oneib_sign_pair own, other, nobody;
static bool is_writer, ledger_is_broken;
static uint64_t serial; /* of what is sealed */

static int begin(void **state)
{
    (void)state;
    is_writer = true;
    ledger_is_broken = false;
    serial = 1;
    if (sodium_init() < 0)
        return -1;
    crypto_sign_keypair(own.public, own.secret);
    crypto_sign_keypair(other.public, other.secret);
    crypto_sign_keypair(nobody.public, nobody.secret);
    struct oneib_ledger_daemon daemon = {.address = "tcp://front:2633", .curve = {1}};
    memcpy(daemon.sign, other.public, sizeof daemon.sign);
    return oneib_ledger_set_daemon(&ledger, &daemon, &err);
}

static int end(void **state)
{
    (void)state;
    oneib_cloud_clear(&cloud);
    oneib_ledger_clear(&ledger);
    oneib_host_keys_clear(&known);
    return 0;
}

static void pin(void)
{
    const struct oneib_ledger_host host = {.host_id = HOST, .key = {7}};
    oneib_ledger_pin(&ledger, &host);
}

static struct oneib_host_keys_trust trust(void)
{
    return (struct oneib_host_keys_trust){
        .ledger = ledger_is_broken ? NULL : &ledger, .sign = own.public, .is_writer = is_writer};
}

/* oned's document of the host, read anew: text NULL: without IB_KEYS; by NULL: without a seal. */
static struct oneib_host *read_host(const char *text, const struct oneib_sign_pair *by)
{
    oneib_cloud_clear(&cloud);
    struct oneib_host *host = oneib_cloud_add_host(&cloud);
    assert_non_null(host);
    host->id = HOST;
    host->keys_written = text != NULL;
    if (text && oneib_host_keys_parse(text, strlen(text), &host->keys, &host->key_count, &err) < 0)
        host->keys_invalid = true;
    if (by)
        oneib_seal_keys(by, HOST, serial, host->keys, host->key_count, host->keys_seal);
    return host;
}

static void settle(void)
{
    const struct oneib_host_keys_trust whom = trust();
    oneib_host_keys_settle_all(&known, &whom, &cloud);
}

static void assert_holds(const struct oneib_host *host, const char *text, bool stale)
{
    oneib_pkey *keys;
    size_t count;
    assert_int_equal(oneib_host_keys_parse(text, strlen(text), &keys, &count, &err), 0);
    assert_false(host->keys_invalid);
    assert_int_equal(host->key_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(host->keys[i], keys[i]);
    assert_int_equal(host->keys_stale, stale);
    free(keys);
}

static void what_a_daemon_of_the_ledger_has_signed_counts(void **state)
{
    (void)state;
    pin();
    struct oneib_host *host = read_host("0x0101,0x0102", &own);
    settle();
    assert_holds(host, "0x0101,0x0102", false);
    oneib_host_keys_clear(&known);
    host = read_host("0x0101", &other);
    settle();
    assert_holds(host, "0x0101", false);
}

/* Whoever can send a monitoring message can do this. */
static void what_is_forged_changes_nothing_and_is_written_over(void **state)
{
    (void)state;
    static const char *const forged[] = {"0x0101", "", "0x0102", "0x0101,0x0102", "garbage"};
    pin();
    read_host("0x0101", &own);
    settle();
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        struct oneib_host *host = read_host(forged[i], NULL);
        settle();
        assert_holds(host, "0x0101", true);
        settle(); /* the next turn, without another reading */
        assert_holds(host, "0x0101", true);
        host = read_host(forged[i], &nobody);
        settle();
        assert_holds(host, "0x0101", true);
    }
}

/* Signed by oneibd itself, once: whoever can send a monitoring message can write it again. */
static void an_older_value_that_is_written_again_takes_no_key_out(void **state)
{
    (void)state;
    pin();
    serial = 3;
    read_host("0x0101", &own);
    settle();
    serial = 2;
    struct oneib_host *host = read_host("", &own);
    settle();
    assert_holds(host, "0x0101", true);
    assert_int_equal(oneib_host_keys_next_serial(&known, &ledger, HOST), 4);

    /* Of a daemon that starts anew the ledger remembers. */
    assert_true(oneib_host_keys_note_serials(&known, &ledger));
    assert_false(oneib_host_keys_note_serials(&known, &ledger));
    oneib_host_keys_clear(&known);
    host = read_host("", &own);
    settle();
    assert_true(host->keys_invalid);
    assert_int_equal(oneib_host_keys_next_serial(&known, &ledger, HOST), 4);
    serial = 3;
    host = read_host("0x0101", &own);
    settle();
    assert_holds(host, "0x0101", false);
}

static void a_seal_of_another_host_or_of_other_keys_is_none(void **state)
{
    (void)state;
    pin();
    struct oneib_host *host = read_host("0x0101", &own);
    settle();
    char seal[ONEIB_KEYS_SEAL_TEXT_SIZE];
    memcpy(seal, host->keys_seal, sizeof seal);
    host = read_host("", NULL);
    memcpy(host->keys_seal, seal, sizeof seal);
    settle();
    assert_holds(host, "0x0101", true);
    host = read_host("0x0102", NULL);
    oneib_seal_keys(&own, HOST + 1, serial, host->keys, host->key_count, host->keys_seal);
    settle();
    assert_holds(host, "0x0101", true);
}

/* After a start nothing is remembered. */
static void of_a_pinned_host_without_the_seal_nobody_knows_what_it_may_hold(void **state)
{
    (void)state;
    pin();
    struct oneib_host *host = read_host("", NULL);
    settle();
    assert_true(host->keys_invalid);
    settle();
    assert_true(host->keys_invalid);
    /* Its node has told all: now somebody knows. */
    const struct oneib_host_keys_trust whom = trust();
    oneib_seal_keys(&own, HOST, serial, host->keys, host->key_count, host->keys_seal);
    oneib_host_keys_wrote(&known, &whom, host);
    settle();
    assert_holds(host, "", false);
}

static void a_host_without_the_attribute_was_never_sent_anything(void **state)
{
    (void)state;
    pin();
    const struct oneib_host *host = read_host(NULL, NULL);
    settle();
    assert_holds(host, "", false);
}

static void what_is_said_of_a_host_that_is_not_pinned_counts(void **state)
{
    (void)state;
    const struct oneib_host *host = read_host("0x0101", NULL);
    settle();
    assert_holds(host, "0x0101", true);
    pin();
    settle();
    host = read_host("", NULL);
    settle();
    assert_holds(host, "0x0101", true);
}

/* oneib host forget: takes the attribute's keys and the pin away. */
static void a_host_that_is_forgotten_holds_nothing(void **state)
{
    (void)state;
    pin();
    read_host("0x0101", &own);
    settle();
    oneib_ledger_forget_host(&ledger, HOST, 9);
    const struct oneib_host *host = read_host("", NULL);
    settle();
    assert_holds(host, "", true);
}

/* Else what oneibd signed before would count again once the host is accepted again. */
static void the_serial_goes_on_when_a_host_is_forgotten(void **state)
{
    (void)state;
    pin();
    serial = 5;
    read_host("0x0101", &own);
    settle();
    assert_true(oneib_host_keys_note_serials(&known, &ledger));
    oneib_ledger_forget_host(&ledger, HOST, 9);
    read_host("", NULL);
    settle();
    assert_int_equal(oneib_host_keys_next_serial(&known, &ledger, HOST), 6);
    pin();
    settle();
    serial = 4;
    struct oneib_host *host = read_host("0x0102", &own);
    settle();
    assert_holds(host, "", true);
    oneib_host_keys_clear(&known); /* another daemon */
    host = read_host("", &own);
    settle();
    assert_true(host->keys_invalid);
    assert_int_equal(oneib_host_keys_next_serial(&known, &ledger, HOST), 6);
}

/* In the seconds before the ledger has it. */
static void a_serial_that_the_ledger_lacks_outlasts_forgetting(void **state)
{
    (void)state;
    pin();
    serial = 7;
    read_host("0x0101", &own);
    settle();
    oneib_ledger_forget_host(&ledger, HOST, 9);
    settle();
    assert_true(oneib_host_keys_note_serials(&known, &ledger));
    assert_false(oneib_host_keys_note_serials(&known, &ledger));
    oneib_host_keys_clear(&known);
    pin();
    serial = 6;
    const struct oneib_host *host = read_host("", &own);
    settle();
    assert_true(host->keys_invalid);
}

/* An operator's word counts for more than what monitoring brings. */
static void forgetting_clears_a_list_of_a_host_that_was_never_pinned(void **state)
{
    (void)state;
    read_host("0x0101", NULL);
    settle();
    oneib_ledger_forget_host(&ledger, HOST, 9);
    struct oneib_host *host = read_host("", NULL);
    settle();
    assert_holds(host, "", true);
    host = read_host("0x0102", NULL);
    settle();
    assert_holds(host, "", true);
    oneib_host_keys_clear(&known);
    host = read_host("garbage", NULL);
    settle();
    assert_holds(host, "", true);
}

/* oneibd reads hosts before the ledger, and may have read the list before it was cleared. */
static void forgetting_clears_a_list_that_was_read_before(void **state)
{
    (void)state;
    pin();
    struct oneib_host *host = read_host("0x0101", &own);
    settle();
    oneib_ledger_forget_host(&ledger, HOST, 9);
    settle();
    assert_holds(host, "", true);
    host = read_host("", NULL);
    settle();
    assert_holds(host, "", true);
}

static void the_writer_alone_takes_a_key_out(void **state)
{
    (void)state;
    pin();
    read_host("0x0101,0x0103", &own);
    settle();
    const struct oneib_host *host = read_host("0x0102,0x0103", &other);
    settle();
    assert_holds(host, "0x0101,0x0102,0x0103", true);
    host = read_host("0x0105,0x0106", &other);
    settle();
    assert_holds(host, "0x0101,0x0102,0x0103,0x0105,0x0106", true);
    is_writer = false;
    host = read_host("0x0103", &other);
    settle();
    assert_holds(host, "0x0103", false);
}

static void what_is_no_list_of_keys_takes_none_out_whatever_its_seal(void **state)
{
    (void)state;
    pin();
    is_writer = false;
    read_host("0x0101", &own);
    settle();
    const struct oneib_host *host = read_host("garbage", &own);
    settle();
    assert_holds(host, "0x0101", true);
}

/* After a start. */
static void of_a_host_that_is_not_pinned_either_garbage_says_nothing(void **state)
{
    (void)state;
    const struct oneib_host *host = read_host("garbage", NULL);
    settle();
    settle();
    assert_true(host->keys_invalid);
    ledger_is_broken = true;
    read_host("0x0101", NULL);
    settle();
    assert_int_equal(known.count, 0);
}

static void what_the_writer_has_written_is_what_the_host_may_hold(void **state)
{
    (void)state;
    pin();
    struct oneib_host *host = read_host("0x0101", &own);
    settle();
    const struct oneib_host_keys_trust whom = trust();
    host->key_count = 0;
    oneib_host_keys_wrote(&known, &whom, host);
    host = read_host("", &own);
    settle();
    assert_holds(host, "", false);
}

static void a_ledger_that_cannot_be_read_makes_nothing_believed(void **state)
{
    (void)state;
    pin();
    read_host("0x0101", &own);
    settle();
    ledger_is_broken = true;
    const struct oneib_host *host = read_host("", NULL);
    settle();
    assert_holds(host, "0x0101", true);
    oneib_cloud_clear(&cloud);
    settle();
    host = read_host("", NULL);
    settle();
    assert_holds(host, "0x0101", true);
}

static void a_host_that_is_missing_from_a_reading_is_remembered(void **state)
{
    (void)state;
    pin();
    read_host("0x0101", &own);
    settle();
    oneib_cloud_clear(&cloud);
    settle();
    const struct oneib_host *host = read_host("", NULL);
    settle();
    assert_holds(host, "0x0101", true);
    oneib_ledger_forget_host(&ledger, HOST, 9);
    oneib_cloud_clear(&cloud);
    settle();
    assert_int_equal(known.count, 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_a_daemon_of_the_ledger_has_signed_counts),
        test(what_is_forged_changes_nothing_and_is_written_over),
        test(an_older_value_that_is_written_again_takes_no_key_out),
        test(a_seal_of_another_host_or_of_other_keys_is_none),
        test(of_a_pinned_host_without_the_seal_nobody_knows_what_it_may_hold),
        test(a_host_without_the_attribute_was_never_sent_anything),
        test(what_is_said_of_a_host_that_is_not_pinned_counts),
        test(a_host_that_is_forgotten_holds_nothing),
        test(the_serial_goes_on_when_a_host_is_forgotten),
        test(a_serial_that_the_ledger_lacks_outlasts_forgetting),
        test(forgetting_clears_a_list_of_a_host_that_was_never_pinned),
        test(forgetting_clears_a_list_that_was_read_before),
        test(the_writer_alone_takes_a_key_out),
        test(what_is_no_list_of_keys_takes_none_out_whatever_its_seal),
        test(of_a_host_that_is_not_pinned_either_garbage_says_nothing),
        test(what_the_writer_has_written_is_what_the_host_may_hold),
        test(a_ledger_that_cannot_be_read_makes_nothing_believed),
        test(a_host_that_is_missing_from_a_reading_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
