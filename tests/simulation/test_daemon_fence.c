// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts that fail: `oneib fence` and `oneib unfence`, with a running oneibd, on ibsim with a real
 * opensm. What counts is what the switch says of its port, and who is on the fabric.
 */
#include "base/cleanup.h"
#include "cluster/fence.h"
#include "fence_scene.h"
#include "lab_internal.h"
#include "oneibd/nodes.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct oneib_error err;

/* ---- cases ----------------------------------------------------------------------------------- */

static void a_fenced_host_is_off_the_fabric_and_nobody_else(void **state)
{
    (void)state;
    begin_fence();
    json_t *port = fence_failed();
    assert_string_equal(json_text(port, "state"), "down");
    assert_true(is_physically(port, "Disabled"));
    stays_holding(OTHER, FULL(KEY), DAEMON_DOUBT_MS);
    assert_true(daemon_said("disabled"));

    /* Said again it is so still, by a new look. */
    json_t *again = fence_failed();
    assert_true(json_yes(again, "answered"));
    json_decref(again);
    must_say(ONEIB(0, "fence", FAILED_NAME)->out, "switches no power off");
    must_say(ONEIB(0, "show", "blue")->out, "fenced");
    const char *hosts = ONEIB(0, "hosts")->out;
    must_say(hosts, "oneib unfence");
    must_not_say(hosts, "off the fabric");
    json_decref(port);
}

/* OpenNebula's hook and an operator, who both have asked before oneibd looks. */
static void two_who_fence_at_once_are_both_told_that_it_is_done(void **state)
{
    (void)state;
    begin_fence();
    char pid[16];
    struct lab_output output = {0};
    snprintf(pid, sizeof pid, "%d", (int)daemon_pid());
    const char *const argv[] = {"sh",
                                "-c",
                                "\"$0\" fence \"$1\" --config \"$2\" & first=$!\n"
                                "\"$0\" fence \"$1\" --config \"$2\" & second=$!\n"
                                "sleep 2; kill -CONT \"$3\"\n"
                                "wait $first; echo first $?; wait $second; echo second $?",
                                ONEIB_BINARY,
                                FAILED_NAME,
                                lab_config_path(scene()),
                                pid,
                                NULL};
    daemon_signal(SIGSTOP);
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    must_say(output.out, "first 0");
    must_say(output.out, "second 0");
    lab_output_clear(&output);
}

static void a_fenced_port_that_somebody_enables_is_disabled_again(void **state)
{
    (void)state;
    begin_fence();
    json_t *port = fence_failed();
    daemon_forget_log();
    bring_up(FAILED); /* a switch that was started anew */
    await_physically(port, "Disabled");
    await_said("was up again at port");
    json_decref(port);
}

#define OTHER_SM 3u /* the host where it is */

/* Nobody would tell this daemon when it is over. */
static void what_it_has_found_of_fences_is_not_said_any_more_beside_no_master(void **state)
{
    (void)state;
    char full_members[128];
    const struct lab_sm other = {
        .name = "other", .hca = lab_host_hca(scene(), OTHER_SM), .priority = 3};
    snprintf(full_members, sizeof full_members,
             "default_partition: { full_members = [\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]; };",
             LAB_SM_PORT_GUID, lab_host_port_guid(scene(), OTHER_SM));
    daemon_end();
    daemon_start_with(NULL, DAEMON_QUICK " verify = 1000;", full_members);
    begin_fence();
    await_holds(OTHER_SM, 0xffff);
    MUST(lab_opensm_start(scene(), &other, &err));
    json_decref(fence_failed());
    bring_up(FAILED);
    await_said("fence-open");
    MUST(lab_opensm_stop(scene(), LAB_SM.name, false, &err));
    await_said("no more fence-open");
}

static void a_fence_outlives_oneibd(void **state)
{
    (void)state;
    begin_fence();
    json_t *port = fence_failed();
    daemon_kill();
    bring_up(FAILED);
    daemon_start();
    await_physically(port, "Disabled");
    json_decref(port);
}

static void a_fence_holds_while_oned_is_away_also_after_a_restart_of_oneibd(void **state)
{
    (void)state;
    begin_fence();
    json_t *port = fence_failed();
    MUST(lab_standin_stop(scene(), &err));
    bring_up(FAILED);
    await_physically(port, "Disabled");
    daemon_kill();
    bring_up(FAILED);
    assert_false(is_physically(port, "Disabled"));
    daemon_spawn(); /* it does not come as far as watching */
    await_physically(port, "Disabled");
    json_decref(port);
}

static void forget_ledger(void)
{
    struct oneib_kept_ledger kept = scene_ledger();
    MUST(lab_document_delete(scene(), kept.document_id, &err));
    oneib_kept_ledger_clear(&kept);
}

