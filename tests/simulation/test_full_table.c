// SPDX-License-Identifier: Apache-2.0
/*
 * A port whose P_Key table is nearly full, and many changes at once: opensm puts a new key at the
 * index that another one has left in the same sweep (seen here with 3.3.23), and a VF's map names
 * an index. So no index may go from one cluster's key to another's while a VF is open there. On
 * ibsim with a real opensm, simulated nodes with the real services, and an oneibd; another process
 * looks at all VFs all the while (vf_watch.h).
 */
#include "base/cleanup.h"
#include "lab_internal.h"
#include "lab_node.h"
#include "vf_watch.h"
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

#define HOST 0u /* that has the table */
#define VFS 7
#define VMS 6 /* each of a network of its own */
/* With these, those of VMs and the default partition 60 of 63 places are taken. */
#define STATICS 53
#define ENDS (ENTRIES - 1 - STATICS - VMS)
#define ROUNDS 4
#define DEAD_MS 2500
#define REPLACED 12 /* networks of static members, in each round */
#define FIRST_KEY 300u
#define ENTRIES 64
#define PATIENCE_MS 40000u
#define PROGRAM_MS 30000u
#define LCM_BOOT 2

static struct oneib_error err;
static struct lab *lab;
static struct vf_watch *watch;
static uint32_t networks[VMS], vms[VMS], statics[STATICS];
static unsigned keys[VMS], next_key = FIRST_KEY;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

static uint32_t network_with(unsigned key, bool has_static_member)
{
    uint32_t id;
    char name[16], vlan_id[16], member[64] = "";
    snprintf(name, sizeof name, "net%u", key);
    snprintf(vlan_id, sizeof vlan_id, "%u", key);
    if (has_static_member)
        snprintf(member, sizeof member, "IB_STATIC_GUIDS=0x%016" PRIx64 "=full\n",
                 lab_host_port_guid(lab, HOST));
    ok(lab_network_create(lab, name, vlan_id, member, &id, &err));
    return id;
}

/* ---- what must be ---------------------------------------------------------------------------- */

