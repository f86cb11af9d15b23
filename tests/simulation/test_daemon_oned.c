// SPDX-License-Identifier: Apache-2.0
/*
 * oneibd and an oned that is away, refuses, or answers wrongly: at the start and later. On ibsim
 * with a real opensm; what counts is what the ports hold.
 */
#include "base/cleanup.h"
#include "daemon_scene.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct oneib_error err;

static void fault(const char *kind)
{
    MUST(lab_fault(scene(), kind, 1000000, 3600, &err));
}

static void no_fault(void)
{
    MUST(lab_fault(scene(), "html", 0, 0, &err));
}

/* ---- starting -------------------------------------------------------------------------------- */

static void it_refuses_to_start_while_oned_lacks_restrictions_and_lists_them(void **state)
{
    (void)state;
    scene();
    fault("unrestricted");
    daemon_spawn();
    assert_int_equal(daemon_await_end(), 4);
    assert_true(daemon_said("VNET_RESTRICTED_ATTR = \"VLAN_ID\""));
    assert_true(daemon_said("'oneib check' lists all"));
}

static void restrictions_that_are_taken_away_later_change_no_partition(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), 0);
    daemon_start_with(DAEMON_NO_EVENTS, NULL, NULL);
    await_holds(0, FULL(RED));
    fault("unrestricted");
    await_said("RESTRICTED_ATTR");
    assert_true(daemon_said("the partitions stay as they are"));
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    no_fault();
    await_said("recovered from");
}

static void a_new_configuration_does_not_end_it_for_restrictions_that_are_missing(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    fault("unrestricted");
    daemon_signal(SIGHUP);
    await_said("RESTRICTED_ATTR");
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(daemon_is_running());
    no_fault();
    await_said("recovered from");
}

static void it_starts_while_oned_is_down_and_works_once_it_is_up(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), 0);
    MUST(lab_standin_down(scene(), true, &err));
    daemon_spawn();
    await_said("cannot reach oned");
    await_health(503, "OpenNebula has not been read yet");
    MUST(lab_standin_down(scene(), false, &err));
    await_holds(0, FULL(RED));
    await_health(200, NULL);
}

static void a_wrong_password_is_said_and_taken_back_with_sighup(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), 0);
    MUST(lab_write(scene(), "one_auth", 0600, "oneadmin:wrong\n", &err));
    daemon_spawn();
    await_said("one.auth_file");
    await_health(503, "OpenNebula has not been read yet");
    assert_true(daemon_is_running());
    daemon_configure(NULL);
    daemon_signal(SIGHUP);
    await_holds(0, FULL(RED));
}

static void a_user_who_does_not_see_all_changes_no_partition(void **state)
{
    (void)state;
    scene();
    oneib_autofree char *session = NULL;
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    assert_true(asprintf(&session, "%s\n", lab_limited_session(scene())) > 0);
    MUST(lab_write(scene(), "one_auth", 0600, session, &err));
    daemon_signal(SIGHUP);
    await_said("oneadmin");
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(daemon_is_running());
}

