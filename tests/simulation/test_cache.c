// SPDX-License-Identifier: Apache-2.0
/*
 * A random walk of a cloud: after each step, or a burst of them, a refresh of what events would
 * name has to leave what a whole reading gives.
 *
 * Replay: ONEIB_WALK_SEED=N (printed at start); ONEIB_WALK_STEPS=N walks further or shorter.
 */
#include "base/number.h"
#include "cache_scene.h"
#include <time.h>

#define STEPS 400

/* What happens, and what an event would name. */

static void name_vm(struct scene *scene, uint32_t vm)
{
    oneib_work_queue_vm(&scene->queue, vm);
}

static uint32_t some_network(struct scene *scene)
{
    return scene->networks[dice(scene, scene->network_count)];
}

static size_t some_vm(struct scene *scene)
{
    return dice(scene, scene->vm_count);
}

static int create_network(struct scene *scene, struct oneib_error *err)
{
    static const char *const keys[] = {"300", "301", "", "abc", "0x8001"};
    if (scene->network_count == NETWORKS_MAX)
        return 0;
    uint32_t *id = &scene->networks[scene->network_count];
    snprintf(scene->action, sizeof scene->action, "create a network");
    if (lab_network_create(scene->lab, "net", keys[dice(scene, 5)],
                           dice(scene, 4) ? NULL : "IB_MEMBERSHIP=bogus", id, err) < 0)
        return -1;
    scene->network_count++;
    oneib_work_queue_network(&scene->queue, *id);
    return 0;
}

static int reserve(struct scene *scene, struct oneib_error *err)
{
    if (scene->network_count == NETWORKS_MAX)
        return 0;
    uint32_t *id = &scene->networks[scene->network_count];
    if (lab_network_reserve(scene->lab, some_network(scene), "reservation", id, err) < 0)
        return -1;
    snprintf(scene->action, sizeof scene->action, "reserve network %u", *id);
    scene->network_count++;
    oneib_work_queue_network(&scene->queue, *id);
    return 0;
}

static int update_network(struct scene *scene, struct oneib_error *err)
{
    static const char *const changes[] = {
        "VLAN_ID=310",   "VLAN_ID=",          "VLAN_ID=none",           "IB_MEMBERSHIP=limited",
        "VN_MAD=802.1Q", "VN_MAD=infiniband", "IB_STATIC_GUIDS=0x17,x", "PHYDEV=mlx4_0:1",
        "MTU=wide",      "IB_RATE=40",
    };
    const uint32_t network = some_network(scene);
    const char *change = changes[dice(scene, sizeof changes / sizeof *changes)];
    snprintf(scene->action, sizeof scene->action, "network %u: %s", network, change);
    if (lab_network_update(scene->lab, network, change, err) < 0)
        return -1;
    oneib_work_queue_network(&scene->queue, network);
    return 0;
}

/* oned copies attributes of networks into the NICs, and tells so of each VM. */
static int propagate(struct scene *scene, struct oneib_error *err)
{
    snprintf(scene->action, sizeof scene->action, "NICs follow their networks");
    for (size_t i = 0; i < scene->vm_count; i++)
        name_vm(scene, scene->vms[i]);
    return lab_networks_propagate(scene->lab, err);
}

static int delete_network(struct scene *scene, struct oneib_error *err)
{
    const size_t at = dice(scene, scene->network_count);
    const uint32_t network = scene->networks[at];
    if (scene->network_count < 4 || dice(scene, 3))
        return 0;
    snprintf(scene->action, sizeof scene->action, "delete network %u", network);
    scene->networks[at] = scene->networks[--scene->network_count];
    if (lab_network_delete(scene->lab, network, err) < 0)
        return -1;
    oneib_work_queue_network(&scene->queue, network);
    return 0;
}