/* *vf: that the VM has on the host. */
static bool find_vf(size_t vm, struct lab_node_vf *vf)
{
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    ok(lab_node_claims(lab, HOST, claims, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (claims[i].vm == vms[vm]) {
            ok(lab_node_vf(lab, HOST, claims[i].vf, vf, &err));
            return true;
        }
    return false;
}

static bool is_open(size_t vm)
{
    struct lab_node_vf vf;
    return find_vf(vm, &vf) && vf.key == (0x8000u | keys[vm]) && vf.only;
}

static bool all_are_open(void)
{
    for (size_t i = 0; i < VMS; i++)
        if (!is_open(i))
            return false;
    return true;
}

static void print_of(const char *verb)
{
    struct lab_output output = {0};
    if (lab_oneib(lab, (const char *[]){verb, NULL}, PROGRAM_MS, &output, &err) == 0)
        print_error("---- oneib %s\n%s%s\n", verb, output.out, output.error);
    lab_output_clear(&output);
}

static void every_vf_comes_to_its_key(void)
{
    char wrong[256];
    for (unsigned waited = 0; !all_are_open(); waited += 10) {
        if (waited > PATIENCE_MS) {
            print_of("plan");
            oneib_autofree char *end = lab_log_end(lab, "oneibd.log");
            print_error("%s\n", end);
            fail_msg("not all VFs are open at their networks' keys");
        }
        lab_sleep_ms(10);
    }
    if (vf_watch_complains(watch, wrong, sizeof wrong))
        fail_msg("%s", wrong);
}

static size_t count_keys(void)
{
    uint16_t table[ENTRIES];
    size_t count;
    ok(lab_host_pkeys(lab, HOST, table, ENTRIES, &count, &err));
    return count;
}

static void await_keys(size_t wanted)
{
    for (unsigned waited = 0; count_keys() != wanted; waited += 50) {
        if (waited > PATIENCE_MS)
            fail_msg("the port holds %zu keys, not %zu", count_keys(), wanted);
        lab_sleep_ms(50);
    }
}

/* ---- the scene ------------------------------------------------------------------------------- */

static void start_vm(size_t number)
{
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    ok(lab_vm_create(lab, "vm", &networks[number], 1, &vms[number], &err));
    vf_watch_vm(watch, vms[number], networks[number]);
    ok(lab_vm_deploy(lab, vms[number], HOST, &err));
    ok(lab_vm_state(lab, vms[number], 3, LCM_BOOT, &err));
    ok(lab_node_boot(lab, HOST, vms[number], &err));
    ok(lab_node_claims(lab, HOST, claims, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (claims[i].vm == vms[number])
            vf_watch_guest(watch, HOST, claims[i].vf, vms[number]);
}

/* It is the host's, and a static member as well: that an operator has to say. oneibd may write the
 * ledger at that moment. */
static void accept_port(void)
{
    char guid[32], host[16];
    struct lab_output output = {.status = 1};
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(lab, HOST));
    snprintf(host, sizeof host, "%u", HOST);
    const char *const words[] = {"host", "accept", "--port", guid, host, NULL};
    for (unsigned i = 0; i < 20 && output.status != 0; i++) {
        lab_output_clear(&output);
        ok(lab_oneib(lab, words, PROGRAM_MS, &output, &err));
    }
    if (output.status != 0)
        fail_msg("%s", output.error);
    lab_output_clear(&output);
}

static void raise_all(void)
{
    const struct lab_options fabric = {.leaves = 1, .hosts_per_leaf = 2};
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
    for (size_t i = 0; i < VMS; i++)
        networks[i] = network_with(keys[i] = next_key++, false);
    ok(lab_oneib(lab, (const char *[]){"sync", "--force", NULL}, PROGRAM_MS, &output, &err));
    assert_int_equal(output.status, 0);
    lab_output_clear(&output);
    watch = vf_watch_start(lab, VFS, &err);
    if (!watch)
        fail_msg("%s", err.text);
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
    for (size_t i = 0; i < VMS; i++)
        start_vm(i);
    accept_port();
    for (size_t i = 0; i < STATICS; i++)
        statics[i] = network_with(next_key++, true);
    await_keys(1 + STATICS + VMS);
    every_vf_comes_to_its_key();
}

static void replace(size_t number)
{
    ok(lab_network_delete(lab, statics[number], &err));
    statics[number] = network_with(next_key++, true);
}

/* opensm goes back to places that became free only when it has once come to the end. What stands in
 * the last one then stays: a VF cannot be opened there (key-last-slot). */
static void go_to_the_end(void)
{
    for (size_t i = 0; i < ENDS; i++)
        replace(i);
    lab_sleep_ms(1000);
    await_keys(1 + STATICS + VMS);
}

/* ---- many changes ---------------------------------------------------------------------------- */

/* Each VM's network moves to another key, and every fourth static network is replaced: places
 * become free, and keys of others want them. */
static void change_much(unsigned round)
{
    char attribute[32];
    for (size_t i = 0; i < VMS; i++) {
        keys[i] = next_key++;
        snprintf(attribute, sizeof attribute, "VLAN_ID=%u", keys[i]);
        ok(lab_network_update(lab, networks[i], attribute, &err));
    }
    for (size_t i = 0; i < REPLACED; i++)
        replace(ENDS + (round * REPLACED + i) % (STATICS - ENDS));
}

/* The node's service is dead: its VFs stay open at the places that they have. Keys leave these
 * after a second, and none may come. */
static void change_while_nobody_closes(unsigned round)
{
    ok(lab_node_service_stop(lab, HOST, SIGKILL, &err));
    change_much(round);
    lab_sleep_ms(DEAD_MS);
    ok(lab_node_service_start(lab, HOST, &err));
}

static unsigned key_at(unsigned index)
{
    char path[256], value[16] = "";
    snprintf(path, sizeof path, "%s/sys/class/infiniband/mlx4_0/ports/1/pkeys/%u",
             lab_node_root(lab, HOST), index);
    oneib_autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(value, sizeof value, file))
        fail_msg("%s cannot be read", path);
    return (unsigned)strtoul(value, NULL, 16) & ~0x8000u;
}

static void find_places(unsigned places[VMS])
{
    for (size_t i = 0; i < VMS; i++) {
        struct lab_node_vf vf = {0};
        assert_true(find_vf(i, &vf));
        places[i] = vf.map[0];
    }
}

/* Of VMs: somebody else's key stands now where theirs was. */
static size_t count_lost_places(const unsigned places[VMS])
{
    size_t count = 0;
    for (size_t i = 0; i < VMS; i++)
        count += key_at(places[i]) != 0 && key_at(places[i]) != keys[i];
    return count;
}

static void no_vf_reaches_the_key_that_takes_its_place(void **state)
{
    (void)state;
    size_t lost = 0;
    uint64_t looks, open;
    raise_all();
    go_to_the_end();
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned places[VMS];
        find_places(places);
        if (round % 2)
            change_while_nobody_closes(round);
        else
            change_much(round);
        every_vf_comes_to_its_key();
        await_keys(1 + STATICS + VMS);
        every_vf_comes_to_its_key();
        lost += count_lost_places(places);
    }
    vf_watch_count(watch, &looks, &open);
    print_message("%zu of VMs' places became others'; %" PRIu64 " looks, at %" PRIu64 " open VFs\n",
                  lost, looks, open);
    assert_true(lost > 0);
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
        cmocka_unit_test_teardown(no_vf_reaches_the_key_that_takes_its_place, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
