// SPDX-License-Identifier: Apache-2.0
/*
 * Random clouds, small and crowded, so that every rule meets every other: isolation must hold in
 * each of them, judged by an oracle that knows no more than the rules (and none of the code's short
 * cuts), and the order of the input must not matter.
 */
#include "../../valgrind.h"
#include "../base/random_source.h"
#include "cloud_builder.h"
#include "ib/guid.h"
#include <inttypes.h>

#define CLOUDS 3000
#define CLOUDS_ON_VALGRIND 300
#define NETWORKS 10
#define HOSTS 7
#define NICS 40
#define FIRST_KEY 300
#define KEYS 9

static bool chance(struct random_source *source, unsigned one_in)
{
    return random_below(source, one_in) == 0;
}

static unsigned random_key(struct random_source *source)
{
    return FIRST_KEY + (unsigned)random_below(source, KEYS);
}

/* A host's port, or a storage server's. */
static oneib_guid random_port(struct random_source *source)
{
    if (chance(source, 2))
        return port_of((uint32_t)random_below(source, HOSTS));
    return 0x9000 + random_below(source, 4);
}

/* Or a VF's. */
static oneib_guid random_guid(struct random_source *source)
{
    if (chance(source, 8))
        return oneib_guid_encode(SITE, (uint32_t)random_below(source, NICS), 0);
    return random_port(source);
}

static enum oneib_membership random_membership(struct random_source *source)
{
    return chance(source, 3) ? ONEIB_LIMITED : ONEIB_FULL;
}

static void add_random_network(struct scene *scene, struct random_source *source, uint32_t id)
{
    struct oneib_network *network = add_network(scene, id, random_key(source));
    if (chance(source, 6))
        network->key_state = chance(source, 2) ? ONEIB_KEY_MISSING : ONEIB_KEY_INVALID;
    if (chance(source, 3))
        network->parent_id = (uint32_t)random_below(source, NETWORKS + 1);
    network->reservations_share = chance(source, 3);
    if (id % 4 >= 2)
        network->uid = network->gid = id % 4 == 2 ? 6 : 5; /* tenants' */
    network->membership = random_membership(source);
    network->device_invalid = chance(source, 20);
    if (chance(source, 5))
        snprintf(network->device, sizeof network->device, "mlx4_0");
    if (chance(source, 8))
        network->device_port = (uint8_t)(1 + random_below(source, 2));
    for (unsigned i = 0; i < 3; i++)
        if (chance(source, 6))
            oneib_network_add_static(network, random_guid(source), random_membership(source));
}

static void switch_some(struct scene *scene, struct random_source *source)
{
    for (size_t i = 0; i < scene->cloud.network_count; i++)
        if (chance(source, 4)) {
            scene->cloud.networks[i].other_driver = strdup("bridge");
            assert_non_null(scene->cloud.networks[i].other_driver);
        }
}

/* As documents keep one: no word of its owner's counts, and no lease vouches for a NIC. */
static void make_unreadable(struct scene *scene, struct oneib_network *network)
{
    network->unreadable = true;
    network->membership = ONEIB_LIMITED;
    network->reservations_share = false;
    network->static_count = 0;
    network->device_invalid = false;
    network->device[0] = '\0';
    network->device_port = 0;
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        if (scene->cloud.attachments[i].network_id == network->id)
            scene->cloud.attachments[i].unleased = true;
}

static void break_some(struct scene *scene, struct random_source *source)
{
    for (size_t i = 0; i < scene->cloud.network_count; i++)
        if (chance(source, 10))
            make_unreadable(scene, &scene->cloud.networks[i]);
}

static void add_random_host(struct scene *scene, struct random_source *source, uint32_t id)
{
    const char *device = chance(source, 4) ? "mlx5_0" : "mlx4_0";
    struct oneib_host *host = add_host_with(scene, id, device);
    if (chance(source, 10))
        host->ports[0].port_guid = random_guid(source);
    if (chance(source, 3))
        set_capacity(scene, port_of(id), 1 + (unsigned)random_below(source, 6));
    if (chance(source, 4))
        add_port(scene, host, device, 2, 0x2000 + id);
    if (chance(source, 10))
        add_port(scene, host, "mlx4_1", 1, chance(source, 2) ? 0x3000 + id : random_guid(source));
    if (chance(source, 8))
        hold_key(host, random_key(source));
    host->keys_invalid = chance(source, 40);
}

