// SPDX-License-Identifier: Apache-2.0
/*
 * What oneibd tells nodes, and what it puts into force meanwhile: with a node of host 0 that the
 * test plays, message by message. The other hosts have none. On ibsim with a real opensm; what
 * counts is what the ports hold.
 */
#include "base/clock.h"
#include "daemon_scene.h"
#include "lab_internal.h"
#include "opennebula/ledger_document.h"
#include "played_node.h"
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define BLUE 258u
#define HOST 0u
#define A_KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define ANOTHER_KEY "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct oneib_error err;

static struct {
    struct oneib_ledger_daemon daemon;
    struct oneib_curve_pair pair;
    uint64_t port; /* that it reports */
    struct played_node node;
    struct oneib_list_name list; /* that came last */
    struct oneib_grant_list grants;
    struct oneib_list_name follows;
    struct oneib_vf_record records[8];
    size_t record_count;
    struct oneib_grants_message message; /* large */
    uint32_t red;
    pthread_t reporter; /* has all of the above but red while it is at work */
    bool is_reporting;
    atomic_bool has_reported;
} played;

/* ---- the node -------------------------------------------------------------------------------- */

static void report_key(uint32_t host)
{
    char text[128], digits[ONEIB_KEY_TEXT_SIZE];
    oneib_key_format(played.pair.public, digits);
    snprintf(text, sizeof text, "IB_NODE_KEY=\"%s\"\n", digits);
    MUST(lab_host_monitor(scene(), host, text, &err));
}

static void accept_node(void)
{
    char digits[ONEIB_KEY_TEXT_SIZE];
    oneib_key_format(played.pair.public, digits);
    MUST(lab_host_accept(scene(), HOST, digits, &err));
}

/* The host's probe reports its key, which is accepted; oneibd is not started. */
static int raise_with_node(void **state)
{
    if (daemon_raise(state) < 0)
        return -1;
    if (lab_missing())
        return 0;
    memset(&played, 0, sizeof played);
    MUST(lab_daemon_known_as(scene(), &played.daemon, &err));
    played.pair = played_curve_pair();
    played.port = lab_host_port_guid(scene(), HOST);
    report_key(HOST);
    accept_node();
    return 0;
}

static void connect_node(void)
{
    played_node_connect(&played.node, played.daemon.address, &played.pair, played.daemon.curve);
}

static void stop_reporting(void)
{
    if (!played.is_reporting)
        return;
    played.has_reported = true;
    pthread_join(played.reporter, NULL);
    played.is_reporting = false;
}

static int end(void **state)
{
    stop_reporting();
    if (played.node.socket)
        played_node_close(&played.node);
    played.node = (struct played_node){0};
    return scene_end(state);
}

/* What it has: one VF for each VM, at that key. */
static void has_vf(uint32_t vm, unsigned key, enum oneib_vf_stage stage)
{
    struct oneib_vf_record *record = NULL;
    for (size_t i = 0; i < played.record_count; i++)
        if (played.records[i].vm_id == vm)
            record = &played.records[i];
    if (!record)
        record = &played.records[played.record_count++];
    *record = (struct oneib_vf_record){
        .vf = {.bus = 0x81, .slot = (uint8_t)(record - played.records + 1)},
        .device = "mlx4_0",
        .index = (uint16_t)(record - played.records),
        .port = 1,
        .vm_id = vm,
        .nic_id = 1,
        .network_id = 1,
        .pkey = (oneib_pkey)key,
        .stage = stage};
}

/* As soon as it is connected. */
static void say(void)
{
    const double until = oneib_now_ms() + DAEMON_PATIENCE_MS;
    while (!played_node_say(&played.node, &played.message)) {
        assert_true(oneib_now_ms() < until);
        lab_sleep_ms(10);
    }
}

static void prepare_report(void)
{
    memset(&played.message, 0, sizeof played.message);
    played.message.kind = ONEIB_GRANTS_REPORT;
    played.message.report.follows = played.follows;
    played.message.report.boot[0] = 1;
    played.message.report.complete = true;
    played.message.report.believes = true;
    played.message.report.port_count = 1;
    played.message.report.ports[0] = (struct oneib_hca_port){.device = "mlx4_0",
                                                             .port = 1,
                                                             .driver = ONEIB_HCA_MLX4,
                                                             .port_guid = played.port,
                                                             .vfs_total = 64};
    played.message.report.count = played.record_count;
    memcpy(played.message.report.records, played.records, sizeof played.records);
}

static void report(void)
{
    prepare_report();
    say();
}

/* Takes what has come within that time; whether it was something. */
static bool hear(int milliseconds)
{
    if (!played_node_hear(&played.node, played.daemon.sign, &played.message, milliseconds))
        return false;
    if (played.message.kind == ONEIB_GRANTS_LIST) {
        played.list = played.message.list.name;
        played.grants = played.message.list.grants;
    }
    return true;
}

static bool is_granted(uint32_t vm)
{
    for (size_t i = 0; i < played.grants.count; i++)
        if (played.grants.items[i].vm_id == vm)
            return true;
    return false;
}

/* A list that grants the VM its NIC, or does not; reports go on, and follow it or what was followed
 * before. */
