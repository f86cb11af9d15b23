// SPDX-License-Identifier: Apache-2.0
/*
 * High availability: two opensm on two hosts of one fabric, each with a partitions file of its own,
 * and with an oneibd each that writes it. When the master dies the fabric must hold what the
 * standby's file says, and follow it.
 *
 * What dies are processes: they are killed, and ibsim is told what a kernel would do about it (the
 * port is no SM's any more). The host's link stays up.
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
// clang-format off
#include <cmocka.h>
// clang-format on

#define CHANGE_MS 15000u
#define PROGRAM_MS 60000u
/* ibsim has 10 places. */
#define KILLS 25

#define STANDBY "standby"
#define STANDBY_DAEMON "oneibd-standby"

static struct oneib_error err;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

static struct lab_sm standby_sm(const char *partitions)
{
    return (struct lab_sm){
        .name = STANDBY, .hca = LAB_SECOND_SM_HCA, .priority = 3, .partitions = partitions};
}

/* The extra host follows the compute hosts. */
static uint64_t standby_port_guid(struct lab *lab)
{
    return lab_host_port_guid(lab, lab_host_count(lab));
}

static int open_fabric(void **state)
{
    struct lab_options options = LAB_DEFAULTS;
    options.extra_hosts = 1;
    struct lab *lab = lab_open(&options, &err);
    *state = lab;
    if (lab && lab_fabric_start(lab, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int close_fabric(void **state)
{
    lab_close(*state);
    return 0;
}

static bool has_pkey(struct lab *lab, size_t host, uint16_t wanted)
{
    uint16_t pkeys[128];
    size_t count = 0;
    ok(lab_host_pkeys(lab, host, pkeys, 128, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (pkeys[i] == wanted)
            return true;
    return false;
}

static bool comes_to_have(struct lab *lab, size_t host, uint16_t pkey, bool wanted)
{
    for (unsigned waited = 0; waited < CHANGE_MS; waited += 50) {
        if (has_pkey(lab, host, pkey) == wanted)
            return true;
        lab_sleep_ms(50);
    }
    return false;
}

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
    bool master = true;
    write_partitions(lab, "partitions.conf", 0x8005);
    write_partitions(lab, "standby.partitions.conf", 0x8006);
    const struct lab_sm standby = standby_sm(lab_path(lab, "standby.partitions.conf", &err));
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_opensm_start(lab, &standby, &err));
    ok(lab_opensm_is_master(lab, STANDBY, &master, &err));
    assert_false(master);
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
    bool master = true;
    start_two_sms(lab);
    ok(lab_opensm_stop(lab, LAB_SM.name, false, &err));
    ok(lab_opensm_await_master(lab, STANDBY, CHANGE_MS, &err));
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_opensm_await_master(lab, LAB_SM.name, CHANGE_MS, &err));
    assert_true(comes_to_have(lab, 0, 0x8005, true));
    assert_false(has_pkey(lab, 0, 0x8006));
    ok(lab_opensm_is_master(lab, STANDBY, &master, &err));
    assert_false(master);
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

/* ---- with an oneibd on each host ------------------------------------------------------------ */

struct site {
    struct lab *lab;
    struct lab_sm standby;
    struct lab_instance instance;
    struct lab_daemon daemon; /* the standby's */
    uint32_t network;
    uint16_t pkey;
};

static void run_oneib(struct lab *lab, const char *hca, const char *config, const char *verb,
                      const char *option)
{
    struct lab_output output;
    const char *argv[] = {ONEIB_BINARY, verb, "--config", config, option, NULL};
    ok(lab_run(lab, hca, argv, PROGRAM_MS, &output, &err));
    if (output.status != 0)
        fail_msg("oneib %s on %s: status %d: %s%s", verb, hca, output.status, output.out,
                 output.error);
    lab_output_clear(&output);
}

static void configure(struct site *site)
{
    char full_members[128];
    snprintf(full_members, sizeof full_members,
             "default_partition: { full_members = [\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]; };",
             LAB_SM_PORT_GUID, standby_port_guid(site->lab));
    /* A daemon asks its SM whether it is still master when it polls. */
    const struct lab_config more = {.daemon = "poll_idle = 1000;", .other = full_members};
    ok(lab_config_write(site->lab, &more, &err));
    ok(lab_config_write_named(site->lab, STANDBY, STANDBY, &more, &site->instance, &err));
}

static void learn_key(struct site *site)
{
    char text[16];
    ok(lab_network_vlan_id(site->lab, site->network, text, sizeof text, &err));
    site->pkey = (uint16_t)(strtoul(text, NULL, 10) | 0x8000);
}

/* A VM on host 0, both files taken over, both daemons watching. */
static void open_site(struct site *site, struct lab *lab)
{
    uint32_t vm;
    *site = (struct site){.lab = lab};
    ok(lab_standin_start(lab, NULL, &err));
    ok(lab_add_hosts(lab, 7, &err));
    configure(site);
    site->standby = standby_sm(site->instance.partitions);
    site->daemon = (struct lab_daemon){
        .name = STANDBY_DAEMON, .hca = LAB_SECOND_SM_HCA, .config = site->instance.config};
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_opensm_start(lab, &site->standby, &err));
    ok(lab_network_create(lab, "blue", "", NULL, &site->network, &err));
    ok(lab_vm_start(lab, "first", &site->network, 1, 0, &vm, &err));
    ok(lab_give_keys(lab, &err));
    run_oneib(lab, LAB_SM_HCA, lab_config_path(lab, &err), "sync", "--force");
    run_oneib(lab, LAB_SECOND_SM_HCA, site->instance.config, "sync", "--force");
    learn_key(site);
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
    ok(lab_oneibd_start(lab, &site->daemon, &err));
}

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
    const char *argv[] = {ONEIB_BINARY, "daemons", "--config", lab_config_path(site->lab, &err),
                          NULL};
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

static void the_host_of_the_master_dies(struct site *site)
{
    ok(lab_opensm_stop(site->lab, LAB_SM.name, false, &err));
    ok(lab_oneibd_stop(site->lab, LAB_DAEMON.name, SIGKILL, &err));
    ok(lab_opensm_await_master(site->lab, STANDBY, CHANGE_MS, &err));
    ok(lab_await_metric(site->instance.metrics_address, "oneib_sm_master", 1, CHANGE_MS, &err));
}

static void assert_same_files(struct site *site)
{
    struct lab_output output;
    const char *argv[] = {"cmp", lab_partitions(site->lab, &err), site->instance.partitions, NULL};
    for (unsigned waited = 0;; waited += 100) {
        ok(lab_run(site->lab, NULL, argv, PROGRAM_MS, &output, &err));
        const int status = output.status;
        if (status != 0 && waited >= CHANGE_MS)
            fail_msg("%s", output.out);
        lab_output_clear(&output);
        if (status == 0)
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
    ok(lab_oneibd_stop(site.lab, LAB_DAEMON.name, SIGTERM, &err));
    ok(lab_oneibd_stop(site.lab, STANDBY_DAEMON, SIGTERM, &err));
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
    ok(lab_opensm_start(site.lab, &LAB_SM, &err));
    ok(lab_oneibd_start(site.lab, &LAB_DAEMON, &err));
    ok(lab_opensm_await_master(site.lab, LAB_SM.name, CHANGE_MS, &err));
    ok(lab_await_metric(lab_metrics_address(site.lab), "oneib_sm_master", 1, CHANGE_MS, &err));
    ok(lab_await_metric(site.instance.metrics_address, "oneib_sm_master", 0, CHANGE_MS, &err));
    assert_true(comes_to_have(site.lab, 3, site.pkey, true));
    assert_same_files(&site);
    ok(lab_vm_start(site.lab, "third", &site.network, 1, 5, &vm, &err));
    assert_true(comes_to_have(site.lab, 5, site.pkey, true));
    assert_same_files(&site);
    run_oneib(site.lab, LAB_SM_HCA, lab_config_path(site.lab, &err), "verify", NULL);
}

static bool is_off_the_fabric(struct lab *lab, size_t host)
{
    uint16_t pkeys[128];
    size_t count;
    struct oneib_error ignored;
    return lab_host_pkeys(lab, host, pkeys, 128, &count, &ignored) < 0;
}

static void await_off_the_fabric(struct lab *lab, size_t host)
{
    for (unsigned waited = 0; !is_off_the_fabric(lab, host); waited += 100) {
        if (waited >= CHANGE_MS)
            fail_msg("host %zu is on the fabric", host);
        lab_sleep_ms(100);
    }
}

/* What the first has decided and done stands in oned: the other one goes on from there. */
static void the_daemon_beside_the_new_master_keeps_a_host_fenced(void **state)
{
    struct site site;
    open_site(&site, *state);
    run_oneib(site.lab, LAB_SM_HCA, lab_config_path(site.lab, &err), "fence", "H1");
    assert_true(is_off_the_fabric(site.lab, 0));
    assert_same_files(&site);
    the_host_of_the_master_dies(&site);
    ok(lab_fabric_link(site.lab, 0, false, &err)); /* its switch was started anew */
    ok(lab_fabric_link(site.lab, 0, true, &err));
    await_off_the_fabric(site.lab, 0);
    run_oneib(site.lab, LAB_SECOND_SM_HCA, site.instance.config, "fence", "H1");
    assert_false(is_off_the_fabric(site.lab, 1));
    run_oneib(site.lab, LAB_SECOND_SM_HCA, site.instance.config, "unfence", "H1");
}

#define on_fabric(test) cmocka_unit_test_setup_teardown(test, open_fabric, close_fabric)

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        on_fabric(the_standby_puts_its_own_file_into_force_when_the_master_is_killed),
        on_fabric(the_standby_puts_its_own_file_into_force_when_the_master_ends),
        on_fabric(a_master_of_higher_priority_takes_back_when_it_returns),
        on_fabric(the_standby_takes_over_though_the_master_died_with_its_question),
        on_fabric(killed_programs_do_not_use_up_the_places_of_the_fabric),
        on_fabric(two_daemons_write_the_same_file_and_the_standbys_says_so),
        on_fabric(clusters_stay_and_change_when_the_host_of_the_master_dies),
        on_fabric(a_master_that_returns_with_an_old_file_is_brought_up_to_date),
        on_fabric(the_daemon_beside_the_new_master_keeps_a_host_fenced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