static void add_random_nic(struct scene *scene, struct random_source *source, uint32_t vm_id)
{
    static const uint8_t phases[] = {ONEIB_ABSENT,  ONEIB_ARRIVING,     ONEIB_SETTLED,
                                     ONEIB_SETTLED, ONEIB_LEAVING,      ONEIB_MIGRATING,
                                     ONEIB_SETTLED, ONEIB_PHASE_UNKNOWN};
    struct oneib_attachment *nic =
        add_nic(scene, vm_id, 0, (uint32_t)random_below(source, NETWORKS + 1),
                (uint32_t)random_below(source, HOSTS + 1));
    nic->phase = phases[random_below(source, sizeof phases)];
    if (nic->phase == ONEIB_MIGRATING)
        nic->source_host_id =
            chance(source, 4) ? nic->host_id : (uint32_t)random_below(source, HOSTS);
    nic->since = (int64_t)random_below(source, 5);
    nic->narrowed = chance(source, 8);
    nic->attaching = chance(source, 8);
    nic->unleased = chance(source, 30) && nic->phase != ONEIB_ABSENT;
}

static void add_random_statics(struct scene *scene, struct random_source *source)
{
    for (unsigned i = 0; i < 2; i++) {
        if (!chance(source, 4))
            continue;
        char name[16];
        snprintf(name, sizeof name, "mine%u", i);
        struct oneib_partition *partition =
            add_partition(scene, &scene->static_partitions, name, FIRST_KEY + KEYS - 1 + i);
        partition->indx0 = chance(source, 6);
        if (chance(source, 4))
            add_wildcard(scene, partition, ONEIB_MEMBER_ALL, random_membership(source));
        if (chance(source, 4))
            add_wildcard(scene, partition, ONEIB_MEMBER_SELF, ONEIB_FULL);
        for (unsigned j = 0; j < 3; j++)
            add_guid(scene, partition, random_port(source), random_membership(source));
    }
}

static void make_random(struct scene *scene, struct random_source *source)
{
    scene->policy.per_owner_max = (uint32_t)random_below(source, 3);
    scene->policy.pkey_first = FIRST_KEY;
    scene->policy.pkey_last = FIRST_KEY + KEYS + 2;
    for (uint32_t id = 0; id < NETWORKS; id++)
        add_random_network(scene, source, id);
    for (uint32_t id = 0; id < HOSTS; id++)
        add_random_host(scene, source, id);
    for (uint32_t vm_id = 0; vm_id < NICS; vm_id++)
        add_random_nic(scene, source, vm_id);
    break_some(scene, source);
    add_random_statics(scene, source);
    if (chance(source, 3)) {
        add_subnet_port(scene, port_of(1), 2 + (unsigned)random_below(source, 5));
        scene->subnet.sm_port_guid = chance(source, 2) ? port_of(2) : 0x9001;
    }
}

static void scene_clear(struct scene *scene)
{
    oneib_desired_clear(&scene->desired);
    oneib_cloud_clear(&scene->cloud);
    oneib_ledger_clear(&scene->ledger);
    oneib_partition_table_clear(&scene->static_partitions);
    oneib_partition_table_clear(&scene->in_force);
    oneib_subnet_clear(&scene->subnet);
}

/* ---- the oracle ------------------------------------------------------------------------------ */

static const struct oneib_network *network_by_id(const struct scene *scene, uint32_t id)
{
    for (size_t i = 0; i < scene->cloud.network_count; i++)
        if (scene->cloud.networks[i].id == id)
            return &scene->cloud.networks[i];
    return NULL;
}

static const struct oneib_network *parent_in(const struct scene *scene,
                                             const struct oneib_network *network)
{
    return network->parent_id == network->id ? NULL : network_by_id(scene, network->parent_id);
}

/* Whose word on InfiniBand counts: that of the first network of a row of reservations, if it is an
 * operator's. */
static const struct oneib_network *rules_in(const struct scene *scene,
                                            const struct oneib_network *network)
{
    for (unsigned i = 0; i < NETWORKS && network; i++) {
        if (!parent_in(scene, network))
            return network->uid == 0 ? network : NULL;
        network = parent_in(scene, network);
    }
    return NULL;
}

static bool is_sharer(const struct scene *scene, const struct oneib_network *network)
{
    const struct oneib_network *parent = parent_in(scene, network);
    const struct oneib_network *rules = parent ? rules_in(scene, parent) : NULL;
    return rules && rules->reservations_share;
}

