// SPDX-License-Identifier: Apache-2.0
/*
 * Small clouds in a few readable lines, and the questions that tests ask of the desired state. An
 * out of memory ends the test.
 */
#ifndef ONEIB_TEST_CLUSTER_CLOUD_BUILDER_H
#define ONEIB_TEST_CLUSTER_CLOUD_BUILDER_H

#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "partitions/partition.h"
#include "partitions/subnet.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SITE 7

struct scene {
    struct oneib_cloud cloud;
    struct oneib_policy policy;
    struct oneib_ledger ledger;
    bool keys_stay;
    bool ledger_is_given; /* it is not filled from the networks */
    struct oneib_partition_table static_partitions, in_force;
    struct oneib_subnet subnet;
    bool has_in_force, has_subnet;
    struct oneib_desired desired;
    struct oneib_error err;
};

static inline int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    if (!scene)
        return -1;
    scene->policy = (struct oneib_policy){.site = SITE,
                                          .pkey_first = 256,
                                          .pkey_last = 32766,
                                          .hold_share = 0.5,
                                          .hold_minimum = 2,
                                          .resting_max = 16};
    *state = scene;
    return 0;
}

static inline int scene_free(void **state)
{
    struct scene *scene = *state;
    oneib_desired_clear(&scene->desired);
    oneib_cloud_clear(&scene->cloud);
    oneib_ledger_clear(&scene->ledger);
    oneib_partition_table_clear(&scene->static_partitions);
    oneib_partition_table_clear(&scene->in_force);
    oneib_subnet_clear(&scene->subnet);
    free(scene);
    return 0;
}

#define SCENE_TEST(function) cmocka_unit_test_setup_teardown(function, scene_make, scene_free)

/* Port 1 of host ID's adapter, as most tests have it. */
static inline oneib_guid port_of(uint32_t host_id)
{
    return UINT64_C(0x0002c90300000000) + host_id;
}

/* A network with this key; 0: VLAN_ID is missing. */
static inline struct oneib_network *add_network(struct scene *scene, uint32_t id, unsigned key)
{
    struct oneib_network *network = oneib_cloud_add_network(&scene->cloud);
    assert_non_null(network);
    network->id = id;
    network->parent_id = ONEIB_NO_ID;
    network->uid = network->gid = 0; /* an operator's */
    network->key_state = key ? ONEIB_KEY_VALID : ONEIB_KEY_MISSING;
    network->pkey = (oneib_pkey)key;
    network->membership = ONEIB_FULL;
    network->uid = network->gid = 0;
    return network;
}

static inline struct oneib_network *add_reservation(struct scene *scene, uint32_t id,
                                                    uint32_t parent_id, unsigned key)
{
    struct oneib_network *network = add_network(scene, id, key);
    network->parent_id = parent_id;
    return network;
}

static inline struct oneib_host *add_empty_host(struct scene *scene, uint32_t id)
{
    struct oneib_host *host = oneib_cloud_add_host(&scene->cloud);
    assert_non_null(host);
    host->id = id;
    return host;
}

static inline struct oneib_hca_port *add_port(struct scene *scene, struct oneib_host *host,
                                              const char *device, unsigned number, oneib_guid guid)
{
    (void)scene;
    struct oneib_hca_port *port = oneib_host_add_port(host);
    assert_non_null(port);
    snprintf(port->device, sizeof port->device, "%s", device);
    port->port = (uint8_t)number;
    port->driver = strncmp(device, "mlx4", 4) == 0   ? ONEIB_HCA_MLX4
                   : strncmp(device, "mlx5", 4) == 0 ? ONEIB_HCA_MLX5
                                                     : ONEIB_HCA_OTHER;
    port->port_guid = guid;
    return port;
}

/* A host with port 1 of mlx4_0 (or of the device named), GUID port_of(id). */
static inline struct oneib_host *add_host_with(struct scene *scene, uint32_t id, const char *device)
{
    struct oneib_host *host = add_empty_host(scene, id);
    add_port(scene, host, device, 1, port_of(id));
    return host;
}

static inline struct oneib_host *add_host(struct scene *scene, uint32_t id)
{
    return add_host_with(scene, id, "mlx4_0");
}

