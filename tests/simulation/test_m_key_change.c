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
    char *tables; /* every port's P_Keys, as they are to stay */
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
    lab_close(site.lab);
    return 0;
}

/* ---- programs ------------------------------------------------------------------------------- */

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
    oneib_at(LAB_SM_HCA, lab_config_path(site.lab, &err), status, verb, option);
}

static void write_file(const char *name, const char *text)
{
    ok(lab_write(site.lab, name, 0600, text, &err));
}

/* Every port's P_Keys, read with that key alone: each port must have this M_Key, or none. */
static char *tables_by(const char *key)
{
    write_file("probe_key", key);
    return run_on(
        LAB_SM_HCA, 0,
        (const char *[]){FABRIC_TABLES_BINARY, lab_path(site.lab, "probe_key", &err), NULL});
}

/* Nobody gets an answer without the key, nor with another one. */
static void assert_every_port_has(const char *key)
{
    oneib_autofree char *tables = tables_by(key);
    assert_string_equal(tables, site.tables);
    write_file("probe_key", "0x5ec2e700000000ff");
    free(run_on(
        LAB_SM_HCA, 1,
        (const char *[]){FABRIC_TABLES_BINARY, lab_path(site.lab, "probe_key", &err), NULL}));
}

/* ---- the site ------------------------------------------------------------------------------- */

static void configure(void)
{
    char other[320];
    snprintf(other, sizeof other,
             "default_partition: { full_members = [\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]; };\n"
             "fabric: { m_key_file = \"%s\"; timeout = 200; };",
             LAB_SM_PORT_GUID, lab_host_port_guid(site.lab, lab_host_count(site.lab)),
             lab_path(site.lab, "m_key", &err));
    const struct lab_config more = {.daemon = "poll_idle = 1000; verify = 1000;", .other = other};
    write_file("m_key", OLD_KEY "\n");
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

/* A cluster on two hosts, in force; all ports have the old key. */
static void open_site(const char *settings)
{
    uint32_t vm;
    ok(lab_standin_start(site.lab, NULL, &err));
    ok(lab_add_hosts(site.lab, 7, &err));
    configure();
    start_managers(settings);
    ok(lab_network_create(site.lab, "blue", "", NULL, &site.network, &err));
    ok(lab_vm_start(site.lab, "first", &site.network, 1, 0, &vm, &err));
    ok(lab_vm_start(site.lab, "second", &site.network, 1, 3, &vm, &err));
    ok(lab_give_keys(site.lab, &err));
    oneib(0, "sync", "--force");
    oneib_at(LAB_SECOND_SM_HCA, site.instance.config, 0, "sync", "--force");
    site.tables = tables_by(OLD_KEY);
    assert_every_port_has(OLD_KEY);
}

static void start_daemons(void)
{
    site.daemon = (struct lab_daemon){
        .name = STANDBY_DAEMON, .hca = LAB_SECOND_SM_HCA, .config = site.instance.config};
    ok(lab_oneibd_start(site.lab, &LAB_DAEMON, &err));
    ok(lab_oneibd_start(site.lab, &site.daemon, &err));
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void oneib_works_where_ports_answer_nobody_without_the_key(void **state)
{
    (void)state;
    open_site("m_key " OLD_KEY "\n" SECRETS);
    oneib(0, "verify", NULL);
    oneib_autofree char *drawn =
        run_on(LAB_SM_HCA, 0,
               (const char *[]){ONEIB_BINARY, "topology", "--config",
                                lab_config_path(site.lab, &err), "--format", "text", NULL});
    static const char *const nodes[] = {"SM", "H1", "H2", "H3", "H4", "X1", "L1", "L2", "S1"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (!strstr(drawn, nodes[i]))
            fail_msg("%s is not drawn: %s", nodes[i], drawn);
    write_file("m_key", NEW_KEY "\n"); /* which is not theirs */
    oneib(3, "verify", NULL);
}

static void opensms_own_list_of_keys_does_as_well(void **state)
{
    (void)state;
    open_site("m_key " OLD_KEY "\n" SECRETS);
    oneib_autofree char *list = run_on(
        NULL, 0, (const char *[]){"cat", lab_path(site.lab, "opensm/guid2mkey", &err), NULL});
    assert_non_null(strstr(list, OLD_KEY));
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
    assert_int_equal(unlink(lab_path(site.lab, file, &err)), 0);
}

/* With that key alone, and has the P_Keys that it is to have. */
static bool every_port_answers(const char *key)
{
    struct lab_output output = {0};
    write_file("probe_key", key);
    const char *argv[] = {FABRIC_TABLES_BINARY, lab_path(site.lab, "probe_key", &err), NULL};
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

/* The steps of docs/operator-keys.md. */
static void change_key_of_both_managers(void)
{
    write_file("m_key", NEW_KEY "\n" OLD_KEY "\n");
    ok(lab_opensm_stop(site.lab, STANDBY, true, &err));
    change_setting(LAB_SM.name, "m_key " NEW_KEY);
    ok(lab_opensm_signal(site.lab, LAB_SM.name, SIGHUP, &err));
    for (unsigned waited = 0; !every_port_answers(NEW_KEY); waited += 100) {
        oneib(0, "verify", NULL);
        if (waited > CHANGE_MS)
            fail_msg("not every port has the new key");
        lab_sleep_ms(100);
    }
    forget_keys(STANDBY);
    site.standby.options = "m_key " NEW_KEY "\n" SECRETS;
    ok(lab_opensm_start(site.lab, &site.standby, &err));
    write_file("m_key", NEW_KEY "\n");
}

static void a_change_of_the_key_loses_no_port_and_no_partition(void **state)
{
    (void)state;
    open_site("m_key " OLD_KEY "\n" SECRETS);
    start_daemons();
    change_key_of_both_managers();
    assert_every_port_has(NEW_KEY);
    oneib(0, "verify", NULL);
    oneib_at(LAB_SECOND_SM_HCA, site.instance.config, 0, "verify", NULL);
    ok(lab_opensm_stop(site.lab, LAB_SM.name, false, &err));
    ok(lab_oneibd_stop(site.lab, LAB_DAEMON.name, SIGKILL, &err));
    ok(lab_opensm_await_master(site.lab, STANDBY, CHANGE_MS, &err));
    assert_every_port_has(NEW_KEY);
    oneib_at(LAB_SECOND_SM_HCA, site.instance.config, 0, "verify", NULL);
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

#define on_fabric(test) cmocka_unit_test_setup_teardown(test, open_fabric, close_fabric)

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        on_fabric(oneib_works_where_ports_answer_nobody_without_the_key),
        on_fabric(opensms_own_list_of_keys_does_as_well),
        on_fabric(a_change_of_the_key_loses_no_port_and_no_partition),
        on_fabric(a_standby_that_remembers_the_old_key_cannot_take_over),
        on_fabric(a_lost_key_is_found_again_when_the_lease_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
