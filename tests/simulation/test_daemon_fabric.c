// SPDX-License-Identifier: Apache-2.0
/*
 * A running oneibd while the fabric, opensm and opensm's files fail: opensm is killed, stopped,
 * absent or another program; links and switches go and come; a port never answers; tables are full;
 * the partitions file and the static partitions are removed, cut, edited. Members that should stay
 * keep their keys, and what changed meanwhile is in force when the fault is over.
 */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "daemon_scene.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY 300
#define OTHER_KEY 301
#define STOPPED_MS 3000
#define FULL_DISK 65536
#define STATIC_PARTITIONS 1500 /* so that the file is larger than that, and the log is not */
#define FAR_HOST 2             /* the first of the second leaf */

static uint32_t network;

/* A cluster with a VM on host 0, in force, and an oneibd that watches. */
static void begin(void)
{
    scene();
    network = scene_network("blue", "300", NULL);
    scene_vm(network, 0);
    await_holds(0, FULL(KEY));
}

static int raise_two_leaves(void **state)
{
    (void)state;
    const struct lab_options options = {.leaves = 2, .hosts_per_leaf = 2, .spines = 1};
    if (daemon_raise_on(&options, NULL) < 0)
        return -1;
    if (!lab_missing())
        daemon_start();
    return 0;
}

/* ---- opensm ---------------------------------------------------------------------------------- */

static void forget_cached_files(void)
{
    static const char *const files[] = {"guid2lid", "guid2mkey", "neighbors"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s/%s", lab_directory(scene()), LAB_SM.name, files[i]);
        unlink(path);
    }
}

static void vms_change_while_opensm_is_away(bool gentle, bool forgetful)
{
    struct oneib_error err = {0};
    begin();
    const uint32_t leaver = scene_vm(network, 1);
    await_holds(1, FULL(KEY));
    MUST(lab_opensm_stop(scene(), LAB_SM.name, gentle, &err));
    scene_end_vm(leaver);
    /* In one turn with a new member oneibd would read the fabric before it writes, which fails. */
    await_said("the partitions are written, whether the fabric follows");
    scene_vm(network, 2);
    lab_sleep_ms(DAEMON_DOUBT_MS);
    assert_true(daemon_is_running());
    await_metric("oneib_sm_master", 0);
    await_said(gentle ? "opensm.pid" : "opensm has ended since its process id was written");
    if (forgetful)
        forget_cached_files();
    MUST(lab_opensm_start(scene(), &LAB_SM, &err));
    await_lacks(1, FULL(KEY));
    await_holds(2, FULL(KEY));
    assert_true(port_holds(0, FULL(KEY)));
    await_health(200, NULL);
}

static void what_changed_while_opensm_was_killed_is_in_force_when_it_is_back(void **state)
{
    (void)state;
    vms_change_while_opensm_is_away(false, false);
}

static void so_it_is_when_opensm_was_ended_and_has_lost_its_cached_files(void **state)
{
    (void)state;
    vms_change_while_opensm_is_away(true, true);
}

static void opensm_that_was_stopped_for_a_while_catches_up(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    begin();
    MUST(lab_opensm_signal(scene(), LAB_SM.name, SIGSTOP, &err));
    scene_vm(network, 1);
    lab_sleep_ms(STOPPED_MS);
    assert_false(port_holds(1, FULL(KEY)));
    MUST(lab_opensm_signal(scene(), LAB_SM.name, SIGCONT, &err));
    await_holds(1, FULL(KEY));
    await_health(200, NULL);
}

static void oneibd_that_starts_without_opensm_waits_for_it(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    MUST(lab_opensm_stop(scene(), LAB_SM.name, true, &err));
    network = scene_network("blue", "300", NULL);
    scene_vm(network, 0);
    daemon_start();
    await_health(503, NULL);
    MUST(lab_opensm_start(scene(), &LAB_SM, &err));
    await_holds(0, FULL(KEY));
    await_health(200, NULL);
}

static void write_pid_file(const char *text)
{
    struct oneib_error err = {0};
    MUST(lab_write(scene(), "opensm.pid", 0644, text, &err));
}

