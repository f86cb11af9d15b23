// SPDX-License-Identifier: Apache-2.0
/*
 * Faults around a running cloud, on ibsim with a real opensm: whatever breaks, no member that
 * should stay is dropped and nobody gets in who should not. Two clusters run on the fabric; each
 * test breaks something, lets `oneib sync` meet it, and compares every port's table and the file's
 * bytes with what they were.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "sync/lock.h"
#include "two_clusters.h"
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 60000
#define SWITCH_PORTS 36             /* ibsim's, of the one switch */
#define END_PORTS (SCENE_HOSTS + 3) /* that are linked to it: the hosts, X1, X2 and the SM */

/* The state before a fault. */
struct before {
    char *tables, *file;
};

static struct before remember(void)
{
    return (struct before){scene_tables(), scene_file()};
}

static void nothing_may_have_changed(struct before *before)
{
    oneib_autofree char *tables = scene_tables();
    oneib_autofree char *file = scene_file();
    assert_string_equal(tables, before->tables);
    assert_string_equal(file, before->file);
    free(before->tables);
    free(before->file);
}

static void oned_fault(const char *kind, unsigned count, int status, const char *word)
{
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct before before = remember();
    MUST(lab_fault(lab, kind, count, 1, &err));
    sync_must_end(status, word);
    MUST(lab_fault(lab, kind, 0, 0, &err));
    nothing_may_have_changed(&before);
    sync_must_end(0, NULL);
}

static void oned_that_answers_html_changes_nothing(void **state)
{
    (void)state;
    oned_fault("html", 1000, 3, "endpoint");
}

static void oned_that_cuts_its_xml_changes_nothing(void **state)
{
    (void)state;
    oned_fault("truncated", 1000, 3, "one.");
}

static void oned_that_closes_the_connection_changes_nothing(void **state)
{
    (void)state;
    oned_fault("close", 1000, 3, "one.");
}

static void oned_that_fails_with_http_500_changes_nothing(void **state)
{
    (void)state;
    oned_fault("http500", 1000, 3, "one.");
}

static void oned_that_refuses_the_session_changes_nothing(void **state)
{
    (void)state;
    oned_fault("badsession", 1000, 3, "auth");
}

static void windows_that_leave_vms_out_lose_nobody(void **state)
{
    (void)state;
    oned_fault("shrink-window", 1000, 0, NULL);
}

static void oned_that_is_down_changes_nothing(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct before before = remember();
    MUST(lab_config_write(lab, NULL, &err));
    const char *path = lab_config_path(lab);
    oneib_autofree char *config = NULL;
    size_t length;
    MUST(oneib_file_read(path, (size_t)1 << 20, &config, &length, &err));
    char *endpoint = strstr(config, lab_endpoint(lab));
    assert_non_null(endpoint);
    /* Port 1 of loopback: nobody listens there. */
    oneib_autotext struct oneib_text broken = {0};
    oneib_text_append_bytes(&broken, config, (size_t)(endpoint - config));
    oneib_text_append(&broken, "http://127.0.0.1:1/RPC2");
    oneib_text_append(&broken, endpoint + strlen(lab_endpoint(lab)));
    MUST(lab_write(lab, "oneib.conf", 0600, broken.data, &err));

    sync_must_end(3, "127.0.0.1:1");
    MUST(lab_config_write(lab, NULL, &err));
    nothing_may_have_changed(&before);
}

static void static_partitions_with_a_syntax_error_change_nothing(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct before before = remember();
    MUST(lab_write(lab, "static-partitions.conf", 0644,
                   "storage=0x0010 : 0x100009=full;\nbackup=0x0011 : 0x100009=ful;\n", &err));
    sync_must_end(3, "2");
    assert_int_equal(unlink(lab_path(lab, "static-partitions.conf")), 0);
    nothing_may_have_changed(&before);
}