static int update_host(struct scene *scene, struct oneib_error *err)
{
    static const char *const changes[] = {"IB_VFS_FREE=6", "IB_VFS_FREE=many", "IB_SWITCH=0x20",
                                          "IB_SWITCH=0x22,0x20", "IB_VFS_FREE=7"};
    const uint32_t host = (uint32_t)dice(scene, HOSTS);
    const char *change = changes[dice(scene, sizeof changes / sizeof *changes)];
    snprintf(scene->action, sizeof scene->action, "host %u: %s", host, change);
    if (lab_host_update(scene->lab, host, change, err) < 0)
        return -1;
    oneib_work_queue_host(&scene->queue, host);
    return 0;
}

static int create_vm(struct scene *scene, struct oneib_error *err)
{
    uint32_t networks[3], *id = &scene->vms[scene->vm_count];
    const size_t count = dice(scene, 4);
    if (scene->vm_count == VMS_MAX)
        return 0;
    for (size_t i = 0; i < count; i++)
        networks[i] = some_network(scene);
    if (lab_vm_create(scene->lab, "vm", networks, count, id, err) < 0)
        return -1;
    scene->vm_count++;
    snprintf(scene->action, sizeof scene->action, "create VM %u", *id);
    if (dice(scene, 2)) {
        scene->queue.new_vms = true;
        return 0;
    }
    name_vm(scene, *id);
    return 0;
}

static int deploy(struct scene *scene, struct oneib_error *err)
{
    const uint32_t vm = scene->vms[some_vm(scene)];
    snprintf(scene->action, sizeof scene->action, "deploy VM %u", vm);
    if (lab_vm_deploy(scene->lab, vm, (uint32_t)dice(scene, HOSTS), err) < 0)
        return -1;
    name_vm(scene, vm);
    return 0;
}

static int run(struct scene *scene, struct oneib_error *err)
{
    const uint32_t vm = scene->vms[some_vm(scene)];
    snprintf(scene->action, sizeof scene->action, "run VM %u", vm);
    if (lab_vm_running(scene->lab, vm, err) < 0)
        return -1;
    name_vm(scene, vm);
    return 0;
}

static int set_state(struct scene *scene, struct oneib_error *err)
{
    static const int states[][2] = {{3, 12}, {8, 0}, {5, 0}, {3, 16}, {3, 72},
                                    {3, 2},  {4, 0}, {2, 0}, {3, 36}, {3, 4}};
    const uint32_t vm = scene->vms[some_vm(scene)];
    const int *chosen = states[dice(scene, sizeof states / sizeof *states)];
    snprintf(scene->action, sizeof scene->action, "VM %u gets state %d/%d", vm, chosen[0],
             chosen[1]);
    if (lab_vm_state(scene->lab, vm, chosen[0], chosen[1], err) < 0)
        return -1;
    name_vm(scene, vm);
    return 0;
}

static int migrate(struct scene *scene, struct oneib_error *err)
{
    const uint32_t vm = scene->vms[some_vm(scene)];
    snprintf(scene->action, sizeof scene->action, "migrate VM %u", vm);
    /* One that is on no host cannot be: nothing has happened then. */
    if (lab_vm_migrate(scene->lab, vm, (uint32_t)dice(scene, HOSTS), 4, err) < 0)
        return 0;
    name_vm(scene, vm);
    return 0;
}

static int attach(struct scene *scene, struct oneib_error *err)
{
    uint32_t nic;
    const uint32_t vm = scene->vms[some_vm(scene)], network = some_network(scene);
    snprintf(scene->action, sizeof scene->action, "attach VM %u to network %u", vm, network);
    if (lab_vm_attach(scene->lab, vm, network, &nic, err) < 0)
        return -1;
    name_vm(scene, vm);
    return 0;
}

static int detach(struct scene *scene, struct oneib_error *err)
{
    const uint32_t vm = scene->vms[some_vm(scene)];
    snprintf(scene->action, sizeof scene->action, "detach a NIC of VM %u", vm);
    if (lab_vm_detach(scene->lab, vm, 1 + (uint32_t)dice(scene, 3), err) < 0)
        return 0;
    name_vm(scene, vm);
    return 0;
}