static void a_fence_outlives_the_ledger(void **state)
{
    (void)state;
    begin_fence();
    json_t *port = fence_failed();
    forget_ledger();
    await_said("ledger-lost");
    bring_up(FAILED);
    await_physically(port, "Disabled");

    /* The port was just up, and does not answer now: whether that is said does not matter here. */
    struct lab_output output = adopt_ledger();
    must_say(output.out, "the ledger has 1 P_Key again");
    lab_output_clear(&output);
    struct oneib_kept_ledger kept = scene_ledger();
    assert_non_null(oneib_ledger_fence(&kept.ledger, FAILED));
    assert_int_equal(kept.ledger.fenced_port_count, 1);
    assert_int_equal(kept.ledger.fenced_ports[0].state, ONEIB_FENCE_DOWN);
    oneib_kept_ledger_clear(&kept);
    bring_up(FAILED);
    await_physically(port, "Disabled");
    json_decref(port);
}

static void await_no_member(void)
{
    unsigned waited = 0;
    for (bool has = true; has; waited += 50) {
        char *partitions = scene_file();
        has = strstr(partitions, "0x012c") || strstr(partitions, "0x812c") ||
              strstr(partitions, "0x12c");
        free(partitions);
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("a cluster is still in force");
        lab_sleep_ms(50);
    }
}

/* No key is in force then, by which a lost ledger is known otherwise. */
static void fences_of_all_hosts_outlive_the_ledger_too(void **state)
{
    (void)state;
    begin_fence();
    json_t *port = fence_failed();
    must_say(ONEIB(0, "fence", "H2")->out, "is fenced");
    await_no_member();
    forget_ledger();
    await_said("ledger-lost");
    bring_up(FAILED);
    await_physically(port, "Disabled");
    must_say(ONEIB(3, "fence", FAILED_NAME)->error, "oneib sync --adopt");

    struct lab_output output = adopt_ledger();
    lab_output_clear(&output);
    struct oneib_kept_ledger kept = scene_ledger();
    assert_int_equal(kept.ledger.fence_count, 2);
    oneib_kept_ledger_clear(&kept);
    bring_up(FAILED);
    await_physically(port, "Disabled");
    json_decref(port);
}

static void a_host_that_has_lost_its_power_is_fenced_too_and_stays_so_when_it_is_back(void **state)
{
    (void)state;
    begin_fence();
    MUST(lab_fabric_link(scene(), FAILED, false, &err));
    json_t *port = fence_failed();
    assert_string_equal(json_text(port, "state"), "down");
    assert_true(is_physically(port, "Disabled"));
    MUST(lab_fabric_link(scene(), FAILED, true, &err));
    await_physically(port, "Disabled");
    json_decref(port);
    port = fence_failed();
    assert_string_equal(json_text(port, "state"), "down");
    assert_true(is_physically(port, "Disabled"));
    json_decref(port);
}

/* ---- cables that are moved ------------------------------------------------------------------- */

struct place {
    oneib_guid switch_guid;
    uint8_t switch_port;
};

/* By the ledger. */
static struct place place_of(size_t host)
{
    struct oneib_kept_ledger kept = scene_ledger();
    const struct oneib_ledger_port *port =
        oneib_ledger_port(&kept.ledger, lab_host_port_guid(scene(), host));
    const struct place place = {port ? port->switch_guid : 0, port ? port->switch_port : 0};
    oneib_kept_ledger_clear(&kept);
    return place;
}

static bool is_same_place(struct place a, struct place b)
{
    return a.switch_guid == b.switch_guid && a.switch_port == b.switch_port;
}

static void await_place(size_t host, struct place wanted)
{
    unsigned waited = 0;
    while (!is_same_place(place_of(host), wanted)) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("the ledger says where host %zu was before its cable was moved", host);
        lab_sleep_ms(200);
        waited += 200;
    }
}

/* Both on the first leaf, in the instant. */
static void swap_cables(struct place first, struct place second)
{
    char to_first[64], to_second[64];
    snprintf(to_first, sizeof to_first, "Link \"H2\"[1] \"L1\"[%u]", first.switch_port);
    snprintf(to_second, sizeof to_second, "Link \"H1\"[1] \"L1\"[%u]", second.switch_port);
    MUST(lab_fabric_link(scene(), FAILED, false, &err));
    MUST(lab_fabric_link(scene(), OTHER, false, &err));
    MUST(lab_fabric_command(scene(), to_first, &err));
    MUST(lab_fabric_command(scene(), to_second, &err));
}

