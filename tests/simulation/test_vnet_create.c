// SPDX-License-Identifier: Apache-2.0
/*
 * vnet_create as oned calls it on the front-end, and the daemon's way of giving keys afterwards,
 * with the stand-in for oned. There is no fabric. Keys are chosen from 256 to 319.
 */
#include "../base64.h"
#include "base/cleanup.h"
#include "lab_internal.h"
#include "sync/keys.h"
#include "sync/sync.h"
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 60000
#define FIRST_KEY 256
#define LAST_KEY 319
#define AT_ONCE 50

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            fail_msg("%s", err.text);                                                              \
    } while (0)

static struct lab *lab;

/* The environment that oned's drivers have, with the lab's directory as ONE_LOCATION. */
static void set_environment(void)
{
    struct oneib_error err = {0};
    assert_int_equal(setenv("ONE_LOCATION", lab_directory(lab), 1), 0);
    assert_int_equal(setenv("ONE_AUTH", lab_path(lab, "oneadmin_auth"), 1), 0);
    assert_int_equal(mkdir(lab_path(lab, "var"), 0700), 0);
    oneib_autotext struct oneib_text session = {0};
    oneib_text_printf(&session, "%s\n", lab_session(lab));
    MUST(lab_write(lab, "oneadmin_auth", 0600, session.data, &err));
}

static int raise_lab(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct lab_options options = LAB_DEFAULTS;
    const struct lab_config narrow = {.other = "pkeys: { first = 256; last = 319; };"};
    lab = lab_open(&options, &err);
    if (!lab)
        fail_msg("%s", err.text);
    MUST(lab_standin_start(lab, NULL, &err));
    MUST(lab_config_write(lab, &narrow, &err));
    set_environment();
    return 0;
}

static int end_lab(void **state)
{
    (void)state;
    lab_close(lab);
    lab = NULL;
    return 0;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, raise_lab, end_lab)

static uint32_t network(const char *vlan_id, const char *extra)
{
    struct oneib_error err = {0};
    uint32_t id;
    MUST(lab_network_create(lab, "net", vlan_id, extra, &id, &err));
    return id;
}

static uint32_t reservation(uint32_t parent)
{
    struct oneib_error err = {0};
    uint32_t id;
    MUST(lab_network_reserve(lab, parent, "mine", &id, &err));
    return id;
}

static unsigned key_of(uint32_t id)
{
    struct oneib_error err = {0};
    char vlan_id[32];
    MUST(lab_network_vlan_id(lab, id, vlan_id, sizeof vlan_id, &err));
    return (unsigned)strtoul(vlan_id, NULL, 10);
}

/* What oned writes to the driver's standard input, as a file; its path. */
static const char *input_of(uint32_t id)
{
    struct oneib_error err = {0};
    const int integers[] = {(int)id, 0};
    oneib_autofree char *document = NULL;
    MUST(lab_call_document(lab, "one.vn.info", lab_session(lab), integers, 2, &document, &err));
    const size_t length = base64_length(strlen(document));
    oneib_autofree char *text = calloc(1, length + 1);
    assert_non_null(text);
    base64_encode(document, strlen(document), text);
    char name[32];
    snprintf(name, sizeof name, "input-%" PRIu32, id);
    MUST(lab_write(lab, name, 0600, text, &err));
    return lab_path(lab, name);
}

/* The words of a call, for lab_run() and lab_spawn(). */
struct call {
    char id[16];
    const char *argv[8];
};

static struct call call_for(uint32_t id, const char *input)
{
    struct call call = {.argv = {"/bin/sh", "-c", "exec \"$0\" --config \"$1\" \"$2\" <\"$3\"",
                                 VNET_CREATE, lab_config_path(lab), NULL, input, NULL}};
    snprintf(call.id, sizeof call.id, "%" PRIu32, id);
    return call;
}

static struct lab_output output;

static void run_with(uint32_t id, const char *input, int status)
{
    struct oneib_error err = {0};
    struct call call = call_for(id, input);
    call.argv[5] = call.id;
    lab_output_clear(&output);
    MUST(lab_run(lab, NULL, call.argv, TIMEOUT_MS, &output, &err));
    if (output.status != status)
        fail_msg("vnet_create ended with %d, not %d: %s", output.status, status, output.error);
    assert_string_equal(output.out, "");
    if (status == 0)
        assert_string_equal(output.error, "");
}

static void create(uint32_t id)
{
    run_with(id, input_of(id), 0);
}

/* One line that OpenNebula takes as it is: no level in front, no number. */
static void must_fail(uint32_t id, const char *words)
{
    run_with(id, input_of(id), 3);
    if (!strstr(output.error, words))
        fail_msg("\"%s\" is not in: %s", words, output.error);
    assert_ptr_equal(strchr(output.error, '\n'), output.error + output.error_length - 1);
    assert_memory_equal(output.error, "oneib: ", 7);
}

