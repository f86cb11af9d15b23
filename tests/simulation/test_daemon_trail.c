// SPDX-License-Identifier: Apache-2.0
/*
 * oneibd's log as an audit trail: who became a member, who ceased to be one, who was refused, and
 * why; proved by the ports, within bounds, and not again after a restart.
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

enum { MIGRATE = 4 };

#define BLUE 258u

static struct oneib_error err;

/* That the member is in force is said with the addition, or later when the ports were slow. */
static void await_proved(const char *who)
{
    char at_once[256], later[256];
    snprintf(later, sizeof later, "member in force: %s", who);
    snprintf(at_once, sizeof at_once, "member added: %s", who);
    await_said(at_once);
    oneib_autofree char *log = daemon_log();
    const char *line = strstr(log, at_once);
    if (!strstr(log, later) && !memmem(line, strcspn(line, "\n"), "; in force", 10))
        await_said(later);
}

static void growing_and_shrinking_leave_a_line_for_each_member(void **state)
{
    (void)state;
    scene();
    uint32_t nic;
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    const uint32_t red = red_network(), blue = scene_network("blue", "258", NULL);
    const uint32_t vm = scene_vm(red, 0);
    await_proved("network 1 \"red\" 0x0101 full, VM 0 NIC 1 on host \"H1\", port "
                 "0x0000000000100003: VM came to the host (");
    MUST(lab_vm_attach(scene(), vm, blue, &nic, &err));
    await_proved("network 2 \"blue\" 0x0102 full, VM 0 NIC 2 on host \"H1\", port "
                 "0x0000000000100003: NIC attached");
    MUST(lab_vm_running(scene(), vm, &err));
    MUST(lab_vm_detach(scene(), vm, nic, &err));
    MUST(lab_vm_running(scene(), vm, &err));
    await_said("member removed: network 2 \"blue\" 0x0102 full, VM 0 NIC 2 on host \"H1\", port "
               "0x0000000000100003: NIC detached; ");
    await_lacks(0, FULL(BLUE));
    scene_end_vm(vm);
    await_said("member removed: network 1 \"red\" 0x0101 full, VM 0 NIC 1 on host \"H1\", port "
               "0x0000000000100003: VM ended; ");
    await_lacks(0, FULL(RED));
    assert_int_equal(daemon_said_times("member added: "), 2);
    assert_int_equal(daemon_said_times("member removed: "), 2);
    assert_false(daemon_said("0x8101"));
}

static void two_vms_on_one_port_are_two_members(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    const uint32_t red = red_network();
    const uint32_t first = scene_vm(red, 0);
    await_proved("network 1 \"red\" 0x0101 full, VM 0 NIC 1 on host \"H1\"");
    scene_vm(red, 0);
    await_said("member added: network 1 \"red\" 0x0101 full, VM 1 NIC 1 on host \"H1\"");
    scene_end_vm(first);
    await_said("VM 0 NIC 1 on host \"H1\", port 0x0000000000100003: VM ended; the port keeps the "
               "key for its other members");
    assert_true(port_holds(0, FULL(RED)));
}

static void a_migration_is_told_by_both_hosts(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    const uint32_t vm = scene_vm(red_network(), 0);
    await_proved("network 1 \"red\" 0x0101 full, VM 0 NIC 1 on host \"H1\"");
    MUST(lab_vm_migrate(scene(), vm, 2, MIGRATE, &err));
    await_proved("network 1 \"red\" 0x0101 full, VM 0 NIC 1 on host \"H3\", port "
                 "0x0000000000100007: migration from host \"H1\"");
    assert_false(daemon_said("member removed"));
    MUST(lab_vm_running(scene(), vm, &err));
    await_said("member removed: network 1 \"red\" 0x0101 full, VM 0 NIC 1 on host \"H1\", port "
               "0x0000000000100003: migrated to host \"H3\"; ");
}

