// SPDX-License-Identifier: Apache-2.0
/*
 * vnet_create as oned calls it on the front-end, and the daemon's way of giving keys at the same
 * moment, with the stand-in for oned. There is no fabric. Keys are chosen from 256 to 319.
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

/* The environment that oned's drivers have, with the lab's folder as ONE_LOCATION. */
static void set_environment(void)
{
    struct oneib_error err = {0};
    assert_int_equal(setenv("ONE_LOCATION", lab_folder(lab), 1), 0);
    assert_int_equal(setenv("ONE_AUTH", lab_path(lab, "oneadmin_auth", &err), 1), 0);
    assert_int_equal(mkdir(lab_path(lab, "var", &err), 0700), 0);
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
    return lab_path(lab, name, &err);
}

/* The words of a call, for lab_run() and lab_spawn(). */
struct call {
    char id[16];
    const char *argv[8];
};

static struct call call_for(uint32_t id, const char *input)
{
    struct oneib_error err = {0};
    struct call call = {.argv = {"/bin/sh", "-c", "exec \"$0\" --config \"$1\" \"$2\" <\"$3\"",
                                 VNET_CREATE, lab_config_path(lab, &err), NULL, input, NULL}};
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

static void a_network_gets_the_lowest_free_key(void **state)
{
    (void)state;
    network("256", NULL);
    const uint32_t id = network("", NULL);
    create(id);
    assert_int_equal(key_of(id), 257);
}

static void a_second_call_changes_nothing(void **state)
{
    (void)state;
    const uint32_t id = network("", NULL);
    create(id);
    create(id);
    assert_int_equal(key_of(id), FIRST_KEY);
}

static void a_key_that_a_vm_still_holds_is_not_given(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    uint32_t vm;
    const uint32_t old = network("256", NULL);
    MUST(lab_host_create_bare(lab, "host", &vm, &err));
    MUST(lab_vm_start(lab, "vm", &old, 1, 0, &vm, &err));
    MUST(lab_network_update(lab, old, "VLAN_ID=300", &err));
    MUST(lab_vm_set_nic(lab, vm, 1, "VLAN_ID=256", &err));
    const uint32_t id = network("", NULL);
    create(id);
    assert_int_equal(key_of(id), 257);
}

static void a_key_of_the_operators_own_partitions_is_not_given(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    MUST(lab_write(lab, "partitions.fragment", 0644, "storage=0x0100 : 0x1234=full;\n", &err));
    const uint32_t id = network("", NULL);
    create(id);
    assert_int_equal(key_of(id), 257);
}

static void partitions_with_a_mistake_give_nobody_a_key(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    MUST(lab_write(lab, "partitions.fragment", 0644, "storage=0x0100 : 0x1234=full\n", &err));
    const uint32_t id = network("", NULL);
    must_fail(id, "partitions.fragment");
    assert_int_equal(key_of(id), 0);
}

static void a_reservation_gets_a_key_of_its_own(void **state)
{
    (void)state;
    const uint32_t parent = network("300", NULL);
    const uint32_t id = reservation(parent);
    assert_int_equal(key_of(id), 300);
    create(id);
    assert_int_equal(key_of(id), FIRST_KEY);
    assert_int_equal(key_of(parent), 300);
}

static void a_shared_reservation_keeps_its_parents_key(void **state)
{
    (void)state;
    const uint32_t id = reservation(network("300", "IB_RESERVATION=shared"));
    create(id);
    assert_int_equal(key_of(id), 300);
}

static void a_key_that_the_operator_chose_is_kept(void **state)
{
    (void)state;
    const uint32_t id = network("17", NULL);
    create(id);
    assert_int_equal(key_of(id), 17);
}

static void a_chosen_key_that_another_network_has_is_refused(void **state)
{
    (void)state;
    const uint32_t first = network("300", NULL);
    const uint32_t id = network("300", NULL);
    char words[64];
    snprintf(words, sizeof words, "which network %" PRIu32 " has", first);
    must_fail(id, words);
    assert_int_equal(key_of(id), 300);
}

static void a_chosen_key_of_the_operators_own_partitions_is_refused(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    MUST(lab_write(lab, "partitions.fragment", 0644, "storage=0x0100 : 0x1234=full;\n", &err));
    must_fail(network("256", NULL), "which the operator's own partitions have");
}

static void a_used_up_range_is_said(void **state)
{
    (void)state;
    char vlan_id[16];
    for (unsigned key = FIRST_KEY; key <= LAST_KEY; key++) {
        snprintf(vlan_id, sizeof vlan_id, "%u", key);
        network(vlan_id, NULL);
    }
    must_fail(network("", NULL), "no free P_Key is left in 256-319");
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
    const uint32_t id = network("", NULL);
    const char *input = input_of(id);
    MUST(lab_standin_down(lab, true, &err));
    run_with(id, input, 3);
    assert_non_null(strstr(output.error, lab_endpoint(lab)));
    assert_null(strstr(output.error, lab_session(lab)));
    MUST(lab_standin_down(lab, false, &err));
    assert_int_equal(key_of(id), 0);
    create(id);
    assert_int_equal(key_of(id), FIRST_KEY);
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
        run_with(id, lab_path(lab, "hostile", &err), 3);
    }
    assert_int_equal(key_of(id), 0);
}

static void a_lock_that_is_a_symbolic_link_is_refused(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    MUST(lab_write(lab, "precious", 0600, "mine\n", &err));
    assert_int_equal(
        symlink(lab_path(lab, "precious", &err), lab_path(lab, "var/.oneib-keys.lock", &err)), 0);
    const uint32_t id = network("", NULL);
    must_fail(id, ".oneib-keys.lock");
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
    struct oneib_error err = {0};
    char name[32];
    int status;
    snprintf(name, sizeof name, "create-%" PRIu32 ".log", id);
    assert_true(lab_wait(lab, pid, TIMEOUT_MS, &status));
    oneib_autofree char *log = lab_read(lab, name, &err);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("network %" PRIu32 ": 0x%x: %s", id, (unsigned)status, log);
}