static void without_its_configuration_it_ends_and_names_the_file(void **state)
{
    (void)state;
    struct lab_output output = {0};
    const char *argv[] = {ONEIBD_BINARY, "--config", lab_path(scene(), "nothing.conf"), NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    assert_int_equal(output.status, 3);
    must_say(output.error, "nothing.conf");
    lab_output_clear(&output);
}

#define FOREIGN "Default=0x7fff : ALL=limited, SELF=full;\nmine=0x0101 : 0x100003=full;\n"

static void a_foreign_file_is_left_alone_until_sync_force_then_it_goes_on(void **state)
{
    (void)state;
    scene();
    scene_foreign_reload(FOREIGN, 0, FULL(RED));
    uint32_t network = scene_network("blue", "", NULL);
    scene_vm(network, 1);
    daemon_spawn();
    await_said("'oneib sync --force'");
    await_health(503, "'oneib sync --force'");
    oneib_autofree char *file = scene_file();
    assert_string_equal(file, FOREIGN);
    assert_int_equal(scene_key_of(network), 0);

    ONEIB(0, "sync", "--force");
    await_health(200, NULL);
    const unsigned key = scene_key_of(network);
    await_holds(1, FULL(key));
    scene_vm(network, 2);
    await_holds(2, FULL(key));
}

static void without_a_partitions_file_it_writes_one(void **state)
{
    (void)state;
    scene();
    assert_true(port_holds(3, 0xffff)); /* that is why */
    scene_vm(red_network(), 0);
    daemon_start();
    await_holds(0, FULL(RED));
    await_lacks(3, 0xffff);
    await_health(200, NULL);
}

/* ---- an oned that fails ---------------------------------------------------------------------- */

/* A VM that runs, one that begins and one that ends while oned is not well. */
static void while_oned_fails(void (*begin)(const void *what), void (*end)(const void *what),
                             const void *what)
{
    uint32_t network = red_network();
    uint32_t ending = scene_vm(network, 1);
    scene_vm(network, 0);
    await_holds(0, FULL(RED));
    await_holds(1, FULL(RED));
    begin(what);
    scene_vm(network, 2);
    scene_end_vm(ending);
    await_said("the partitions stay as they are");
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(port_holds(1, FULL(RED)));
    assert_false(port_holds(2, FULL(RED)));
    await_health(503, NULL);
    end(what);
    await_lacks(1, FULL(RED));
    await_holds(2, FULL(RED));
    assert_true(port_holds(0, FULL(RED)));
    await_health(200, NULL);
}

static void begin_fault(const void *kind)
{
    fault(kind);
}

static void end_fault(const void *kind)
{
    (void)kind;
    no_fault();
}

static void partitions_stay_while_oned_answers(const char *kind)
{
    scene();
    while_oned_fails(begin_fault, end_fault, kind);
}

static void partitions_stay_while_oned_answers_with_html(void **state)
{
    (void)state;
    partitions_stay_while_oned_answers("html");
}

static void partitions_stay_while_oned_cuts_its_answers(void **state)
{
    (void)state;
    partitions_stay_while_oned_answers("truncated");
}

static void partitions_stay_while_oned_closes_connections(void **state)
{
    (void)state;
    partitions_stay_while_oned_answers("close");
}

static void partitions_stay_while_oned_fails_with_http_500(void **state)
{
    (void)state;
    partitions_stay_while_oned_answers("http500");
}

static void partitions_stay_while_oned_refuses_the_session(void **state)
{
    (void)state;
    partitions_stay_while_oned_answers("badsession");
}

static void go_down(const void *what)
{
    (void)what;
    MUST(lab_standin_down(scene(), true, &err));
}

static void come_up(const void *what)
{
    (void)what;
    MUST(lab_standin_down(scene(), false, &err));
}

/* An oned that hangs is one that gets restarted. */
static void restart(const void *what)
{
    no_fault();
    go_down(what);
    come_up(what);
}

static void partitions_stay_while_oned_hangs(void **state)
{
    (void)state;
    scene();
    daemon_start_with("timeout = 300;", NULL, NULL);
    while_oned_fails(begin_fault, restart, "hang");
}

static void partitions_stay_while_oned_is_down(void **state)
{
    (void)state;
    scene();
    while_oned_fails(go_down, come_up, NULL);
}

static void a_vm_that_starts_while_oned_goes_down_and_comes_up_is_a_member(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    for (uint32_t i = 0; i < SCENE_HOSTS; i++) {
        scene_vm(network, i);
        go_down(NULL);
        lab_sleep_ms(100 * i);
        come_up(NULL);
    }
    for (uint32_t i = 0; i < SCENE_HOSTS; i++)
        await_holds(i, FULL(RED));
}

/* Nobody can tell such an oned from one without VMs: that is what the hold is for. */
static void empty_pools_do_not_end_what_is_in_force(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    daemon_start_with(DAEMON_NO_EVENTS, NULL, "removal_hold: { share = 0.5; minimum = 2; };");
    for (uint32_t i = 0; i < SCENE_HOSTS; i++) {
        scene_vm(network, i);
        await_holds(i, FULL(RED));
    }
    fault("empty-pools");
    const double looks = metric("oneib_full_readings_total");
    await_metric_at_least("oneib_full_readings_total", looks + 2);
    for (uint32_t i = 0; i < SCENE_HOSTS; i++)
        assert_true(port_holds(i, FULL(RED)));
    no_fault();
    await_metric("oneib_members_held", 0);
    await_metric("oneib_members", SCENE_HOSTS);
    for (uint32_t i = 0; i < SCENE_HOSTS; i++)
        assert_true(port_holds(i, FULL(RED)));
}

static void windows_that_leave_vms_out_lose_nobody(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    daemon_start_with(DAEMON_NO_EVENTS, NULL, NULL);
    for (uint32_t i = 0; i < SCENE_HOSTS; i++) {
        scene_vm(network, i);
        await_holds(i, FULL(RED));
    }
    fault("shrink-window");
    const double looks = metric("oneib_full_readings_total");
    await_metric_at_least("oneib_full_readings_total", looks + 2);
    for (uint32_t i = 0; i < SCENE_HOSTS; i++)
        assert_true(port_holds(i, FULL(RED)));
}

/* Windows of one id: VMs come and go between the calls of every reading. */
static void vms_that_come_and_go_between_windows_cost_no_other_its_place(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    daemon_start_with(DAEMON_NO_EVENTS "window = 1;", NULL, NULL);
    scene_vm(network, 0);
    uint32_t last = scene_vm(network, 1);
    await_holds(0, FULL(RED));
    for (double full = metric("oneib_full_readings_total") + 3;
         metric("oneib_full_readings_total") < full;) {
        scene_end_vm(last);
        last = scene_vm(network, 1);
        assert_true(port_holds(0, FULL(RED)));
    }
    await_holds(1, FULL(RED));
    scene_end_vm(last);
    await_lacks(1, FULL(RED));
    assert_true(port_holds(0, FULL(RED)));
}

/* Each call takes half a second: of four hosts the writing of IB_KEYS takes four seconds. */
static void while_oned_is_slow_partitions_do_not_wait_for_the_last_host(void **state)
{
    (void)state;
    struct lab *lab = scene();
    const uint32_t network = red_network();
    uint32_t vms[SCENE_HOSTS], hosts[SCENE_HOSTS];
    char keys[64];
    for (uint32_t i = 0; i < SCENE_HOSTS; i++) {
        MUST(lab_vm_create(lab, "vm", &network, 1, &vms[i], &err));
        hosts[i] = i;
    }
    await_said("was given a P_Key");
    MUST(lab_fault(lab, "slow", 1000000, 500, &err));
    MUST(lab_vms_deploy(lab, vms, hosts, SCENE_HOSTS, &err));
    await_holds(SCENE_HOSTS - 1, FULL(RED));
    host_attribute(SCENE_HOSTS - 1, "IB_KEYS", keys, sizeof keys);
    assert_string_equal(keys, "");
    await_host_attribute(SCENE_HOSTS - 1, "IB_KEYS", "0x0101");
    no_fault();
}

/* ---- a database that was put back ------------------------------------------------------------- */

/* The ledger that was put back does not know the P_Key of the second network. */
static void a_ledger_that_was_put_back_under_it_gives_nothing_until_it_is_adopted(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text before = {0};
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    struct oneib_kept_ledger kept = scene_ledger();
    oneib_ledger_render(&kept.ledger, &before);
    const unsigned key = await_key_of(scene_network("blue", "", NULL));
    MUST(lab_document_replace(scene(), kept.document_id, before.data, &err));
    oneib_kept_ledger_clear(&kept);
    await_said("ledger-lost");
    const uint32_t green = scene_network("green", "", NULL);
    scene_vm(green, 2);
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_int_equal(scene_key_of(green), 0);

    ONEIB(0, "sync", "--adopt");
    const unsigned next = await_key_of(green);
    assert_int_not_equal(next, key);
    assert_int_not_equal(next, RED);
    await_holds(2, FULL(next));
    assert_true(port_holds(0, FULL(RED)));
}

#define STOPPED(test) DAEMON_CASE(daemon_raise, test)
#define WATCHING(test) DAEMON_CASE(daemon_raise_watching, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STOPPED(it_refuses_to_start_while_oned_lacks_restrictions_and_lists_them),
        STOPPED(restrictions_that_are_taken_away_later_change_no_partition),
        WATCHING(a_new_configuration_does_not_end_it_for_restrictions_that_are_missing),
        STOPPED(it_starts_while_oned_is_down_and_works_once_it_is_up),
        STOPPED(a_wrong_password_is_said_and_taken_back_with_sighup),
        WATCHING(while_oned_is_slow_partitions_do_not_wait_for_the_last_host),
        WATCHING(a_user_who_does_not_see_all_changes_no_partition),
        STOPPED(without_its_configuration_it_ends_and_names_the_file),
        DAEMON_CASE(daemon_raise_new,
                    a_foreign_file_is_left_alone_until_sync_force_then_it_goes_on),
        DAEMON_CASE(daemon_raise_new, without_a_partitions_file_it_writes_one),
        WATCHING(partitions_stay_while_oned_answers_with_html),
        WATCHING(partitions_stay_while_oned_cuts_its_answers),
        WATCHING(partitions_stay_while_oned_closes_connections),
        WATCHING(partitions_stay_while_oned_fails_with_http_500),
        WATCHING(partitions_stay_while_oned_refuses_the_session),
        STOPPED(partitions_stay_while_oned_hangs),
        WATCHING(partitions_stay_while_oned_is_down),
        WATCHING(a_vm_that_starts_while_oned_goes_down_and_comes_up_is_a_member),
        WATCHING(a_ledger_that_was_put_back_under_it_gives_nothing_until_it_is_adopted),
        STOPPED(empty_pools_do_not_end_what_is_in_force),
        STOPPED(windows_that_leave_vms_out_lose_nobody),
        STOPPED(vms_that_come_and_go_between_windows_cost_no_other_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