/* What users might write into a NIC; most of it is followed by a number. */
static void make_forgery(struct scene *scene, char *change, size_t size)
{
    static const char *const forms[] = {"NETWORK_ID=",    "VLAN_ID=",     "NIC_ID=30",
                                        "IB_MEMBERSHIP=", "NETWORK_ID=x", "VLAN_ID=x"};
    switch (dice(scene, 8)) {
    case 0:
        snprintf(change, size, "VN_MAD=INFINIBAND");
        break;
    case 1:
        snprintf(change, size, "VN_MAD=");
        break;
    default:
        snprintf(change, size, "%s%u", forms[dice(scene, 6)], some_network(scene));
    }
}

static int forge(struct scene *scene, struct oneib_error *err)
{
    char change[64];
    const uint32_t vm = scene->vms[some_vm(scene)];
    make_forgery(scene, change, sizeof change);
    snprintf(scene->action, sizeof scene->action, "VM %u forges %s", vm, change);
    if (lab_vm_set_nic(scene->lab, vm, (uint32_t)dice(scene, 3), change, err) < 0)
        return 0;
    name_vm(scene, vm);
    return 0;
}

static int delete_vm(struct scene *scene, struct oneib_error *err)
{
    const size_t at = some_vm(scene);
    const uint32_t vm = scene->vms[at];
    if (scene->vm_count < 10)
        return 0;
    snprintf(scene->action, sizeof scene->action, "delete VM %u", vm);
    scene->vms[at] = scene->vms[--scene->vm_count];
    if (lab_vm_delete(scene->lab, vm, err) < 0)
        return -1;
    name_vm(scene, vm);
    return 0;
}

typedef int (*step)(struct scene *scene, struct oneib_error *err);

static void take_step(struct scene *scene)
{
    static const step steps[] = {create_network,
                                 reserve,
                                 update_network,
                                 update_network,
                                 delete_network,
                                 update_host,
                                 create_vm,
                                 create_vm,
                                 create_vm,
                                 deploy,
                                 deploy,
                                 deploy,
                                 run,
                                 run,
                                 run,
                                 set_state,
                                 set_state,
                                 migrate,
                                 migrate,
                                 attach,
                                 attach,
                                 detach,
                                 detach,
                                 forge,
                                 forge,
                                 delete_vm,
                                 delete_vm,
                                 propagate};
    struct oneib_error err = {0};
    must(steps[dice(scene, sizeof steps / sizeof *steps)](scene, &err), scene, &err);
}

static void start_population(struct scene *scene)
{
    struct oneib_error err = {0};
    uint32_t first, none = 0;
    must(lab_vm_start(scene->lab, "first", &none, 0, 0, &first, &err), scene, &err);
    name_vm(scene, first);
    for (size_t i = 0; i < 5; i++)
        must(create_network(scene, &err), scene, &err);
    for (size_t i = 0; i < 12; i++)
        must(create_vm(scene, &err), scene, &err);
}

static unsigned from_environment(const char *name, unsigned otherwise)
{
    uint64_t number;
    return oneib_parse_decimal(getenv(name), UINT32_MAX, &number) ? (unsigned)number : otherwise;
}

static void a_refreshed_cloud_is_what_a_whole_reading_gives(void **state)
{
    struct scene *scene = *state;
    const unsigned steps = from_environment("ONEIB_WALK_STEPS", STEPS);
    scene->random = from_environment("ONEIB_WALK_SEED", (unsigned)time(NULL));
    print_message("ONEIB_WALK_SEED=%u\n", scene->random);
    start_population(scene);
    for (unsigned i = 0; i < steps; i++) {
        /* Mostly one change at a time, now and then a burst. */
        for (size_t more = dice(scene, 8) ? 1 : 1 + dice(scene, 60); more > 0; more--)
            take_step(scene);
        refresh(scene);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_refreshed_cloud_is_what_a_whole_reading_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