static void fifty_networks_created_at_once_get_fifty_keys(void **state)
{
    (void)state;
    uint32_t ids[AT_ONCE];
    pid_t pids[AT_ONCE];
    bool seen[LAST_KEY + 1] = {false};
    for (size_t i = 0; i < AT_ONCE; i++)
        ids[i] = network("", NULL);
    for (size_t i = 0; i < AT_ONCE; i++)
        pids[i] = begin(ids[i]);
    for (size_t i = 0; i < AT_ONCE; i++)
        must_succeed(ids[i], pids[i]);
    for (size_t i = 0; i < AT_ONCE; i++) {
        const unsigned key = key_of(ids[i]);
        assert_in_range(key, FIRST_KEY, LAST_KEY);
        assert_false(seen[key]);
        seen[key] = true;
    }
}

static unsigned calls(const char *method)
{
    struct oneib_error err = {0};
    unsigned count;
    MUST(lab_calls(lab, method, &count, &err));
    return count;
}

static void a_key_that_another_takes_meanwhile_is_given_up(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const uint32_t other = network("300", NULL);
    const uint32_t id = network("", NULL);
    const unsigned before = calls("one.vmpool.infoextended");
    MUST(lab_fault(lab, "hang", 1000, 1, &err));
    const pid_t pid = begin(id);
    for (unsigned i = 0; calls("one.vmpool.infoextended") == before; i++) {
        assert_int_not_equal(i, 4000);
        lab_sleep_ms(5);
    }
    MUST(lab_fault(lab, "hang", 0, 0, &err));
    MUST(lab_network_update(lab, other, "VLAN_ID=256", &err));
    must_succeed(id, pid);
    assert_int_equal(key_of(other), 256);
    assert_int_equal(key_of(id), 257);
}

/* The daemon's side. */
struct daemon_side {
    struct oneib_config config;
    struct oneib_credentials credentials;
    struct oneib_one *one;
    struct oneib_view view;
};

static void look(struct daemon_side *side)
{
    struct oneib_error err = {0};
    const struct oneib_view_options options = {0};
    MUST(oneib_view_make(&side->config, side->one, NULL, &options, &side->view, &err));
}

static void open_side(struct daemon_side *side)
{
    struct oneib_error err = {0};
    *side = (struct daemon_side){0};
    MUST(oneib_config_load(lab_config_path(lab, &err), &side->config, &err));
    MUST(oneib_credentials_find(&side->config, &side->credentials, &err));
    side->one = oneib_one_open(&side->credentials, side->config.one.timeout_ms, &err);
    assert_non_null(side->one);
    look(side);
}

static void close_side(struct daemon_side *side)
{
    oneib_view_clear(&side->view);
    oneib_one_close(side->one);
    oneib_credentials_clear(&side->credentials);
    oneib_config_clear(&side->config);
}

static void the_daemon_takes_back_a_key_that_another_took_meanwhile(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct daemon_side side;
    size_t given;
    const uint32_t id = network("", NULL), other = network("300", NULL);
    open_side(&side);
    assert_int_equal(side.view.desired.request_count, 1);
    MUST(lab_network_update(lab, other, "VLAN_ID=256", &err));
    MUST(oneib_allocate(&side.config, side.one, &side.view, &given, &err));
    assert_int_equal(key_of(id), 0);
    assert_int_equal(key_of(other), 256);

    oneib_view_clear(&side.view);
    look(&side);
    MUST(oneib_allocate(&side.config, side.one, &side.view, &given, &err));
    assert_int_equal(given, 1);
    assert_int_equal(key_of(id), 257);
    close_side(&side);
}

static void the_daemon_leaves_a_chosen_key_alone_that_another_has(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct daemon_side side;
    size_t given;
    const uint32_t id = network("", NULL);
    network("300", NULL);
    open_side(&side);
    MUST(lab_network_update(lab, id, "VLAN_ID=300", &err));
    MUST(oneib_allocate(&side.config, side.one, &side.view, &given, &err));
    assert_int_equal(key_of(id), 300);
    close_side(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_network_gets_the_lowest_free_key),
        CASE(a_second_call_changes_nothing),
        CASE(a_key_that_a_vm_still_holds_is_not_given),
        CASE(a_key_of_the_operators_own_partitions_is_not_given),
        CASE(partitions_with_a_mistake_give_nobody_a_key),
        CASE(a_reservation_gets_a_key_of_its_own),
        CASE(a_shared_reservation_keeps_its_parents_key),
        CASE(a_key_that_the_operator_chose_is_kept),
        CASE(a_chosen_key_that_another_network_has_is_refused),
        CASE(a_chosen_key_of_the_operators_own_partitions_is_refused),
        CASE(a_used_up_range_is_said),
        CASE(what_is_no_key_is_refused),
        CASE(a_network_with_a_bridge_is_refused),
        CASE(a_network_of_another_driver_is_none_of_ours),
        CASE(an_oned_that_is_down_is_said),
        CASE(a_document_of_another_network_is_refused),
        CASE(what_is_no_document_is_refused),
        CASE(a_lock_that_is_a_symbolic_link_is_refused),
        CASE(fifty_networks_created_at_once_get_fifty_keys),
        CASE(a_key_that_another_takes_meanwhile_is_given_up),
        CASE(the_daemon_takes_back_a_key_that_another_took_meanwhile),
        CASE(the_daemon_leaves_a_chosen_key_alone_that_another_has),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lab_output_clear(&output);
    return failed;
}