/* A NIC of a running VM. */
static inline struct oneib_attachment *add_nic(struct scene *scene, uint32_t vm_id, unsigned nic_id,
                                               uint32_t network_id, uint32_t host_id)
{
    struct oneib_attachment *nic = oneib_cloud_add_attachment(&scene->cloud);
    assert_non_null(nic);
    nic->vm_id = vm_id;
    nic->nic_id = (uint8_t)nic_id;
    nic->network_id = network_id;
    nic->host_id = host_id;
    nic->source_host_id = ONEIB_NO_ID;
    nic->state = 3;
    nic->lcm_state = 3;
    nic->phase = ONEIB_SETTLED;
    nic->since = 1000 + vm_id;
    return nic;
}

/* The one key that IB_KEYS of the host names. */
static inline void hold_key(struct oneib_host *host, unsigned key)
{
    free(host->keys);
    host->keys = malloc(sizeof *host->keys);
    assert_non_null(host->keys);
    host->keys[0] = (oneib_pkey)key;
    host->key_count = 1;
}

static inline void migrate(struct oneib_attachment *nic, uint32_t source_host_id)
{
    nic->phase = ONEIB_MIGRATING;
    nic->lcm_state = 4;
    nic->source_host_id = source_host_id;
}

static inline struct oneib_partition *add_partition(struct scene *scene,
                                                    struct oneib_partition_table *table,
                                                    const char *name, unsigned key)
{
    (void)scene;
    struct oneib_partition *partition = oneib_partition_table_add(table);
    assert_non_null(partition);
    snprintf(partition->name, sizeof partition->name, "%s", name);
    partition->pkey = (oneib_pkey)key;
    return partition;
}

static inline void add_guid(struct scene *scene, struct oneib_partition *partition, oneib_guid guid,
                            enum oneib_membership membership)
{
    (void)scene;
    oneib_partition_add_member(partition, (struct oneib_member){.guid = guid,
                                                                .kind = ONEIB_MEMBER_GUID,
                                                                .membership = (uint8_t)membership});
}

static inline void add_wildcard(struct scene *scene, struct oneib_partition *partition,
                                enum oneib_member_kind kind, enum oneib_membership membership)
{
    (void)scene;
    oneib_partition_add_member(
        partition, (struct oneib_member){.kind = (uint8_t)kind, .membership = (uint8_t)membership});
}

static inline struct oneib_subnet_port *add_subnet_port(struct scene *scene, oneib_guid guid,
                                                        unsigned partition_cap)
{
    struct oneib_subnet *subnet = &scene->subnet;
    subnet->ports = realloc(subnet->ports, (subnet->port_count + 1) * sizeof *subnet->ports);
    assert_non_null(subnet->ports);
    struct oneib_subnet_port *port = &subnet->ports[subnet->port_count++];
    *port = (struct oneib_subnet_port){
        .guid = guid, .node_type = ONEIB_NODE_CA, .partition_cap = (uint16_t)partition_cap};
    scene->has_subnet = true;
    return port;
}

/* The port of the fabric, which is added if it is not there. */
static inline struct oneib_subnet_port *subnet_port(struct scene *scene, oneib_guid guid)
{
    for (size_t i = 0; i < scene->subnet.port_count; i++)
        if (scene->subnet.ports[i].guid == guid)
            return &scene->subnet.ports[i];
    return add_subnet_port(scene, guid, 64);
}

/* The port has room for so many keys, with that of the default partition. */
static inline void set_capacity(struct scene *scene, oneib_guid guid, unsigned keys)
{
    subnet_port(scene, guid)->partition_cap = (uint16_t)(keys + 1);
}

static inline void give_key(struct scene *scene, uint32_t network_id, unsigned key)
{
    const struct oneib_ledger_network entry = {.network_id = network_id, .pkey = (oneib_pkey)key};
    assert_int_equal(0, oneib_ledger_give(&scene->ledger, &entry, &scene->err));
}

static inline bool states_its_parents(const struct scene *scene,
                                      const struct oneib_network *network)
{
    const struct oneib_network *parent = oneib_cloud_network(&scene->cloud, network->parent_id);
    const struct oneib_network *rules = parent ? oneib_network_rules(&scene->cloud, parent) : NULL;
    return parent && parent != network &&
           ((rules && rules->reservations_share) ||
            (parent->key_state == ONEIB_KEY_VALID && parent->pkey == network->pkey));
}

static inline void fill_ledger_with(struct scene *scene, bool switched)
{
    for (size_t i = 0; i < scene->cloud.network_count; i++) {
        const struct oneib_network *network = &scene->cloud.networks[i];
        if (network->key_state == ONEIB_KEY_VALID && network->pkey >= ONEIB_PKEY_FIRST &&
            network->pkey <= ONEIB_PKEY_LAST && !states_its_parents(scene, network) &&
            !network->other_driver == !switched &&
            !oneib_ledger_network(&scene->ledger, network->id) &&
            !oneib_ledger_holder(&scene->ledger, network->pkey))
            give_key(scene, network->id, network->pkey);
    }
}

