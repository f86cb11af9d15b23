// SPDX-License-Identifier: Apache-2.0
/*
 * Fenced hosts and what else happens: many members that go at once, an oned that hangs, adapters
 * with two ports, ports of standby subnet managers, others who write the ledger. With a running
 * oneibd, on ibsim with a real opensm.
 */
#include "base/cleanup.h"
#include "fence_scene.h"
#include "lab_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct oneib_error err;

/* ---- many that go at once -------------------------------------------------------------------- */

#define CLUSTERS 5u
#define HOLD "removal_hold: { minimum = 2; share = 0.5; };"

static uint32_t vms[CLUSTERS];

static bool is_member(size_t host)
{
    char guid[32];
    oneib_autofree char *file = scene_file();
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(scene(), host));
    return strstr(file, guid) != NULL;
}

static void await_no_member(size_t host)
{
    for (unsigned waited = 0; is_member(host); waited += 50) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("host %zu is still a member", host);
        lab_sleep_ms(50);
    }
}

/* All members but one are on the host that fails, which OpenNebula sees in ERROR. */
static void begin_with_many(void)
{
    daemon_end();
    daemon_start_with(NULL, NULL, HOLD);
    begin_fence();
    for (unsigned i = 0; i < CLUSTERS; i++) {
        char name[16], key[8];
        snprintf(name, sizeof name, "many%u", i);
        snprintf(key, sizeof key, "%u", 400 + i);
        vms[i] = scene_vm(scene_network(name, key, NULL), FAILED);
        await_holds(FAILED, FULL(400 + i));
    }
    MUST(lab_host_fail(scene(), FAILED, &err));
}

/* As OpenNebula's hook does, and as an operator who recreates the VMs by hand. */
static void recreate_all(void)
{
    for (unsigned i = 0; i < CLUSTERS; i++)
        MUST(lab_vm_state(scene(), vms[i], 1, 0, &err)); /* PENDING */
}

static void removals_of_a_fenced_host_are_not_held_and_its_vms_start_elsewhere(void **state)
{
    (void)state;
    begin_with_many();
    daemon_forget_log();
    must_say(ONEIB(0, "fence", FAILED_NAME)->out, "is fenced");
    await_no_member(FAILED);
    recreate_all();
    for (unsigned i = 0; i < CLUSTERS; i++) {
        MUST(lab_vm_deploy(scene(), vms[i], 2, &err));
        MUST(lab_vm_running(scene(), vms[i], &err));
        await_holds(2, FULL(400 + i));
    }
    assert_false(daemon_said("held back"));
    assert_false(daemon_said("removals are held"));
    assert_int_equal((int)metric("oneib_members_held"), 0);
}

/* ---- an oned that hangs ---------------------------------------------------------------------- */

/* Long before the call ends, on a busy machine too. */
#define HANG_S 50
#define SOON_MS 25000

static void a_fenced_port_is_closed_again_while_oned_hangs(void **state)
{
    (void)state;
    daemon_end();
    daemon_start_with("timeout = 60000;", NULL, NULL);
    begin_fence();
    json_t *port = fence_failed();
    MUST(lab_fault(scene(), "hang", 1000, HANG_S, &err));
    lab_sleep_ms(2500); /* it polls: a call is under way */
    daemon_forget_log();
    const long began = lab_clock_ms();
    bring_up(FAILED); /* the daemon may be quicker to close it than anybody can look: it says so */
    await_said(": disabled");
    await_physically(port, "Disabled");
    assert_true(lab_clock_ms() - began < SOON_MS);
    MUST(lab_fault(scene(), "hang", 0, 0, &err));
    await_said("was up again at port");
    json_decref(port);
}

/* ---- others who write the ledger ------------------------------------------------------------- */

#define ROUNDS 60 /* in most of them nobody meets anybody */