static void a_static_partitions_key_is_nobody_elses(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct before before = remember();
    MUST(lab_write(lab, "static-partitions.conf", 0644, "storage=0x0101 : 0x100009=full;\n", &err));
    sync_must_end(0, "pkey-reserved");
    assert_false(port_holds(0, 0x8000 | KEY_RED));
    assert_true(port_holds(1, 0x8000 | KEY_BLUE));
    assert_int_equal(unlink(lab_path(lab, "static-partitions.conf")), 0);
    sync_must_end(0, NULL);
    nothing_may_have_changed(&before);
}

static void verify_warns_of_a_file_that_opensm_could_not_read(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    MUST(lab_write(lab, "partitions.conf", 0644, "red=0x0101 : 0x100003=full\n", &err));
    must_say(ONEIB(1, "verify")->error, "partitions-unreadable");
}

static void without_opensm_the_next_sync_puts_right_what_was_missed(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    uint32_t vm;
    MUST(lab_vm_start(lab, "red", &clusters.red, 1, 3, &vm, &err));
    MUST(lab_opensm_stop(lab, LAB_SM.name, true, &err));
    sync_must_end(3, NULL);
    MUST(lab_opensm_start(lab, &LAB_SM, &err));
    sync_must_end(0, NULL);
    assert_true(port_holds(3, 0x8000 | KEY_RED));
    MUST(lab_vm_delete(lab, vm, &err));
    sync_must_end(0, NULL);
    assert_false(port_holds(3, 0x8000 | KEY_RED));
}

/* Replaces opensm's pid file for one sync that has something to do, and requires its failure. */
static void sync_with_pid_file(const char *pid, const char *word)
{
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const char *path = lab_opensm_pid_file(lab, LAB_SM.name);
    oneib_autofree char *right = NULL;
    size_t length;
    MUST(oneib_file_read(path, 64, &right, &length, &err));
    uint32_t vm;
    MUST(lab_vm_start(lab, "red", &clusters.red, 1, 3, &vm, &err));

    MUST(oneib_file_replace(path, pid, strlen(pid), 0644, NULL, NULL, &err));
    const char *said = ONEIB(3, "sync")->error;
    must_say(said, word);
    must_say(said, "partitions.conf is written, and whether the fabric follows it is not known");
    MUST(oneib_file_replace(path, right, length, 0644, NULL, NULL, &err));
    /* The file was written, opensm never heard of it: the next run notices by looking at the
     * fabric. */
    sync_must_end(0, NULL);
    assert_true(port_holds(3, 0x8000 | KEY_RED));
    MUST(lab_vm_delete(lab, vm, &err));
    sync_must_end(0, NULL);
}

static void a_stale_pid_file_is_noticed(void **state)
{
    (void)state;
    sync_with_pid_file("4194303\n", "4194303");
}

static void another_program_under_the_pid_is_not_signalled(void **state)
{
    (void)state;
    char pid[16];
    snprintf(pid, sizeof pid, "%d\n", (int)getpid()); /* a SIGHUP would end this test */
    sync_with_pid_file(pid, "opensm");
}

static void a_pid_file_of_nonsense_is_refused(void **state)
{
    (void)state;
    sync_with_pid_file("-1\n", "pid");
}

static void a_forged_copy_of_a_key_bars_nobody(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct before before = remember();
    /* The VM of blue on host 1 has red's key, as if its template had won over the network's. */
    MUST(lab_vm_set_nic(lab, clusters.blue_vms[0], 1, "VLAN_ID=257", &err));
    sync_must_end(0, NULL);
    assert_true(port_holds(1, 0x8000 | KEY_RED));
    assert_true(port_holds(1, 0x8000 | KEY_BLUE));
    nothing_may_have_changed(&before);
    MUST(lab_vm_set_nic(lab, clusters.blue_vms[0], 1, "VLAN_ID=258", &err));
}

/* oned does not escape what users write into their VMs, so a document may hold a NIC that oned
 * never made. */