static unsigned calls(const char *method)
{
    struct oneib_error err = {0};
    unsigned count;
    MUST(lab_calls(lab, method, &count, &err));
    return count;
}

/* All that vnet_create could ask. */
static unsigned all_calls(void)
{
    static const char *const methods[] = {"one.vn.info",           "one.vn.update",
                                          "one.vnpool.info",       "one.vmpool.infoextended",
                                          "one.vm.info",           "one.hostpool.info",
                                          "one.host.info",         "one.user.info",
                                          "one.system.config",     "one.document.info",
                                          "one.document.allocate", "one.documentpool.info"};
    unsigned count = 0;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        count += calls(methods[i]);
    return count;
}

static void create_with_calls(uint32_t id, unsigned at_most)
{
    const char *input = input_of(id);
    const unsigned before = all_calls();
    run_with(id, input, 0);
    assert_in_range(all_calls() - before, 0, at_most);
}

static void a_reservation_loses_its_parents_key_with_three_calls(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    uint32_t vm;
    const uint32_t parent = network("300", NULL);
    MUST(lab_host_create_bare(lab, "host", &vm, &err));
    for (unsigned i = 0; i < 30; i++) {
        network("", NULL);
        MUST(lab_vm_start(lab, "vm", &parent, 1, 0, &vm, &err));
    }
    const uint32_t id = reservation(parent);
    assert_int_equal(key_of(id), 300);
    create_with_calls(id, 3);
    assert_int_equal(key_of(id), 0);
    assert_int_equal(key_of(parent), 300);
}

static void a_second_call_changes_nothing(void **state)
{
    (void)state;
    const uint32_t id = reservation(network("300", NULL));
    create(id);
    create_with_calls(id, 0);
    assert_int_equal(key_of(id), 0);
}

static void a_shared_reservation_keeps_its_parents_key(void **state)
{
    (void)state;
    const uint32_t id = reservation(network("300", "IB_RESERVATION=shared"));
    create(id);
    assert_int_equal(key_of(id), 300);
}

/* oned copies the parent's attributes, and a tenant may have talked it into others. */
static void a_reservations_own_word_shares_nothing(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const uint32_t id = reservation(network("300", NULL));
    MUST(lab_network_update(lab, id, "IB_RESERVATION=shared", &err));
    create(id);
    assert_int_equal(key_of(id), 0);
}

static void of_any_other_network_oned_is_asked_nothing(void **state)
{
    (void)state;
    const uint32_t chosen = network("17", NULL), keyless = network("", NULL);
    create_with_calls(chosen, 0);
    create_with_calls(keyless, 0);
    assert_int_equal(key_of(chosen), 17);
    assert_int_equal(key_of(keyless), 0);
}

static void what_is_no_key_is_refused(void **state)
{
    (void)state;
    must_fail(network("0x8005", NULL), "is no P_Key");
}

static void a_network_with_a_bridge_is_refused(void **state)
{
    (void)state;
    must_fail(network("", "BRIDGE=br0"), "BRIDGE_TYPE = \"none\"");
}

static void a_network_of_another_driver_is_none_of_ours(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    unsigned calls;
    const uint32_t id = network("", "VN_MAD=802.1Q\nBRIDGE=br0");
    create(id);
    assert_int_equal(key_of(id), 0);
    MUST(lab_calls(lab, "one.vn.update", &calls, &err));
    assert_int_equal(calls, 0);
}

static void an_oned_that_is_down_is_said(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const uint32_t id = reservation(network("300", NULL));
    const char *input = input_of(id);
    MUST(lab_standin_down(lab, true, &err));
    run_with(id, input, 3);
    assert_non_null(strstr(output.error, lab_endpoint(lab)));
    assert_null(strstr(output.error, lab_session(lab)));
    MUST(lab_standin_down(lab, false, &err));
    assert_int_equal(key_of(id), 300);
    create(id);
    assert_int_equal(key_of(id), 0);
}

static void a_document_of_another_network_is_refused(void **state)
{
    (void)state;
    const uint32_t first = network("", NULL), second = network("", NULL);
    run_with(second, input_of(first), 3);
    assert_int_equal(key_of(first), 0);
    assert_int_equal(key_of(second), 0);
}

static void what_is_no_document_is_refused(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    static const char *const inputs[] = {"", "****", "AAAA", "PFZORVQ+"};
    const uint32_t id = network("", NULL);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        MUST(lab_write(lab, "hostile", 0600, inputs[i], &err));
        run_with(id, lab_path(lab, "hostile"), 3);
    }
    assert_int_equal(key_of(id), 0);
}