/* All hosts at once, while the daemon writes down what it sees of each. */
static void fence_all(void)
{
    struct lab_output output = {0};
    const char *const argv[] = {
        "sh",
        "-c",
        "for host in H1 H2 H3 H4; do\n"
        "    \"$0\" fence $host --config \"$1\" >&2 || echo $host failed &\n"
        "done; wait",
        ONEIB_BINARY,
        lab_config_path(scene()),
        NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    must_not_say(output.out, "failed");
    lab_output_clear(&output);
}

static void others_who_write_the_ledger_are_no_error(void **state)
{
    (void)state;
    begin_fence();
    for (size_t i = 0; i < SCENE_HOSTS; i++)
        await_pinned(lab_host_port_guid(scene(), i));
    daemon_forget_log();
    for (unsigned i = 0; i < ROUNDS && !daemon_said("another writer has changed"); i++)
        fence_all();
    assert_true(daemon_said("another writer has changed the ledger")); /* else this shows nothing */
    assert_false(daemon_said("the partitions stay as they are"));
}

/* ---- adapters with two ports, on two rails --------------------------------------------------- */

static int raise_two_rails(void **state)
{
    (void)state;
    const struct lab_options options = {.hosts_per_leaf = 1, .shape = &lab_two_rails};
    if (daemon_raise_on(&options, NULL) < 0)
        return -1;
    if (!lab_missing()) {
        ONEIB(0, "sync", "--force");
        daemon_start();
    }
    return 0;
}

static json_t *fence_two_ports(void)
{
    json_t *said = ONEIB_JSON(0, "fence", FAILED_NAME);
    assert_true(json_yes(said, "closed"));
    json_t *ports = json_deep_copy(json_field(said, "ports"));
    assert_int_equal(json_array_size(ports), 2);
    const char *first = json_text(json_array_get(ports, 0), "switch");
    assert_string_not_equal(first, json_text(json_array_get(ports, 1), "switch"));
    for (size_t i = 0; i < 2; i++)
        assert_true(is_physically(json_array_get(ports, i), "Disabled"));
    return ports;
}

static void both_ports_of_an_adapter_are_closed_each_on_its_rail(void **state)
{
    (void)state;
    scene();
    await_pinned(lab_host_guid_of_port(scene(), FAILED, 1));
    await_pinned(lab_host_guid_of_port(scene(), FAILED, 2));
    json_t *ports = fence_two_ports();
    MUST(lab_fabric_command(scene(), "Unlink \"H1\"[2]", &err)); /* the second rail's switch */
    MUST(lab_fabric_command(scene(), "ReLink \"H1\"[2]", &err));
    await_physically(json_array_get(ports, 0), "Disabled");
    await_physically(json_array_get(ports, 1), "Disabled");
    json_decref(ports);
}

/* ---- ports of standby subnet managers -------------------------------------------------------- */

/* X1 has one, and a node that lies has it too; X2 is the liar's own. */
static void a_standbys_port_that_a_node_reports_is_not_closed(void **state)
{
    (void)state;
    const uint64_t standbys = lab_host_port_guid(scene(), SCENE_EXTRA);
    char full_members[160], guid[32];
    uint32_t id;
    snprintf(full_members, sizeof full_members,
             "default_partition: { full_members = [\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]; };",
             LAB_SM_PORT_GUID, standbys);
    daemon_end();
    daemon_start_with(NULL, NULL, full_members);
    snprintf(guid, sizeof guid, "0x%016" PRIx64, standbys);
    MUST(lab_host_create(scene(), "liar", "mlx4_0", "mlx4", guid, 63, 7, &id, &err));
    await_said("port-anothers: host \"liar\": its oneib-node reports port");
    json_t *said = ONEIB_JSON(1, "fence", "liar");
    assert_false(json_yes(said, "closed"));
    json_t *port = json_array_get(json_field(said, "ports"), 0);
    assert_string_equal(json_text(port, "state"), "barred");
    assert_true(port_holds(SCENE_EXTRA, FULL(0x7fff)));
    must_say(ONEIB(1, "fence", "liar")->out, "fence-port-barred");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(daemon_raise_watching,
                    removals_of_a_fenced_host_are_not_held_and_its_vms_start_elsewhere),
        DAEMON_CASE(daemon_raise_watching, a_fenced_port_is_closed_again_while_oned_hangs),
        DAEMON_CASE(daemon_raise_watching, others_who_write_the_ledger_are_no_error),
        DAEMON_CASE(raise_two_rails, both_ports_of_an_adapter_are_closed_each_on_its_rail),
        DAEMON_CASE(daemon_raise_watching, a_standbys_port_that_a_node_reports_is_not_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