static void a_refusal_is_said_once_and_when_it_ends(void **state)
{
    (void)state;
    scene();
    const uint32_t red = red_network();
    const uint32_t twin = scene_network("twin", "257", NULL);
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    const uint32_t vm = scene_vm(twin, 0);
    await_said("warning: member refused: network 2 \"twin\", VM 0 NIC 1 on host \"H1\": "
               "key-conflict");
    const uint32_t other = scene_vm(red, 1);
    await_proved("network 1 \"red\" 0x0101 full, VM 1 NIC 1 on host \"H2\"");
    scene_end_vm(other);
    await_said("VM 1 NIC 1 on host \"H2\", port 0x0000000000100005: VM ended; ");
    assert_int_equal(daemon_said_times("member refused: "), 1);
    scene_end_vm(vm);
    await_said("member no longer refused: network 2 \"twin\", VM 0 NIC 1 on host \"H1\": VM ended");
}

static void after_a_restart_only_what_changed_meanwhile_is_said(void **state)
{
    (void)state;
    scene();
    const uint32_t red = red_network();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    const uint32_t vm = scene_vm(red, 0);
    scene_vm(red, 1);
    await_holds(0, FULL(RED));
    await_holds(1, FULL(RED));
    daemon_end();
    daemon_forget_log();
    daemon_start();
    await_health(200, NULL);
    assert_false(daemon_said("member "));
    daemon_end();

    scene_end_vm(vm);
    scene_vm(red, 2);
    daemon_forget_log();
    daemon_start();
    await_holds(2, FULL(RED));
    await_said("member added: network 1 \"red\" 0x0101 full, VM 2 NIC 1 on host \"H3\", port "
               "0x0000000000100007: VM is on the host (RUNNING); ");
    await_said("member removed: network 1 \"red\" 0x0101 full, port 0x0000000000100003; ");
    assert_int_equal(daemon_said_times("member added: "), 1);
    assert_int_equal(daemon_said_times("member removed: "), 1);
    daemon_signal(SIGHUP);
    await_said("the configuration was read again");
    await_health(200, NULL);
    assert_int_equal(daemon_said_times("member added: "), 1);
}

static void many_members_at_once_are_counted(void **state)
{
    (void)state;
    scene();
    const uint32_t red = red_network();
    for (unsigned i = 0; i < 240; i++)
        scene_vm(red, i % 4);
    for (uint32_t host = 0; host < 4; host++) /* all ports are known from the start */
        MUST(lab_host_accept_port(scene(), host, "mlx4_0", "mlx4", 1,
                                  lab_host_port_guid(scene(), host), &err));
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    await_said("and 40 more: network 1 \"red\" 40 added");
    assert_int_equal(daemon_said_times("member added: "), 200);
}

static void sync_says_the_same_of_what_it_did(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = scene_vm(red_network(), 0);
    daemon_configure(NULL);
    must_say(ONEIB(0, "sync")->out,
             "member added: network 1 \"red\" 0x0101 full, VM 0 NIC 1 on host \"H1\", port "
             "0x0000000000100003: VM is on the host (RUNNING); in force\n");
    must_not_say(ONEIB(0, "sync")->out, "member");
    scene_end_vm(vm);
    must_say(
        ONEIB(0, "sync", "--force")->out,
        "member removed: network 1 \"red\" 0x0101 full, port 0x0000000000100003; gone from the "
        "port\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(daemon_raise, growing_and_shrinking_leave_a_line_for_each_member),
        DAEMON_CASE(daemon_raise, two_vms_on_one_port_are_two_members),
        DAEMON_CASE(daemon_raise, a_migration_is_told_by_both_hosts),
        DAEMON_CASE(daemon_raise, a_refusal_is_said_once_and_when_it_ends),
        DAEMON_CASE(daemon_raise, after_a_restart_only_what_changed_meanwhile_is_said),
        DAEMON_CASE(daemon_raise, many_members_at_once_are_counted),
        SCENE_CASE(scene_raise, sync_says_the_same_of_what_it_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