static void a_forged_nic_of_anothers_network_lets_nobody_in(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    char network[32];
    snprintf(network, sizeof network, "NETWORK_ID=%u", clusters.red);
    MUST(lab_vm_set_nic(lab, clusters.blue_vms[1], 1, network, &err));
    MUST(lab_vm_set_nic(lab, clusters.blue_vms[1], 1, "VLAN_ID=257", &err));
    sync_must_end(1, "nic-unleased");
    assert_false(port_holds(2, 0x8000 | KEY_RED));
    assert_true(port_holds(0, 0x8000 | KEY_RED));
    assert_true(port_holds(1, 0x8000 | KEY_RED));
}

static void a_vlan_id_that_is_no_key_changes_nothing(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct before before = remember();
    static const char *const bad[] = {"VLAN_ID=0",     "VLAN_ID=32767",  "VLAN_ID=65535",
                                      "VLAN_ID=70000", "VLAN_ID=0x8005", "VLAN_ID=abc"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        MUST(lab_network_update(lab, clusters.red, bad[i], &err));
        sync_must_end(0, "pkey-invalid");
        assert_true(port_holds(0, 0x8000 | KEY_RED));
        assert_false(port_holds(0, 0xffff));
        assert_true(port_holds(1, 0x8000 | KEY_BLUE));
    }
    MUST(lab_network_update(lab, clusters.red, "VLAN_ID=257", &err));
    sync_must_end(0, NULL);
    nothing_may_have_changed(&before);
}

static void two_networks_never_share_a_key(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    uint32_t thief, vm;
    MUST(lab_network_create(lab, "thief", "257", NULL, &thief, &err));
    MUST(lab_vm_start(lab, "thief", &thief, 1, 3, &vm, &err));
    sync_must_end(0, "pkey-conflict");
    assert_true(port_holds(0, 0x8000 | KEY_RED));
    assert_false(port_holds(3, 0x8000 | KEY_RED));
    MUST(lab_vm_delete(lab, vm, &err));
    MUST(lab_network_delete(lab, thief, &err));
    sync_must_end(0, NULL);
}

static void a_hostile_name_never_reaches_opensms_file(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    uint32_t hostile, vm;
    MUST(lab_network_create(lab, "x=0x7fff : ALL=full;", "300", NULL, &hostile, &err));
    MUST(lab_vm_start(lab, "x=0x7fff : ALL=full;", &hostile, 1, 3, &vm, &err));
    sync_must_end(0, NULL);
    assert_true(port_holds(3, 0x8000 | 300));
    assert_false(port_holds(3, 0xffff));
    oneib_autofree char *file = scene_file();
    assert_null(strstr(file, "ALL=full"));
    MUST(lab_vm_delete(lab, vm, &err));
    MUST(lab_network_delete(lab, hostile, &err));
    sync_must_end(0, NULL);
}

static void a_user_with_limited_visibility_cannot_empty_partitions(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct before before = remember();
    /* The lab writes the session file that its configuration names. */
    oneib_autofree char *session = NULL;
    if (asprintf(&session, "%s\n", lab_limited_session(lab)) < 0)
        fail();
    const char *name = "limited_auth";
    MUST(lab_write(lab, name, 0600, session, &err));
    oneib_autofree char *config = NULL;
    size_t length;
    MUST(oneib_file_read(lab_config_path(lab), (size_t)1 << 20, &config, &length, &err));
    char *key = strstr(config, "auth_file");
    assert_non_null(key);
    char *quote = strchr(key, '"');
    char *end = strchr(quote + 1, '"');
    oneib_autotext struct oneib_text other = {0};
    oneib_text_append_bytes(&other, config, (size_t)(quote + 1 - config));
    oneib_text_append(&other, lab_path(lab, name));
    oneib_text_append(&other, end);
    MUST(lab_write(lab, "oneib.conf", 0600, other.data, &err));

    sync_must_end(3, "group oneadmin");
    MUST(lab_config_write(lab, NULL, &err));
    assert_true(port_holds(0, 0x8000 | KEY_RED));
    assert_true(port_holds(1, 0x8000 | KEY_BLUE));
    sync_must_end(0, NULL);
    nothing_may_have_changed(&before);
}

