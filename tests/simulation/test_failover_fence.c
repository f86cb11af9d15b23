// SPDX-License-Identifier: Apache-2.0
/*
 * A host that fails where there are two subnet managers: whoever is asked, whoever dies meanwhile,
 * its port is closed and stays so, and both daemons say the same (docs/design/fence.md).
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "cluster/ledger.h"
#include "failover_scene.h"
#include "lab_internal.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FENCE_MS 90000u
#define FAILED 0u /* the host that fails, and its name */
#define FAILED_NAME "H1"
#define MASTERS_LOG "oneibd.log"
#define STANDBYS_LOG "oneibd-standby.log"

static struct oneib_error err;

/* ---- what is said and seen ------------------------------------------------------------------- */

static bool log_says(struct lab *lab, const char *log, long from, const char *words)
{
    oneib_autofree char *text = lab_read_from(lab, log, from);
    return strstr(text, words) != NULL;
}

static void await_log(struct lab *lab, const char *log, long from, const char *words)
{
    for (unsigned waited = 0; !log_says(lab, log, from, words); waited += 100) {
        if (waited >= CHANGE_MS)
            fail_msg("%s does not say %s", log, words);
        lab_sleep_ms(100);
    }
}

/* Nobody on the host is a member, by the files of both. */
static bool has_member_in(struct lab *lab, const char *partitions, size_t host)
{
    char guid[32];
    oneib_autofree char *text = lab_read_from(lab, strrchr(partitions, '/') + 1, 0);
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(lab, host));
    return strstr(text, guid) != NULL;
}

static void await_no_member(struct site *site, size_t host)
{
    for (unsigned waited = 0;; waited += 100) {
        if (!has_member_in(site->lab, lab_partitions(site->lab), host) &&
            !has_member_in(site->lab, site->instance.partitions, host))
            return;
        if (waited >= CHANGE_MS)
            fail_msg("host %zu is still a member", host);
        lab_sleep_ms(100);
    }
}

/* Its switch was started anew: a link that was disabled comes up. */
static void bring_up(struct lab *lab, size_t host)
{
    ok(lab_fabric_link(lab, host, false, &err));
    ok(lab_fabric_link(lab, host, true, &err));
}

static void on_masters(struct site *site, const char *verb)
{
    run_oneib(site->lab, LAB_SM_HCA, lab_config_path(site->lab), verb, FAILED_NAME);
}

static void on_standbys(struct site *site, const char *verb)
{
    run_oneib(site->lab, LAB_SECOND_SM_HCA, site->instance.config, verb, FAILED_NAME);
}

/* ---- a command that goes on while others die ------------------------------------------------- */

/* `oneib VERB H1` beside the standby; its status goes to a file. */
static void begin_at_standbys(struct site *site, const char *verb)
{
    pid_t pid;
    const char *const argv[] = {"sh",
                                "-c",
                                "\"$0\" \"$1\" \"$2\" --config \"$3\"; echo status $?",
                                ONEIB_BINARY,
                                verb,
                                FAILED_NAME,
                                site->instance.config,
                                NULL};
    ok(lab_spawn(site->lab, "command", LAB_SECOND_SM_HCA, argv, &pid, &err));
}

static void must_end_well(struct lab *lab)
{
    const double end = oneib_now_ms() + FENCE_MS;
    while (!log_says(lab, "command.log", 0, "status ")) {
        if (oneib_now_ms() > end)
            fail_msg("the command does not end");
        lab_sleep_ms(100);
    }
    oneib_autofree char *said = lab_read_from(lab, "command.log", 0);
    if (!strstr(said, "status 0"))
        fail_msg("%s", said);
}

enum progress {
    IS_ASKED,  /* the fence stands in the ledger */
    IS_PLACED, /* and where the port is that is to be disabled */
};

