// SPDX-License-Identifier: Apache-2.0
/*
 * The page "A daemon is retired, or its key was disclosed" (docs/operator-failure.md), step by step:
 * an opensm and an oneibd on each of two hosts, and a node with the real services, which believes
 * both.
 */
#include "base/cleanup.h"
#include "lab_internal.h"
#include "lab_node.h"
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define HOST 0u
#define KEY 300u
#define PATIENCE_MS 60000u
#define PROGRAM_MS 60000u
#define LCM_BOOT 2
#define SECOND "second"
#define SECOND_DAEMON "oneibd-second"
#define NODE_LOG "node-H1.log"
#define KNOWN_TO_NODE "/var/lib/oneib-node/daemons"
#define REMOTES "one/var/remotes/etc/oneib/daemons" /* the probe is given it as the host's copy */

static struct oneib_error err;
static struct lab *lab;
static struct lab_instance second;
static uint32_t network;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

/* ---- what the page's steps and checks are ---------------------------------------------------- */

/* `oneib VERB ...` on the host of the writing daemon; to be freed. */
static char *oneib(const char *const *arguments)
{
    struct lab_output output = {0};
    ok(lab_oneib(lab, arguments, PROGRAM_MS, &output, &err));
    if (output.status != 0)
        fail_msg("oneib %s: status %d: %s%s", arguments[0], output.status, output.out,
                 output.error);
    char *out = output.out;
    output.out = NULL;
    lab_output_clear(&output);
    return out;
}

static char *daemons(void)
{
    return oneib((const char *[]){"daemons", NULL});
}

/* What `oneib check` says of the remotes' list begins with that. */
static void check_says_of_remotes(const char *result)
{
    struct lab_output output = {0};
    ok(lab_oneib(lab, (const char *[]){"check", NULL}, PROGRAM_MS, &output, &err));
    if (!strstr(output.out, result))
        fail_msg("oneib check has no \"%s\": %s%s", result, output.out, output.error);
    lab_output_clear(&output);
}

/* Step 3. Its check fails until it is done. */
static void publish_daemons(void)
{
    oneib_autofree char *list = daemons();
    check_says_of_remotes("fail  daemons: ");
    ok(lab_write(lab, REMOTES, 0644, list, &err));
    check_says_of_remotes("ok    daemons: ");
}

/* The probe with the list of the remotes; what it prints is the host's. refusal: what the service
 * says about the list; NULL: it takes it. */
static void probe_announces(const char *refusal)
{
    struct lab_output output = {0};
    ok(lab_node_run(lab, HOST, (const char *[]){"probe", lab_path(lab, REMOTES), NULL}, NULL,
                    &output, &err));
    if (output.status != 0)
        fail_msg("probe: status %d: %s", output.status, output.error);
    ok(lab_host_monitor(lab, HOST, output.out, &err));
    if (refusal ? !strstr(output.out, refusal) : !strstr(output.out, "IB_PROBLEM = \"\""))
        fail_msg("the probe prints %s", output.out);
    lab_output_clear(&output);
}

static bool file_says(const char *path, const char *words)
{
    char text[4096] = "";
    oneib_autofclose FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s cannot be read", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    return strstr(text, words) != NULL;
}

static bool node_believes(const char *address)
{
    char path[512];
    snprintf(path, sizeof path, "%s" KNOWN_TO_NODE, lab_node_root(lab, HOST));
    return file_says(path, address);
}

static void await_log_of_node(const char *words)
{
    for (unsigned waited = 0;; waited += 50) {
        oneib_autofree char *log = lab_log_end(lab, NODE_LOG);
        if (log && strstr(log, words))
            return;
        if (waited > PATIENCE_MS)
            fail_msg("the node's log has no \"%s\": %s", words, log ? log : "");
        lab_sleep_ms(50);
    }
}

static void await_follows(void)
{
    for (unsigned waited = 0;; waited += 100) {
        oneib_autofree char *hosts = oneib((const char *[]){"hosts", NULL});
        if (strstr(hosts, "follows"))
            return;
        if (waited > PATIENCE_MS)
            fail_msg("the node does not follow: %s", hosts);
        lab_sleep_ms(100);
    }
}