/* SIGHUP would end this test. */
static void another_program_under_opensms_pid_is_not_signalled(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char wrong[16], right[16];
    begin();
    snprintf(wrong, sizeof wrong, "%d\n", (int)getpid());
    snprintf(right, sizeof right, "%d\n", (int)lab_opensm_pid(scene(), LAB_SM.name));
    write_pid_file(wrong);
    daemon_forget_log();
    scene_vm(network, 1);
    await_said("is not opensm");
    write_pid_file(right);
    await_holds(1, FULL(KEY));
    await_said("recovered from");
    MUST(lab_opensm_signal(scene(), LAB_SM.name, 0, &err));
}

/* ---- links ----------------------------------------------------------------------------------- */

static void fabric_command(const char *command)
{
    struct oneib_error err = {0};
    MUST(lab_fabric_command(scene(), command, &err));
}

/* A reboot of the host: its VM is gone, its port comes back with what it held. */
static void a_port_that_was_away_comes_back_without_the_key_of_its_ended_vm(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    begin();
    const uint32_t vm = scene_vm(network, 1);
    await_holds(1, FULL(KEY));
    MUST(lab_fabric_link(scene(), 1, false, &err));
    scene_end_vm(vm);
    scene_vm(network, 2); /* nobody waits for the port that is away */
    await_holds(2, FULL(KEY));
    MUST(lab_fabric_link(scene(), 1, true, &err));
    await_lacks(1, FULL(KEY));
    assert_true(port_holds(0, FULL(KEY)));
    await_health(200, NULL);
}

static void tables_are_right_after_a_switch_was_away(void **state)
{
    (void)state;
    begin();
    const uint32_t leaver = scene_vm(network, FAR_HOST);
    scene_vm(network, FAR_HOST + 1);
    await_holds(FAR_HOST, FULL(KEY));
    await_holds(FAR_HOST + 1, FULL(KEY));
    fabric_command("Unlink \"L2\"");
    scene_end_vm(leaver);
    const uint32_t other = scene_network("green", "301", NULL);
    scene_vm(other, FAR_HOST);
    lab_sleep_ms(DAEMON_DOUBT_MS);
    assert_true(port_holds(0, FULL(KEY)));
    fabric_command("ReLink \"L2\"");
    await_holds(FAR_HOST, FULL(OTHER_KEY));
    await_lacks(FAR_HOST, FULL(KEY));
    assert_true(port_holds(FAR_HOST + 1, FULL(KEY)));
    assert_false(port_holds(FAR_HOST + 1, FULL(OTHER_KEY)));
    await_health(200, NULL);
}

/* It keeps its LID. */
static void a_host_whose_cable_was_moved_unseen_has_another_switch(void **state)
{
    (void)state;
    daemon_end();
    daemon_start_with(DAEMON_NO_EVENTS, DAEMON_QUICK " verify = 1000;", NULL);
    await_host_attribute(FAR_HOST + 1, "IB_SWITCH", "0x0000000000200001");
    fabric_command("Unlink \"H4\"[1]");
    fabric_command("Link \"H4\"[1] \"L1\"[20]");
    await_host_attribute(FAR_HOST + 1, "IB_SWITCH", "0x0000000000200000");
}

/* Lanes, at the port itself or at the other end of its cable. */
static void set_width(size_t host, bool at_the_switch, const char *width)
{
    struct oneib_error err = {0};
    struct lab_output output = {0};
    char route[16], port[16];
    snprintf(route, sizeof route, at_the_switch ? "0,1" : "0,1,%zu", host + 2);
    snprintf(port, sizeof port, "%zu", at_the_switch ? host + 2 : 1);
    const char *argv[] = {"ibportstate", "-D", route, port, "width", width, NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, 10000, &output, &err));
    assert_int_equal(output.status, 0);
    lab_output_clear(&output);
}

static void assert_partitions_have(const char *words)
{
    oneib_autofree char *file = scene_file();
    if (!strstr(file, words))
        fail_msg("%s is not in %s", words, file);
}