/* What VLAN_ID says. */
static unsigned stated_key(const struct oneib_network *network)
{
    return network->key_state == ONEIB_KEY_VALID ? network->pkey : 0;
}

/* What the ledger says, and that counts. */
static unsigned valid_key(const struct scene *scene, const struct oneib_network *network)
{
    for (size_t i = 0; i < scene->ledger.network_count; i++)
        if (scene->ledger.networks[i].network_id == network->id)
            return scene->ledger.networks[i].pkey;
    return 0;
}

/* The network whose partition this one uses; NULL: none. */
static const struct oneib_network *home_of(const struct scene *scene,
                                           const struct oneib_network *network)
{
    if (!is_sharer(scene, network))
        return network;
    const struct oneib_network *parent = parent_in(scene, network);
    return is_sharer(scene, parent) ? NULL : parent;
}

/* The partition of a network, in force with the key that the network has; NULL: it is not. */
static const struct oneib_partition *in_force_of(const struct scene *scene,
                                                 const struct oneib_network *network)
{
    char name[16];
    snprintf(name, sizeof name, "one%u", network->id);
    const struct oneib_partition *partition =
        scene->has_in_force ? partition_of(&scene->in_force, (oneib_pkey)valid_key(scene, network))
                            : NULL;
    return partition && strcmp(partition->name, name) == 0 ? partition : NULL;
}

/* The NIC may have been there while the network was InfiniBand, and that still has the key of that
 * time. */
static bool keeps(const struct scene *scene, const struct oneib_attachment *nic,
                  const struct oneib_network *network)
{
    const struct oneib_network *own = network_by_id(scene, nic->network_id);
    if (!own || nic->phase == ONEIB_ABSENT || nic->unleased)
        return false;
    const struct oneib_network *giver = is_sharer(scene, own) ? parent_in(scene, own) : own;
    return (network == own || network == giver) && valid_key(scene, giver) != 0 &&
           (!own->other_driver || in_force_of(scene, giver));
}

/* An InfiniBand network, or one that its members keep. */
static bool counts(const struct scene *scene, const struct oneib_network *network)
{
    if (!network->other_driver)
        return true;
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        if (keeps(scene, &scene->cloud.attachments[i], network))
            return true;
    return false;
}

/* The key that NICs of this network may have; 0: none. */
static unsigned right_key(const struct scene *scene, uint32_t network_id)
{
    const struct oneib_network *network = network_by_id(scene, network_id);
    const struct oneib_network *home = network ? home_of(scene, network) : NULL;
    const unsigned key = home ? valid_key(scene, home) : 0;
    if (key == 0 || network->unreadable || home->unreadable || !counts(scene, network) ||
        !counts(scene, home) || partition_of(&scene->static_partitions, (oneib_pkey)key))
        return 0;
    return key;
}

/* The key that this NIC may have; 0: none. */
static unsigned right_key_of(const struct scene *scene, const struct oneib_attachment *nic)
{
    const struct oneib_network *network = network_by_id(scene, nic->network_id);
    if (!network || nic->unleased)
        return 0;
    return right_key(scene, network->id);
}

/* Whether this NIC is a reason for its key on the port. */
static bool may_bring(const struct scene *scene, const struct oneib_attachment *nic,
                      oneib_guid guid)
{
    const struct oneib_network *network = network_by_id(scene, nic->network_id);
    if (!network->other_driver)
        return true;
    const struct oneib_network *home = home_of(scene, network);
    return nic->phase == ONEIB_MIGRATING ||
           strcmp(listed_in(&scene->in_force, valid_key(scene, home), guid), "none") != 0;
}

static bool host_has(const struct scene *scene, uint32_t host_id, oneib_guid guid,
                     enum oneib_hca_driver driver)
{
    for (size_t i = 0; i < scene->cloud.host_count; i++)
        for (size_t j = 0; j < scene->cloud.hosts[i].port_count; j++)
            if (scene->cloud.hosts[i].id == host_id &&
                scene->cloud.hosts[i].ports[j].port_guid == guid &&
                scene->cloud.hosts[i].ports[j].driver == driver)
                return true;
    return false;
}

