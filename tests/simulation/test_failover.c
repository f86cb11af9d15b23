// SPDX-License-Identifier: Apache-2.0
/*
 * High availability: two opensm on two hosts of one fabric, each with a partitions file of its own,
 * and with an oneibd each that writes it. When the master dies the fabric must hold what the
 * standby's file says, and follow it.
 */
#include "base/cleanup.h"
#include "failover_scene.h"
#include "lab_internal.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_MS 60000u
/* ibsim has 10 places. */
#define KILLS 25

static struct oneib_error err;

static void write_partitions(struct lab *lab, const char *file, unsigned pkey)
{
    char text[512];
    snprintf(text, sizeof text,
             "Default=0x7fff, defmember=limited : ALL=limited, SELF=full, 0x%" PRIx64
             "=full, 0x%" PRIx64 "=full;\none1=0x%x : 0x%" PRIx64 "=full;\n",
             LAB_SM_PORT_GUID, standby_port_guid(lab), pkey, lab_host_port_guid(lab, 0));
    ok(lab_write(lab, file, 0644, text, &err));
}

static struct lab_sm start_two_sms(struct lab *lab)
{
    write_partitions(lab, "partitions.conf", 0x8005);
    write_partitions(lab, "standby.partitions.conf", 0x8006);
    const struct lab_sm standby = standby_sm(lab_path(lab, "standby.partitions.conf"));
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_opensm_start(lab, &standby, &err));
    assert_false(lab_opensm_is_master(lab, STANDBY));
    assert_true(comes_to_have(lab, 0, 0x8005, true));
    return standby;
}

static void the_standby_takes_over_when_the_master_has(struct lab *lab, bool ended_gently)
{
    start_two_sms(lab);
    ok(lab_opensm_stop(lab, LAB_SM.name, ended_gently, &err));
    ok(lab_opensm_await_master(lab, STANDBY, CHANGE_MS, &err));
    assert_true(comes_to_have(lab, 0, 0x8006, true));
    assert_false(has_pkey(lab, 0, 0x8005));
}

static void the_standby_puts_its_own_file_into_force_when_the_master_is_killed(void **state)
{
    the_standby_takes_over_when_the_master_has(*state, false);
}

static void the_standby_puts_its_own_file_into_force_when_the_master_ends(void **state)
{
    the_standby_takes_over_when_the_master_has(*state, true);
}

static void a_master_of_higher_priority_takes_back_when_it_returns(void **state)
{
    struct lab *lab = *state;
    start_two_sms(lab);
    ok(lab_opensm_stop(lab, LAB_SM.name, false, &err));
    ok(lab_opensm_await_master(lab, STANDBY, CHANGE_MS, &err));
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_opensm_await_master(lab, LAB_SM.name, CHANGE_MS, &err));
    assert_true(comes_to_have(lab, 0, 0x8005, true));
    assert_false(has_pkey(lab, 0, 0x8006));
    assert_false(lab_opensm_is_master(lab, STANDBY));
}

/* The standby's question is in the queue of the master that dies: nobody will ever answer. */
static void the_standby_takes_over_though_the_master_died_with_its_question(void **state)
{
    struct lab *lab = *state;
    start_two_sms(lab);
    ok(lab_opensm_signal(lab, LAB_SM.name, SIGSTOP, &err));
    lab_sleep_ms(300);
    ok(lab_opensm_stop(lab, LAB_SM.name, false, &err));
    ok(lab_opensm_await_master(lab, STANDBY, CHANGE_MS, &err));
    assert_true(comes_to_have(lab, 0, 0x8006, true));
}

static void killed_programs_do_not_use_up_the_places_of_the_fabric(void **state)
{
    struct lab *lab = *state;
    for (unsigned i = 0; i < KILLS; i++) {
        ok(lab_opensm_start(lab, &LAB_SM, &err));
        ok(lab_opensm_stop(lab, LAB_SM.name, false, &err));
    }
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    assert_true(has_pkey(lab, 0, 0xffff));
}

/* ---- with an oneibd on each host ------------------------------------------------------------- */

/* Until the document of what that is says these words. */
static void await_document(struct lab *lab, const char *method, int id, const char *words)
{
    for (unsigned waited = 0;; waited += 100) {
        oneib_autofree char *document = NULL;
        ok(lab_call_document(lab, method, lab_session(lab), &id, 1, &document, &err));
        if (strstr(document, words))
            return;
        if (waited >= CHANGE_MS)
            fail_msg("%s: there is no %s in %s", method, words, document);
        lab_sleep_ms(100);
    }
}

