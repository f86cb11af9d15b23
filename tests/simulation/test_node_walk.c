// SPDX-License-Identifier: Apache-2.0
/*
 * A random walk over simulated nodes: VMs of three networks start, end and migrate through the real
 * network driver, their networks move to other keys, which others had before, the nodes' services,
 * oneibd and opensm are killed and started again, a service in the middle of any other step too.
 * Owners forge their VMs' documents, and attach NICs that claim others' networks; users reserve
 * operators' networks and write into these what they like (hostile_users.h). Nodes lose their
 * connection, and oneibd is down, while keys change hands and VMs become orphans (their NIC is gone
 * in oned, and no driver was called) or zombies (the VM is gone there, and runs). After each step
 * every VF of every host must be what this file's own bookkeeping says: a VM's one, open to its
 * network's key and nothing else, under its GUID; that of an orphan or zombie, closed; or nobody's,
 * closed and without a GUID. No port has the key of a network that has no VM there. And all the
 * while another process looks (vf_watch.h).
 *
 * Replay: ONEIB_WALK_SEED=N (printed at start); ONEIB_WALK_STEPS=N walks further or shorter;
 * ONEIB_WALK_FABRIC=NAME on another kind of fabric (lab_shape.h).
 */
#include "base/cleanup.h"
#include "hostile_users.h"
#include "lab_internal.h"
#include "lab_node.h"
#include "vf_watch.h"
#include "walk.h"
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define STEPS 200
#define HOSTS 4
#define VFS 7
#define NETWORKS 3
#define VMS 12
/* Reservations get theirs from pkeys.first on: after many steps they would have lower ones. */
#define FIRST_KEY 30000
#define DEFAULT_KEY 0x7fffu
#define KEYS 5 /* that networks have by turns */
#define LCM_BOOT 2
#define LCM_MIGRATE 4
#define LCM_SHUTDOWN 12
#define PROGRAM_MS 30000u
#define SETTLE_MS 40000u /* on a machine that is busy with other things too */
/* Of every so many steps one has a service killed within so many milliseconds. */
#define KILLED_STEPS 3
#define PORTS_EVERY 5
#define MOMENT_MS 60
#define LONGEST_CUT_MS 2500
#define HALF_FLAP_MS 500
#define LONGEST_DEATH_MS 1000

struct vm {
    bool runs;    /* its domain is there */
    bool is_lost; /* an orphan or zombie: oned knows nothing of its NIC */
    bool is_gone; /* a zombie: oned knows nothing of it */
    bool is_forged;
    uint32_t id;
    size_t host, network;
};

static struct oneib_error err;
static struct lab *lab;
static struct walk dice; /* only its random state */
static uint32_t networks[NETWORKS];
static unsigned keys[NETWORKS];
static struct vm vms[VMS];
static struct hostile_users users = {.dice = &dice};
static struct vf_watch *watch;
static char action[160];
static char actions[12][sizeof action]; /* the last ones, by number of the step */
static unsigned steps_done;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s: %s", action, #expression, err.text);                                 \
    } while (0)

/* ---- what must be ---------------------------------------------------------------------------- */

static const struct vm *find_vm(uint32_t id)
{
    for (size_t i = 0; i < VMS; i++)
        if (vms[i].runs && vms[i].id == id)
            return &vms[i];
    return NULL;
}

/* VFs that no VM may be given. */
static size_t count_taken(size_t host)
{
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    ok(lab_node_claims(lab, host, claims, &count, &err));
    return count;
}

static size_t count_vms(size_t host)
{
    size_t count = 0;
    for (size_t i = 0; i < VMS; i++)
        count += vms[i].runs && vms[i].host == host;
    return count;
}

static bool is_shut(const struct lab_node_vf *vf)
{
    return vf->map[0] == 0 && vf->only;
}

static bool is_closed(const struct lab_node_vf *vf)
{
    return is_shut(vf) && vf->guid == 0 && vf->accepted == 0;
}