/* As the writer has done: each network has the key in its VLAN_ID, of two with one the lower id. */
static inline void fill_ledger(struct scene *scene)
{
    fill_ledger_with(scene, false);
    fill_ledger_with(scene, true);
}

static inline struct oneib_desired_input input_of(const struct scene *scene)
{
    return (struct oneib_desired_input){.cloud = &scene->cloud,
                                        .ledger = &scene->ledger,
                                        .keys_stay = scene->keys_stay,
                                        .policy = &scene->policy,
                                        .static_partitions = &scene->static_partitions,
                                        .subnet = scene->has_subnet ? &scene->subnet : NULL,
                                        .in_force = scene->has_in_force ? &scene->in_force : NULL};
}

static inline int try_compute(struct scene *scene)
{
    oneib_desired_clear(&scene->desired);
    oneib_cloud_sort(&scene->cloud);
    if (!scene->ledger_is_given)
        fill_ledger(scene);
    oneib_subnet_sort(&scene->subnet);
    const struct oneib_desired_input input = input_of(scene);
    return oneib_desired_compute(&input, &scene->desired, &scene->err);
}

static inline void compute(struct scene *scene)
{
    if (try_compute(scene) < 0)
        fail_msg("oneib_desired_compute: %s", scene->err.text);
}

/* What the removal hold puts back of what was computed. */
static inline size_t hold_removals_of(struct scene *scene)
{
    struct oneib_desired_input input = input_of(scene);
    input.in_force = &scene->in_force;
    oneib_removals_hold(&input, &scene->desired);
    return scene->desired.held_count;
}

static inline enum oneib_member_status member_status_of(const struct scene *scene, uint32_t vm_id,
                                                        unsigned nic_id)
{
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        if (scene->cloud.attachments[i].vm_id == vm_id &&
            scene->cloud.attachments[i].nic_id == nic_id)
            return scene->desired.member_statuses[i];
    fail_msg("no VM %u NIC %u", vm_id, nic_id);
    return ONEIB_MEMBER_STATUS_ABSENT;
}

#define assert_member_status(scene, vm_id, nic_id, member_status)                                  \
    assert_string_equal(oneib_member_status_name(member_status),                                   \
                        oneib_member_status_name(member_status_of(scene, vm_id, nic_id)))

static inline const struct oneib_partition *partition_of(const struct oneib_partition_table *table,
                                                         oneib_pkey key)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].pkey == key)
            return &table->items[i];
    return NULL;
}

/* How the partition lists the GUID: "full", "limited", "both" or "none"; the last mention counts.
 */
static inline const char *listed_in(const struct oneib_partition_table *table, unsigned key,
                                    oneib_guid guid)
{
    const struct oneib_partition *partition = partition_of(table, (oneib_pkey)key);
    const char *listed = "none";
    for (size_t i = 0; partition && i < partition->member_count; i++)
        if (partition->members[i].kind == ONEIB_MEMBER_GUID && partition->members[i].guid == guid)
            listed = oneib_membership_name(partition->members[i].membership);
    return listed;
}

#define assert_listed(scene, key, guid, how)                                                       \
    assert_string_equal(how, listed_in(&(scene)->desired.table, key, guid))

static inline const struct oneib_finding *finding(const struct scene *scene, const char *code)
{
    for (size_t i = 0; i < scene->desired.findings.count; i++)
        if (strcmp(scene->desired.findings.items[i].code, code) == 0)
            return &scene->desired.findings.items[i];
    return NULL;
}

static inline size_t findings_of(const struct scene *scene, const char *code)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->desired.findings.count; i++)
        count += strcmp(scene->desired.findings.items[i].code, code) == 0;
    return count;
}

/* There is such a finding, of that severity, and its text has `words`. */
static inline void assert_finding(const struct scene *scene, const char *code,
                                  enum oneib_severity severity, const char *words)
{
    const struct oneib_finding *found = finding(scene, code);
    if (!found)
        fail_msg("no finding %s", code);
    assert_int_equal(severity, found->severity);
    if (!strstr(found->text, words))
        fail_msg("\"%s\" is not in: %s", words, found->text);
}

static inline void assert_no_finding(const struct scene *scene, const char *code)
{
    const struct oneib_finding *found = finding(scene, code);
    if (found)
        fail_msg("unexpected finding %s: %s", code, found->text);
}

#endif