/* `oneib daemons`, run on the host of the first, names both. */
static void assert_both_are_known(struct site *site)
{
    struct lab_output output;
    const char *argv[] = {ONEIB_BINARY, "daemons", "--config", lab_config_path(site->lab), NULL};
    struct oneib_ledger_daemon first;
    ok(lab_daemon_known_as(site->lab, &first, &err));
    for (unsigned waited = 0;; waited += 100) {
        ok(lab_run(site->lab, LAB_SM_HCA, argv, PROGRAM_MS, &output, &err));
        const bool both = strstr(output.out, first.address) &&
                          strstr(output.out, site->instance.known_as.address);
        if (!both && waited >= CHANGE_MS)
            fail_msg("%s%s", output.out, output.error);
        lab_output_clear(&output);
        if (both)
            return;
        lab_sleep_ms(100);
    }
}

/* `oneib list` on a host of the two ends with the line of its daemon: until that says these words. */
static void await_daemon_line(struct lab *lab, const char *hca, const char *config,
                              const char *words)
{
    const char *argv[] = {ONEIB_BINARY, "list", "--config", config, NULL};
    struct lab_output output;
    for (unsigned waited = 0;; waited += 100) {
        ok(lab_run(lab, hca, argv, PROGRAM_MS, &output, &err));
        const char *line = strstr(output.error, "answered by oneibd ");
        const char *end = line ? strstr(line, ": oned read ") : NULL;
        const bool says_so = end && strncmp(end - strlen(words), words, strlen(words)) == 0;
        if (!says_so && waited >= CHANGE_MS)
            fail_msg("%s", output.error);
        lab_output_clear(&output);
        if (says_so)
            return;
        lab_sleep_ms(100);
    }
}

static void two_daemons_write_the_same_file_and_the_standbys_says_so(void **state)
{
    struct site site;
    uint32_t vm;
    open_site(&site, *state);
    assert_both_are_known(&site);
    assert_same_files(&site);
    ok(lab_vm_start(site.lab, "second", &site.network, 1, 3, &vm, &err));
    assert_true(comes_to_have(site.lab, 3, site.pkey, true));
    assert_same_files(&site);
    ok(lab_await_metric(lab_metrics_address(site.lab), "oneib_sm_master", 1, CHANGE_MS, &err));
    ok(lab_await_metric(site.instance.metrics_address, "oneib_sm_master", 0, CHANGE_MS, &err));
    await_daemon_line(site.lab, LAB_SECOND_SM_HCA, site.instance.config, " (standby)");
    const pid_t master = lab_child_pid(site.lab, LAB_DAEMON.name);
    char process[32];
    snprintf(process, sizeof process, "oneibd %d", (int)master);
    await_daemon_line(site.lab, LAB_SM_HCA, lab_config_path(site.lab), process);
    ok(lab_oneibd_stop(site.lab, LAB_DAEMON.name, SIGTERM, &err));
    ok(lab_oneibd_stop(site.lab, site.daemon.name, SIGTERM, &err));
}

static void clusters_stay_and_change_when_the_host_of_the_master_dies(void **state)
{
    struct site site;
    uint32_t vm;
    char keys[64];
    open_site(&site, *state);
    the_host_of_the_master_dies(&site);
    assert_true(has_pkey(site.lab, 0, site.pkey));
    ok(lab_vm_start(site.lab, "second", &site.network, 1, 3, &vm, &err));
    assert_true(comes_to_have(site.lab, 3, site.pkey, true));
    snprintf(keys, sizeof keys, "<IB_KEYS><![CDATA[0x%04x]]>", site.pkey & 0x7fff);
    await_document(site.lab, "one.host.info", 3, keys); /* which nobody else writes any more */
    ok(lab_vm_delete(site.lab, vm, &err));
    assert_true(comes_to_have(site.lab, 3, site.pkey, false));
    assert_true(has_pkey(site.lab, 0, site.pkey));
    run_oneib(site.lab, LAB_SECOND_SM_HCA, site.instance.config, "verify", NULL);
}