static void await_list(uint32_t vm, bool granted, bool follow)
{
    const double until = oneib_now_ms() + DAEMON_PATIENCE_MS;
    double next_report = 0;
    while (played.list.serial == 0 || is_granted(vm) != granted) {
        if (oneib_now_ms() > until)
            fail_msg("VM %u is %s", vm, granted ? "not granted" : "still granted");
        if (oneib_now_ms() > next_report) {
            report();
            next_report = oneib_now_ms() + 500;
        }
        hear(50);
    }
    if (!follow)
        return;
    played.follows = played.list;
    report();
}

/* Reports go on. */
static void stays_with_reports(size_t host, unsigned raw, unsigned milliseconds)
{
    for (unsigned waited = 0; waited < milliseconds; waited += 200) {
        report();
        stays_holding(host, raw, 200);
        while (hear(0))
            ;
    }
}

/* oneibd, the node, and a VM of red's on its host that has its VF open. */
static uint32_t raise_open_vm_with(const char *other)
{
    played.red = red_network();
    daemon_start_with(NULL, DAEMON_QUICK, other);
    connect_node();
    const uint32_t vm = scene_vm(played.red, HOST);
    await_list(vm, true, true);
    await_holds(HOST, FULL(RED));
    has_vf(vm, RED, ONEIB_VF_OPEN);
    report();
    return vm;
}

static uint32_t raise_open_vm(void)
{
    return raise_open_vm_with(NULL);
}

/* ---- giving ---------------------------------------------------------------------------------- */

static void a_member_is_granted_with_its_key_and_port(void **state)
{
    (void)state;
    scene();
    char keys[64];
    const uint32_t vm = raise_open_vm();
    assert_int_equal(played.grants.count, 1);
    const struct oneib_grant *grant = &played.grants.items[0];
    assert_int_equal(grant->vm_id, vm);
    assert_int_equal(grant->nic_id, 1);
    assert_int_equal(grant->pkey, RED);
    assert_int_equal(grant->port, 1);
    assert_string_equal(grant->device, "mlx4_0");
    assert_false(grant->limited);
    host_attribute(HOST, "IB_KEYS", keys, sizeof keys);
    assert_string_equal(keys, "0x0101");
}

static void await_free(const char *vfs)
{
    for (char now[16] = ""; strcmp(now, vfs) != 0; lab_sleep_ms(50)) {
        report();
        host_attribute(HOST, "IB_VFS_FREE", now, sizeof now);
    }
}

/* What its host may hold, and how many VFs are free there. */
static void a_start_costs_one_writing_of_its_host(void **state)
{
    (void)state;
    scene();
    char keys[64];
    played.red = red_network();
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    connect_node();
    await_free("64");
    for (char leaf[64] = ""; !leaf[0]; lab_sleep_ms(50)) { /* it may be written by itself */
        report();
        host_attribute(HOST, "IB_SWITCH", leaf, sizeof leaf);
    }
    const unsigned before = calls_of("one.host.update");
    uint32_t vm;
    MUST(lab_vm_create(scene(), "vm", &played.red, 1, &vm, &err));
    MUST(lab_vm_deploy(scene(), vm, HOST, &err));
    await_list(vm, true, true);
    await_holds(HOST, FULL(RED));
    await_free("63");
    has_vf(vm, RED, ONEIB_VF_OPEN);
    report();
    MUST(lab_vm_running(scene(), vm, &err));
    lab_sleep_ms(500); /* nothing comes after it */
    assert_int_equal(calls_of("one.host.update"), before + 1);
    host_attribute(HOST, "IB_KEYS", keys, sizeof keys);
    assert_string_equal(keys, "0x0101");
}

/* A node that has never been heard: nobody knows what it has open. */
static void nothing_is_added_before_the_node_is_heard(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = scene_vm(red_network(), HOST);
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    stays_lacking(HOST, FULL(RED), 1500);
    connect_node();
    await_list(vm, true, true);
    await_holds(HOST, FULL(RED));
}

