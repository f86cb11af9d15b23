// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts that fail: `oneib fence` and `oneib unfence`, with a running oneibd, on ibsim with a real
 * opensm. What counts is what the switch says of its port, and who is on the fabric.
 */
#include "base/cleanup.h"
#include "cluster/fence.h"
#include "daemon_scene.h"
#include "lab_internal.h"
#include "oneibd/nodes.h"
#include "opennebula/ledger_document.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY 300
#define FAILED 0u /* the host that fails, and its name */
#define FAILED_NAME "H1"
#define OTHER 1u

static struct oneib_error err;
static uint32_t network, vm;

static struct oneib_kept_ledger read_ledger(void)
{
    struct oneib_kept_ledger kept = {0};
    const struct oneib_credentials credentials = {
        .endpoint = (char *)(uintptr_t)lab_endpoint(scene()),
        .session = (char *)(uintptr_t)lab_session(scene())};
    struct oneib_one *one = oneib_one_open(&credentials, 20000, &err);
    if (!one || oneib_ledger_read(one, false, &kept, &err) < 0)
        fail_msg("%s", err.text);
    oneib_one_close(one);
    return kept;
}

/* The ledger says whose it is, and where. */
static bool is_pinned(uint64_t guid)
{
    struct oneib_kept_ledger kept = read_ledger();
    const struct oneib_ledger_port *port = oneib_ledger_port(&kept.ledger, guid);
    const bool is = port && port->switch_guid;
    oneib_kept_ledger_clear(&kept);
    return is;
}

static void await_pinned(uint64_t guid)
{
    unsigned waited = 0;
    while (!is_pinned(guid)) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("port 0x%016" PRIx64 " is not in the ledger", guid);
        lab_sleep_ms(50);
        waited += 50;
    }
}

/* A cluster with a VM on both hosts, in force. */
static void begin(void)
{
    scene();
    network = scene_network("blue", "300", NULL);
    vm = scene_vm(network, FAILED);
    scene_vm(network, OTHER);
    await_holds(FAILED, FULL(KEY));
    await_holds(OTHER, FULL(KEY));
    await_pinned(lab_host_port_guid(scene(), FAILED));
    await_pinned(lab_host_port_guid(scene(), OTHER));
}

/* ---- what the switch says ---------------------------------------------------------------------
 */

/* PortPhysicalState of the switch's port that JSON names, by its name. */
static bool is_physically(json_t *port, const char *wanted)
{
    char number[8];
    struct lab_output output = {0};
    snprintf(number, sizeof number, "%d", (int)json_number(port, "switch_port"));
    const char *const argv[] = {"smpquery", "-G", "portinfo", json_text(port, "switch"),
                                number,     NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    const char *line = strstr(output.out, "PhysLinkState:");
    if (!line)
        fail_msg("smpquery: %s%s", output.out, output.error);
    const char *end = strchr(line, '\n'), *at = strstr(line, wanted);
    const bool is = at && at < end;
    lab_output_clear(&output);
    return is;
}

static void await_physically(json_t *port, const char *wanted)
{
    unsigned waited = 0;
    while (!is_physically(port, wanted)) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("the port does not become %s", wanted);
        lab_sleep_ms(100);
        waited += 100;
    }
}

/* A switch does so by itself, ibsim does not: a link that was disabled comes up again. */
static void bring_up(size_t host)
{
    MUST(lab_fabric_link(scene(), host, false, &err));
    MUST(lab_fabric_link(scene(), host, true, &err));
}

/* What the probe of the host printed, or whoever speaks for it to monitord: an adapter's port, and
 * another one's unless it is 0. */
static void probe_says(uint32_t host, uint64_t first, uint64_t second)
{
    char text[512];
    size_t length = 0;
    const uint64_t ports[] = {first, second};
    for (size_t i = 0; i < 2 && ports[i]; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "IB_HCA = [ NAME = \"mlx4_%zu\", DRIVER = \"mlx4\", PORT = "
                                   "\"1\", PORT_GUID = \"0x%016" PRIx64
                                   "\", PKEYS_MAX = \"63\", VFS_TOTAL = \"7\" ]\n",
                                   i, ports[i]);
    MUST(lab_host_monitor(scene(), host, text, &err));
}