static bool has_come_to(const struct oneib_ledger *ledger, uint64_t guid, enum progress progress)
{
    const struct oneib_ledger_fenced_port *port = oneib_ledger_fenced_port(ledger, FAILED, guid);
    if (progress == IS_PLACED)
        return port && port->switch_guid != 0;
    return oneib_ledger_fence(ledger, FAILED) != NULL;
}

static void await_progress(struct lab *lab, enum progress wanted)
{
    const double end = oneib_now_ms() + CHANGE_MS;
    for (bool is_there = false; !is_there;) {
        struct oneib_ledger ledger;
        if (oneib_now_ms() > end)
            fail_msg("the ledger does not say that the host is to be fenced");
        ok(lab_ledger_read(lab, &ledger, &err));
        is_there = has_come_to(&ledger, lab_host_port_guid(lab, FAILED), wanted);
        oneib_ledger_clear(&ledger);
    }
}

/* The daemon beside the master has written down whose the port is, and where: what it is asked
 * before that it answers otherwise (fence-port-unproven). */
static void await_pinned(struct lab *lab, size_t host)
{
    const double end = oneib_now_ms() + CHANGE_MS;
    for (bool is_pinned = false; !is_pinned;) {
        struct oneib_ledger ledger;
        if (oneib_now_ms() > end)
            fail_msg("the ledger does not say where host %zu is", host);
        ok(lab_ledger_read(lab, &ledger, &err));
        const struct oneib_ledger_port *port =
            oneib_ledger_port(&ledger, lab_host_port_guid(lab, host));
        is_pinned = port && port->switch_guid;
        oneib_ledger_clear(&ledger);
        lab_sleep_ms(50);
    }
}