static void what_a_node_wants_is_looked_at_though_no_event_tells_of_it(void **state)
{
    (void)state;
    scene();
    uint32_t vm, network = red_network();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    connect_node();
    MUST(lab_vm_create(scene(), "vm", &network, 1, &vm, &err));
    await_list(vm, false, true);
    lab_sleep_ms(1500); /* what events named is looked at again */
    MUST(lab_events_fault(scene(), "lose", 10, &err));
    MUST(lab_vm_deploy(scene(), vm, HOST, &err));
    stays_lacking(HOST, FULL(RED), DAEMON_DOUBT_MS);
    memset(&played.message, 0, sizeof played.message);
    played.message.kind = ONEIB_GRANTS_WANT;
    played.message.want =
        (struct oneib_want_message){.vm_id = vm, .network_id = network, .nic_id = 1};
    say();
    await_list(vm, true, true);
    await_holds(HOST, FULL(RED));
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void a_key_leaves_the_port_when_the_node_has_closed(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = raise_open_vm();
    scene_end_vm(vm);
    await_list(vm, false, false);
    stays_holding(HOST, FULL(RED), DAEMON_DOUBT_MS);
    /* It follows the list, and cannot close yet. */
    played.follows = played.list;
    stays_with_reports(HOST, FULL(RED), 2000);
    has_vf(vm, RED, ONEIB_VF_RELEASING);
    stays_with_reports(HOST, FULL(RED), 1000);
    played.record_count = 0;
    report();
    await_lacks(HOST, FULL(RED));
    await_host_attribute(HOST, "IB_KEYS", "");
}

/* oneibd writes down what nodes have said once a second at most, later when the machine is busy. */
static void await_hosts_say(const char *words)
{
    const double end = oneib_now_ms() + DAEMON_PATIENCE_MS;
    while (!strstr(ONEIB(0, "hosts")->out, words)) {
        if (oneib_now_ms() > end)
            must_say(ONEIB(0, "hosts")->out, words);
        lab_sleep_ms(100);
    }
}

static void a_key_of_a_silent_node_leaves_and_nothing_is_added_until_it_reports(void **state)
{
    (void)state;
    scene();
    const uint32_t blue = scene_network("blue", "258", NULL);
    const uint32_t vm = raise_open_vm();
    scene_end_vm(vm); /* the list is not followed any more: nothing is said */
    await_lacks(HOST, FULL(RED));
    const uint32_t other = scene_vm(blue, HOST);
    stays_lacking(HOST, FULL(BLUE), 1500);
    await_hosts_say("its oneib-node does not report to oneibd");
    played.record_count = 0;
    await_list(other, true, true);
    await_holds(HOST, FULL(BLUE));
}

/* The command hears no nodes: the place that the key would take may have a VF mapped to it. */
static void a_key_that_is_new_on_a_nodes_port_does_not_come_by_the_command(void **state)
{
    (void)state;
    scene();
    const uint32_t blue = scene_network("blue", "258", NULL);
    const uint32_t vm = raise_open_vm();
    scene_end_vm(vm);
    await_lacks(HOST, FULL(RED));
    const uint32_t other = scene_vm(blue, HOST);
    must_say(ONEIB(0, "sync")->out, "1 member left to oneibd");
    stays_lacking(HOST, FULL(BLUE), 300);
    played.record_count = 0;
    await_list(other, true, true);
    await_holds(HOST, FULL(BLUE));
}

/* What it may hold is written down until it has said that it does not. */
static void what_a_silent_node_may_hold_stays_in_ib_keys(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = raise_open_vm();
    scene_end_vm(vm);
    await_lacks(HOST, FULL(RED));
    lab_sleep_ms(DAEMON_DOUBT_MS);
    await_host_attribute(HOST, "IB_KEYS", "0x0101");
    played.record_count = 0;
    await_list(vm, false, true);
    await_host_attribute(HOST, "IB_KEYS", "");
}

/* Nothing on it reaches the fabric: nobody waits for what it may have open. */
static void a_silent_node_whose_host_is_fenced_holds_no_key(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = raise_open_vm();
    scene_end_vm(vm);
    await_lacks(HOST, FULL(RED));
    await_host_attribute(HOST, "IB_KEYS", "0x0101");
    ONEIB(0, "fence", "H1");
    await_host_attribute(HOST, "IB_KEYS", "");
}

static void keep_reporting(unsigned milliseconds)
{
    for (unsigned waited = 0; waited < milliseconds; waited += 200) {
        while (hear(0))
            played.follows = played.list;
        report();
        lab_sleep_ms(200);
    }
}

/* What the port's table has at index 1, to which the VF that is open is mapped. */
static bool is_at_index_1(unsigned key)
{
    uint16_t keys[64];
    size_t count;
    return lab_host_pkeys(scene(), HOST, keys, 64, &count, &err) == 0 && count > 1 &&
           keys[1] == key;
}

/* Found by an attack: the fence had the port's keys go, and the operator's new partition took the
 * place of one that a VF was open at, from when the link was back until it was disabled. */
/* The ledger says at which switch the host's port is: a fence closes it there. */
static void await_place(void)
{
    for (bool is_known = false; !is_known; lab_sleep_ms(50)) {
        struct oneib_ledger ledger;
        MUST(lab_ledger_read(scene(), &ledger, &err));
        const struct oneib_ledger_port *port =
            oneib_ledger_port(&ledger, lab_host_port_guid(scene(), HOST));
        is_known = port && port->switch_guid;
        oneib_ledger_clear(&ledger);
    }
}

static void nothing_comes_to_the_port_of_a_fenced_host_that_is_back_on_the_fabric(void **state)
{
    (void)state;
    char static_partitions[128];
    scene();
    raise_open_vm();
    await_place();
    played_node_close(&played.node);
    played.node = (struct played_node){0};
    MUST(lab_fabric_link(scene(), HOST, false, &err));
    lab_sleep_ms(500);
    ONEIB(0, "fence", "H1");
    snprintf(static_partitions, sizeof static_partitions,
             "storage=0x0010 : 0x%016" PRIx64 "=full, 0x%016" PRIx64 "=full;\n",
             lab_host_port_guid(scene(), SCENE_EXTRA), lab_host_port_guid(scene(), HOST));
    MUST(lab_write(scene(), "static-partitions.conf", 0644, static_partitions, &err));
    await_holds(SCENE_EXTRA, FULL(0x10));
    MUST(lab_fabric_link(scene(), HOST, true, &err));
    const double until = oneib_now_ms() + 4000;
    while (oneib_now_ms() < until)
        assert_false(is_at_index_1(FULL(0x10)));
}

/* A node that says that it has nothing lifts its own host's fence, and only when that was asked
 * for. */
static void a_fence_waits_for_the_nodes_empty_table_and_for_the_operator(void **state)
{
    (void)state;
    scene();
    pid_t pid;
    const uint32_t vm = raise_open_vm();
    ONEIB(0, "fence", "H1");
    played.record_count = 0;
    keep_reporting(3000); /* it may say so as often as it likes */
    assert_false(daemon_said("enabled again"));

    has_vf(vm, RED, ONEIB_VF_CLOSED); /* the guest of before is there still */
    keep_reporting(1000);
    const char *const argv[] = {ONEIB_BINARY, "unfence", "H1", "--config", lab_config_path(scene()),
                                NULL};
    MUST(lab_spawn(scene(), "unfence", NULL, argv, &pid, &err));
    keep_reporting(5000);
    assert_false(daemon_said("enabled again"));
    played.record_count = 0;
    keep_reporting(3000);
    assert_true(daemon_said("enabled again"));
    MUST(lab_end(scene(), pid, SIGTERM, SCENE_TIMEOUT_MS, &err));
}

/* Host attributes come by monitoring, too, and that is not authenticated. */
static void forged_ib_keys_free_no_key(void **state)
{
    (void)state;
    scene();
    raise_open_vm();
    MUST(lab_host_monitor(scene(), HOST, "IB_KEYS = \"\"", &err));
    await_host_attribute(HOST, "IB_KEYS", "0x0101");
    daemon_kill();
    MUST(lab_host_monitor(scene(), HOST, "IB_KEYS = \"\"", &err));
    daemon_spawn();
    played.list = played.follows = (struct oneib_list_name){0};
    report();
    await_host_attribute(HOST, "IB_KEYS", "0x0101");
}

/* As many keys as IB_KEYS has room for, of which it has given back none; all are above red's. */
static void fill_ib_keys(char last[8])
{
    oneib_autotext struct oneib_text keys = {0};
    oneib_text_append(&keys, "IB_KEYS = \"");
    for (unsigned i = 0; i < ONEIB_HOST_KEYS_MAX; i++)
        oneib_text_printf(&keys, "%s0x%04x", i > 0 ? "," : "", 0x1000 + i);
    memcpy(last, keys.data + keys.length - 6, 7);
    oneib_text_append(&keys, "\"");
    MUST(lab_host_monitor(scene(), HOST, keys.data, &err));
}

static bool names_key(const char *pkey)
{
    static char keys[ONEIB_HOST_KEYS_MAX * 7];
    host_attribute(HOST, "IB_KEYS", keys, sizeof keys);
    return strstr(keys, pkey) != NULL;
}

/* HOST was never accepted. */
static void undo_acceptance(void)
{
    MUST(lab_accept_waiting(scene(), &err));
    struct oneib_kept_ledger kept = scene_ledger();
    oneib_autotext struct oneib_text text = {0};
    oneib_ledger_forget_host(&kept.ledger, HOST, 9);
    kept.ledger.forgotten_count = 0;
    oneib_ledger_render(&kept.ledger, &text);
    MUST(lab_document_replace(scene(), kept.document_id, text.data, &err));
    oneib_kept_ledger_clear(&kept);
}

/* Which IB_KEYS does not name may be given to another network. What IB_KEYS says before a host is
 * accepted is not signed, and counts as it stands. */
static void no_key_that_a_host_may_hold_makes_room_for_another(void **state)
{
    (void)state;
    scene();
    char last[8];
    played.red = red_network();
    MUST(lab_give_keys(scene(), &err));
    fill_ib_keys(last);
    undo_acceptance();
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    accept_node();
    await_metric("oneib_nodes", SCENE_HOSTS); /* a connection that is refused stays so */
    connect_node();
    const uint32_t vm = scene_vm(played.red, HOST);
    for (const double until = oneib_now_ms() + DAEMON_PATIENCE_MS;
         !daemon_said("host-keys-full") && !is_granted(vm);) {
        assert_true(oneib_now_ms() < until);
        report();
        hear(50);
    }
    assert_false(is_granted(vm));
    assert_true(names_key(last));
    await_list(vm, false, true); /* it has none of them */
    await_list(vm, true, true);
    await_holds(HOST, FULL(RED));
    assert_false(names_key(last));
}

/* As the other daemon does, which hears of the VM at the same moment. */
static void keys_that_somebody_else_wrote_over_are_written_again(void **state)
{
    (void)state;
    scene();
    played.red = red_network();
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    connect_node();
    await_free("64");
    MUST(lab_fault(scene(), "keys-overwritten", 1, 0, &err));
    await_list(scene_vm(played.red, HOST), true, true);
    await_holds(HOST, FULL(RED));
    await_said("no more host-not-written");
}

/* ---- the daemon starts anew ------------------------------------------------------------------ */

static void a_daemon_that_starts_anew_hears_what_is_open_before_it_takes_anything(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = raise_open_vm();
    daemon_kill();
    scene_end_vm(vm);
    daemon_spawn();
    played.list = played.follows = (struct oneib_list_name){0};
    report(); /* of what the daemon before had granted */
    await_list(vm, false, false);
    played.follows = played.list;
    stays_with_reports(HOST, FULL(RED), 1500);
    played.record_count = 0;
    report();
    await_lacks(HOST, FULL(RED));
}

/* The network's document cannot be read any more; nothing says that the VM has ended. */
static void what_is_held_waits_for_a_node_that_is_late(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = raise_open_vm_with("removal_hold: { share = 0.1; minimum = 1; };");
    daemon_kill();
    MUST(lab_network_update(scene(), played.red, "NOTE=]]></NOTE><A><NOTE><![CDATA[", &err));
    daemon_spawn();
    played.list = played.follows = (struct oneib_list_name){0};
    await_metric_at_least("oneib_members_held", 1);
    for (const double until = oneib_now_ms() + 3500; oneib_now_ms() < until;)
        hear(50);
    assert_int_equal(played.list.serial, 0);
    await_list(vm, true, true);
    stays_with_reports(HOST, RED, 1000); /* no wider than what can be read of the network */
}

static void lists_of_a_daemon_that_starts_anew_are_of_another_instance(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = raise_open_vm();
    const struct oneib_list_name before = played.list;
    daemon_kill();
    played.list = (struct oneib_list_name){0};
    daemon_start();
    await_list(vm, true, true);
    assert_int_not_equal(played.list.instance, before.instance);
    stays_with_reports(HOST, FULL(RED), 1000);
}

/* ---- how nodes know it ----------------------------------------------------------------------- */

/* The line of `oneib daemons` for the lab's daemon. */
static void expect_line(char line[400])
{
    char curve[ONEIB_KEY_TEXT_SIZE], sign[ONEIB_KEY_TEXT_SIZE];
    oneib_key_format(played.daemon.curve, curve);
    oneib_key_format(played.daemon.sign, sign);
    snprintf(line, 400, "%s %s %s\n", played.daemon.address, curve, sign);
}

/* It has entered itself: `oneib daemons` says these lines. */
static void await_lines(const char *lines)
{
    const double until = oneib_now_ms() + DAEMON_PATIENCE_MS;
    for (bool entered = false; !entered; lab_sleep_ms(100)) {
        struct oneib_kept_ledger kept = scene_ledger();
        for (size_t i = 0; i < kept.ledger.daemon_count; i++)
            entered |= strcmp(kept.ledger.daemons[i].address, played.daemon.address) == 0;
        oneib_kept_ledger_clear(&kept);
        if (oneib_now_ms() > until)
            fail_msg("the daemon does not enter itself");
    }
    assert_string_equal(ONEIB(0, "daemons")->out, lines);
}

static void a_daemon_enters_itself_so_that_nodes_can_know_it(void **state)
{
    (void)state;
    scene();
    char line[400];
    expect_line(line);
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    await_lines(line);
}

static void a_daemon_that_moved_takes_the_place_of_its_old_address(void **state)
{
    (void)state;
    scene();
    char line[400];
    expect_line(line);
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    await_lines(line);
    daemon_kill();
    daemon_start_with(NULL, DAEMON_QUICK "  address = \"tcp://elsewhere:7\";\n", NULL);
    memcpy(played.daemon.address, "tcp://elsewhere:7", sizeof "tcp://elsewhere:7");
    expect_line(line);
    await_lines(line);
}

/* Whoever else writes keeps what the others have written. */
static void a_daemon_that_was_taken_out_enters_itself_beside_the_others(void **state)
{
    (void)state;
    scene();
    char line[400], both[800];
    expect_line(line);
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    await_lines(line);
    daemon_kill();
    struct oneib_kept_ledger kept = scene_ledger();
    MUST(lab_document_replace(scene(), kept.document_id,
                              "VERSION = \"1\"\nSERIAL = \"90\"\nNEXT = \"0x0100\"\n"
                              "DAEMON = [ ADDRESS = \"tcp://0.example.org:7\", CURVE = \"" A_KEY
                              "\", SIGN = \"" ANOTHER_KEY "\", SINCE = \"1795223384\" ]",
                              &err));
    oneib_kept_ledger_clear(&kept);
    daemon_start();
    snprintf(both, sizeof both, "tcp://0.example.org:7 " A_KEY " " ANOTHER_KEY "\n%s", line);
    await_lines(both);
}

/* Two that make the ledger would make two. */
static void a_daemon_that_is_not_the_writer_waits_for_the_ledger(void **state)
{
    (void)state;
    scene();
    char line[400];
    expect_line(line);
    MUST(lab_accept_waiting(scene(), &err));
    struct oneib_kept_ledger kept = scene_ledger(); /* hosts were accepted in it */
    MUST(lab_document_delete(scene(), kept.document_id, &err));
    oneib_kept_ledger_clear(&kept);
    daemon_start_with("writer = false;", DAEMON_QUICK, NULL);
    lab_sleep_ms(1500);
    kept = scene_ledger();
    assert_int_equal(kept.state, ONEIB_LEDGER_ABSENT);
    uint32_t id;
    MUST(lab_document_make(scene(), lab_session(scene()), ONEIB_LEDGER_TYPE,
                           "NAME = \"oneib\"\nVERSION = \"1\"\nSERIAL = \"1\"\nNEXT = \"0x0100\"\n",
                           &id, &err));
    await_lines(line);
}

static void a_lost_ledger_is_not_made_for_an_entry(void **state)
{
    (void)state;
    scene();
    raise_open_vm();
    daemon_kill();
    struct oneib_kept_ledger kept = scene_ledger();
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(kept.ledger.daemon_count, 1);
    MUST(lab_document_delete(scene(), kept.document_id, &err));
    oneib_kept_ledger_clear(&kept);
    daemon_start();
    await_said("ledger-lost");
    lab_sleep_ms(2500); /* two polls */
    kept = scene_ledger();
    assert_int_equal(kept.state, ONEIB_LEDGER_ABSENT);
}

/* Milliseconds until the answer. */
static double challenge(uint8_t number)
{
    memset(&played.message, 0, sizeof played.message);
    played.message.kind = ONEIB_GRANTS_CHALLENGE;
    memset(played.message.challenge.nonce, number, ONEIB_NONCE_SIZE);
    const double begun = oneib_now_ms();
    say();
    do
        if (!hear((int)DAEMON_PATIENCE_MS))
            fail_msg("a challenge is not answered");
    while (played.message.kind != ONEIB_GRANTS_LIFE || played.message.life.nonce[0] != number);
    return oneib_now_ms() - begun;
}

/* Whoever can damage the ledger, and forge what a probe reports, must not be heard as the host. */
static void a_pinned_node_stays_the_one_while_the_ledger_is_lost(void **state)
{
    (void)state;
    scene();
    raise_open_vm();
    struct oneib_kept_ledger kept = scene_ledger();
    MUST(lab_document_delete(scene(), kept.document_id, &err));
    oneib_kept_ledger_clear(&kept);
    MUST(lab_host_monitor(
        scene(), HOST,
        "IB_NODE_KEY = \"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"",
        &err));
    scene_network("blue", "258", NULL); /* is to be written down */
    await_said("ledger-lost");
    lab_sleep_ms(2500); /* two polls */
    challenge(1);
}

/* ---- signs of life --------------------------------------------------------------------------- */

static void life_is_answered_while_oned_hangs(void **state)
{
    (void)state;
    scene();
    raise_open_vm();
    challenge(1);
    MUST(lab_fault(scene(), "hang", 1000, 5, &err));
    double longest = 0;
    for (uint8_t i = 2; i < 32; i++) {
        const double took = challenge(i);
        longest = took > longest ? took : longest;
        lab_sleep_ms(100);
    }
    MUST(lab_fault(scene(), "hang", 0, 0, &err));
    assert_true(longest < 1000); /* a call hangs for 5 s */
    assert_true(played.message.life.role.snapshot_age_ms > 1500);
    assert_true(played.message.life.role.is_writer);
    assert_true(played.message.life.role.has_sm);
    assert_int_not_equal(played.message.life.role.sm_lid, 0);
    assert_int_equal(played.message.life.name.serial, played.list.serial);
}

/* What is not read is who has which key, and who is fenced: of that lists are as old as it is. */
static void while_the_ledger_cannot_be_read_lists_grow_old(void **state)
{
    (void)state;
    scene();
    raise_open_vm();
    MUST(lab_fault(scene(), "no-documents", 1, 0, &err));
    lab_sleep_ms(3000); /* a poll comes each second */
    challenge(1);
    assert_true(played.message.life.role.snapshot_age_ms >= 2000);
    MUST(lab_fault(scene(), "no-documents", 0, 0, &err));
    const double until = oneib_now_ms() + DAEMON_PATIENCE_MS;
    for (uint8_t i = 2; played.message.life.role.snapshot_age_ms >= 2000; i++) {
        assert_true(oneib_now_ms() < until);
        lab_sleep_ms(200);
        challenge(i);
    }
}

/* ---- forged ---------------------------------------------------------------------------------- */

/* What a user can put into his VM's document: it is granted nothing, and takes nothing from others.
 */
static void a_forged_nic_is_granted_nothing(void **state)
{
    (void)state;
    scene();
    const uint32_t blue = scene_network("blue", "258", NULL);
    const uint32_t vm = raise_open_vm();
    const uint32_t forged = scene_vm(blue, HOST);
    await_list(forged, true, true);
    has_vf(forged, BLUE, ONEIB_VF_OPEN);
    char forgery[64];
    snprintf(forgery, sizeof forgery, "NETWORK_ID=%u", played.red);
    MUST(lab_vm_set_nic(scene(), forged, 1, forgery, &err));
    await_list(forged, false, true);
    assert_true(is_granted(vm));
}

/* ---- what should not be ---------------------------------------------------------------------- */

static void *follow_and_report(void *unused)
{
    while (!played.has_reported) {
        while (hear(0))
            played.follows = played.list;
        prepare_report();
        played_node_say(&played.node, &played.message); /* or the next one */
        lab_sleep_ms(250);
    }
    return unused;
}

/* What lasts is said only of a node that reports all the time, also while `oneib verify` runs,
 * which may take longer than one is waited for. Follows each list until stop_reporting(). */
static void begin_reporting(void)
{
    played.has_reported = false;
    assert_int_equal(pthread_create(&played.reporter, NULL, follow_and_report, NULL), 0);
    played.is_reporting = true;
}

/* `oneib verify` comes to end so, and names it. */
static void await_verified(int status, const char *code)
{
    struct lab_output output;
    const char *words[] = {"verify", NULL};
    const double until = oneib_now_ms() + 2.0 * DAEMON_PATIENCE_MS;
    for (bool is_so = false; !is_so;) {
        MUST(lab_oneib(scene(), words, SCENE_TIMEOUT_MS, &output, &err));
        is_so = output.status == status && strstr(output.error, code);
        if (!is_so && oneib_now_ms() > until)
            fail_msg("verify ended with %d: %s%s", output.status, output.out, output.error);
        lab_output_clear(&output);
    }
}

/* Of the one VM of red's, its VF's stage as `oneib show` has it. */
static void await_shown(const char *stage)
{
    for (unsigned waited = 0;; waited += 500) {
        json_t *attachments = json_field(ONEIB_JSON(0, "show", "red"), "attachments");
        json_t *vf = json_object_get(json_array_get(attachments, 0), "vf");
        const char *said = json_string_value(json_object_get(vf, "stage"));
        if (said && strcmp(said, stage) == 0)
            return;
        if (waited >= DAEMON_PATIENCE_MS)
            fail_msg("its VF is shown as %s", said ? said : "none");
        report();
        lab_sleep_ms(500);
    }
}

/* As after a detach that failed: oned has the NIC, its port the key, and the node nothing. */
static void a_member_without_a_vf_is_shown_as_such(void **state)
{
    (void)state;
    scene();
    raise_open_vm();
    await_shown("open");
    played.record_count = 0;
    begin_reporting();
    const double until = oneib_now_ms() + DAEMON_PATIENCE_MS;
    while (!strstr(ONEIB(0, "show", "red")->out, "yes       none") && oneib_now_ms() < until)
        lab_sleep_ms(250);
    must_say(ONEIB(0, "show", "red")->out,
             "VF none: the host's oneib-node reports no virtual function for the NIC");
    json_t *attachments = json_field(ONEIB_JSON(0, "show", "red"), "attachments");
    json_t *attachment = json_array_get(attachments, 0);
    assert_true(json_is_true(json_field(attachment, "in_force")));
    must_say(json_string_value(json_field(attachment, "reason")), "no virtual function");
    stop_reporting();
}

/* A node that is broken, or lies: it follows the list, and has the VF open all the same. */
static void what_a_node_has_open_without_a_grant_is_a_violation(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = raise_open_vm();
    must_not_say(ONEIB(0, "verify")->error, "only ports");
    await_shown("open");
    scene_end_vm(vm);
    await_list(vm, false, true);
    begin_reporting();
    await_verified(1, "vf-not-granted");
    must_not_say(ONEIB(0, "hosts")->out, "wrote it down"); /* oneibd knows it as of now */
    json_t *host = json_array_get(json_field(ONEIB_JSON(0, "hosts"), "hosts"), HOST);
    assert_string_equal(json_string_value(json_field(host, "node")), "follows");
    json_t *vf = json_array_get(json_field(host, "vfs"), 0);
    assert_int_equal(json_integer_value(json_field(vf, "vm")), vm);
    assert_string_equal(json_string_value(json_field(vf, "stage")), "open");
    must_say(ONEIB(0, "hosts")->out, "follows");
}

static void without_a_daemon_verify_says_that_it_knows_of_ports_alone(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    daemon_end();
    must_say(ONEIB(0, "verify")->error, "only ports were verified");
    json_t *host = json_array_get(json_field(ONEIB_JSON(0, "hosts"), "hosts"), HOST);
    assert_true(json_is_null(json_field(host, "node")));
    assert_true(json_is_null(json_field(host, "vfs")));
}

/* The VM was deleted in OpenNebula while its domain goes on: `onevm recover --delete`. */
static void a_zombie_is_named_and_has_its_vf(void **state)
{
    (void)state;
    scene();
    const uint32_t vm = raise_open_vm();
    await_host_attribute(HOST, "IB_VFS_FREE", "63");
    MUST(lab_vm_delete(scene(), vm, &err));
    await_list(vm, false, true);
    has_vf(vm, RED, ONEIB_VF_CLOSED);
    played.records[0].in_domain = true;
    report();
    await_lacks(HOST, FULL(RED));
    await_host_attribute(HOST, "IB_VFS_FREE", "63");
    for (unsigned waited = 0; metric("oneib_vfs_stray") != 1; waited += 1000) {
        assert_true(waited < DAEMON_PATIENCE_MS);
        report();
        lab_sleep_ms(1000);
    }
    await_said("runs with VF 0000:81:01.0, and OpenNebula has no such VM there");
    begin_reporting();
    await_verified(0, "vf-zombie");
    stop_reporting();
    played.record_count = 0;
    report();
    await_host_attribute(HOST, "IB_VFS_FREE", "64");
    await_metric("oneib_vfs_stray", 0);
}

/* It is in the name of a host that has not reported yet, and the key's owner connects. */
static void a_forged_first_key_of_a_new_host_brings_no_key_to_a_port(void **state)
{
    (void)state;
    scene();
    char text[256], digits[ONEIB_KEY_TEXT_SIZE];
    const struct oneib_curve_pair pair = played.pair;
    undo_acceptance();
    played.pair = played_curve_pair();
    played.port = lab_host_port_guid(scene(), SCENE_EXTRA);
    report_key(HOST);
    snprintf(text, sizeof text,
             "IB_HCA = [ NAME = \"mlx4_0\", DRIVER = \"mlx4\", PORT = \"1\", "
             "PORT_GUID = \"0x%016" PRIx64 "\", VFS_TOTAL = \"64\" ]\n",
             played.port);
    MUST(lab_host_monitor(scene(), HOST, text, &err));
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    connect_node();
    played.red = red_network();
    scene_vm(played.red, HOST);
    scene_vm(played.red, HOST + 1);
    await_holds(HOST + 1, FULL(RED)); /* what comes later has come */
    bool has_list = false;
    for (const double until = oneib_now_ms() + 2000; oneib_now_ms() < until;) {
        prepare_report();
        played_node_say(&played.node, &played.message); /* where it is not refused */
        has_list |= hear(100);
    }
    assert_false(port_holds(SCENE_EXTRA, FULL(RED)));
    assert_false(has_list);
    oneib_key_format(played.pair.public, digits);
    snprintf(text, sizeof text,
             "node-key-waiting: host \"H1\": its oneib-node's key is not accepted, so nothing is "
             "granted to it; its probe reports %s",
             digits);
    await_said(text);
    must_say(ONEIB(0, "hosts")->out, "', or --all");
    must_say(ONEIB(0, "check")->out, "1 host has no accepted key of oneib-node");
    must_say(ONEIB(0, "check")->out, "\nok    oneibd: process ");

    oneib_key_format(pair.public, digits);
    must_say(ONEIB(0, "host", "accept", "--key", digits, "H1")->out, "accepted");
    await_metric("oneib_nodes", SCENE_HOSTS);
    assert_false(port_holds(SCENE_EXTRA, FULL(RED)));
}

/* One that no operator has accepted: any machine may have sent what is monitored. */
static void a_first_key_is_heard_when_an_operator_has_accepted_it(void **state)
{
    (void)state;
    scene();
    uint32_t host;
    char digits[ONEIB_KEY_TEXT_SIZE];
    MUST(lab_host_create_bare(scene(), "new", &host, &err));
    played.pair = played_curve_pair();
    oneib_key_format(played.pair.public, digits);
    report_key(host);
    report_key(HOST + 1); /* which keeps no host from being accepted */
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    await_said("node-key-waiting: host \"new\"");
    connect_node();
    prepare_report();
    played_node_say(&played.node, &played.message); /* if it is not refused before */
    assert_false(hear(2000));
    await_metric_at_least("oneib_node_keys_refused_total", 1);
    await_metric("oneib_nodes", SCENE_HOSTS);
    struct oneib_kept_ledger kept = scene_ledger();
    assert_null(oneib_ledger_host(&kept.ledger, host));
    oneib_kept_ledger_clear(&kept);

    must_say(ONEIB(3, "host", "accept", "--key", A_KEY "0", "new")->error, "invalid --key");
    must_say(ONEIB(0, "host", "accept", "--key", digits, "new")->out, "host \"new\" accepted");
    must_say(ONEIB(3, "host", "accept", "--key", digits, "H1")->error,
             "the key of host \"H1\" is host \"new\"'s in the ledger");
    await_metric("oneib_nodes", SCENE_HOSTS + 1);
    played_node_close(&played.node);
    connect_node();
    challenge(1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, raise_with_node, end)

int main(void)
{
    if (lab_missing()) {
        print_message("skipped: there is no %s\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        test(a_forged_first_key_of_a_new_host_brings_no_key_to_a_port),
        test(a_member_is_granted_with_its_key_and_port),
        test(a_start_costs_one_writing_of_its_host),
        test(nothing_is_added_before_the_node_is_heard),
        test(what_a_node_wants_is_looked_at_though_no_event_tells_of_it),
        test(a_key_leaves_the_port_when_the_node_has_closed),
        test(a_key_of_a_silent_node_leaves_and_nothing_is_added_until_it_reports),
        test(a_key_that_is_new_on_a_nodes_port_does_not_come_by_the_command),
        test(what_a_silent_node_may_hold_stays_in_ib_keys),
        test(a_silent_node_whose_host_is_fenced_holds_no_key),
        test(nothing_comes_to_the_port_of_a_fenced_host_that_is_back_on_the_fabric),
        test(a_fence_waits_for_the_nodes_empty_table_and_for_the_operator),
        test(forged_ib_keys_free_no_key),
        test(keys_that_somebody_else_wrote_over_are_written_again),
        test(no_key_that_a_host_may_hold_makes_room_for_another),
        test(a_daemon_that_starts_anew_hears_what_is_open_before_it_takes_anything),
        test(what_is_held_waits_for_a_node_that_is_late),
        test(lists_of_a_daemon_that_starts_anew_are_of_another_instance),
        test(a_daemon_enters_itself_so_that_nodes_can_know_it),
        test(a_daemon_that_moved_takes_the_place_of_its_old_address),
        test(a_daemon_that_was_taken_out_enters_itself_beside_the_others),
        test(a_daemon_that_is_not_the_writer_waits_for_the_ledger),
        test(a_lost_ledger_is_not_made_for_an_entry),
        test(a_pinned_node_stays_the_one_while_the_ledger_is_lost),
        test(life_is_answered_while_oned_hangs),
        test(while_the_ledger_cannot_be_read_lists_grow_old),
        test(a_forged_nic_is_granted_nothing),
        test(what_a_node_has_open_without_a_grant_is_a_violation),
        test(a_member_without_a_vf_is_shown_as_such),
        test(without_a_daemon_verify_says_that_it_knows_of_ports_alone),
        test(a_zombie_is_named_and_has_its_vf),
        test(a_first_key_is_heard_when_an_operator_has_accepted_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