static void a_user_with_rights_by_acl_cannot_empty_partitions_by_what_it_does_not_see(void **state)
{
    (void)state;
    static const char *const rights[] = {"HOST NET", "VM NET", "VM HOST", "VM", "HOST", "NET"};
    static const struct lab_config acl_user = {.one = "acl_user = true;"};
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct before before = remember();
    oneib_autofree char *session = NULL;
    if (asprintf(&session, "%s\n", lab_acl_session(lab)) < 0)
        fail();
    MUST(lab_config_write(lab, &acl_user, &err));
    MUST(lab_write(lab, "one_auth", 0600, session, &err));
    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
        MUST(lab_acl_rights(lab, rights[i], &err));
        sync_must_end(3, "Not authorized to perform USE");
        assert_true(port_holds(0, 0x8000 | KEY_RED));
        assert_true(port_holds(1, 0x8000 | KEY_BLUE));
    }
    MUST(lab_acl_rights(lab, "VM HOST NET", &err));
    sync_must_end(3, "oneib's user needs USE on the group oneadmin");
    MUST(lab_acl_rights(lab, "VM HOST NET GROUP", &err));
    sync_must_end(1, "ledger-lost");
    MUST(lab_acl_rights(lab, "VM HOST NET GROUP DOCUMENT", &err));
    sync_must_end(0, NULL);
    MUST(lab_config_write(lab, NULL, &err));
    nothing_may_have_changed(&before);
}

static void a_tenants_malformed_documents_cost_nobody_else_anything(void **state)
{
    (void)state;
    static const char broken[] = "]]></NOTE><A><NOTE><![CDATA[";
    struct lab *lab = scene();
    struct oneib_error err = {0};
    uint32_t vm, network;
    struct before before = remember();
    MUST(lab_network_create(lab, "tenants", "300", NULL, &network, &err));
    MUST(lab_vm_start(lab, "bad", &network, 1, 3, &vm, &err));
    sync_must_end(0, NULL);
    assert_true(port_holds(3, 0x8000 | 300));
    MUST(lab_vm_write(lab, vm, broken, &err));
    sync_must_end(1, "vm-malformed");
    assert_false(port_holds(3, 0x8000 | 300));
    assert_true(port_holds(0, 0x8000 | KEY_RED));
    MUST(lab_vm_write(lab, vm, "well", &err));
    sync_must_end(0, NULL);
    assert_true(port_holds(3, 0x8000 | 300));
    oneib_autofree char *attribute = NULL;
    if (asprintf(&attribute, "NOTE=%s", broken) < 0)
        fail();
    MUST(lab_network_update(lab, network, attribute, &err));
    sync_must_end(1, "network-malformed");
    assert_false(port_holds(3, 0x8000 | 300));
    assert_true(port_holds(1, 0x8000 | KEY_BLUE));
    MUST(lab_network_update(lab, network, "NOTE=well", &err));
    MUST(lab_vm_delete(lab, vm, &err));
    MUST(lab_network_delete(lab, network, &err));
    sync_must_end(0, NULL);
    nothing_may_have_changed(&before);
}

/* Few kills a scene: ibsim has places for ten clients, and a killed one's is not free again. It ends
 * when a client does that has asked for a place and not got it yet, so that is waited for: before that sync
 * has only taken its lock and spoken with oned. */
#define KILLS_PER_SCENE 5
#define MS_BETWEEN_KILLS 3

static void kill_sync_after(unsigned delay_ms)
{
    struct lab *lab = scene();
    struct oneib_error err = {0};
    uint32_t vm;
    pid_t pid;
    MUST(lab_vm_start(lab, "red", &clusters.red, 1, 3, &vm, &err));
    const char *const argv[] = {ONEIB_BINARY, "--config", lab_config_path(lab), "sync", NULL};
    MUST(lab_spawn(lab, "killed", LAB_SM_HCA, argv, &pid, &err));
    MUST(lab_fabric_await_place(lab, pid, &err));
    lab_sleep_ms(delay_ms);
    MUST(lab_end(lab, pid, SIGKILL, 5000, &err));

    sync_must_end(0, NULL);
    assert_true(port_holds(3, 0x8000 | KEY_RED));
    MUST(lab_vm_delete(lab, vm, &err));
    sync_must_end(0, NULL);
}