/* Fences the host, and gives what was said of its only port; borrowed from the last document. */
static json_t *fence(void)
{
    json_t *said = ONEIB_JSON(0, "fence", FAILED_NAME);
    assert_true(json_yes(said, "fenced"));
    assert_true(json_yes(said, "closed"));
    json_t *ports = json_field(said, "ports");
    assert_int_equal(json_array_size(ports), 1);
    return json_deep_copy(json_array_get(ports, 0)); /* the next run takes the document away */
}

/* ---- cases ------------------------------------------------------------------------------------
 */

static void a_fenced_host_is_off_the_fabric_and_nobody_else(void **state)
{
    (void)state;
    begin();
    json_t *port = fence();
    assert_string_equal(json_text(port, "state"), "down");
    assert_true(is_physically(port, "Disabled"));
    stays_holding(OTHER, FULL(KEY), DAEMON_DOUBT_MS);
    assert_true(daemon_said("disabled"));

    /* Said again it is so still, by a new look. */
    json_t *again = fence();
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
    begin();
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
                                lab_config_path(scene(), &err),
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
    begin();
    json_t *port = fence();
    daemon_forget_log();
    bring_up(FAILED); /* a switch that was started anew */
    await_physically(port, "Disabled");
    await_said("was up again at port");
    json_decref(port);
}

static void a_fence_outlives_oneibd(void **state)
{
    (void)state;
    begin();
    json_t *port = fence();
    daemon_kill();
    bring_up(FAILED);
    daemon_start();
    await_physically(port, "Disabled");
    json_decref(port);
}

static void a_fence_holds_while_oned_is_away_also_after_a_restart_of_oneibd(void **state)
{
    (void)state;
    begin();
    json_t *port = fence();
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
    struct oneib_kept_ledger kept = read_ledger();
    MUST(lab_document_delete(scene(), kept.document_id, &err));
    oneib_kept_ledger_clear(&kept);
}