/* The file of the host that was away is old: a VM ended, another began meanwhile. */
static void a_master_that_returns_with_an_old_file_is_brought_up_to_date(void **state)
{
    struct site site;
    uint32_t vm;
    open_site(&site, *state);
    the_host_of_the_master_dies(&site);
    ok(lab_vm_start(site.lab, "second", &site.network, 1, 3, &vm, &err));
    assert_true(comes_to_have(site.lab, 3, site.pkey, true));
    the_host_of_the_master_returns(&site);
    assert_true(comes_to_have(site.lab, 3, site.pkey, true));
    assert_same_files(&site);
    ok(lab_vm_start(site.lab, "third", &site.network, 1, 5, &vm, &err));
    assert_true(comes_to_have(site.lab, 5, site.pkey, true));
    assert_same_files(&site);
    run_oneib(site.lab, LAB_SM_HCA, lab_config_path(site.lab), "verify", NULL);
}

/* Nobody tells the daemon that comes back what is open at the ports: as long as another one leads,
 * it leaves there what is there. */
static void what_started_meanwhile_stays_when_a_master_returns_that_hears_no_node(void **state)
{
    struct site site;
    uint32_t vm;
    open_site(&site, *state);
    const pid_t services = lab_child_pid(site.lab, "played-hosts");
    the_host_of_the_master_dies(&site);
    ok(lab_vm_start(site.lab, "second", &site.network, 1, 3, &vm, &err));
    assert_true(comes_to_have(site.lab, 3, site.pkey, true));
    kill(services, SIGSTOP);
    ok(lab_oneibd_start(site.lab, &LAB_DAEMON, &err));
    ok(lab_opensm_start(site.lab, &LAB_SM, &err));
    ok(lab_opensm_await_master(site.lab, LAB_SM.name, CHANGE_MS, &err));
    assert_true(has_pkey(site.lab, 3, site.pkey));
    kill(services, SIGCONT);
}

#define STORAGE 0x8010

static void give_storage_to(struct lab *lab, size_t host)
{
    char text[64];
    snprintf(text, sizeof text, "storage%zu=0x0010 : 0x%" PRIx64 "=full;\n", host,
             lab_host_port_guid(lab, host));
    ok(lab_write(lab, "static-partitions.conf", 0644, text, &err));
}

static void await_standbys_file(const struct site *site, bool has_storage)
{
    const char *argv[] = {"grep", "0x0010", site->instance.partitions, NULL};
    bool has = !has_storage;
    for (unsigned waited = 0; has != has_storage; waited += 50) {
        struct lab_output output;
        assert_true(waited < CHANGE_MS / 4);
        lab_sleep_ms(50);
        ok(lab_run(site->lab, NULL, argv, PROGRAM_MS, &output, &err));
        has = output.status == 0;
        lab_output_clear(&output);
    }
}

/* The master's daemon has not got to it: were the master to die now, the standby would give the key
 * to a new port while an old one may hold it. */
static void the_standbys_file_has_no_key_whose_old_ports_still_hold_it(void **state)
{
    struct site site;
    open_site(&site, *state);
    give_storage_to(site.lab, 3);
    assert_true(comes_to_have(site.lab, 3, STORAGE, true));
    await_standbys_file(&site, true);
    ok(lab_oneibd_signal(site.lab, LAB_DAEMON.name, SIGSTOP, &err));
    give_storage_to(site.lab, 5);
    await_standbys_file(&site, false);
    ok(lab_oneibd_signal(site.lab, LAB_DAEMON.name, SIGCONT, &err));
    assert_true(comes_to_have(site.lab, 5, STORAGE, true));
    await_standbys_file(&site, true);
    assert_same_files(&site);
}

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        ON_TWO_SMS(the_standby_puts_its_own_file_into_force_when_the_master_is_killed),
        ON_TWO_SMS(the_standby_puts_its_own_file_into_force_when_the_master_ends),
        ON_TWO_SMS(a_master_of_higher_priority_takes_back_when_it_returns),
        ON_TWO_SMS(the_standby_takes_over_though_the_master_died_with_its_question),
        ON_TWO_SMS(killed_programs_do_not_use_up_the_places_of_the_fabric),
        ON_TWO_SMS(two_daemons_write_the_same_file_and_the_standbys_says_so),
        ON_TWO_SMS(clusters_stay_and_change_when_the_host_of_the_master_dies),
        ON_TWO_SMS(a_master_that_returns_with_an_old_file_is_brought_up_to_date),
        ON_TWO_SMS(what_started_meanwhile_stays_when_a_master_returns_that_hears_no_node),
        ON_TWO_SMS(the_standbys_file_has_no_key_whose_old_ports_still_hold_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