static bool is_place_physically(struct place place, const char *wanted)
{
    char guid[32];
    snprintf(guid, sizeof guid, "0x%016" PRIx64, place.switch_guid);
    json_t *port = json_pack("{s:s, s:i}", "switch", guid, "switch_port", (int)place.switch_port);
    const bool is = is_physically(port, wanted);
    json_decref(port);
    return is;
}

static void a_fence_closes_no_place_at_which_another_host_is_linked_by_now(void **state)
{
    (void)state;
    begin_fence();
    const struct place first = place_of(FAILED), second = place_of(OTHER);
    assert_true(first.switch_guid == second.switch_guid);
    swap_cables(first, second);
    await_place(FAILED, second);
    await_place(OTHER, first);
    MUST(lab_fabric_link(scene(), FAILED, false, &err)); /* both lose their power */
    MUST(lab_fabric_link(scene(), OTHER, false, &err));
    json_t *port = fence_failed();
    assert_int_equal(json_number(port, "switch_port"), second.switch_port);
    assert_true(is_place_physically(second, "Disabled"));
    assert_false(is_place_physically(first, "Disabled"));
    json_decref(port);
}

/* Whoever speaks for the failed host to monitord: another host's port, one that is nobody's, and the
 * subnet manager's. The host's own node has reported what it has. */
static void
what_a_forged_probe_names_is_not_closed_and_keeps_no_host_from_being_fenced(void **state)
{
    (void)state;
    const uint64_t others[] = {lab_host_port_guid(scene(), OTHER),
                               lab_host_port_guid(scene(), SCENE_HOSTS), LAB_SM_PORT_GUID};
    begin_fence();
    for (size_t i = 0; i < 3; i++) {
        probe_says(FAILED, lab_host_port_guid(scene(), FAILED), others[i]);
        json_t *said = ONEIB_JSON(0, "fence", FAILED_NAME);
        assert_int_equal(json_array_size(json_field(said, "ports")), 1);
        assert_non_null(json_find(json_field(said, "ports"), "state", "down"));
    }
    assert_true(is_place_physically(place_of(FAILED), "Disabled"));
    assert_true(port_holds(OTHER, FULL(KEY)));
    assert_true(port_holds(SCENE_HOSTS, LIMITED(0x7fff)));
}

static void await_unproven(oneib_guid guid)
{
    bool is = false;
    for (unsigned waited = 0; !is; waited += 50) {
        struct oneib_kept_ledger kept = scene_ledger();
        const struct oneib_ledger_fenced_port *port =
            oneib_ledger_fenced_port(&kept.ledger, FAILED, guid);
        is = port && port->state == ONEIB_FENCE_UNPROVEN;
        oneib_kept_ledger_clear(&kept);
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("the port is not found to be unproven");
        lab_sleep_ms(50);
    }
}

/* The ledger knows no port of the host. */
static void forget_ports(void)
{
    struct oneib_kept_ledger kept = scene_ledger();
    oneib_autotext struct oneib_text text = {0};
    oneib_ledger_forget_ports(&kept.ledger, FAILED);
    oneib_ledger_render(&kept.ledger, &text);
    MUST(lab_document_replace(scene(), kept.document_id, text.data, &err));
    oneib_kept_ledger_clear(&kept);
}

/* As after both have failed over: the new oneibd has not heard of the node yet, nor the ledger of
 * its port. OpenNebula's hook asks once. */
static void a_port_that_its_node_reports_a_moment_later_is_closed_by_the_same_fence(void **state)
{
    (void)state;
    begin_fence();
    const struct place place = place_of(FAILED);
    const pid_t services = lab_child_pid(scene(), "played-hosts");
    const char *const argv[] = {
        ONEIB_BINARY, "fence", FAILED_NAME, "--config", lab_config_path(scene()), NULL};
    int status = -1;
    pid_t pid;
    daemon_kill();
    kill(services, SIGSTOP);
    forget_ports();
    daemon_start();
    MUST(lab_spawn(scene(), "fence", NULL, argv, &pid, &err));
    await_unproven(lab_host_port_guid(scene(), FAILED));
    kill(services, SIGCONT);
    assert_true(lab_wait(scene(), pid, SCENE_TIMEOUT_MS, &status));
    oneib_autofree char *said = lab_read(scene(), "fence.log");
    must_say(said, "is fenced: its ports are disabled");
    assert_int_equal(status, 0);
    assert_true(is_place_physically(place, "Disabled"));
}

static void a_fence_is_lifted_when_the_node_has_nothing(void **state)
{
    (void)state;
    begin_fence();
    json_t *port = fence_failed();
    /* Its service plays along: what it has open it closes when it is granted no more. */
    must_say(ONEIB(0, "unfence", FAILED_NAME)->out, "is no longer fenced");
    assert_true(is_physically(port, "Polling"));
    bring_up(FAILED);
    await_holds(FAILED, FULL(KEY)); /* the VM is there still, for oned */
    assert_false(is_physically(port, "Disabled"));
    must_say(ONEIB(0, "unfence", FAILED_NAME)->out, "is not fenced");
    json_decref(port);
}