static void a_fence_outlives_the_ledger(void **state)
{
    (void)state;
    begin();
    json_t *port = fence();
    forget_ledger();
    await_said("ledger-lost");
    bring_up(FAILED);
    await_physically(port, "Disabled");

    /* The port was just up, and does not answer now: whether that is said does not matter here. */
    struct lab_output output = {0};
    const char *const argv[] = {
        ONEIB_BINARY, "sync", "--adopt", "--config", lab_config_path(scene(), &err), NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    must_say(output.out, "the ledger has 1 P_Key again");
    lab_output_clear(&output);
    struct oneib_kept_ledger kept = read_ledger();
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
    begin();
    json_t *port = fence();
    must_say(ONEIB(0, "fence", "H2")->out, "is fenced");
    await_no_member();
    forget_ledger();
    await_said("ledger-lost");
    bring_up(FAILED);
    await_physically(port, "Disabled");
    must_say(ONEIB(3, "fence", FAILED_NAME)->error, "oneib sync --adopt");

    struct lab_output output = {0};
    const char *const argv[] = {
        ONEIB_BINARY, "sync", "--adopt", "--config", lab_config_path(scene(), &err), NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    lab_output_clear(&output);
    struct oneib_kept_ledger kept = read_ledger();
    assert_int_equal(kept.ledger.fence_count, 2);
    oneib_kept_ledger_clear(&kept);
    bring_up(FAILED);
    await_physically(port, "Disabled");
    json_decref(port);
}

static void a_host_that_has_lost_its_power_is_fenced_too_and_stays_so_when_it_is_back(void **state)
{
    (void)state;
    begin();
    MUST(lab_fabric_link(scene(), FAILED, false, &err));
    json_t *port = fence();
    assert_string_equal(json_text(port, "state"), "down");
    assert_true(is_physically(port, "Disabled"));
    MUST(lab_fabric_link(scene(), FAILED, true, &err));
    await_physically(port, "Disabled");
    json_decref(port);
    port = fence();
    assert_string_equal(json_text(port, "state"), "down");
    assert_true(is_physically(port, "Disabled"));
    json_decref(port);
}

/* ---- cables that are moved --------------------------------------------------------------------
 */

struct place {
    oneib_guid switch_guid;
    uint8_t switch_port;
};

/* By the ledger. */
static struct place place_of(size_t host)
{
    struct oneib_kept_ledger kept = read_ledger();
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
    begin();
    const struct place first = place_of(FAILED), second = place_of(OTHER);
    assert_true(first.switch_guid == second.switch_guid);
    swap_cables(first, second);
    await_place(FAILED, second);
    await_place(OTHER, first);
    MUST(lab_fabric_link(scene(), FAILED, false, &err)); /* both lose their power */
    MUST(lab_fabric_link(scene(), OTHER, false, &err));
    json_t *port = fence();
    assert_int_equal(json_number(port, "switch_port"), second.switch_port);
    assert_true(is_place_physically(second, "Disabled"));
    assert_false(is_place_physically(first, "Disabled"));
    json_decref(port);
}

static void a_port_that_two_hosts_report_is_closed_for_neither(void **state)
{
    (void)state;
    begin();
    /* Whoever speaks for the failed host to monitord: it has the other host's adapter, too. */
    probe_says(FAILED, lab_host_port_guid(scene(), FAILED), lab_host_port_guid(scene(), OTHER));
    json_t *said = ONEIB_JSON(1, "fence", FAILED_NAME);
    assert_false(json_yes(said, "closed"));
    json_t *ports = json_field(said, "ports");
    assert_int_equal(json_array_size(ports), 2);
    assert_non_null(json_find(ports, "state", "down"));
    assert_non_null(json_find(ports, "state", "shared"));
    assert_true(port_holds(OTHER, LIMITED(0x7fff))); /* it answers */
    must_say(ONEIB(1, "fence", FAILED_NAME)->out, "fence-port-shared");
}

/* It was told to monitord before oneibd was there, which cannot know better by itself. */
static void a_strangers_port_that_a_forged_document_names_is_not_closed(void **state)
{
    (void)state;
    begin();
    const uint64_t strangers = lab_host_port_guid(scene(), SCENE_HOSTS); /* X1's */
    daemon_kill();
    probe_says(FAILED, strangers, 0);
    daemon_start();
    json_t *said = ONEIB_JSON(1, "fence", FAILED_NAME);
    assert_false(json_yes(said, "closed"));
    json_t *ports = json_field(said, "ports");
    assert_int_equal(json_array_size(ports), 2);
    json_t *own = json_find(ports, "state", "down"), *other = json_find(ports, "state", "unproven");
    assert_non_null(own);
    assert_non_null(other);
    assert_true(is_physically(own, "Disabled"));
    assert_true(port_holds(SCENE_HOSTS, LIMITED(0x7fff)));
    must_say(ONEIB(1, "fence", FAILED_NAME)->out, "fence-port-unproven");
}

static void a_subnet_managers_port_is_not_closed_whoever_reports_it(void **state)
{
    (void)state;
    begin();
    probe_says(FAILED, lab_host_port_guid(scene(), FAILED), LAB_SM_PORT_GUID);
    json_t *said = ONEIB_JSON(1, "fence", FAILED_NAME);
    assert_non_null(json_find(json_field(said, "ports"), "state", "barred"));
    assert_non_null(json_find(json_field(said, "ports"), "state", "down"));
    assert_true(port_holds(OTHER, FULL(KEY)));
}

static void a_fence_is_lifted_when_the_node_has_nothing(void **state)
{
    (void)state;
    begin();
    json_t *port = fence();
    /* Its service plays along: what it has open it closes when it is granted no more. */
    must_say(ONEIB(0, "unfence", FAILED_NAME)->out, "is fenced no more");
    assert_true(is_physically(port, "Polling"));
    bring_up(FAILED);
    await_holds(FAILED, FULL(KEY)); /* the VM is there still, for oned */
    assert_false(is_physically(port, "Disabled"));
    must_say(ONEIB(0, "unfence", FAILED_NAME)->out, "is not fenced");
    json_decref(port);
}

/* Nobody hears of a host whose service is stopped: nothing says that it has nothing. */
static void a_fence_is_not_lifted_for_a_host_that_says_nothing(void **state)
{
    (void)state;
    pid_t pid;
    uint32_t id;
    char guid[32];
    begin();
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(scene(), SCENE_HOSTS));
    MUST(lab_host_create(scene(), "mute", "mlx4_0", "mlx4", guid, 63, 7, &id, &err)); /* of X1 */
    await_pinned(lab_host_port_guid(scene(), SCENE_HOSTS));
    const pid_t services = lab_child_pid(scene(), "played-hosts");
    assert_true(services > 0);
    kill(services, SIGSTOP);
    lab_sleep_ms(ONEIB_NODE_SILENT_MS + 500); /* what it said before that counts so long */
    json_t *port =
        json_deep_copy(json_array_get(json_field(ONEIB_JSON(0, "fence", "mute"), "ports"), 0));
    assert_true(is_physically(port, "Disabled"));
    const char *const argv[] = {
        ONEIB_BINARY, "unfence", "mute", "--config", lab_config_path(scene(), &err), NULL};
    MUST(lab_spawn(scene(), "unfence", NULL, argv, &pid, &err));
    for (unsigned i = 0; i < 30; i++) {
        assert_true(is_physically(port, "Disabled"));
        lab_sleep_ms(100);
    }
    MUST(lab_end(scene(), pid, SIGTERM, SCENE_TIMEOUT_MS, &err));
    kill(services, SIGCONT);
    must_say(ONEIB(0, "unfence", "--force", "mute")->out, "is fenced no more");
    assert_true(is_physically(port, "Polling"));
    json_decref(port);
}

static void removals_of_a_fenced_host_are_not_held_and_its_vms_start_elsewhere(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 4; i++)
        scene_vm(network, FAILED);
    json_t *port = fence();
    scene_end_vm(vm);
    const uint32_t again = scene_vm(network, 2);
    await_holds(2, FULL(KEY));
    (void)again;
    assert_int_equal((int)metric("oneib_members_held"), 0);
    json_decref(port);
}

