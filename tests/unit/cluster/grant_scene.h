// SPDX-License-Identifier: Apache-2.0
/* What nodes have been sent and have reported, for tests of grants and of the gate. */
#ifndef ONEIB_TEST_CLUSTER_GRANT_SCENE_H
#define ONEIB_TEST_CLUSTER_GRANT_SCENE_H

#include "cloud_builder.h"
#include "cluster/grants.h"

#define NODES 8

struct played_node {
    struct oneib_vf_record records[8];
    struct oneib_grant_list sent;
    struct oneib_nic_name told[16];
};

struct grant_scene {
    struct scene scene;
    struct oneib_node_snapshot snapshots[NODES]; /* by host id */
    struct played_node nodes[NODES];             /* of each snapshot */
    size_t node_count;
    size_t held;
    struct oneib_grants grants;
    struct oneib_findings findings;
    bool is_led_elsewhere; /* the scene's subnet, by another host's subnet manager */
    struct oneib_gate gate;
};

static inline int grant_scene_make(void **state)
{
    struct grant_scene *played = calloc(1, sizeof *played);
    if (!played)
        return -1;
    played->scene.policy = (struct oneib_policy){
        .site = SITE, .pkey_first = 256, .pkey_last = 32766, .hold_share = 0.5, .hold_minimum = 1};
    played->scene.has_in_force = true;
    *state = played;
    return 0;
}

static inline int grant_scene_free(void **state)
{
    struct grant_scene *played = *state;
    struct scene *scene = &played->scene;
    oneib_desired_clear(&scene->desired);
    oneib_cloud_clear(&scene->cloud);
    oneib_ledger_clear(&scene->ledger);
    oneib_partition_table_clear(&scene->static_partitions);
    oneib_partition_table_clear(&scene->in_force);
    oneib_subnet_clear(&scene->subnet);
    oneib_grants_clear(&played->grants);
    oneib_findings_clear(&played->findings);
    oneib_gate_clear(&played->gate);
    free(played);
    return 0;
}

#define GRANT_TEST(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, grant_scene_make, grant_scene_free)

/* A host with VFs, and its node, which follows and has nothing. Hosts are added by id. */
static inline struct oneib_node_snapshot *add_node(struct grant_scene *played, uint32_t host_id)
{
    add_host(&played->scene, host_id)->ports[0].vfs_total = 8;
    assert_true(played->node_count < NODES);
    struct oneib_node_snapshot *snapshot = &played->snapshots[played->node_count];
    *snapshot = (struct oneib_node_snapshot){.host_id = host_id,
                                             .state = ONEIB_NODE_FOLLOWS,
                                             .table_known = true,
                                             .records = played->nodes[played->node_count].records,
                                             .told = played->nodes[played->node_count].told};
    played->node_count++;
    return snapshot;
}

static inline struct oneib_node_snapshot *node_of(struct grant_scene *played, uint32_t host_id)
{
    for (size_t i = 0; i < played->node_count; i++)
        if (played->snapshots[i].host_id == host_id)
            return &played->snapshots[i];
    fail_msg("no node of host %u", host_id);
    return NULL;
}

/* It was sent a grant for that NIC once. */
static inline void tell(struct grant_scene *played, uint32_t host_id, uint32_t vm_id,
                        uint8_t nic_id)
{
    struct oneib_node_snapshot *snapshot = node_of(played, host_id);
    struct oneib_nic_name *told = played->nodes[snapshot - played->snapshots].told;
    const struct oneib_nic_name nic = {.vm_id = vm_id, .nic_id = nic_id};
    size_t place = 0;
    while (place < snapshot->told_count && oneib_nic_name_compare(&told[place], &nic) < 0)
        place++;
    if (place < snapshot->told_count && oneib_nic_name_compare(&told[place], &nic) == 0)
        return;
    assert_true(snapshot->told_count < sizeof played->nodes[0].told / sizeof *told);
    memmove(told + place + 1, told + place, (snapshot->told_count++ - place) * sizeof *told);
    told[place] = nic;
}

static inline struct oneib_vf_record *report(struct grant_scene *played, uint32_t host_id,
                                             uint32_t vm_id, uint32_t network_id, oneib_pkey pkey)
{
    struct oneib_node_snapshot *snapshot = node_of(played, host_id);
    struct played_node *node = &played->nodes[snapshot - played->snapshots];
    assert_true(snapshot->record_count < sizeof node->records / sizeof node->records[0]);
    struct oneib_vf_record *record = &node->records[snapshot->record_count++];
    *record =
        (struct oneib_vf_record){.vf = {.bus = 0x81, .function = (uint8_t)snapshot->record_count},
                                 .device = "mlx4_0",
                                 .index = (uint16_t)snapshot->record_count,
                                 .port = 1,
                                 .vm_id = vm_id,
                                 .network_id = network_id,
                                 .site = SITE,
                                 .pkey = pkey,
                                 .stage = ONEIB_VF_OPEN,
                                 .guid = ONEIB_VF_GUID_SET};
    return record;
}