static bool is_on(const struct oneib_attachment *nic, uint32_t host_id)
{
    return nic->phase != ONEIB_ABSENT &&
           (nic->host_id == host_id ||
            (nic->phase == ONEIB_MIGRATING && nic->source_host_id == host_id));
}

/* The NIC may be on a host that has the mlx4 port, or is the virtual port itself. */
static bool uses(const struct scene *scene, const struct oneib_attachment *nic, oneib_guid guid)
{
    if (nic->phase == ONEIB_ABSENT)
        return false;
    if (oneib_guid_in_site(guid, SITE))
        return guid == oneib_guid_encode(SITE, nic->vm_id, nic->nic_id);
    for (uint32_t host_id = 0; host_id < HOSTS; host_id++)
        if (is_on(nic, host_id) && host_has(scene, host_id, guid, ONEIB_HCA_MLX4))
            return true;
    return false;
}

static bool is_of(const struct scene *scene, const struct oneib_attachment *nic, uint32_t home_id)
{
    const struct oneib_network *network = network_by_id(scene, nic->network_id);
    const struct oneib_network *home = network ? home_of(scene, network) : NULL;
    return home && home->id == home_id;
}

static bool is_static_of(const struct scene *scene, const struct oneib_network *network,
                         oneib_guid guid)
{
    const struct oneib_network *rules = rules_in(scene, network);
    for (size_t i = 0; rules && i < rules->static_count; i++)
        if (rules->static_members[i].guid == guid)
            return true;
    return false;
}

static void assert_justified(const struct scene *scene, const struct oneib_network *home,
                             unsigned key, const struct oneib_member *member)
{
    if (is_static_of(scene, home, member->guid) && !oneib_guid_in_site(member->guid, SITE))
        return;
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        if (is_of(scene, &scene->cloud.attachments[i], home->id) &&
            right_key_of(scene, &scene->cloud.attachments[i]) == key &&
            may_bring(scene, &scene->cloud.attachments[i], member->guid) &&
            uses(scene, &scene->cloud.attachments[i], member->guid))
            return;
    fail_msg("nobody justifies key 0x%04x on port 0x%016" PRIx64, key, member->guid);
}

static bool is_limited(const struct scene *scene, const struct oneib_attachment *nic)
{
    const struct oneib_network *network = network_by_id(scene, nic->network_id);
    const struct oneib_network *rules = rules_in(scene, network);
    return nic->narrowed || network->membership == ONEIB_LIMITED ||
           home_of(scene, network)->membership == ONEIB_LIMITED ||
           (rules && rules->membership == ONEIB_LIMITED);
}

static bool operator_limits(const struct oneib_network *network)
{
    return network && network->gid == 0 && network->membership == ONEIB_LIMITED;
}

/* What users can write is limited for them alone. */
static bool is_limited_by_operators(const struct scene *scene, const struct oneib_attachment *nic)
{
    const struct oneib_network *network = network_by_id(scene, nic->network_id);
    const struct oneib_network *rules = rules_in(scene, network);
    return operator_limits(network) || operator_limits(home_of(scene, network)) ||
           (rules && rules->membership == ONEIB_LIMITED);
}

static bool is_member_at(const struct scene *scene, size_t attachment, oneib_guid guid)
{
    size_t count;
    const struct oneib_desired_binding *bindings =
        oneib_desired_bindings(&scene->desired, attachment, &count);
    for (size_t i = 0; i < count; i++)
        if (bindings[i].member == guid && bindings[i].member_status == ONEIB_MEMBER_STATUS_MEMBER)
            return true;
    return false;
}

static void assert_not_wider(const struct scene *scene, const struct oneib_network *home,
                             const struct oneib_member *member)
{
    for (size_t i = 0; i < scene->cloud.attachment_count; i++) {
        const struct oneib_attachment *nic = &scene->cloud.attachments[i];
        if (is_of(scene, nic, home->id) && right_key_of(scene, nic) != 0 &&
            uses(scene, nic, member->guid) && is_limited(scene, nic) &&
            member->membership != ONEIB_LIMITED &&
            (is_limited_by_operators(scene, nic) || is_member_at(scene, i, member->guid)))
            fail_msg("VM %u is limited in network %u, and port 0x%016" PRIx64 " is full",
                     nic->vm_id, home->id, member->guid);
    }
}