/* ---- adapters whose functions are ports of their own (mlx5) -------------------------------------
 *
 * The virtual machine is recreated on another host, as by host_error.rb, while its old one may
 * still run it. Whether opensm, which has no virtual ports, puts anything into force does not
 * matter: what is in the partitions file, and what a host may set, is what counts.
 */

#define OLD SCENE_HOSTS /* X1 and X2 */
#define NEW (SCENE_HOSTS + 1)

struct move {
    uint32_t old_host, new_host;
    char guid[ONEIB_GUID_TEXT_SIZE]; /* the function's */
};

static uint32_t add_mlx5_host(const char *name, size_t place)
{
    char guid[32];
    uint32_t id;
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(scene(), place));
    MUST(lab_host_create(scene(), name, "mlx5_0", "mlx5", guid, 63, 7, &id, &err));
    await_pinned(lab_host_port_guid(scene(), place));
    return id;
}

/* A host's service says so: the function may have its GUID there. */
static bool is_set_at(const struct move *move, size_t place)
{
    char words[96];
    snprintf(words, sizeof words, "%s at 0x%016" PRIx64, move->guid,
             lab_host_port_guid(scene(), place));
    oneib_autofree char *log = lab_read_from(scene(), "played-hosts.log", 0, &err);
    if (!log)
        fail_msg("%s", err.text);
    return strstr(log, words) != NULL;
}

static bool is_member(const struct move *move)
{
    oneib_autofree char *file = scene_file();
    return strstr(file, move->guid) != NULL;
}

/* Is a member, and may have its GUID there. */
static void await_works_at(const struct move *move, size_t place)
{
    unsigned waited = 0;
    while (!is_member(move) || !is_set_at(move, place)) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("the virtual machine has nothing at host %zu", place);
        lab_sleep_ms(100);
        waited += 100;
    }
}

static void waits(const struct move *move, size_t place, unsigned milliseconds)
{
    for (unsigned waited = 0; waited < milliseconds; waited += 100) {
        assert_false(is_member(move));
        assert_false(is_set_at(move, place));
        lab_sleep_ms(100);
    }
}