static void await_noted(const char *note)
{
    bool noted = false;
    for (unsigned waited = 0; !noted; waited += 100) {
        oneib_autofree char *said = lab_read(scene(), "unfence.log");
        noted = strstr(said, note);
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("'oneib unfence' says: %s", said);
        lab_sleep_ms(100);
    }
}

/* Nobody hears of a host whose service is stopped: nothing says that it has nothing. What it said
 * just before it was stopped, and before anybody asked, does not. */
static void a_fence_is_not_lifted_for_a_host_that_says_nothing(void **state)
{
    (void)state;
    pid_t pid;
    uint32_t id;
    char guid[32];
    begin_fence();
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(scene(), SCENE_HOSTS));
    MUST(lab_host_create(scene(), "mute", "mlx4_0", "mlx4", guid, 63, 7, &id, &err)); /* of X1 */
    await_pinned(lab_host_port_guid(scene(), SCENE_HOSTS));
    const pid_t services = lab_child_pid(scene(), "played-hosts");
    assert_true(services > 0);
    kill(services, SIGSTOP);
    json_t *port =
        json_deep_copy(json_array_get(json_field(ONEIB_JSON(0, "fence", "mute"), "ports"), 0));
    assert_true(is_physically(port, "Disabled"));
    const char *const argv[] = {
        ONEIB_BINARY, "unfence", "mute", "--config", lab_config_path(scene()), NULL};
    MUST(lab_spawn(scene(), "unfence", NULL, argv, &pid, &err));
    for (unsigned i = 0; i < 30; i++) {
        assert_true(is_physically(port, "Disabled"));
        lab_sleep_ms(100);
    }
    must_say(ONEIB(0, "hosts")->out, "host \"mute\": it is fenced: 'oneib unfence' waits until");
    await_noted("note: host \"mute\" is still fenced: 'oneib unfence' waits until");
    MUST(lab_end(scene(), pid, SIGTERM, SCENE_TIMEOUT_MS, &err));
    kill(services, SIGCONT);
    must_say(ONEIB(0, "unfence", "--force", "mute")->out, "is no longer fenced");
    assert_true(is_physically(port, "Polling"));
    json_decref(port);
}

/* ---- who cannot make or lift one ------------------------------------------------------------- */

static void a_host_without_infiniband_has_nothing_to_fence(void **state)
{
    (void)state;
    uint32_t id;
    begin_fence();
    MUST(lab_host_create_bare(scene(), "plain", &id, &err));
    must_say(ONEIB(0, "fence", "plain")->out, "has no InfiniBand");
    must_say(ONEIB(3, "fence", "nobody")->error, "there is no host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(daemon_raise_watching, a_fenced_host_is_off_the_fabric_and_nobody_else),
        DAEMON_CASE(daemon_raise_watching, a_fenced_port_that_somebody_enables_is_disabled_again),
        DAEMON_CASE(daemon_raise_watching, a_fence_outlives_oneibd),
        DAEMON_CASE(daemon_raise_watching,
                    what_it_has_found_of_fences_is_not_said_any_more_beside_no_master),
        DAEMON_CASE(daemon_raise_watching,
                    a_fence_holds_while_oned_is_away_also_after_a_restart_of_oneibd),
        DAEMON_CASE(daemon_raise_watching, a_fence_outlives_the_ledger),
        DAEMON_CASE(daemon_raise_watching, fences_of_all_hosts_outlive_the_ledger_too),
        DAEMON_CASE(daemon_raise_watching, two_who_fence_at_once_are_both_told_that_it_is_done),
        DAEMON_CASE(daemon_raise_watching,
                    a_host_that_has_lost_its_power_is_fenced_too_and_stays_so_when_it_is_back),
        DAEMON_CASE(daemon_raise_watching,
                    a_fence_closes_no_place_at_which_another_host_is_linked_by_now),
        DAEMON_CASE(daemon_raise_watching,
                    what_a_forged_probe_names_is_not_closed_and_keeps_no_host_from_being_fenced),
        DAEMON_CASE(daemon_raise_watching,
                    a_port_that_its_node_reports_a_moment_later_is_closed_by_the_same_fence),
        DAEMON_CASE(daemon_raise_watching, a_fence_is_lifted_when_the_node_has_nothing),
        DAEMON_CASE(daemon_raise_watching, a_fence_is_not_lifted_for_a_host_that_says_nothing),
        DAEMON_CASE(daemon_raise_watching, a_host_without_infiniband_has_nothing_to_fence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