static void assert_cluster(const struct scene *scene, const struct oneib_partition *partition)
{
    uint32_t id = (uint32_t)strtoul(partition->name + 3, NULL, 10);
    const struct oneib_network *home = network_by_id(scene, id);
    assert_non_null(home);
    assert_ptr_equal(home, home_of(scene, home));
    assert_int_equal(right_key(scene, id), partition->pkey);
    assert_true(partition->member_count > 0);
    for (size_t i = 0; i < partition->member_count; i++) {
        const struct oneib_member *member = &partition->members[i];
        assert_int_equal(ONEIB_MEMBER_GUID, member->kind);
        assert_true(i == 0 || member[-1].guid < member->guid);
        assert_int_equal(partition->indx0, oneib_guid_in_site(member->guid, SITE));
        assert_justified(scene, home, partition->pkey, member);
        assert_not_wider(scene, home, member);
    }
}

/* Where a cluster's VF may still be open at its key it has to wait. */
static void assert_static_partition(const struct scene *scene,
                                    const struct oneib_partition *partition)
{
    const struct oneib_partition *before =
        scene->has_in_force ? partition_of(&scene->in_force, partition->pkey) : NULL;
    const bool was_there = before && strncmp(before->name, "one", 3) != 0;
    for (size_t i = 0; i < scene->cloud.host_count && !was_there; i++)
        assert_true(scene->cloud.hosts[i].key_count == 0 ||
                    scene->cloud.hosts[i].keys[0] != partition->pkey);
}

/* However many partitions list a GUID, its table must hold them all. */
static void assert_room(const struct scene *scene, oneib_guid guid)
{
    unsigned keys = 0, capacity = 63, ours = 0;
    for (size_t i = 0; i < scene->desired.table.count; i++) {
        const struct oneib_partition *partition = &scene->desired.table.items[i];
        bool listed = false;
        for (size_t j = 0; j < partition->member_count; j++)
            listed |= partition->members[j].kind == ONEIB_MEMBER_ALL ||
                      (partition->members[j].kind == ONEIB_MEMBER_GUID &&
                       partition->members[j].guid == guid);
        keys += listed;
        ours += listed && strncmp(partition->name, "one", 3) == 0;
    }
    const struct oneib_subnet_port *port =
        scene->has_subnet ? oneib_subnet_find(&scene->subnet, guid) : NULL;
    if (port)
        capacity = port->partition_cap - 1u;
    if (ours && keys > capacity)
        fail_msg("port 0x%016" PRIx64 " has %u keys and room for %u", guid, keys, capacity);
}

/* The NIC is on the port and does not only arrive there. */
static bool runs_on(const struct scene *scene, const struct oneib_attachment *nic, oneib_guid guid)
{
    if (nic->phase == ONEIB_ARRIVING || nic->attaching || !uses(scene, nic, guid))
        return false;
    return nic->phase != ONEIB_MIGRATING ||
           host_has(scene, nic->source_host_id, guid, ONEIB_HCA_MLX4);
}

static bool has_nic_that_runs_on(const struct scene *scene, const struct oneib_network *home,
                                 oneib_guid guid)
{
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        if (is_of(scene, &scene->cloud.attachments[i], home->id) &&
            right_key_of(scene, &scene->cloud.attachments[i]) != 0 &&
            runs_on(scene, &scene->cloud.attachments[i], guid))
            return true;
    return false;
}

/* With more keys on a port than an owner may have, all of them run there. */
static void assert_owners_part(const struct scene *scene, uint32_t uid, oneib_guid guid)
{
    const uint32_t limit = scene->policy.per_owner_max;
    unsigned keys = 0, running = 0;
    for (size_t i = 0; i < scene->desired.table.count; i++) {
        const struct oneib_partition *partition = &scene->desired.table.items[i];
        const struct oneib_network *home =
            strncmp(partition->name, "one", 3) == 0
                ? network_by_id(scene, (uint32_t)strtoul(partition->name + 3, NULL, 10))
                : NULL;
        if (!home || home->uid != uid ||
            strcmp(listed_in(&scene->desired.table, partition->pkey, guid), "none") == 0)
            continue;
        keys++;
        running += has_nic_that_runs_on(scene, home, guid);
    }
    if (limit > 0 && keys > limit && running < keys)
        fail_msg("port 0x%016" PRIx64 " has %u keys of user %u, and only %u run there", guid, keys,
                 uid, running);
}