static bool is_open(const struct lab_node_vf *vf, const struct lab_node_claim *claim,
                    const struct vm *vm)
{
    const uint64_t guid = UINT64_C(2) << 56 | (uint64_t)claim->vm << 8 | claim->nic;
    return strcmp(claim->stage, "open") == 0 && vf->key == (0x8000u | keys[vm->network]) &&
           vf->only && vf->guid == guid && vf->accepted == guid;
}

/* What is claimed for a VM that ended as a zombie is nobody's after a while. */
static bool is_as_claimed(const struct lab_node_vf *vf, const struct lab_node_claim *claim)
{
    const struct vm *vm = find_vm(claim->vm);
    if (!vm || vm->is_lost)
        return is_shut(vf);
    return is_open(vf, claim, vm) || (vm->is_forged && is_shut(vf));
}

/* A network has VMs there, be they lost or forged. */
static bool is_used(size_t host, unsigned key)
{
    for (size_t i = 0; i < VMS; i++)
        if (vms[i].runs && vms[i].host == host && keys[vms[i].network] == key)
            return true;
    return false;
}

/* What reservations' owners write brings no key to a port, their reservation's own as little as a
 * stranger's: no VM runs in one. */
static void judge_port(size_t host, char *wrong, size_t size)
{
    uint16_t pkeys[LAB_NODE_ENTRIES];
    size_t count;
    *wrong = '\0';
    ok(lab_host_pkeys(lab, host, pkeys, LAB_NODE_ENTRIES, &count, &err));
    for (size_t i = 0; i < count; i++) {
        const unsigned key = pkeys[i] & 0x7fffu;
        if (key != 0 && key != DEFAULT_KEY && !is_used(host, key))
            snprintf(wrong, size, "the port of host %zu has key %u, and no VM of its network", host,
                     key);
    }
}

/* What is wrong about the host's VFs, "" when nothing is. */
static void judge_host(size_t host, char *wrong, size_t size)
{
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    *wrong = '\0';
    ok(lab_node_claims(lab, host, claims, &count, &err));
    if (count < count_vms(host))
        snprintf(wrong, size, "host %zu has %zu VFs claimed for %zu VMs", host, count,
                 count_vms(host));
    for (unsigned number = 0; number < VFS; number++) {
        struct lab_node_vf vf;
        const struct lab_node_claim *claim = NULL;
        ok(lab_node_vf(lab, host, number, &vf, &err));
        for (size_t i = 0; i < count; i++)
            claim = claims[i].vf == number ? &claims[i] : claim;
        if (claim ? !is_as_claimed(&vf, claim) : !is_closed(&vf))
            snprintf(wrong, size,
                     "VF %u of host %zu, VM %d's, is %s, with key 0x%04x, GUID 0x%" PRIx64, number,
                     host, claim ? (int)claim->vm : -1, claim ? claim->stage : "nobody's", vf.key,
                     vf.accepted);
    }
}

static void print_end(const char *log)
{
    oneib_autofree char *end = lab_log_end(lab, log);
    fprintf(stderr, "---- %s\n", end ? end : log);
}

static void print_steps(void)
{
    const unsigned kept = sizeof actions / sizeof *actions;
    for (unsigned i = steps_done < kept ? 0 : steps_done - kept; i < steps_done; i++)
        print_error("%u: %s\n", i, actions[i % kept]);
}

static void print_logs(size_t host)
{
    char name[64];
    print_steps();
    snprintf(name, sizeof name, "node-%s.log", strrchr(lab_node_root(lab, host), '/') + 1);
    print_end("opensm.log");
    print_end("oneibd.log");
    print_end(name);
}

/* Which host may still have a key open, and which port holds it. */
static void print_what_is_waited_for(void)
{
    static const char *const verbs[] = {"plan", "hosts", "verify"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        struct lab_output output = {0};
        if (lab_oneib(lab, (const char *[]){verbs[i], NULL}, PROGRAM_MS, &output, &err) == 0)
            print_error("---- oneib %s\n%s%s\n", verbs[i], output.out, output.error);
        lab_output_clear(&output);
    }
}

static void nothing_may_have_been_wrong(void)
{
    char wrong[256];
    if (!vf_watch_complains(watch, wrong, sizeof wrong))
        return;
    for (size_t host = 0; host < HOSTS; host++)
        print_logs(host);
    fail_msg("in \"%s\": %s", action, wrong);
}