static pid_t begin(uint32_t id)
{
    struct oneib_error err = {0};
    struct call call = call_for(id, input_of(id));
    char name[32];
    pid_t pid;
    call.argv[5] = call.id;
    snprintf(name, sizeof name, "create-%" PRIu32, id);
    MUST(lab_spawn(lab, name, NULL, call.argv, &pid, &err));
    return pid;
}

static void must_succeed(uint32_t id, pid_t pid)
{
    char name[32];
    int status;
    snprintf(name, sizeof name, "create-%" PRIu32 ".log", id);
    assert_true(lab_wait(lab, pid, TIMEOUT_MS, &status));
    oneib_autofree char *log = lab_read(lab, name);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("network %" PRIu32 ": 0x%x: %s", id, (unsigned)status, log);
}

static void fifty_reservations_created_at_once_get_fifty_keys(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    uint32_t ids[AT_ONCE];
    pid_t pids[AT_ONCE];
    bool seen[LAST_KEY + 1] = {false};
    const uint32_t parent = network("300", NULL);
    for (size_t i = 0; i < AT_ONCE; i++)
        ids[i] = reservation(parent);
    for (size_t i = 0; i < AT_ONCE; i++)
        pids[i] = begin(ids[i]);
    for (size_t i = 0; i < AT_ONCE; i++)
        must_succeed(ids[i], pids[i]);
    MUST(lab_give_keys(lab, &err));
    for (size_t i = 0; i < AT_ONCE; i++) {
        const unsigned key = key_of(ids[i]);
        assert_in_range(key, FIRST_KEY, LAST_KEY);
        assert_int_not_equal(key, 300);
        assert_false(seen[key]);
        seen[key] = true;
    }
}

/* The daemon's side. */
struct daemon_side {
    struct oneib_config config;
    struct oneib_credentials credentials;
    struct oneib_sm *sm;
    struct oneib_one *one;
    struct oneib_snapshot snapshot;
};

static void look(struct daemon_side *side)
{
    struct oneib_error err = {0};
    const struct oneib_snapshot_options options = {0};
    MUST(oneib_snapshot_make(&side->config, side->sm, side->one, NULL, &options, &side->snapshot,
                             &err));
}

static void open_side(struct daemon_side *side)
{
    struct oneib_error err = {0};
    *side = (struct daemon_side){0};
    MUST(oneib_config_load(lab_config_path(lab), &side->config, &err));
    MUST(oneib_credentials_find(&side->config, &side->credentials, &err));
    side->one = oneib_one_open(&side->credentials, side->config.one.timeout_ms, &err);
    assert_non_null(side->one);
    side->sm = oneib_sm_open(&side->config, &err);
    assert_non_null(side->sm);
    look(side);
}

static void close_side(struct daemon_side *side)
{
    oneib_snapshot_clear(&side->snapshot);
    oneib_sm_close(side->sm);
    oneib_one_close(side->one);
    oneib_credentials_clear(&side->credentials);
    oneib_config_clear(&side->config);
}

static void look_again(struct daemon_side *side)
{
    oneib_snapshot_clear(&side->snapshot);
    look(side);
}

/* As a turn of the daemon's, without the fabric. */
static void give(struct daemon_side *side)
{
    struct oneib_error err = {0};
    struct oneib_key_changes changes;
    MUST(oneib_allocate(side->one, side->config.one.vn_mad, &side->snapshot, &changes, &err));
    oneib_key_changes_clear(&changes);
    look_again(side);
}

static oneib_pkey in_ledger(const struct daemon_side *side, uint32_t id)
{
    const struct oneib_ledger_network *entry =
        oneib_ledger_network(&side->snapshot.kept.ledger, id);
    return entry ? entry->pkey : 0;
}

static void the_ledger_and_vlan_id_say_the_same(void **state)
{
    (void)state;
    struct daemon_side side;
    const uint32_t chosen = network("300", NULL), keyless = network("", NULL);
    const uint32_t id = reservation(chosen);
    open_side(&side);
    give(&side);
    assert_int_equal(in_ledger(&side, chosen), 300);
    assert_int_equal(in_ledger(&side, keyless), FIRST_KEY);
    assert_int_equal(in_ledger(&side, id), FIRST_KEY + 1);
    assert_int_equal(key_of(keyless), FIRST_KEY);
    assert_int_equal(key_of(id), FIRST_KEY + 1);
    assert_false(oneib_keys_are_due(&side.snapshot));
    close_side(&side);
}

static void a_key_rests_when_its_network_is_gone(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct daemon_side side;
    const uint32_t gone = network("", NULL);
    open_side(&side);
    give(&side);
    MUST(lab_network_delete(lab, gone, &err));
    const uint32_t later = network("256", NULL);
    look_again(&side);
    give(&side);
    assert_int_equal(in_ledger(&side, gone), 0);
    assert_non_null(oneib_ledger_resting(&side.snapshot.kept.ledger, FIRST_KEY));
    assert_int_equal(in_ledger(&side, later), 0); /* it may wish it as long as it rests */
    close_side(&side);
}

