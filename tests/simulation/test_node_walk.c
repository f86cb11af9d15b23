// SPDX-License-Identifier: Apache-2.0
/*
 * A random walk over simulated nodes: VMs of three networks start, end and migrate through the real
 * network driver, their networks move to other keys, the nodes' services and opensm are killed and
 * started again, a service in the middle of any other step too, and oneibd runs all the while.
 * After each step every VF of every host must be what this file's own bookkeeping says: a VM's one,
 * open to its network's key and nothing else, under its GUID; or nobody's, closed and without one.
 *
 * Replay: ONEIB_WALK_SEED=N (printed at start); ONEIB_WALK_STEPS=N walks further or shorter.
 */
#include "lab_node.h"
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
#define VFS 4
#define NETWORKS 3
#define VMS 12
#define FIRST_KEY 300
#define LCM_MIGRATE 4
#define LCM_SHUTDOWN 12
#define PROGRAM_MS 30000u
#define SETTLE_MS 20000u
/* Of every so many steps one has a service killed within so many milliseconds. */
#define KILLED_STEPS 3
#define MOMENT_MS 60

struct vm {
    bool runs;
    uint32_t id;
    size_t host, network;
};

static struct oneib_error err;
static struct lab *lab;
static struct walk dice; /* only its random state */
static uint32_t networks[NETWORKS];
static unsigned keys[NETWORKS], next_key = FIRST_KEY;
static struct vm vms[VMS];
static char action[160];

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s: %s", action, #expression, err.text);                                 \
    } while (0)

/* ---- what must be --------------------------------------------------------------------------- */

static const struct vm *find_vm(uint32_t id)
{
    for (size_t i = 0; i < VMS; i++)
        if (vms[i].runs && vms[i].id == id)
            return &vms[i];
    return NULL;
}

static size_t count_vms(size_t host)
{
    size_t count = 0;
    for (size_t i = 0; i < VMS; i++)
        count += vms[i].runs && vms[i].host == host;
    return count;
}

static bool is_closed(const struct lab_node_vf *vf)
{
    return vf->map[0] == 0 && vf->only && vf->guid == 0 && vf->accepted == 0;
}

static bool is_open(const struct lab_node_vf *vf, const struct lab_node_claim *claim)
{
    const struct vm *vm = find_vm(claim->vm);
    const uint64_t guid = UINT64_C(2) << 56 | (uint64_t)claim->vm << 8 | claim->nic;
    return vm && strcmp(claim->stage, "open") == 0 && vf->key == (0x8000u | keys[vm->network]) &&
           vf->only && vf->guid == guid && vf->accepted == guid;
}

/* What is wrong about the host's VFs, "" when nothing is. */
static void judge_host(size_t host, char *wrong, size_t size)
{
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    *wrong = '\0';
    ok(lab_node_claims(lab, host, claims, &count, &err));
    if (count != count_vms(host))
        snprintf(wrong, size, "host %zu has %zu VFs claimed for %zu VMs", host, count,
                 count_vms(host));
    for (unsigned number = 0; number < VFS; number++) {
        struct lab_node_vf vf;
        const struct lab_node_claim *claim = NULL;
        ok(lab_node_vf(lab, host, number, &vf, &err));
        for (size_t i = 0; i < count; i++)
            claim = claims[i].vf == number ? &claims[i] : claim;
        if (claim ? !is_open(&vf, claim) : !is_closed(&vf))
            snprintf(wrong, size,
                     "VF %u of host %zu, VM %d's, is %s, with key 0x%04x, GUID 0x%" PRIx64, number,
                     host, claim ? (int)claim->vm : -1, claim ? claim->stage : "nobody's", vf.key,
                     vf.accepted);
    }
}

/* What opensm, oneibd and the services do takes its time. */
static void every_vf_must_be_right(void)
{
    char wrong[256];
    for (size_t host = 0; host < HOSTS; host++)
        for (unsigned waited = 0; judge_host(host, wrong, sizeof wrong), *wrong; waited += 5) {
            if (waited > SETTLE_MS)
                fail_msg("after \"%s\": %s", action, wrong);
            lab_sleep_ms(5);
        }
}

/* ---- steps ---------------------------------------------------------------------------------- */

static size_t some_host(void)
{
    return walk_dice(&dice, HOSTS);
}

static struct vm *some_vm(void)
{
    struct vm *vm = &vms[walk_dice(&dice, VMS)];
    return vm->runs ? vm : NULL;
}

static struct vm *some_free_place(void)
{
    struct vm *vm = &vms[walk_dice(&dice, VMS)];
    return vm->runs ? NULL : vm;
}