static struct move begin_on_mlx5(void)
{
    struct move move = {0};
    scene();
    network = scene_network("blue", "300", NULL);
    move.old_host = add_mlx5_host("old", OLD);
    move.new_host = add_mlx5_host("new", NEW);
    vm = scene_vm(network, move.old_host);
    snprintf(move.guid, sizeof move.guid, "0x02000000000%03x01", vm);
    await_works_at(&move, OLD);
    return move;
}

static void recreate_elsewhere(const struct move *move)
{
    MUST(lab_vm_state(scene(), vm, 1, 0, &err)); /* PENDING */
    MUST(lab_vm_deploy(scene(), vm, move->new_host, &err));
    MUST(lab_vm_running(scene(), vm, &err));
    await_said("guid-twice");
}

static void a_guid_that_another_host_still_has_is_nobodys_until_it_is_given_back(void **state)
{
    (void)state;
    const struct move move = begin_on_mlx5();
    MUST(lab_host_mood(scene(), lab_host_port_guid(scene(), OLD), "keeps", &err));
    lab_sleep_ms(500); /* its service has read that */
    recreate_elsewhere(&move);
    waits(&move, NEW, 4000);
    MUST(lab_host_mood(scene(), lab_host_port_guid(scene(), OLD), "well", &err));
    await_works_at(&move, NEW);
}

static void a_guid_of_a_host_that_is_silent_is_nobodys_until_it_is_fenced(void **state)
{
    (void)state;
    const struct move move = begin_on_mlx5();
    MUST(lab_host_mood(scene(), lab_host_port_guid(scene(), OLD), "silent", &err));
    lab_sleep_ms(ONEIB_NODE_SILENT_MS + 500);
    recreate_elsewhere(&move);
    waits(&move, NEW, 4000);
    json_t *said = ONEIB_JSON(0, "fence", "old");
    assert_true(is_physically(json_array_get(json_field(said, "ports"), 0), "Disabled"));
    await_works_at(&move, NEW);
}

/* ---- who cannot make or lift one --------------------------------------------------------------
 */

static void a_host_without_infiniband_has_nothing_to_fence(void **state)
{
    (void)state;
    uint32_t id;
    begin();
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
                    a_fence_holds_while_oned_is_away_also_after_a_restart_of_oneibd),
        DAEMON_CASE(daemon_raise_watching, a_fence_outlives_the_ledger),
        DAEMON_CASE(daemon_raise_watching, fences_of_all_hosts_outlive_the_ledger_too),
        DAEMON_CASE(daemon_raise_watching, two_who_fence_at_once_are_both_told_that_it_is_done),
        DAEMON_CASE(daemon_raise_watching,
                    a_host_that_has_lost_its_power_is_fenced_too_and_stays_so_when_it_is_back),
        DAEMON_CASE(daemon_raise_watching,
                    a_fence_closes_no_place_at_which_another_host_is_linked_by_now),
        DAEMON_CASE(daemon_raise_watching, a_port_that_two_hosts_report_is_closed_for_neither),
        DAEMON_CASE(daemon_raise_watching,
                    a_strangers_port_that_a_forged_document_names_is_not_closed),
        DAEMON_CASE(daemon_raise_watching, a_subnet_managers_port_is_not_closed_whoever_reports_it),
        DAEMON_CASE(daemon_raise_watching, a_fence_is_lifted_when_the_node_has_nothing),
        DAEMON_CASE(daemon_raise_watching, a_fence_is_not_lifted_for_a_host_that_says_nothing),
        DAEMON_CASE(daemon_raise_watching,
                    removals_of_a_fenced_host_are_not_held_and_its_vms_start_elsewhere),
        DAEMON_CASE(daemon_raise_watching,
                    a_guid_that_another_host_still_has_is_nobodys_until_it_is_given_back),
        DAEMON_CASE(daemon_raise_watching,
                    a_guid_of_a_host_that_is_silent_is_nobodys_until_it_is_fenced),
        DAEMON_CASE(daemon_raise_watching, a_host_without_infiniband_has_nothing_to_fence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