static void assert_isolated(const struct scene *scene)
{
    const struct oneib_partition_table *table = &scene->desired.table;
    for (size_t i = 0; i < table->count; i++) {
        assert_true(i < 2 || table->items[i - 1].pkey < table->items[i].pkey);
        if (strncmp(table->items[i].name, "one", 3) == 0)
            assert_cluster(scene, &table->items[i]);
        else
            assert_static_partition(scene, &table->items[i]);
    }
    for (uint32_t host_id = 0; host_id < HOSTS; host_id++) {
        assert_room(scene, port_of(host_id));
        assert_owners_part(scene, 5, port_of(host_id));
        assert_owners_part(scene, 6, port_of(host_id));
    }
    assert_owners_part(scene, 5, 0x9000); /* storage servers' */
    assert_owners_part(scene, 6, 0x9001);
}

static void assert_members_are_listed(const struct scene *scene)
{
    for (size_t i = 0; i < scene->cloud.attachment_count; i++) {
        const struct oneib_attachment *nic = &scene->cloud.attachments[i];
        bool listed = false;
        const struct oneib_partition *partition =
            partition_of(&scene->desired.table, (oneib_pkey)right_key(scene, nic->network_id));
        for (size_t j = 0; partition && j < partition->member_count; j++)
            listed |= uses(scene, nic, partition->members[j].guid);
        if (scene->desired.member_statuses[i] == ONEIB_MEMBER_STATUS_MEMBER)
            assert_int_not_equal(0, right_key_of(scene, nic));
        if (scene->desired.member_statuses[i] == ONEIB_MEMBER_STATUS_MEMBER && !listed)
            fail_msg("VM %u is said to be a member and is none", nic->vm_id);
        assert_true((nic->phase == ONEIB_ABSENT) ==
                    (scene->desired.member_statuses[i] == ONEIB_MEMBER_STATUS_ABSENT));
    }
}

static bool is_in_force_for_others(const struct scene *scene, uint32_t network_id, oneib_pkey key)
{
    char name[16];
    const struct oneib_partition *partition =
        scene->has_in_force ? partition_of(&scene->in_force, key) : NULL;
    snprintf(name, sizeof name, "one%u", network_id);
    return partition && strcmp(partition->name, name) != 0;
}

static void assert_requests_are_free(const struct scene *scene)
{
    for (size_t i = 0; i < scene->desired.request_count; i++) {
        const struct oneib_key_request *request = &scene->desired.requests[i];
        if (request->pkey == 0)
            continue;
        assert_null(partition_of(&scene->static_partitions, request->pkey));
        assert_false(is_in_force_for_others(scene, request->network_id, request->pkey));
        assert_null(oneib_ledger_holder(&scene->ledger, request->pkey));
        assert_null(oneib_ledger_resting(&scene->ledger, request->pkey));
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(request->pkey, scene->desired.requests[j].pkey);
    }
}

/* Who has another key in VLAN_ID than in the ledger is told, wishes it, or cannot be read. */
static void assert_copies_show_the_ledger(const struct scene *scene)
{
    for (size_t i = 0; i < scene->desired.copy_count; i++) {
        const struct oneib_key_copy *copy = &scene->desired.copies[i];
        const struct oneib_network *network = network_by_id(scene, copy->network_id);
        const struct oneib_network *home = home_of(scene, network);
        assert_non_null(home);
        assert_int_equal(valid_key(scene, home), copy->pkey);
        assert_int_not_equal(stated_key(network), copy->pkey);
        assert_null(network->other_driver);
    }
}

