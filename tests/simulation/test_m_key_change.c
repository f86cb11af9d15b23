// SPDX-License-Identifier: Apache-2.0
/*
 * Clusters on a fabric whose ports answer nobody without their M_Key (protection level 3): two
 * opensm with an oneibd each, the key changed under them, lost, and found again. The ports keep
 * their keys in a stand-in before ibsim (m-key-standin).
 */
#include "base/cleanup.h"
#include "lab.h"
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

#define CHANGE_MS 20000u
#define PROGRAM_MS 60000u

#define STANDBY "standby"
#define STANDBY_DAEMON "oneibd-standby"

/* Keys of the tests: not random, so that a failure says which one it was. */
#define OLD_KEY "0x5ec2e70000000001"
#define NEW_KEY "0x5ec2e70000000002"
#define SECRETS "sa_key 0x5ec2e7000000000a\nsm_key 0x5ec2e7000000000b\nm_key_protection_level 3\n"

static struct oneib_error err;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

struct site {
    struct lab *lab;
    struct lab_sm master, standby;
    struct lab_instance instance; /* the standby's oneib */
    struct lab_daemon daemon;     /* its oneibd */
    uint32_t network;
    char *tables;   /* every port's P_Keys, as they are to stay */
    char *settings; /* the standby's, when they are not a test's own text */
};

static struct site site;