/* All links of ibsim have four lanes of 2.5 Gb/s: rate 3 is 10 Gb/s. */
static void a_slow_port_is_named_and_changes_no_partitions_rate(void **state)
{
    (void)state;
    daemon_configure(&(struct lab_config){.daemon = DAEMON_QUICK " verify = 1000;"});
    daemon_start();
    begin();
    assert_partitions_have("mtu=4,rate=3");
    set_width(2, true, "1");
    await_said("link-slow");
    set_width(3, false, "1");
    await_said("port-below");
    daemon_kill();
    assert_int_equal(unlink(lab_partitions(scene())), 0);
    daemon_start();
    await_holds(0, FULL(KEY));
    assert_partitions_have("mtu=4,rate=3");
}

/* A program in a guest that has the cluster's key makes the group of a key that is nobody's yet. */
static void make_group_from_a_guest(unsigned key)
{
    struct oneib_error err = {0};
    struct lab_output output = {0};
    oneib_autofree char *made = oneib_asprintf("%u", key), *own = oneib_asprintf("%u", KEY);
    const char *argv[] = {INTRUDER, "group", made, own, NULL};
    MUST(lab_run(scene(), "H1", argv, SCENE_TIMEOUT_MS, &output, &err));
    assert_int_equal(output.status, 0);
    lab_output_clear(&output);
}

/* Where opensm starts anew it makes the groups of partitions before anybody asks for one. */
static void
a_cluster_whose_multicast_group_is_anothers_is_named_until_opensm_makes_its_own(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    daemon_start_with(NULL, DAEMON_QUICK " verify = 1000;", NULL);
    begin();
    make_group_from_a_guest(OTHER_KEY);
    const uint32_t other = scene_network("green", "301", NULL);
    scene_vm(other, 1);
    await_holds(1, FULL(OTHER_KEY));
    await_said("ipoib-group");
    const struct lab_output *verify = ONEIB(0, "verify");
    must_say(verify->error, "network 2 has no multicast group");
    must_not_say(verify->error, "network 1 has");
    MUST(lab_opensm_stop(scene(), LAB_SM.name, true, &err));
    MUST(lab_opensm_start(scene(), &LAB_SM, &err));
    await_said("no more ipoib-group");
    must_not_say(ONEIB(0, "verify")->error, "multicast group");
}

static void a_port_that_never_tells_its_table_holds_up_nobody(void **state)
{
    (void)state;
    daemon_configure(&(struct lab_config){.daemon = DAEMON_QUICK " verify = 2000;"});
    daemon_start();
    begin();
    scene_vm(network, 1);
    await_holds(1, FULL(KEY));
    daemon_forget_log();
    /* Of P_KeyTable, attribute 0x16: opensm still sees the port. */
    fabric_command("Error \"H4\" 100 22");
    scene_vm(network, 3); /* it would have to take a key */
    scene_vm(network, 2);
    await_holds(2, FULL(KEY));
    const uint32_t other = scene_network("green", "301", NULL);
    scene_vm(other, 1);
    await_holds(1, FULL(OTHER_KEY));
    await_said("port-silent");
    fabric_command("Error \"H4\" 0");
    await_holds(3, FULL(KEY));
    await_health(200, NULL);
}

/* What a silent port holds nobody knows: it may be the key. */
static void a_network_gets_the_key_that_it_waits_for_soon_after_a_silent_port_answers(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    begin();
    const uint32_t heir = scene_network("green", "301", NULL);
    scene_vm(heir, 1);
    await_holds(1, FULL(OTHER_KEY));
    fabric_command("Error \"H3\" 100 22"); /* P_KeyTable, as above */
    MUST(lab_network_update(scene(), network, "VLAN_ID=302", &err));
    await_holds(0, FULL(302));
    MUST(lab_network_update(scene(), heir, "VLAN_ID=300", &err));
    stays_lacking(1, FULL(KEY), DAEMON_DOUBT_MS);
    fabric_command("Error \"H3\" 0");
    await_holds(1, FULL(KEY));
}