static void kill_sync_from(unsigned first_ms)
{
    scene();
    struct before before = remember();
    for (unsigned i = 0; i < KILLS_PER_SCENE; i++)
        kill_sync_after(first_ms + i * MS_BETWEEN_KILLS);
    nothing_may_have_changed(&before);
}

static void sync_killed_within_12_ms_leaves_a_whole_file(void **state)
{
    (void)state;
    kill_sync_from(0);
}

static void sync_killed_after_15_to_27_ms_leaves_a_whole_file(void **state)
{
    (void)state;
    kill_sync_from(15);
}

static void sync_killed_after_30_to_42_ms_leaves_a_whole_file(void **state)
{
    (void)state;
    kill_sync_from(30);
}

static void sync_killed_after_45_to_57_ms_leaves_a_whole_file(void **state)
{
    (void)state;
    kill_sync_from(45);
}

static void nobody_writes_while_another_sync_is_at_work(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct before before = remember();
    uint32_t vm;
    int lock;
    MUST(lab_vm_start(lab, "red", &clusters.red, 1, 3, &vm, &err));
    MUST(lab_config_write(lab, &(struct lab_config){.opensm = "apply_timeout = 1000;"}, &err));
    MUST(oneib_sync_lock(lab_partitions(lab), 0, &lock, &err));

    char this_process[32];
    snprintf(this_process, sizeof this_process, "process %d", (int)getpid());
    sync_must_end(3, this_process);
    MUST(lab_vm_delete(lab, vm, &err));
    nothing_may_have_changed(&before);

    oneib_sync_unlock(lock);
    sync_must_end(0, NULL);
}