static int open_fabric(void **state)
{
    const struct lab_options options = {
        .leaves = 2, .hosts_per_leaf = 2, .spines = 1, .extra_hosts = 1, .m_keys = true};
    (void)state;
    site = (struct site){.lab = lab_open(&options, &err)};
    if (site.lab && lab_fabric_start(site.lab, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int close_fabric(void **state)
{
    (void)state;
    free(site.tables);
    free(site.settings);
    lab_close(site.lab);
    return 0;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* What a program prints; it must end with the status. To be freed. */
static char *run_on(const char *hca, int status, const char *const *argv)
{
    struct lab_output output = {0};
    ok(lab_run(site.lab, hca, argv, PROGRAM_MS, &output, &err));
    if (output.timed_out || output.status != status)
        fail_msg("%s %s on %s ended with %d, not %d: %s%s", argv[0], argv[1], hca, output.status,
                 status, output.out, output.error);
    char *out = oneib_steal(&output.out);
    lab_output_clear(&output);
    return out;
}

static void oneib_at(const char *hca, const char *config, int status, const char *verb,
                     const char *option)
{
    free(run_on(hca, status,
                (const char *[]){ONEIB_BINARY, verb, "--config", config, option, NULL}));
}

static void oneib(int status, const char *verb, const char *option)
{
    oneib_at(LAB_SM_HCA, lab_config_path(site.lab), status, verb, option);
}

static void write_file(const char *name, const char *text)
{
    ok(lab_write(site.lab, name, 0600, text, &err));
}

/* Every port's P_Keys, read with that key alone: each port must have this M_Key, or none. */
static char *tables_by(const char *key)
{
    write_file("probe_key", key);
    return run_on(LAB_SM_HCA, 0,
                  (const char *[]){FABRIC_TABLES_BINARY, lab_path(site.lab, "probe_key"), NULL});
}

/* Nobody gets an answer without the key, nor with another one. */
static void assert_every_port_has(const char *key)
{
    oneib_autofree char *tables = tables_by(key);
    assert_string_equal(tables, site.tables);
    write_file("probe_key", "0x5ec2e700000000ff");
    free(run_on(LAB_SM_HCA, 1,
                (const char *[]){FABRIC_TABLES_BINARY, lab_path(site.lab, "probe_key"), NULL}));
}

/* ---- the site -------------------------------------------------------------------------------- */

/* key_file: of the lab's directory; NULL: none. */
static void configure(const char *key_file)
{
    char other[400], keys[200] = "";
    if (key_file)
        snprintf(keys, sizeof keys, "m_key_file = \"%s\";", lab_path(site.lab, key_file));
    snprintf(other, sizeof other,
             "default_partition: { full_members = [\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]; };\n"
             "fabric: { %s timeout = 200; };",
             LAB_SM_PORT_GUID, lab_host_port_guid(site.lab, lab_host_count(site.lab)), keys);
    const struct lab_config more = {.daemon = "poll_idle = 1000; verify = 1000;", .other = other};
    ok(lab_config_write(site.lab, &more, &err));
    ok(lab_config_write_named(site.lab, STANDBY, STANDBY, &more, &site.instance, &err));
}

static void start_managers(const char *settings)
{
    site.master = LAB_SM;
    site.master.options = settings;
    site.standby = (struct lab_sm){.name = STANDBY,
                                   .hca = LAB_SECOND_SM_HCA,
                                   .priority = 3,
                                   .partitions = site.instance.partitions,
                                   .options = settings};
    ok(lab_opensm_start(site.lab, &site.master, &err));
    ok(lab_opensm_start(site.lab, &site.standby, &err));
}

/* A cluster on two hosts, in force. */
static void open_cluster(const char *key_file, const char *settings)
{
    uint32_t vm;
    ok(lab_standin_start(site.lab, NULL, &err));
    ok(lab_add_hosts(site.lab, 0, &err)); /* no oneibd runs here */
    configure(key_file);
    start_managers(settings);
    ok(lab_network_create(site.lab, "blue", "", NULL, &site.network, &err));
    ok(lab_vm_start(site.lab, "first", &site.network, 1, 0, &vm, &err));
    ok(lab_vm_start(site.lab, "second", &site.network, 1, 3, &vm, &err));
    ok(lab_give_keys(site.lab, &err));
    oneib(0, "sync", "--force");
    oneib_at(LAB_SECOND_SM_HCA, site.instance.config, 0, "sync", "--force");
    site.tables = tables_by(OLD_KEY);
}

/* The same; all ports have the old key. */
static void open_site(const char *settings)
{
    write_file("m_key", OLD_KEY "\n");
    open_cluster("m_key", settings);
    assert_every_port_has(OLD_KEY);
}

static void start_daemons(void)
{
    site.daemon = (struct lab_daemon){
        .name = STANDBY_DAEMON, .hca = LAB_SECOND_SM_HCA, .config = site.instance.config};
    ok(lab_oneibd_start(site.lab, &LAB_DAEMON, &err));
    ok(lab_oneibd_start(site.lab, &site.daemon, &err));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void assert_all_is_drawn(void)
{
    static const char *const nodes[] = {"SM", "H1", "H2", "H3", "H4", "X1", "L1", "L2", "S1"};
    oneib_autofree char *drawn =
        run_on(LAB_SM_HCA, 0,
               (const char *[]){ONEIB_BINARY, "topology", "--config", lab_config_path(site.lab),
                                "--format", "text", NULL});
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (!strstr(drawn, nodes[i]))
            fail_msg("%s is not drawn: %s", nodes[i], drawn);
}

static void oneib_works_where_ports_answer_nobody_without_the_key(void **state)
{
    (void)state;
    open_site("m_key " OLD_KEY "\n" SECRETS);
    oneib(0, "verify", NULL);
    assert_all_is_drawn();
    /* In the middle of a change: who does not answer to the first key is asked with the next. */
    write_file("m_key", NEW_KEY "\n" OLD_KEY "\n");
    oneib(0, "verify", NULL);
    assert_all_is_drawn();
    write_file("m_key", NEW_KEY "\n"); /* which is not theirs */
    oneib(3, "verify", NULL);
}

static void a_host_is_fenced_where_switches_answer_nobody_without_the_key(void **state)
{
    (void)state;
    open_site("m_key " OLD_KEY "\n" SECRETS);
    start_daemons();
    const char *config = lab_config_path(site.lab);
    oneib_autofree char *said = run_on(
        LAB_SM_HCA, 0, (const char *[]){ONEIB_BINARY, "fence", "--config", config, "H1", NULL});
    if (!strstr(said, ": down\n")) /* read back from the switch */
        fail_msg("%s", said);
    free(run_on(
        LAB_SM_HCA, 0,
        (const char *[]){ONEIB_BINARY, "unfence", "--config", config, "--force", "H1", NULL}));
}

static void opensms_own_list_of_keys_does_as_well(void **state)
{
    (void)state;
    open_site("m_key " OLD_KEY "\n" SECRETS);
    oneib_autofree char *list =
        run_on(NULL, 0, (const char *[]){"cat", lab_path(site.lab, "opensm/guid2mkey"), NULL});
    assert_non_null(strstr(list, OLD_KEY));
    /* What the page warns of: opensm prints its keys, and sends the same line to the system's log.
     */
    free(run_on(
        NULL, 0,
        (const char *[]){"grep", "Loading Cached Option:m_key = " OLD_KEY, "opensm.out", NULL}));
    write_file("m_key", list);
    oneib(0, "verify", NULL);
}

/* A later line of opensm.conf replaces an earlier one. */
static void change_setting(const char *sm, const char *line)
{
    char command[256];
    snprintf(command, sizeof command, "echo '%s' >>%s/opensm.conf", line, sm);
    free(run_on(NULL, 0, (const char *[]){"sh", "-c", command, NULL}));
}

static void forget_keys(const char *sm)
{
    char file[64];
    snprintf(file, sizeof file, "%s/guid2mkey", sm);
    assert_int_equal(unlink(lab_path(site.lab, file)), 0);
}

/* With that key alone, and has the P_Keys that it is to have. */
static bool every_port_answers(const char *key)
{
    struct lab_output output = {0};
    write_file("probe_key", key);
    const char *argv[] = {FABRIC_TABLES_BINARY, lab_path(site.lab, "probe_key"), NULL};
    ok(lab_run(site.lab, LAB_SM_HCA, argv, PROGRAM_MS, &output, &err));
    const bool all = output.status == 0 && strcmp(output.out, site.tables) == 0;
    lab_output_clear(&output);
    return all;
}

static void await_every_port(const char *key)
{
    for (unsigned waited = 0; !every_port_answers(key); waited += 100) {
        if (waited > CHANGE_MS)
            fail_msg("not every port has the new key");
        lab_sleep_ms(100);
    }
}

static void must_not_have_said(const char *daemon, const char *words)
{
    char log[64];
    snprintf(log, sizeof log, "%s.log", daemon);
    free(run_on(NULL, 1, (const char *[]){"grep", words, log, NULL}));
}

/* ---- the steps that `oneib keys` prints ------------------------------------------------------ */

/* In the directory that `oneib keys` made; to be freed. */
static char *fresh(const char *directory, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return run_on(NULL, 0, (const char *[]){"cat", path, NULL});
}

static char *make_keys(const char *directory)
{
    return run_on(LAB_SM_HCA, 0,
                  (const char *[]){ONEIB_BINARY, "keys", directory, "--config",
                                   lab_config_path(site.lab), NULL});
}

static void install_key(const char *directory, const char *name)
{
    oneib_autofree char *key = fresh(directory, name);
    write_file("m_key", key);
}

/* A later line of opensm.conf replaces an earlier one. */
static void put_lines(const char *directory)
{
    char command[128];
    snprintf(command, sizeof command, "cat %s/opensm.conf.keys >>%s/opensm.conf", directory,
             LAB_SM.name);
    free(run_on(NULL, 0, (const char *[]){"sh", "-c", command, NULL}));
}

/* `oneib check`, which may find something wrong with oned, says this of the ports. */
static bool check_says(const char *hca, const char *config, const char *words)
{
    struct lab_output output = {0};
    const char *argv[] = {ONEIB_BINARY, "check", "--config", config, NULL};
    ok(lab_run(site.lab, hca, argv, PROGRAM_MS, &output, &err));
    const bool said = strstr(output.out, words);
    lab_output_clear(&output);
    return said;
}

/* Steps 4 to 6 of a first setting, 3 to 5 of a change. */
static void change_opensms(const char *directory)
{
    ok(lab_opensm_stop(site.lab, STANDBY, true, &err));
    put_lines(directory);
    ok(lab_opensm_signal(site.lab, LAB_SM.name, SIGHUP, &err));
    for (unsigned waited = 0; !check_says(LAB_SM_HCA, lab_config_path(site.lab),
                                          "m-key-ports: all 9 have the first M_Key");
         waited += 100) {
        oneib(0, "verify", NULL);
        if (waited > CHANGE_MS)
            fail_msg("not every port has the new key");
        lab_sleep_ms(100);
    }
    if (access(lab_path(site.lab, STANDBY "/guid2mkey"), F_OK) == 0)
        forget_keys(STANDBY);
    free(site.settings);
    site.settings = fresh(directory, "opensm.conf.keys");
    site.standby.options = site.settings;
    ok(lab_opensm_start(site.lab, &site.standby, &err));
}

static void assert_both_find_nothing(const char *directory)
{
    oneib_autofree char *key = fresh(directory, "m_key");
    assert_every_port_has(key);
    oneib(0, "verify", NULL);
    oneib_at(LAB_SECOND_SM_HCA, site.instance.config, 0, "verify", NULL);
    static const char good[] = "m-key: set, at protection level 2, lease 600 s";
    assert_true(check_says(LAB_SM_HCA, lab_config_path(site.lab), good));
    assert_true(check_says(LAB_SECOND_SM_HCA, site.instance.config, good));
}

static void the_master_dies(const char *directory)
{
    oneib_autofree char *key = fresh(directory, "m_key");
    ok(lab_opensm_stop(site.lab, LAB_SM.name, false, &err));
    ok(lab_oneibd_stop(site.lab, LAB_DAEMON.name, SIGKILL, &err));
    ok(lab_opensm_await_master(site.lab, STANDBY, CHANGE_MS, &err));
    assert_every_port_has(key);
    oneib_at(LAB_SECOND_SM_HCA, site.instance.config, 0, "verify", NULL);
}

static void keys_are_set_and_changed_by_the_steps_and_no_port_and_no_partition_is_lost(void **state)
{
    (void)state;
    open_cluster(NULL, "");
    oneib_autofree char *first = make_keys("first");
    assert_non_null(strstr(first, "set them for the first time"));
    configure("first/m_key");
    change_opensms("first");
    assert_both_find_nothing("first");

    configure("m_key");
    install_key("first", "m_key");
    start_daemons();
    oneib_autofree char *second = make_keys("second");
    assert_non_null(strstr(second, "To change to them"));
    install_key("second", "m_key.both");
    oneib(0, "verify", NULL);
    change_opensms("second");
    install_key("second", "m_key");
    assert_both_find_nothing("second");
    the_master_dies("second");
    must_not_have_said(LAB_DAEMON.name, "port-silent");
    must_not_have_said(STANDBY_DAEMON, "port-silent");
}

/* What the page warns of: the standby's list is from before the change, and opensm reads it at its
 * start. */
static void a_standby_that_remembers_the_old_key_cannot_take_over(void **state)
{
    (void)state;
    open_site("m_key " OLD_KEY "\n" SECRETS);
    ok(lab_opensm_stop(site.lab, STANDBY, true, &err));
    /* As it would have it from a time when it was the master. */
    free(run_on(NULL, 0, (const char *[]){"cp", "opensm/guid2mkey", STANDBY, NULL}));
    change_setting(LAB_SM.name, "m_key " NEW_KEY);
    ok(lab_opensm_signal(site.lab, LAB_SM.name, SIGHUP, &err));
    await_every_port(NEW_KEY);
    ok(lab_opensm_stop(site.lab, LAB_SM.name, false, &err));
    site.standby.options = "m_key " NEW_KEY "\n" SECRETS;
    const bool takes_over = lab_opensm_start(site.lab, &site.standby, &err) == 0 &&
                            lab_opensm_await_master(site.lab, STANDBY, 5000, &err) == 0;
    assert_false(takes_over);
}

static void a_lost_key_is_found_again_when_the_lease_is_over(void **state)
{
    (void)state;
    static const char lease[] = "m_key_lease_period 3\nsweep_interval 1\n" SECRETS;
    char settings[256];
    snprintf(settings, sizeof settings, "m_key " OLD_KEY "\n%s", lease);
    open_site(settings);
    ok(lab_opensm_stop(site.lab, STANDBY, true, &err));
    ok(lab_opensm_stop(site.lab, LAB_SM.name, false, &err));
    forget_keys(LAB_SM.name);
    snprintf(settings, sizeof settings, "m_key " NEW_KEY "\n%s", lease);
    site.master.options = settings;
    ok(lab_opensm_start(site.lab, &site.master, &err));
    await_every_port(NEW_KEY);
    assert_every_port_has(NEW_KEY);
}

/* ---- what `oneib check` finds ---------------------------------------------------------------- */

#define GOOD "m_key " OLD_KEY "\nm_key_lease_period 600\n" SECRETS

static void must_be_told(const char *hca, const char *config, const char *words)
{
    if (!check_says(hca, config, words))
        fail_msg("oneib check does not say \"%s\"", words);
}

static void must_be_told_of(const char *opensm_conf, const char *words)
{
    write_file("opensm/opensm.conf", opensm_conf);
    must_be_told(LAB_SM_HCA, lab_config_path(site.lab), words);
}

static void set_mode(const char *file, mode_t mode)
{
    assert_int_equal(chmod(lab_path(site.lab, file), mode), 0);
}

static void check_tells_of_each_trap_in_opensms_configuration(void **state)
{
    (void)state;
    open_site(GOOD);
    must_be_told_of(GOOD,
                    "ok    m-key: set, at protection level 3, lease 600 s; sa_key and sm_key");
    must_be_told_of(GOOD, "ok    m-key-ports: all 9");
    must_be_told_of(SECRETS, "warn  m-key: opensm gives ports no M_Key");
    must_be_told_of(GOOD "m_key_protection_level 0\n", "warn  m-key: at m_key_protection_level 0");
    must_be_told_of(GOOD "sa_key 1\n", "warn  sa-key: sa_key is opensm's default");
    must_be_told_of(GOOD "sm_key 1\n", "warn  sm-key: sm_key is opensm's default");
    must_be_told_of(GOOD "m_key_lease_period 0\n", "warn  m-key-lease: m_key_lease_period is 0");
    must_be_told_of(GOOD "sweep_interval 600\n", "not longer than sweep_interval");
    must_be_told_of(GOOD "m_key_per_port FALSE\n", "(m_key_per_port)");
    must_be_told_of(GOOD "ipoib_mcgroup_creation_validation FALSE\n",
                    "warn  opensm-config: ipoib_mcgroup_creation_validation is not TRUE");
    must_be_told_of(GOOD "part_enforce off\n",
                    "warn  opensm-config: with this part_enforce switches");
    configure(NULL);
    must_be_told_of(GOOD, "fail  m-key-file: at m_key_protection_level 3 no port answers oneib");
}

/* Only root can give a file away. */
static void check_tells_of_other_owners(const char *config)
{
    const char *path = lab_path(site.lab, "m_key");
    if (geteuid() != 0)
        return;
    assert_false(check_says(LAB_SM_HCA, config, "can read the M_Keys"));
    assert_int_equal(chown(path, 0, 4242), 0);
    must_be_told(LAB_SM_HCA, config, "warn  m-key-file: its group can read");
    assert_int_equal(chown(path, 4242, 0), 0);
    must_be_told(LAB_SM_HCA, config, "warn  m-key-file: another user (uid 4242) owns");
    assert_int_equal(chown(path, 0, 0), 0);
}

static void check_tells_of_keys_that_everybody_can_read(void **state)
{
    (void)state;
    const char *config = lab_config_path(site.lab);
    open_site(GOOD);
    assert_false(check_says(LAB_SM_HCA, config, "everybody on this machine"));
    set_mode("opensm/opensm.conf", 0644);
    must_be_told(LAB_SM_HCA, config, "everybody on this machine can read the keys in");
    set_mode("opensm/opensm.conf", 0600);
    set_mode("opensm", 0755);
    must_be_told(LAB_SM_HCA, config, "warn  guid2mkey: everybody on this machine can read");
    set_mode("opensm", 0700);
    set_mode("m_key", 0644);
    must_be_told(LAB_SM_HCA, config, "warn  m-key-file: everybody on this machine can read");
    set_mode("m_key", 0640);
    check_tells_of_other_owners(config);
    set_mode("m_key", 0600);
    set_mode("opensm", 0770);
    must_be_told(LAB_SM_HCA, config, "warn  guid2mkey: others than root can put another file");
    set_mode("opensm", 0700);
}

static void check_tells_of_an_opensm_without_a_configuration(void **state)
{
    (void)state;
    open_site(GOOD);
    assert_int_equal(unlink(lab_path(site.lab, "opensm/opensm.conf")), 0);
    must_be_told(LAB_SM_HCA, lab_config_path(site.lab),
                 "warn  opensm-config: opensm has no configuration");
}

/* It has been the master before the change. */
static void check_tells_of_a_standby_that_remembers_the_old_key(void **state)
{
    (void)state;
    open_site(GOOD);
    free(run_on(NULL, 0, (const char *[]){"cp", "opensm/guid2mkey", STANDBY, NULL}));
    assert_false(check_says(LAB_SECOND_SM_HCA, site.instance.config, "remembers"));
    change_setting(STANDBY, "m_key " NEW_KEY);
    must_be_told(LAB_SECOND_SM_HCA, site.instance.config,
                 "fail  guid2mkey: this opensm, which is not the master, remembers other M_Keys");
}

#define on_fabric(test) cmocka_unit_test_setup_teardown(test, open_fabric, close_fabric)

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        on_fabric(oneib_works_where_ports_answer_nobody_without_the_key),
        on_fabric(a_host_is_fenced_where_switches_answer_nobody_without_the_key),
        on_fabric(opensms_own_list_of_keys_does_as_well),
        on_fabric(keys_are_set_and_changed_by_the_steps_and_no_port_and_no_partition_is_lost),
        on_fabric(a_standby_that_remembers_the_old_key_cannot_take_over),
        on_fabric(a_lost_key_is_found_again_when_the_lease_is_over),
        on_fabric(check_tells_of_each_trap_in_opensms_configuration),
        on_fabric(check_tells_of_keys_that_everybody_can_read),
        on_fabric(check_tells_of_an_opensm_without_a_configuration),
        on_fabric(check_tells_of_a_standby_that_remembers_the_old_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