/* A VM starts on the node, and its VF is open at the network's key. Returns the VF. */
static unsigned start_vm(const char *name)
{
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    struct lab_node_vf vf;
    size_t count;
    uint32_t id;
    ok(lab_vm_create(lab, name, &network, 1, &id, &err));
    ok(lab_vm_deploy(lab, id, HOST, &err));
    ok(lab_vm_state(lab, id, 3, LCM_BOOT, &err));
    ok(lab_node_boot(lab, HOST, id, &err));
    ok(lab_node_claims(lab, HOST, claims, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (claims[i].vm == id) {
            ok(lab_node_vf(lab, HOST, claims[i].vf, &vf, &err));
            assert_int_equal(vf.key, 0x8000u | KEY);
            return claims[i].vf;
        }
    fail_msg("%s has no VF", name);
    return 0;
}

static void assert_still_open(unsigned number)
{
    struct lab_node_vf vf;
    ok(lab_node_vf(lab, HOST, number, &vf, &err));
    assert_int_equal(vf.key, 0x8000u | KEY);
}

/* ---- the scene ------------------------------------------------------------------------------- */

/* The writing daemon's host is the front-end, too. */
static void make_remotes(void)
{
    char path[] = REMOTES;
    oneib_autofree char *list = NULL;
    for (char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        if (mkdir(lab_path(lab, path), 0755) < 0)
            fail_msg("%s cannot be made", path);
        *end = '/';
    }
    assert_int_equal(setenv("ONE_LOCATION", lab_path(lab, "one"), 1), 0);
    list = daemons();
    ok(lab_write(lab, REMOTES, 0644, list, &err));
}

static void configure(void)
{
    char full_members[128];
    snprintf(full_members, sizeof full_members,
             "default_partition: { full_members = [\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]; };",
             LAB_SM_PORT_GUID, lab_host_port_guid(lab, lab_host_count(lab)));
    const struct lab_config more = {.daemon = "poll_idle = 1000;", .other = full_members};
    ok(lab_config_write(lab, &more, &err));
    ok(lab_config_write_named(lab, SECOND, SECOND, &more, &second, &err));
}

static void await_both_daemons(const char *first)
{
    for (unsigned waited = 0;; waited += 100) {
        oneib_autofree char *list = daemons();
        if (strstr(list, first) && strstr(list, second.known_as.address))
            return;
        if (waited > PATIENCE_MS)
            fail_msg("not both daemons are in the ledger: %s", list);
        lab_sleep_ms(100);
    }
}

static void raise_all(void)
{
    const struct lab_options fabric = {.leaves = 1, .hosts_per_leaf = 1, .extra_hosts = 1};
    struct lab_node_options nodes = LAB_NODES_DEFAULTS;
    struct oneib_ledger_daemon first;
    lab = lab_open(&fabric, &err);
    assert_non_null(lab);
    ok(lab_fabric_start(lab, &err));
    ok(lab_standin_start(lab, NULL, &err));
    configure();
    const struct lab_sm standby = {
        .name = SECOND, .hca = LAB_SECOND_SM_HCA, .priority = 3, .partitions = second.partitions};
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_opensm_start(lab, &standby, &err));
    nodes.second = &second.known_as;
    ok(lab_nodes_start(lab, &nodes, &err));
    ok(lab_add_nodes(lab, &err));
    ok(lab_network_create(lab, "blue", "300", NULL, &network, &err));
    free(oneib((const char *[]){"sync", "--force", NULL}));
    struct lab_output output = {0};
    const char *sync[] = {ONEIB_BINARY, "sync", "--config", second.config, "--force", NULL};
    ok(lab_run(lab, LAB_SECOND_SM_HCA, sync, PROGRAM_MS, &output, &err));
    lab_output_clear(&output);
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
    const struct lab_daemon daemon = {
        .name = SECOND_DAEMON, .hca = LAB_SECOND_SM_HCA, .config = second.config};
    ok(lab_oneibd_start(lab, &daemon, &err));
    ok(lab_daemon_known_as(lab, &first, &err));
    await_both_daemons(first.address);
    make_remotes();
    assert_true(node_believes(first.address));
    assert_true(node_believes(second.known_as.address));
    await_follows();
}

static void await_other_list(const char *before)
{
    for (unsigned waited = 0;; waited += 100) {
        oneib_autofree char *list = daemons();
        if (strcmp(list, before) != 0)
            return;
        if (waited > PATIENCE_MS)
            fail_msg("the ledger still has the old keys: %s", list);
        lab_sleep_ms(100);
    }
}

static void remove_key_file(const char *name)
{
    if (unlink(lab_path(lab, name)) < 0)
        fail_msg("%s cannot be removed", name);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void the_daemon_is_not_used_any_more(void)
{
    ok(lab_oneibd_stop(lab, SECOND_DAEMON, SIGTERM, &err));
    remove_key_file(SECOND ".key");
    free(oneib((const char *[]){"daemons", "forget", second.known_as.address, NULL}));
    oneib_autofree char *list = daemons();
    assert_null(strstr(list, second.known_as.address));
    publish_daemons();
    probe_announces(NULL);
    await_log_of_node("no longer trusts oneibd at tcp://");
    assert_false(node_believes(second.known_as.address));
}

static void the_daemon_stays_with_new_keys(unsigned open_vf)
{
    struct lab_output output = {0};
    oneib_autofree char *before = daemons();
    ok(lab_oneibd_stop(lab, LAB_DAEMON.name, SIGTERM, &err));
    remove_key_file("oneib.key");
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
    await_other_list(before);

    publish_daemons();
    probe_announces("trusts another oneibd already");
    assert_still_open(open_vf);
    ok(lab_node_run(lab, HOST,
                    (const char *[]){"oneib", "hca", "--trust", lab_path(lab, REMOTES), NULL}, NULL,
                    &output, &err));
    if (output.status != 0)
        fail_msg("oneib hca --trust: status %d: %s", output.status, output.error);
    lab_output_clear(&output);
    await_follows();
    assert_still_open(open_vf);
}

static void a_daemons_key_was_disclosed(void **state)
{
    (void)state;
    raise_all();
    the_daemon_is_not_used_any_more();
    const unsigned vf = start_vm("after");
    the_daemon_stays_with_new_keys(vf);
    start_vm("last");
}

static int close_all(void **state)
{
    (void)state;
    lab_close(lab);
    return 0;
}

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_daemons_key_was_disclosed, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