/* The list that the node was sent: what it is granted now. */
static inline void send_grants(struct grant_scene *played, uint32_t host_id)
{
    struct oneib_node_snapshot *snapshot = node_of(played, host_id);
    struct oneib_grant_list *sent = &played->nodes[snapshot - played->snapshots].sent;
    const struct oneib_host_grants *grants = oneib_grants_of_host(&played->grants, host_id);
    sent->count = grants ? grants->count : 0;
    for (size_t i = 0; i < sent->count; i++) {
        sent->items[i] = grants->items[i];
        tell(played, host_id, sent->items[i].vm_id, sent->items[i].nic_id);
    }
    snapshot->sent = sent;
}

/* The cloud's VMs are those that have NICs, and those that are named here. */
static inline void know_vms(struct grant_scene *played, const uint32_t *others, size_t count)
{
    struct oneib_cloud *cloud = &played->scene.cloud;
    oneib_cloud_sort(cloud);
    free(cloud->vm_ids);
    cloud->vm_ids = calloc(cloud->attachment_count + count + 1, sizeof *cloud->vm_ids);
    assert_non_null(cloud->vm_ids);
    cloud->vm_count = 0;
    size_t next = 0;
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const uint32_t id = cloud->attachments[i].vm_id;
        while (next < count && others[next] < id)
            cloud->vm_ids[cloud->vm_count++] = others[next++];
        if (cloud->vm_count == 0 || cloud->vm_ids[cloud->vm_count - 1] != id)
            cloud->vm_ids[cloud->vm_count++] = id;
    }
    while (next < count)
        cloud->vm_ids[cloud->vm_count++] = others[next++];
}

/* Desired state, removal hold, grants. */
static inline void grant_all(struct grant_scene *played)
{
    struct scene *scene = &played->scene;
    compute(scene);
    played->held = hold_removals_of(scene);
    const struct oneib_grants_input input = {.cloud = &scene->cloud,
                                             .policy = &scene->policy,
                                             .desired = &scene->desired,
                                             .nodes = played->snapshots,
                                             .node_count = played->node_count,
                                             .subnet = scene->has_subnet ? &scene->subnet : NULL,
                                             .in_force = &scene->in_force};
    oneib_grants_clear(&played->grants);
    oneib_findings_clear(&played->findings);
    oneib_grants_compute(&input, &played->grants, &played->findings);
}

static inline const struct oneib_grant *granted(const struct grant_scene *played, uint32_t host_id,
                                                uint32_t vm_id, uint8_t nic_id)
{
    const struct oneib_host_grants *host = oneib_grants_of_host(&played->grants, host_id);
    for (size_t i = 0; host && i < host->count; i++)
        if (host->items[i].vm_id == vm_id && host->items[i].nic_id == nic_id)
            return &host->items[i];
    return NULL;
}

static inline void pass_gate(struct grant_scene *played)
{
    const struct scene *scene = &played->scene;
    const struct oneib_gate_input input = {.cloud = &scene->cloud,
                                           .desired = &scene->desired,
                                           .in_force = &scene->in_force,
                                           .grants = &played->grants,
                                           .nodes = played->snapshots,
                                           .node_count = played->node_count,
                                           .ledger = &scene->ledger,
                                           .led_elsewhere =
                                               played->is_led_elsewhere ? &scene->subnet : NULL};
    oneib_gate_clear(&played->gate);
    oneib_gate_compute(&input, &played->gate);
}

/* Network 7 with key 0x101, and the nodes of hosts 1 to `hosts`. */
static inline void add_network_7(struct grant_scene *played, uint32_t hosts)
{
    add_network(&played->scene, 7, 0x101);
    for (uint32_t host_id = 1; host_id <= hosts; host_id++)
        add_node(played, host_id);
}

static inline void put_in_force(struct grant_scene *played, const char *name, unsigned key,
                                const oneib_guid *guids, size_t count)
{
    struct scene *scene = &played->scene;
    struct oneib_partition *partition = add_partition(scene, &scene->in_force, name, key);
    for (size_t i = 0; i < count; i++)
        add_guid(scene, partition, guids[i], ONEIB_FULL);
}

#define PUT_IN_FORCE(played, name, key, ...)                                                       \
    put_in_force(played, name, key, (const oneib_guid[]){__VA_ARGS__},                             \
                 sizeof((const oneib_guid[]){__VA_ARGS__}) / sizeof(oneib_guid))

#define assert_gated(played, key, guid, how)                                                       \
    assert_string_equal(how, listed_in(&(played)->gate.table, key, guid))

#endif