static void open_fence_site(struct site *site, struct lab *lab)
{
    open_site(site, lab);
    await_pinned(lab, FAILED);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* What the first has decided and done stands in oned: the other one goes on from there. */
static void the_daemon_beside_the_new_master_keeps_a_host_fenced(void **state)
{
    struct site site;
    open_fence_site(&site, *state);
    run_oneib(site.lab, LAB_SM_HCA, lab_config_path(site.lab), "fence", "H1");
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

/* Whoever is asked writes it into the ledger, which both read. */
static void a_fence_that_is_asked_for_beside_the_standby_is_both_daemons(void **state)
{
    struct site site;
    open_fence_site(&site, *state);
    on_standbys(&site, "fence");
    assert_true(is_off_the_fabric(site.lab, FAILED));
    await_log(site.lab, MASTERS_LOG, 0, "host-fenced");
    await_log(site.lab, STANDBYS_LOG, 0, "host-fenced");
    await_no_member(&site, FAILED);
    assert_false(log_says(site.lab, STANDBYS_LOG, 0, ": disabled")); /* the master's daemon does */
    bring_up(site.lab, FAILED);
    await_off_the_fabric(site.lab, FAILED);
    on_masters(&site, "unfence");
    bring_up(site.lab, FAILED);
    assert_true(comes_to_have(site.lab, FAILED, site.pkey, true));
    assert_same_files(&site);
}

/* The master's host is dead then. */
static void lift_what_the_master_had_fenced(struct site *site)
{
    on_masters(site, "fence");
    the_host_of_the_master_dies(site);
    on_standbys(site, "unfence");
    bring_up(site->lab, FAILED);
    assert_true(comes_to_have(site->lab, FAILED, site->pkey, true));
}

/* The file of fences that the host left behind when it died is old. */
static void a_fence_that_is_lifted_is_lifted_for_a_daemon_that_was_away(void **state)
{
    struct site site;
    open_fence_site(&site, *state);
    lift_what_the_master_had_fenced(&site);
    const long from = lab_size(site.lab, MASTERS_LOG);
    the_host_of_the_master_returns(&site);
    for (unsigned i = 0; i < 50; i++) {
        assert_true(has_pkey(site.lab, FAILED, site.pkey));
        lab_sleep_ms(100);
    }
    assert_false(log_says(site.lab, MASTERS_LOG, from, ": disabled"));
    assert_same_files(&site);
}

/* It goes by the file, for oned does not answer: as soon as oned does, it undoes what it did. */
static void what_was_closed_by_an_old_list_while_oned_was_away_is_opened_again(void **state)
{
    struct site site;
    open_fence_site(&site, *state);
    lift_what_the_master_had_fenced(&site);
    ok(lab_fault(site.lab, "http500", 100000, 0, &err));
    const long from = lab_size(site.lab, MASTERS_LOG);
    ok(lab_opensm_start(site.lab, &LAB_SM, &err));
    ok(lab_oneibd_begin(site.lab, &LAB_DAEMON, &err));
    await_off_the_fabric(site.lab, FAILED);
    assert_true(log_says(site.lab, MASTERS_LOG, from, ": disabled"));
    ok(lab_oneibd_signal(site.lab, LAB_DAEMON.name, SIGHUP, &err)); /* it does not forget that */
    await_log(site.lab, MASTERS_LOG, from, "the configuration was read again");
    ok(lab_fault(site.lab, "http500", 0, 0, &err));
    await_log(site.lab, MASTERS_LOG, from, ": enabled again");
    bring_up(site.lab, FAILED);
    assert_true(comes_to_have(site.lab, FAILED, site.pkey, true));
}

static void a_fence_is_brought_to_an_end_when_the_master_dies(struct lab *lab,
                                                              enum progress progress)
{
    struct site site;
    open_fence_site(&site, lab);
    if (progress == IS_ASKED)
        ok(lab_oneibd_signal(lab, LAB_DAEMON.name, SIGSTOP, &err));
    begin_at_standbys(&site, "fence");
    await_progress(lab, progress);
    the_host_of_the_master_dies(&site);
    must_end_well(lab);
    assert_true(is_off_the_fabric(lab, FAILED));
    bring_up(lab, FAILED);
    await_off_the_fabric(lab, FAILED);
    assert_false(is_off_the_fabric(lab, 1));
}

static void a_fence_that_nobody_has_looked_at_is_the_new_masters_daemons(void **state)
{
    a_fence_is_brought_to_an_end_when_the_master_dies(*state, IS_ASKED);
}

/* It had written down where the port is; whether it came to disabling it nobody knows. */
static void a_fence_whose_daemon_dies_in_the_middle_is_brought_to_an_end(void **state)
{
    a_fence_is_brought_to_an_end_when_the_master_dies(*state, IS_PLACED);
}

/* Its subnet manager lives: the other daemon must not, and the one that is started again does. */
static void a_fence_waits_for_the_daemon_beside_the_master(void **state)
{
    struct site site;
    open_fence_site(&site, *state);
    ok(lab_oneibd_signal(site.lab, LAB_DAEMON.name, SIGSTOP, &err));
    begin_at_standbys(&site, "fence");
    await_progress(site.lab, IS_ASKED);
    ok(lab_oneibd_stop(site.lab, LAB_DAEMON.name, SIGKILL, &err));
    await_log(site.lab, STANDBYS_LOG, 0, "host-fenced");
    assert_false(is_off_the_fabric(site.lab, FAILED));
    ok(lab_oneibd_start(site.lab, &LAB_DAEMON, &err));
    must_end_well(site.lab);
    assert_true(is_off_the_fabric(site.lab, FAILED));
}

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        ON_TWO_SMS(the_daemon_beside_the_new_master_keeps_a_host_fenced),
        ON_TWO_SMS(a_fence_that_is_asked_for_beside_the_standby_is_both_daemons),
        ON_TWO_SMS(a_fence_that_is_lifted_is_lifted_for_a_daemon_that_was_away),
        ON_TWO_SMS(what_was_closed_by_an_old_list_while_oned_was_away_is_opened_again),
        ON_TWO_SMS(a_fence_that_nobody_has_looked_at_is_the_new_masters_daemons),
        ON_TWO_SMS(a_fence_whose_daemon_dies_in_the_middle_is_brought_to_an_end),
        ON_TWO_SMS(a_fence_waits_for_the_daemon_beside_the_master),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