/* A wish for a key that others may still have open is met later. */
static void ledger_must_be_right(void)
{
    for (size_t i = 0; i < NETWORKS; i++)
        for (unsigned waited = 0, pkey = 0;; waited += 20) {
            ok(lab_ledger_key(lab, networks[i], &pkey, &err));
            if (pkey == keys[i])
                break;
            if (waited > SETTLE_MS) {
                print_logs(0);
                print_what_is_waited_for();
                fail_msg("after \"%s\": network %zu has key %u in the ledger, and wishes %u",
                         action, i, pkey, keys[i]);
            }
            lab_sleep_ms(20);
        }
}

/* What opensm, oneibd and the services do takes its time. */
static void every_vf_must_be_right(void)
{
    char wrong[256];
    ledger_must_be_right();
    for (size_t host = 0; host < HOSTS; host++)
        for (unsigned waited = 0; judge_host(host, wrong, sizeof wrong), *wrong; waited += 5) {
            if (waited > SETTLE_MS) {
                print_logs(host);
                fail_msg("after \"%s\": %s", action, wrong);
            }
            lab_sleep_ms(5);
        }
    nothing_may_have_been_wrong();
}

/* Not after each step: a program is run for each port. */
static void every_port_must_be_right(void)
{
    char wrong[256];
    for (size_t host = 0; host < HOSTS; host++)
        for (unsigned waited = 0; judge_port(host, wrong, sizeof wrong), *wrong; waited += 50) {
            if (waited > SETTLE_MS) {
                print_logs(host);
                fail_msg("after \"%s\": %s", action, wrong);
            }
            lab_sleep_ms(50);
        }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static size_t some_host(void)
{
    return walk_dice(&dice, HOSTS);
}

static struct vm *some_vm(void)
{
    struct vm *vm = &vms[walk_dice(&dice, VMS)];
    return vm->runs ? vm : NULL;
}

/* What its owner wrote into it makes no well-formed document always, for OpenNebula neither. No
 * event tells of what owners write: oneibd reads everything again. */
static void heal(struct vm *vm)
{
    ok(lab_vm_write(lab, vm->id, "well", &err));
    if (lab_oneibd_pid(lab, LAB_DAEMON.name) > 0)
        ok(lab_oneibd_signal(lab, LAB_DAEMON.name, SIGHUP, &err));
    vm->is_forged = false;
}

/* That OpenNebula can do something with. */
static struct vm *some_member(void)
{
    struct vm *vm = some_vm();
    if (!vm || vm->is_lost)
        return NULL;
    if (vm->is_forged)
        heal(vm);
    return vm;
}

static struct vm *some_free_place(void)
{
    struct vm *vm = &vms[walk_dice(&dice, VMS)];
    return vm->runs ? NULL : vm;
}

/* Its domain, with the VF that it has on that host, is there, or gone. */
static void domain(const struct vm *vm, size_t host, bool there)
{
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    ok(lab_node_claims(lab, host, claims, &count, &err));
    ok(lab_node_domain(lab, host, vm->id, there, &err));
    for (size_t i = 0; i < count; i++)
        if (claims[i].vm == vm->id)
            vf_watch_guest(watch, host, claims[i].vf, there ? vm->id : VF_WATCH_NOBODY);
}

static void start(void)
{
    struct vm *vm = some_free_place();
    const size_t host = some_host();
    if (!vm || count_taken(host) == VFS)
        return;
    *vm = (struct vm){.host = host, .network = walk_dice(&dice, NETWORKS)};
    ok(lab_vm_create(lab, "vm", &networks[vm->network], 1, &vm->id, &err));
    vf_watch_vm(watch, vm->id, networks[vm->network]);
    snprintf(action, sizeof action, "VM %" PRIu32 " of network %zu starts on %zu", vm->id,
             vm->network, host);
    ok(lab_vm_deploy(lab, vm->id, (uint32_t)host, &err));
    ok(lab_vm_state(lab, vm->id, 3, LCM_BOOT, &err));
    ok(lab_node_driver(lab, host, "pre", vm->id, &err));
    domain(vm, host, true);
    ok(lab_node_driver(lab, host, "post", vm->id, &err));
    ok(lab_vm_running(lab, vm->id, &err));
    vm->runs = true;
}

/* Of a zombie it is an administrator, and no driver is called. */
static void end(void)
{
    struct vm *vm = some_vm();
    if (!vm)
        return;
    snprintf(action, sizeof action, "VM %" PRIu32 " ends on %zu", vm->id, vm->host);
    vm->runs = false;
    if (vm->is_gone) {
        domain(vm, vm->host, false);
        return;
    }
    if (vm->is_forged)
        heal(vm);
    ok(lab_vm_state(lab, vm->id, 3, LCM_SHUTDOWN, &err));
    domain(vm, vm->host, false);
    ok(lab_node_driver(lab, vm->host, "clean", vm->id, &err));
    ok(lab_vm_delete(lab, vm->id, &err));
}

static void migrate(void)
{
    struct vm *vm = some_member();
    const size_t to = some_host();
    if (!vm || vm->host == to || count_taken(to) == VFS)
        return;
    snprintf(action, sizeof action, "VM %" PRIu32 " migrates from %zu to %zu", vm->id, vm->host,
             to);
    ok(lab_vm_migrate(lab, vm->id, (uint32_t)to, LCM_MIGRATE, &err));
    ok(lab_node_driver(lab, to, "pre", vm->id, &err));
    domain(vm, vm->host, false);
    domain(vm, to, true);
    ok(lab_node_driver(lab, vm->host, "clean", vm->id, &err));
    ok(lab_node_driver(lab, to, "post", vm->id, &err));
    ok(lab_vm_running(lab, vm->id, &err));
    vm->host = to;
}

static bool is_had(unsigned key)
{
    for (size_t i = 0; i < NETWORKS; i++)
        if (keys[i] == key)
            return true;
    return false;
}

static void change_key(void)
{
    char attribute[32];
    const size_t network = walk_dice(&dice, NETWORKS);
    unsigned key;
    do
        key = FIRST_KEY + (unsigned)walk_dice(&dice, KEYS);
    while (is_had(key));
    keys[network] = key;
    snprintf(attribute, sizeof attribute, "VLAN_ID=%u", keys[network]);
    snprintf(action, sizeof action, "network %zu gets key %u", network, keys[network]);
    ok(lab_network_update(lab, networks[network], attribute, &err));
}

static void restart_service(void)
{
    const size_t host = some_host();
    snprintf(action, sizeof action, "the service of %zu is killed and started again", host);
    ok(lab_node_service_stop(lab, host, SIGKILL, &err));
    ok(lab_node_service_start(lab, host, &err));
}

static void probe(void)
{
    const size_t host = some_host();
    snprintf(action, sizeof action, "%zu is probed", host);
    ok(lab_node_probe(lab, host, (uint32_t)host, &err));
}

/* Its port goes down, comes back, and so once more. */
static void flap_link(void)
{
    const size_t host = some_host();
    snprintf(action, sizeof action, "the link of %zu flaps", host);
    for (unsigned i = 0; i < 4; i++) {
        ok(lab_fabric_link(lab, host, i % 2, &err));
        lab_sleep_ms((unsigned)walk_dice(&dice, HALF_FLAP_MS));
    }
}

/* One that has not the SM's host. */
static void kill_switch(void)
{
    const size_t number = 1 + walk_dice(&dice, lab_switch_count(lab) - 1);
    ok(lab_fabric_switch(lab, number, false, &err));
    change_key();
    lab_sleep_ms((unsigned)walk_dice(&dice, LONGEST_DEATH_MS));
    snprintf(action, sizeof action, "switch %zu was dead meanwhile", number);
    ok(lab_fabric_switch(lab, number, true, &err));
}

static void restart_opensm(void)
{
    snprintf(action, sizeof action, "opensm is killed and started again");
    ok(lab_opensm_stop(lab, "opensm", false, &err));
    ok(lab_opensm_start(lab, &LAB_SM, &err));
}

/* What OpenNebula does when it is unsure: pre and post again, for a VM that runs. */
static void repeat(void)
{
    struct vm *vm = some_member();
    if (!vm)
        return;
    snprintf(action, sizeof action, "pre and post of VM %" PRIu32 " are repeated", vm->id);
    ok(lab_node_driver(lab, vm->host, "pre", vm->id, &err));
    ok(lab_node_driver(lab, vm->host, "post", vm->id, &err));
}

/* ---- what tenants, and lost connections, do -------------------------------------------------- */

static struct hostile_aim some_aim(uint32_t vm)
{
    const size_t network = walk_dice(&dice, NETWORKS), host = some_host();
    return (struct hostile_aim){.network = networks[network],
                                .key = keys[network],
                                .vm = vm,
                                .port = lab_host_port_guid(lab, host),
                                .host = (uint32_t)host};
}

static void forge(void)
{
    char text[HOSTILE_TEXT_SIZE];
    struct vm *vm = some_vm();
    if (!vm || vm->is_gone)
        return;
    const struct hostile_aim aim = some_aim(vm->id);
    snprintf(action, sizeof action, "the owner of VM %" PRIu32 " writes %s", vm->id,
             hostile_vm_text(&dice, &aim, text));
    ok(lab_vm_write(lab, vm->id, text, &err));
    vm->is_forged = true;
}

static void forge_network(void)
{
    const uint32_t parent = networks[walk_dice(&dice, NETWORKS)];
    const struct hostile_aim aim = some_aim(0);
    ok(hostile_reserve(&users, parent, &aim, action, sizeof action, &err));
}

/* Whether `pre` gives it a VF of its own network or refuses, OpenNebula gives it up then. */
static void attach_forged(void)
{
    char text[HOSTILE_TEXT_SIZE];
    uint32_t nic;
    struct vm *vm = some_member();
    if (!vm || count_taken(vm->host) == VFS)
        return;
    const struct hostile_aim aim = some_aim(vm->id);
    ok(lab_vm_attach(lab, vm->id, networks[vm->network], &nic, &err));
    snprintf(action, sizeof action, "VM %" PRIu32 " attaches a NIC with %s", vm->id,
             hostile_nic_text(&dice, &aim, text));
    ok(lab_vm_set_nic(lab, vm->id, nic, text, &err));
    lab_node_driver(lab, vm->host, "pre", vm->id, &err);
    lab_node_driver(lab, vm->host, "clean", vm->id, &err);
    nothing_may_have_been_wrong();
    ok(lab_vm_running(lab, vm->id, &err));
    ok(lab_vm_detach(lab, vm->id, nic, &err));
    ok(lab_vm_running(lab, vm->id, &err));
}

/* An attach that OpenNebula gave up after `post`, say. */
static void lose_nic(void)
{
    struct vm *vm = some_member();
    if (!vm)
        return;
    ok(lab_vm_detach(lab, vm->id, 1, &err));
    ok(lab_vm_running(lab, vm->id, &err));
    vm->is_lost = true;
}

/* As by "recover --delete", where the host cannot be reached. */
static void lose_vm(void)
{
    struct vm *vm = some_vm();
    if (!vm || vm->is_gone)
        return;
    ok(lab_vm_delete(lab, vm->id, &err));
    vm->is_lost = vm->is_gone = true;
}

/* Whatever needs no driver that waits for a grant; the ports are programmed anew by what stands in
 * the file. */
static void change_cloud(void)
{
    static void (*const changes[])(void) = {lose_nic, lose_vm,       change_key,    change_key,
                                            forge,    forge_network, restart_opensm};
    for (size_t i = 1 + walk_dice(&dice, 3); i > 0; i--)
        changes[walk_dice(&dice, sizeof changes / sizeof *changes)]();
    lab_sleep_ms((unsigned)walk_dice(&dice, LONGEST_CUT_MS));
}

static void be_orphaned(void)
{
    lose_nic();
    snprintf(action, sizeof action, "an orphan");
}

static void cut_off(void)
{
    const size_t host = some_host();
    ok(lab_node_cut(lab, host, true, &err));
    change_cloud();
    snprintf(action, sizeof action, "host %zu was cut off meanwhile", host);
    ok(lab_node_cut(lab, host, false, &err));
}

static void stop_oneibd(void)
{
    ok(lab_oneibd_stop(lab, LAB_DAEMON.name, walk_dice(&dice, 2) ? SIGKILL : SIGTERM, &err));
    change_cloud();
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
    snprintf(action, sizeof action, "oneibd was down meanwhile");
}

/* ---- one step -------------------------------------------------------------------------------- */

/* The node that a step is about, or another; the step has just begun. */
static void kill_service_in_a_moment(void)
{
    const size_t host = some_host();
    lab_sleep_ms(walk_dice(&dice, MOMENT_MS));
    ok(lab_node_service_stop(lab, host, SIGKILL, &err));
    ok(lab_node_service_start(lab, host, &err));
}

static void step(void)
{
    static void (*const steps[])(void) = {
        start,         start,          start,        end,         end,        migrate,
        migrate,       migrate,        probe,        repeat,      repeat,     forge,
        be_orphaned,   cut_off,        cut_off,      stop_oneibd, change_key, restart_service,
        probe,         restart_opensm, flap_link,    kill_switch, forge,      attach_forged,
        forge_network, forge_network,  forge_network};
    lab_node_meanwhile(lab, walk_dice(&dice, KILLED_STEPS) == 0 ? kill_service_in_a_moment : NULL);
    steps[walk_dice(&dice, sizeof steps / sizeof *steps)]();
    lab_node_meanwhile(lab, NULL);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void raise_networks(void)
{
    static const char *const names[NETWORKS] = {"red", "blue", "green"};
    for (size_t i = 0; i < NETWORKS; i++) {
        char vlan_id[16];
        keys[i] = FIRST_KEY + (unsigned)i;
        snprintf(vlan_id, sizeof vlan_id, "%u", keys[i]);
        ok(lab_network_create(lab, names[i], vlan_id, NULL, &networks[i], &err));
    }
}

static void raise_all(void)
{
    const struct lab_shape *shape = lab_shape_chosen("ONEIB_WALK_FABRIC", &lab_ring);
    const struct lab_options fabric = {
        .leaves = 2, .hosts_per_leaf = shape ? 1 : 2, .spines = 1, .shape = shape};
    struct lab_node_options nodes = LAB_NODES_DEFAULTS;
    struct lab_output output;
    nodes.vfs = VFS;
    lab = lab_open(&fabric, &err);
    assert_non_null(lab);
    ok(lab_fabric_start(lab, &err));
    ok(lab_standin_start(lab, NULL, &err));
    ok(lab_config_write(lab, NULL, &err));
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_nodes_start(lab, &nodes, &err));
    ok(lab_add_nodes(lab, &err));
    raise_networks();
    users.lab = lab;
    ok(lab_oneib(lab, (const char *[]){"sync", "--force", NULL}, PROGRAM_MS, &output, &err));
    assert_int_equal(output.status, 0);
    lab_output_clear(&output);
    watch = vf_watch_start(lab, VFS, &err);
    if (!watch)
        fail_msg("%s", err.text);
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
}

static void every_vf_is_as_it_should_be_after_every_step(void **state)
{
    (void)state;
    const unsigned steps = walk_setting("ONEIB_WALK_STEPS", STEPS);
    dice.random = walk_setting("ONEIB_WALK_SEED", (unsigned)time(NULL));
    print_message("ONEIB_WALK_SEED=%u, %u steps\n", dice.random, steps);
    raise_all();
    for (unsigned i = 0; i < steps; i++) {
        step();
        snprintf(actions[i % (sizeof actions / sizeof *actions)], sizeof action, "%s", action);
        steps_done = i + 1;
        every_vf_must_be_right();
        if (i % PORTS_EVERY == 0)
            every_port_must_be_right();
    }
    uint64_t looks, open;
    vf_watch_count(watch, &looks, &open);
    print_message("%" PRIu64 " looks, at %" PRIu64 " open VFs\n", looks, open);
    assert_true(open > 0);
    ok(lab_oneibd_stop(lab, LAB_DAEMON.name, SIGTERM, &err));
}

static int close_all(void **state)
{
    (void)state;
    lab_close(lab);
    return 0;
}

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_vf_is_as_it_should_be_after_every_step, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