static void a_full_table_hurts_nobody_else(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    uint32_t host;
    char guid[32], key[16];
    begin();
    snprintf(guid, sizeof guid, "0x%llx",
             (unsigned long long)lab_host_port_guid(scene(), SCENE_EXTRA));
    MUST(lab_host_create(scene(), "X1", "mlx4_0", "mlx4", guid, 63, 7, &host, &err));
    for (unsigned i = 0; i < 63; i++) { /* one more than fit beside the default partition's */
        snprintf(key, sizeof key, "%u", 400 + i);
        scene_vm(scene_network("many", key, NULL), host);
    }
    await_said("port-full");
    scene_vm(network, 1);
    await_holds(1, FULL(KEY));
    assert_true(port_holds(0, FULL(KEY)));
    await_holds(SCENE_EXTRA, FULL(400)); /* once its node is heard */
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_file(const char *text)
{
    struct oneib_error err = {0};
    MUST(lab_write(scene(), "partitions.conf", 0644, text, &err));
}

static void await_file(const char *wanted)
{
    for (unsigned waited = 0;; waited += 50) {
        oneib_autofree char *now =
            access(lab_path(scene(), "partitions.conf"), R_OK) == 0 ? scene_file() : NULL;
        if (now && strcmp(now, wanted) == 0)
            return;
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("the partitions file is not put back; it is: %s", now ? now : "absent");
        lab_sleep_ms(50);
    }
}

static void a_partitions_file_that_was_removed_is_written_again(void **state)
{
    (void)state;
    begin();
    await_health(200, NULL);
    oneib_autofree char *before = scene_file();
    assert_int_equal(unlink(lab_partitions(scene())), 0);
    await_file(before);
    stays_holding(0, FULL(KEY), DAEMON_DOUBT_MS);
}

static void a_partitions_file_that_does_not_parse_any_more_is_put_back(void **state)
{
    (void)state;
    begin();
    await_health(200, NULL);
    oneib_autofree char *before = scene_file();
    oneib_autofree char *cut = strdup(before);
    char *end = strrchr(cut, '=');
    assert_non_null(end);
    *end = '\0';
    write_file(cut);
    await_file(before);
    stays_holding(0, FULL(KEY), DAEMON_DOUBT_MS);
}

/* In a scene of its own: opensm, which was just told of another file, would read this one. */
static void an_empty_partitions_file_is_put_back(void **state)
{
    (void)state;
    begin();
    await_health(200, NULL);
    oneib_autofree char *before = scene_file();
    write_file("");
    await_file(before);
    stays_holding(0, FULL(KEY), DAEMON_DOUBT_MS);
}

static void an_edited_partitions_file_is_put_back(void **state)
{
    (void)state;
    begin();
    await_health(200, NULL);
    oneib_autofree char *before = scene_file();
    oneib_autotext struct oneib_text edited = {0};
    oneib_text_printf(&edited, "%s# by hand\nmine=0x0777 : 0x100005=full;\n", before);
    write_file(edited.data);
    await_file(before);
    assert_false(port_holds(1, FULL(0x777)));
}

static void somebody_elses_partitions_file_is_left_alone_and_named(void **state)
{
    (void)state;
    static const char foreign[] = "Default=0x7fff : ALL=limited, SELF=full;\n"
                                  "mine=0x0777 : 0x100003=full;\n";
    begin();
    await_health(200, NULL);
    daemon_forget_log();
    write_file(foreign);
    await_said("was not written by oneib");
    scene_vm(network, 1);
    stays_lacking(1, FULL(KEY), DAEMON_DOUBT_MS);
    oneib_autofree char *now = scene_file();
    assert_string_equal(now, foreign);
    await_health(503, "was not written by oneib");
    ONEIB(0, "sync", "--force");
    await_holds(1, FULL(KEY));
    await_health(200, NULL);
}

static void write_static_partitions(const char *text)
{
    struct oneib_error err = {0};
    MUST(lab_write(scene(), "static-partitions.conf", 0644, text, &err));
}

static void a_static_partition_is_in_force_soon_after_it_was_edited(void **state)
{
    (void)state;
    begin();
    write_static_partitions("storage=0x0010 : 0x100009=full;\n");
    await_holds(3, FULL(0x10));
    write_static_partitions("storage=0x0010 : 0x100007=full;\n");
    await_holds(2, FULL(0x10));
    await_lacks(3, FULL(0x10));
    assert_int_equal(unlink(lab_path(scene(), "static-partitions.conf")), 0);
    await_lacks(2, FULL(0x10));
    assert_true(port_holds(0, FULL(KEY)));
}

static void broken_static_partitions_change_nothing_until_they_are_mended(void **state)
{
    (void)state;
    begin();
    write_static_partitions("storage=0x0010 : 0x100009=full;\n");
    await_holds(3, FULL(0x10));
    daemon_forget_log();
    write_static_partitions("storage=0x0010 : 0x100009=ful;\n");
    await_said("static-partitions.conf");
    scene_vm(network, 1);
    stays_holding(3, FULL(0x10), DAEMON_DOUBT_MS);
    assert_false(port_holds(1, FULL(KEY)));
    await_health(503, "static-partitions.conf");
    write_static_partitions("storage=0x0010 : 0x100007=full;\n");
    await_holds(1, FULL(KEY));
    await_holds(2, FULL(0x10));
    await_health(200, NULL);
}

static void limit_files_of_oneibd(rlim_t bytes)
{
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
    assert_int_equal(prlimit(daemon_pid(), RLIMIT_FSIZE, &limit, NULL), 0);
}

/* A file that may not grow stands for a disk that is full: the write fails half-way. */
static void a_full_disk_leaves_the_old_file_and_is_got_over(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text static_partitions = {0};
    for (unsigned i = 0; i < STATIC_PARTITIONS; i++)
        oneib_text_printf(&static_partitions, "storage%u=0x%04x : 0x100009=full;\n", i, 0x1000 + i);
    signal(SIGXFSZ, SIG_IGN); /* programs that are started inherit that */
    daemon_start();
    begin();
    limit_files_of_oneibd(FULL_DISK);
    oneib_autofree char *before = scene_file();
    write_static_partitions(static_partitions.data);
    await_said("cannot write the new");
    oneib_autofree char *after = scene_file();
    assert_string_equal(after, before);
    assert_true(port_holds(0, FULL(KEY)));
    write_static_partitions("storage=0x0010 : 0x100009=full;\n");
    limit_files_of_oneibd(RLIM_INFINITY);
    await_holds(3, FULL(0x10));
    signal(SIGXFSZ, SIG_DFL);
}

#define WATCHING(test) DAEMON_CASE(daemon_raise_watching, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WATCHING(what_changed_while_opensm_was_killed_is_in_force_when_it_is_back),
        WATCHING(so_it_is_when_opensm_was_ended_and_has_lost_its_cached_files),
        WATCHING(opensm_that_was_stopped_for_a_while_catches_up),
        DAEMON_CASE(daemon_raise, oneibd_that_starts_without_opensm_waits_for_it),
        WATCHING(another_program_under_opensms_pid_is_not_signalled),
        WATCHING(a_port_that_was_away_comes_back_without_the_key_of_its_ended_vm),
        DAEMON_CASE(raise_two_leaves, tables_are_right_after_a_switch_was_away),
        DAEMON_CASE(raise_two_leaves, a_host_whose_cable_was_moved_unseen_has_another_switch),
        DAEMON_CASE(daemon_raise, a_slow_port_is_named_and_changes_no_partitions_rate),
        DAEMON_CASE(
            daemon_raise,
            a_cluster_whose_multicast_group_is_anothers_is_named_until_opensm_makes_its_own),
        DAEMON_CASE(daemon_raise, a_port_that_never_tells_its_table_holds_up_nobody),
        WATCHING(a_network_gets_the_key_that_it_waits_for_soon_after_a_silent_port_answers),
        WATCHING(a_full_table_hurts_nobody_else),
        WATCHING(a_partitions_file_that_was_removed_is_written_again),
        WATCHING(a_partitions_file_that_does_not_parse_any_more_is_put_back),
        WATCHING(an_empty_partitions_file_is_put_back),
        WATCHING(an_edited_partitions_file_is_put_back),
        WATCHING(somebody_elses_partitions_file_is_left_alone_and_named),
        WATCHING(a_static_partition_is_in_force_soon_after_it_was_edited),
        WATCHING(broken_static_partitions_change_nothing_until_they_are_mended),
        DAEMON_CASE(daemon_raise, a_full_disk_leaves_the_old_file_and_is_got_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