/* oned's pool can be empty without a word. */
static void a_pool_that_lacks_a_network_takes_nobodys_key(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct daemon_side side;
    const uint32_t id = network("", NULL);
    open_side(&side);
    give(&side);
    MUST(lab_fault(lab, "empty-pools", 1000, 0, &err));
    look_again(&side);
    assert_int_equal(side.snapshot.cloud.network_count, 0);
    assert_true(oneib_keys_are_due(&side.snapshot));
    struct oneib_key_changes changes;
    MUST(oneib_allocate(side.one, side.config.one.vn_mad, &side.snapshot, &changes, &err));
    assert_int_equal(changes.rested, 0);
    oneib_key_changes_clear(&changes);
    assert_false(oneib_keys_are_due(&side.snapshot)); /* nor is it asked again and again */
    MUST(lab_fault(lab, "empty-pools", 0, 0, &err));
    look_again(&side);
    assert_int_equal(in_ledger(&side, id), FIRST_KEY);
    close_side(&side);
}

static void a_vlan_id_that_somebody_sets_meanwhile_stays(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct daemon_side side;
    const uint32_t id = network("", NULL);
    open_side(&side);
    MUST(lab_network_update(lab, id, "VLAN_ID=300", &err));
    give(&side);
    assert_int_equal(key_of(id), 300);
    give(&side);
    assert_int_equal(in_ledger(&side, id), 300);
    assert_non_null(oneib_ledger_resting(&side.snapshot.kept.ledger, FIRST_KEY));
    close_side(&side);
}

static void with_another_writer_nothing_is_given(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct daemon_side side;
    struct oneib_key_changes changes;
    network("", NULL);
    open_side(&side);
    give(&side);
    const uint32_t id = network("", NULL);
    look_again(&side);
    MUST(lab_give_keys(lab, &err)); /* somebody else */
    const unsigned key = key_of(id);
    assert_int_equal(
        oneib_allocate(side.one, side.config.one.vn_mad, &side.snapshot, &changes, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_non_null(strstr(err.text, "one.writer"));
    assert_int_equal(key_of(id), key);
    oneib_key_changes_clear(&changes);
    close_side(&side);
}

static void a_lost_ledger_is_not_made_anew_while_a_host_may_hold_keys(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct daemon_side side;
    const struct oneib_snapshot_options adopting = {.adopt = true};
    uint32_t host;
    network("300", NULL);
    MUST(lab_host_create_bare(lab, "host", &host, &err));
    open_side(&side);
    give(&side);
    MUST(lab_host_update(lab, host, "IB_KEYS=0x012c", &err));
    MUST(lab_document_delete(lab, side.snapshot.kept.document_id, &err));
    oneib_snapshot_clear(&side.snapshot);
    assert_int_equal(oneib_snapshot_make(&side.config, side.sm, side.one, NULL,
                                         &(struct oneib_snapshot_options){0}, &side.snapshot, &err),
                     -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_non_null(strstr(err.text, "oneib sync --adopt"));
    MUST(oneib_snapshot_make(&side.config, side.sm, side.one, NULL, &adopting, &side.snapshot,
                             &err));
    assert_true(side.snapshot.ledger_lost);
    assert_false(oneib_keys_are_due(&side.snapshot));
    assert_non_null(oneib_ledger_resting(&side.snapshot.adopted, 0x12c));
    close_side(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_reservation_loses_its_parents_key_with_three_calls),
        CASE(a_second_call_changes_nothing),
        CASE(a_shared_reservation_keeps_its_parents_key),
        CASE(a_reservations_own_word_shares_nothing),
        CASE(of_any_other_network_oned_is_asked_nothing),
        CASE(what_is_no_key_is_refused),
        CASE(a_network_with_a_bridge_is_refused),
        CASE(a_network_of_another_driver_is_none_of_ours),
        CASE(an_oned_that_is_down_is_said),
        CASE(a_document_of_another_network_is_refused),
        CASE(what_is_no_document_is_refused),
        CASE(fifty_reservations_created_at_once_get_fifty_keys),
        CASE(the_ledger_and_vlan_id_say_the_same),
        CASE(a_key_rests_when_its_network_is_gone),
        CASE(a_pool_that_lacks_a_network_takes_nobodys_key),
        CASE(a_vlan_id_that_somebody_sets_meanwhile_stays),
        CASE(with_another_writer_nothing_is_given),
        CASE(a_lost_ledger_is_not_made_anew_while_a_host_may_hold_keys),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lab_output_clear(&output);
    return failed;
}