static void start(void)
{
    struct vm *vm = some_free_place();
    const size_t host = some_host();
    if (!vm || count_vms(host) == VFS)
        return;
    *vm = (struct vm){.host = host, .network = walk_dice(&dice, NETWORKS)};
    ok(lab_vm_create(lab, "vm", &networks[vm->network], 1, &vm->id, &err));
    snprintf(action, sizeof action, "VM %" PRIu32 " of network %zu starts on %zu", vm->id,
             vm->network, host);
    ok(lab_vm_deploy(lab, vm->id, (uint32_t)host, &err));
    ok(lab_node_boot(lab, host, vm->id, &err));
    vm->runs = true;
}

static void end(void)
{
    struct vm *vm = some_vm();
    if (!vm)
        return;
    snprintf(action, sizeof action, "VM %" PRIu32 " ends on %zu", vm->id, vm->host);
    ok(lab_vm_state(lab, vm->id, 3, LCM_SHUTDOWN, &err));
    ok(lab_node_domain(lab, vm->host, vm->id, false, &err));
    ok(lab_node_driver(lab, vm->host, "clean", vm->id, &err));
    ok(lab_vm_delete(lab, vm->id, &err));
    vm->runs = false;
}

static void migrate(void)
{
    struct vm *vm = some_vm();
    const size_t to = some_host();
    if (!vm || vm->host == to || count_vms(to) == VFS)
        return;
    snprintf(action, sizeof action, "VM %" PRIu32 " migrates from %zu to %zu", vm->id, vm->host,
             to);
    ok(lab_vm_migrate(lab, vm->id, (uint32_t)to, LCM_MIGRATE, &err));
    ok(lab_node_driver(lab, to, "pre", vm->id, &err));
    ok(lab_node_domain(lab, vm->host, vm->id, false, &err));
    ok(lab_node_domain(lab, to, vm->id, true, &err));
    ok(lab_node_driver(lab, vm->host, "clean", vm->id, &err));
    ok(lab_node_driver(lab, to, "post", vm->id, &err));
    ok(lab_vm_running(lab, vm->id, &err));
    vm->host = to;
}

/* oned tells the nodes one VM after the other. */
static void change_key(void)
{
    char attribute[32], old[16];
    const size_t network = walk_dice(&dice, NETWORKS);
    snprintf(old, sizeof old, "%u", keys[network]);
    keys[network] = next_key++;
    snprintf(attribute, sizeof attribute, "VLAN_ID=%u", keys[network]);
    snprintf(action, sizeof action, "network %zu gets key %u", network, keys[network]);
    ok(lab_network_update(lab, networks[network], attribute, &err));
    for (size_t i = 0; i < VMS; i++)
        if (vms[i].runs && vms[i].network == network)
            ok(lab_node_update_nic(lab, vms[i].host, vms[i].id, networks[network], old, &err));
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

static void restart_opensm(void)
{
    snprintf(action, sizeof action, "opensm is killed and started again");
    ok(lab_opensm_stop(lab, "opensm", false, &err));
    ok(lab_opensm_start(lab, &LAB_SM, &err));
}

/* What OpenNebula does when it is unsure: pre and post again, for a VM that runs. */
static void repeat(void)
{
    struct vm *vm = some_vm();
    if (!vm)
        return;
    snprintf(action, sizeof action, "pre and post of VM %" PRIu32 " are repeated", vm->id);
    ok(lab_node_driver(lab, vm->host, "pre", vm->id, &err));
    ok(lab_node_driver(lab, vm->host, "post", vm->id, &err));
}

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
        start,   start,      start,           end,   end,
        migrate, migrate,    migrate,         probe, repeat,
        repeat,  change_key, restart_service, probe, restart_opensm};
    lab_node_meanwhile(lab, walk_dice(&dice, KILLED_STEPS) == 0 ? kill_service_in_a_moment : NULL);
    steps[walk_dice(&dice, sizeof steps / sizeof *steps)]();
    lab_node_meanwhile(lab, NULL);
}

/* ---- the walk ------------------------------------------------------------------------------- */

static void raise_networks(void)
{
    static const char *const names[NETWORKS] = {"red", "blue", "green"};
    for (size_t i = 0; i < NETWORKS; i++) {
        char vlan_id[16];
        keys[i] = next_key++;
        snprintf(vlan_id, sizeof vlan_id, "%u", keys[i]);
        ok(lab_network_create(lab, names[i], vlan_id, NULL, &networks[i], &err));
    }
}

static void raise_all(void)
{
    const struct lab_options fabric = {.leaves = 2, .hosts_per_leaf = 2, .spines = 1};
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
    ok(lab_oneib(lab, (const char *[]){"sync", "--force", NULL}, PROGRAM_MS, &output, &err));
    assert_int_equal(output.status, 0);
    lab_output_clear(&output);
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
        every_vf_must_be_right();
    }
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