static void assert_reads_back(const struct scene *scene)
{
    struct oneib_text text = {0};
    struct oneib_partition_table parsed = {0};
    struct oneib_error err;
    oneib_partitions_render(&scene->desired.table, &text);
    if (oneib_partitions_parse(text.data, text.length, "rendered", &parsed, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(oneib_partition_table_equal(&parsed, &scene->desired.table));
    oneib_partition_table_clear(&parsed);
    oneib_text_clear(&text);
}

/* What was computed becomes what is in force. */
static void put_into_force(struct scene *scene)
{
    oneib_partition_table_clear(&scene->in_force);
    scene->in_force = scene->desired.table;
    scene->desired.table = (struct oneib_partition_table){0};
    scene->has_in_force = true;
}

static unsigned clouds(void)
{
    return on_valgrind() ? CLOUDS_ON_VALGRIND : CLOUDS;
}

static void every_key_on_every_port_is_justified(void **state)
{
    struct scene *scene = *state;
    struct random_source source = random_seeded(20260101);
    for (unsigned i = 0; i < clouds(); i++) {
        make_random(scene, &source);
        scene->has_in_force = false;
        compute(scene);
        assert_isolated(scene);
        assert_members_are_listed(scene);
        assert_requests_are_free(scene);
        assert_copies_show_the_ledger(scene);
        assert_reads_back(scene);

        /* Once more with a past: states and drivers change, and who is in doubt keeps what it had.
         */
        put_into_force(scene);
        for (size_t j = 0; j < scene->cloud.attachment_count; j++)
            if (chance(&source, 4))
                scene->cloud.attachments[j].phase = ONEIB_PHASE_UNKNOWN;
        switch_some(scene, &source);
        break_some(scene, &source);
        compute(scene);
        assert_isolated(scene);
        assert_members_are_listed(scene);
        assert_requests_are_free(scene);
        assert_copies_show_the_ledger(scene);
        assert_reads_back(scene);
        scene_clear(scene);
        scene->has_in_force = scene->has_subnet = false;
    }
}

static bool is_alone_with_its_key(const struct scene *scene, const struct oneib_network *network)
{
    for (size_t i = 0; i < scene->cloud.network_count; i++)
        if (&scene->cloud.networks[i] != network &&
            stated_key(&scene->cloud.networks[i]) == stated_key(network))
            return false;
    return true;
}

static void nobody_leaves_when_a_network_gets_another_driver(void **state)
{
    struct scene *scene = *state;
    struct random_source source = random_seeded(20260404);
    uint8_t before[NICS];
    size_t kept = 0;
    for (unsigned i = 0; i < CLOUDS; i++) {
        make_random(scene, &source);
        compute(scene);
        memcpy(before, scene->desired.member_statuses, sizeof before);
        put_into_force(scene);
        struct oneib_network *network =
            &scene->cloud.networks[random_below(&source, scene->cloud.network_count)];
        if (!network->other_driver && is_alone_with_its_key(scene, network)) {
            network->other_driver = strdup("802.1Q");
            compute(scene);
            for (size_t j = 0; j < scene->cloud.attachment_count; j++) {
                if (before[j] != ONEIB_MEMBER_STATUS_MEMBER ||
                    !keeps(scene, &scene->cloud.attachments[j], network))
                    continue;
                assert_int_equal(ONEIB_MEMBER_STATUS_MEMBER, scene->desired.member_statuses[j]);
                kept++;
            }
        }
        scene_clear(scene);
        scene->has_in_force = scene->has_subnet = false;
    }
    assert_true(kept > CLOUDS / 10);
}

/* No other network has the key, and no other partition. */
static void assert_nobody_elses(const struct scene *scene, uint32_t id,
                                const struct oneib_partition *partition)
{
    for (size_t i = 0; i < scene->desired.table.count; i++)
        assert_true(&scene->desired.table.items[i] == partition ||
                    scene->desired.table.items[i].pkey != partition->pkey);
    assert_null(partition_of(&scene->static_partitions, partition->pkey));
    for (size_t i = 0; i < scene->cloud.network_count; i++) {
        const struct oneib_network *network = &scene->cloud.networks[i];
        if (right_key(scene, network->id) == partition->pkey)
            assert_int_equal(home_of(scene, network)->id, id);
    }
}

/* The hold may keep members that nobody justifies any more, but lets no stranger in and overfills
 * no table. */
static void the_hold_lets_nobody_in(void **state)
{
    struct scene *scene = *state;
    struct random_source source = random_seeded(20260202);
    scene->policy.hold_share = 0.1;
    scene->policy.hold_minimum = 1;
    size_t held_in_all = 0;
    for (unsigned i = 0; i < clouds(); i++) {
        make_random(scene, &source);
        scene->has_in_force = false;
        compute(scene);
        put_into_force(scene);
        for (size_t j = 0; j < scene->cloud.attachment_count; j++) {
            struct oneib_attachment *nic = &scene->cloud.attachments[j];
            if (chance(&source, 4))
                nic->phase = ONEIB_ABSENT;
            else if (chance(&source, 8))
                nic->network_id = (uint32_t)random_below(&source, NETWORKS + 1);
        }
        for (size_t j = 0; j < scene->cloud.host_count; j++)
            if (chance(&source, 2))
                scene->cloud.hosts[j].port_count = 0;
        if (chance(&source, 2))
            switch_some(scene, &source);
        compute(scene);
        held_in_all += hold_removals_of(scene);
        for (size_t j = 0; j < scene->desired.table.count; j++) {
            const struct oneib_partition *partition = &scene->desired.table.items[j];
            uint32_t id;
            if (sscanf(partition->name, "one%" SCNu32, &id) != 1)
                continue;
            assert_nobody_elses(scene, id, partition);
        }
        for (uint32_t host_id = 0; host_id < HOSTS; host_id++)
            assert_room(scene, port_of(host_id));
        assert_reads_back(scene);
        scene_clear(scene);
        scene->has_in_force = scene->has_subnet = false;
    }
    assert_true(held_in_all > clouds());
}

static void swap_bytes(void *a, void *b, size_t size)
{
    unsigned char *left = a, *right = b;
    for (size_t i = 0; i < size; i++) {
        unsigned char kept = left[i];
        left[i] = right[i];
        right[i] = kept;
    }
}

static void shuffle(struct random_source *source, void *items, size_t count, size_t size)
{
    for (size_t i = count; i > 1; i--)
        swap_bytes((char *)items + (i - 1) * size, (char *)items + random_below(source, i) * size,
                   size);
}

static void shuffle_scene(struct scene *scene, struct random_source *source)
{
    struct oneib_cloud *cloud = &scene->cloud;
    for (size_t i = 0; i < cloud->network_count; i++)
        shuffle(source, cloud->networks[i].static_members, cloud->networks[i].static_count,
                sizeof *cloud->networks[i].static_members);
    for (size_t i = 0; i < cloud->host_count; i++)
        shuffle(source, cloud->hosts[i].ports, cloud->hosts[i].port_count,
                sizeof *cloud->hosts[i].ports);
    shuffle(source, cloud->networks, cloud->network_count, sizeof *cloud->networks);
    shuffle(source, cloud->hosts, cloud->host_count, sizeof *cloud->hosts);
    shuffle(source, cloud->attachments, cloud->attachment_count, sizeof *cloud->attachments);
    shuffle(source, scene->in_force.items, scene->in_force.count, sizeof *scene->in_force.items);
    shuffle(source, scene->static_partitions.items, scene->static_partitions.count,
            sizeof *scene->static_partitions.items);
}

/* Everything that comes out, as one text. */
static void describe(const struct scene *scene, struct oneib_text *text)
{
    oneib_partitions_render(&scene->desired.table, text);
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        oneib_text_printf(text, "VM %u %s\n", scene->cloud.attachments[i].vm_id,
                          oneib_member_status_name(scene->desired.member_statuses[i]));
    for (size_t i = 0; i < scene->desired.request_count; i++)
        oneib_text_printf(text, "request %u %u\n", scene->desired.requests[i].network_id,
                          scene->desired.requests[i].pkey);
    for (size_t i = 0; i < scene->desired.cluster_count; i++)
        oneib_text_printf(text, "cluster %u %zu %zu %zu\n", scene->desired.clusters[i].network_id,
                          scene->desired.clusters[i].members, scene->desired.clusters[i].vms,
                          scene->desired.clusters[i].hosts);
    for (size_t i = 0; i < scene->desired.findings.count; i++)
        oneib_text_printf(text, "%s: %s\n", scene->desired.findings.items[i].code,
                          scene->desired.findings.items[i].text);
}

static void the_order_of_the_input_does_not_matter(void **state)
{
    struct scene *scene = *state;
    struct random_source source = random_seeded(20260303);
    for (unsigned i = 0; i < clouds(); i++) {
        make_random(scene, &source);
        compute(scene);
        if (chance(&source, 2)) {
            put_into_force(scene);
            switch_some(scene, &source);
            compute(scene);
        }
        struct oneib_text first = {0}, second = {0};
        describe(scene, &first);
        shuffle_scene(scene, &source);
        compute(scene);
        describe(scene, &second);
        assert_string_equal(first.data, second.data);
        oneib_text_clear(&first);
        oneib_text_clear(&second);
        scene_clear(scene);
        scene->has_in_force = scene->has_subnet = false;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(every_key_on_every_port_is_justified),
        SCENE_TEST(nobody_leaves_when_a_network_gets_another_driver),
        SCENE_TEST(the_hold_lets_nobody_in),
        SCENE_TEST(the_order_of_the_input_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