static void an_unchanged_state_costs_no_write_no_reload_and_no_mad_beyond_verifys(void **state)
{
    (void)state;
    struct lab *lab = scene();
    sync_must_end(0, NULL);
    struct stat before, after;
    assert_int_equal(stat(lab_partitions(lab), &before), 0);

    json_t *synced = ONEIB_JSON(0, "sync");
    assert_string_equal(json_text(synced, "outcome"), "unchanged");
    assert_int_equal(json_number(synced, "reloads"), 0);
    const json_int_t mads_of_sync = json_number(synced, "mads_sent");
    assert_int_equal(stat(lab_partitions(lab), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    /* Verify asks for the multicast groups of both clusters, too, and before that where the SA is.
     * It walks from the own port over the switch's, and reads the second block of P_Keys of those
     * that an end port is linked to. */
    const json_int_t groups = 1 + 2, walk = 3 + SWITCH_PORTS + END_PORTS, blocks = END_PORTS;
    assert_int_equal(json_number(ONEIB_JSON(0, "verify"), "mads_sent"),
                     mads_of_sync + groups + walk + blocks);
}

static void a_standby_sm_writes_the_same_file_and_leaves_the_fabric_to_the_master(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct lab_output output = {0};
    const char *standby_file = lab_path(lab, "standby.conf");
    MUST(lab_write(lab, "standby.conf", 0644, "Default=0x7fff : ALL=limited, SELF=full;\n", &err));
    const struct lab_sm standby = {
        .name = "standby", .hca = "X1", .priority = 1, .partitions = standby_file};
    MUST(lab_opensm_start(lab, &standby, &err));

    oneib_autofree char *config = NULL;
    size_t length;
    MUST(oneib_file_read(lab_config_path(lab), (size_t)1 << 20, &config, &length, &err));
    oneib_autotext struct oneib_text other = {0};
    const char *from = config;
    const char *const swaps[][2] = {
        {lab_partitions(lab), standby_file},
        {lab_opensm_pid_file(lab, LAB_SM.name), lab_opensm_pid_file(lab, "standby")},
    };
    while (*from) {
        size_t i = 0;
        while (i < 2 && strncmp(from, swaps[i][0], strlen(swaps[i][0])) != 0)
            i++;
        if (i < 2) {
            oneib_text_append(&other, swaps[i][1]);
            from += strlen(swaps[i][0]);
        } else {
            oneib_text_append_bytes(&other, from++, 1);
        }
    }
    MUST(lab_write(lab, "standby-oneib.conf", 0600, other.data, &err));

    MUST(lab_run(lab, "X1",
                 (const char *[]){ONEIB_BINARY, "--config", lab_path(lab, "standby-oneib.conf"),
                                  "sync", "--force", NULL},
                 TIMEOUT_MS, &output, &err));
    if (output.status != 0)
        fail_msg("sync on the standby ended with %d: %s%s", output.status, output.out,
                 output.error);
    assert_non_null(strstr(output.out, "standby"));
    lab_output_clear(&output);

    oneib_autofree char *masters = scene_file();
    oneib_autofree char *standbys = NULL;
    MUST(oneib_file_read(standby_file, (size_t)1 << 20, &standbys, &length, &err));
    assert_string_equal(standbys, masters);
    MUST(lab_opensm_stop(lab, "standby", true, &err));
    sync_must_end(0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTERS_CASE(oned_that_answers_html_changes_nothing),
        CLUSTERS_CASE(oned_that_cuts_its_xml_changes_nothing),
        CLUSTERS_CASE(oned_that_closes_the_connection_changes_nothing),
        CLUSTERS_CASE(oned_that_fails_with_http_500_changes_nothing),
        CLUSTERS_CASE(oned_that_refuses_the_session_changes_nothing),
        CLUSTERS_CASE(windows_that_leave_vms_out_lose_nobody),
        CLUSTERS_CASE(oned_that_is_down_changes_nothing),
        CLUSTERS_CASE(static_partitions_with_a_syntax_error_change_nothing),
        CLUSTERS_CASE(a_static_partitions_key_is_nobody_elses),
        CLUSTERS_CASE(verify_warns_of_a_file_that_opensm_could_not_read),
        CLUSTERS_CASE(without_opensm_the_next_sync_puts_right_what_was_missed),
        CLUSTERS_CASE(a_stale_pid_file_is_noticed),
        CLUSTERS_CASE(another_program_under_the_pid_is_not_signalled),
        CLUSTERS_CASE(a_pid_file_of_nonsense_is_refused),
        CLUSTERS_CASE(a_forged_copy_of_a_key_bars_nobody),
        CLUSTERS_CASE(a_forged_nic_of_anothers_network_lets_nobody_in),
        CLUSTERS_CASE(a_vlan_id_that_is_no_key_changes_nothing),
        CLUSTERS_CASE(two_networks_never_share_a_key),
        CLUSTERS_CASE(a_hostile_name_never_reaches_opensms_file),
        CLUSTERS_CASE(a_user_with_limited_visibility_cannot_empty_partitions),
        CLUSTERS_CASE(a_user_with_rights_by_acl_cannot_empty_partitions_by_what_it_does_not_see),
        CLUSTERS_CASE(a_tenants_malformed_documents_cost_nobody_else_anything),
        CLUSTERS_CASE(sync_killed_within_12_ms_leaves_a_whole_file),
        CLUSTERS_CASE(sync_killed_after_15_to_27_ms_leaves_a_whole_file),
        CLUSTERS_CASE(sync_killed_after_30_to_42_ms_leaves_a_whole_file),
        CLUSTERS_CASE(sync_killed_after_45_to_57_ms_leaves_a_whole_file),
        CLUSTERS_CASE(nobody_writes_while_another_sync_is_at_work),
        CLUSTERS_CASE(an_unchanged_state_costs_no_write_no_reload_and_no_mad_beyond_verifys),
        CLUSTERS_CASE(a_standby_sm_writes_the_same_file_and_leaves_the_fabric_to_the_master),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
