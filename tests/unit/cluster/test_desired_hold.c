// SPDX-License-Identifier: Apache-2.0
#include "cloud_builder.h"

/* Network 4 with key 256 and `hosts` members on hosts 1, 2, ...; all of it is in force. */
static struct oneib_partition *in_force_with_members(struct scene *scene, uint32_t hosts)
{
    add_network(scene, 4, 256);
    struct oneib_partition *partition = add_partition(scene, &scene->in_force, "one4", 256);
    partition->ipoib = true;
    for (uint32_t host = 1; host <= hosts; host++) {
        add_host(scene, host);
        add_nic(scene, 10 + host, 0, 4, host);
        add_guid(scene, partition, port_of(host), ONEIB_FULL);
    }
    scene->has_in_force = true;
    return partition;
}

static void forget_attachments(struct scene *scene, size_t kept)
{
    scene->cloud.attachment_count = kept;
}

static void nothing_is_held_when_nothing_is_removed(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(4, partition_of(&scene->desired.table, 256)->member_count);
}

static void an_empty_answer_removes_nobody(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    compute(scene);
    assert_int_equal(1, scene->desired.table.count);
    assert_int_equal(4, hold_removals_of(scene));
    const struct oneib_partition *partition = partition_of(&scene->desired.table, 256);
    assert_string_equal("one4", partition->name);
    assert_true(partition->ipoib);
    assert_int_equal(4, partition->member_count);
    assert_string_equal("Default", scene->desired.table.items[0].name);
}

static void a_vanished_network_keeps_its_members_among_themselves(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    scene->cloud.network_count = 0;
    free(scene->cloud.networks[0].static_members);
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_int_equal(4, hold_removals_of(scene));
    assert_listed(scene, 256, port_of(3), "full");
}

static void so_does_a_network_whose_key_the_ledger_lacks(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    scene->ledger_is_given = true;
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_int_equal(4, hold_removals_of(scene));
    assert_listed(scene, 256, port_of(3), "full");
}

static void half_is_not_more_than_half(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 2);
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    forget_attachments(scene, 1);
    compute(scene);
    assert_int_equal(3, hold_removals_of(scene));
    assert_int_equal(4, partition_of(&scene->desired.table, 256)->member_count);
}

/* Else those of the networks that are not found would count as lost. */
static void nothing_is_held_for_networks_whose_keys_go_another_way_than_their_ids(void **state)
{
    struct scene *scene = *state;
    for (uint32_t id = 3; id <= 5; id++) {
        char name[16];
        snprintf(name, sizeof name, "one%u", id);
        add_network(scene, id, 0x110 - id);
        struct oneib_partition *partition =
            add_partition(scene, &scene->in_force, name, 0x110 - id);
        add_guid(scene, partition, port_of(id), ONEIB_FULL);
        add_host(scene, id);
        add_nic(scene, 10 + id, 0, id, id);
    }
    for (oneib_guid port = 0x70; port < 0x72; port++) /* of network 4, which are gone */
        add_guid(scene, &scene->in_force.items[1], port, ONEIB_FULL);
    scene->has_in_force = true;
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
}

static void few_removals_are_never_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    scene->policy.hold_minimum = 5;
    forget_attachments(scene, 0);
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, scene->desired.table.count);
}

/* Host `id` is fenced, and its port is down. */
static void fence(struct scene *scene, uint32_t id, enum oneib_fence_state state)
{
    const struct oneib_ledger_fence entry = {.host_id = id, .asked = 1};
    const struct oneib_ledger_fenced_port port = {
        .host_id = id, .guid = port_of(id), .state = state};
    oneib_ledger_set_fence(&scene->ledger, &entry);
    if (oneib_ledger_set_fenced_port(&scene->ledger, &port, &scene->err) < 0)
        fail_msg("%s", scene->err.text);
}

static void what_fenced_hosts_lose_is_not_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    for (uint32_t host = 1; host <= 3; host++)
        fence(scene, host, host == 1 ? ONEIB_FENCE_DOWN : ONEIB_FENCE_GONE);
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_FENCED);
    assert_int_equal(3, findings_of(scene, "host-fenced"));
    assert_member_status(scene, 14, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
    assert_listed(scene, 256, port_of(4), "full");

    /* Their VMs have been recreated, and are not placed yet: likewise. */
    scene->cloud.attachments[0].phase = ONEIB_ABSENT;
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
}

/* The ledger names ports by host, whatever their GUIDs are. */
static void so_it_is_whatever_order_their_ports_lie_in(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    for (uint32_t host = 1; host <= 3; host++) {
        const struct oneib_ledger_fence entry = {.host_id = 10 - host, .asked = 1};
        const struct oneib_ledger_fenced_port port = {
            .host_id = 10 - host, .guid = port_of(host), .state = ONEIB_FENCE_DOWN};
        oneib_ledger_set_fence(&scene->ledger, &entry);
        assert_int_equal(oneib_ledger_set_fenced_port(&scene->ledger, &port, &scene->err), 0);
    }
    forget_attachments(scene, 0);
    scene->policy.hold_minimum = 1;
    compute(scene);
    assert_int_equal(1, hold_removals_of(scene));
    assert_listed(scene, 256, port_of(4), "full");
    for (uint32_t host = 1; host <= 3; host++)
        assert_listed(scene, 256, port_of(host), "none");
}

/* VFs of mlx5 are members themselves; their VMs name the host until they are placed again. */
static void what_vfs_of_fenced_hosts_lose_is_not_held(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    struct oneib_partition *partition = add_partition(scene, &scene->in_force, "one4", 256);
    partition->indx0 = partition->ipoib = true;
    for (uint32_t host = 1; host <= 4; host++) {
        add_host_with(scene, host, "mlx5_0");
        add_nic(scene, 10 + host, 0, 4, host);
        add_guid(scene, partition, oneib_guid_encode(SITE, 10 + host, 0), ONEIB_FULL);
        if (host <= 3)
            fence(scene, host, ONEIB_FENCE_DOWN);
    }
    scene->has_in_force = true;
    for (size_t i = 0; i < 3; i++)
        scene->cloud.attachments[i].phase = ONEIB_ABSENT;
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_listed(scene, 256, oneib_guid_encode(SITE, 11, 0), "none");
    assert_listed(scene, 256, oneib_guid_encode(SITE, 14, 0), "full");
}

static void beside_what_fenced_hosts_lose_a_mass_removal_is_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 8);
    fence(scene, 1, ONEIB_FENCE_DOWN);
    forget_attachments(scene, 2); /* of the seven others six are gone */
    compute(scene);
    assert_int_equal(6, hold_removals_of(scene));
    assert_int_equal(7, partition_of(&scene->desired.table, 256)->member_count);
    assert_listed(scene, 256, port_of(1), "none");
}

static void what_hosts_in_error_lose_is_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    for (size_t i = 0; i < 4; i++) {
        scene->cloud.hosts[i].state = 3; /* MONITORING_ERROR: the management network is down */
        scene->cloud.attachments[i].phase = ONEIB_ABSENT;
    }
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
    assert_int_equal(4, partition_of(&scene->desired.table, 256)->member_count);
}

/* Whose it is nobody can say: its members may be the other host's. */
static void what_a_port_loses_that_two_hosts_report_is_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    for (uint32_t host = 1; host <= 4; host++)
        fence(scene, host, ONEIB_FENCE_SHARED);
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
}

/* It would let in everybody. */
static void what_a_foreign_file_says_of_all_ports_is_not_held(void **state)
{
    struct scene *scene = *state;
    add_wildcard(scene, in_force_with_members(scene, 4), ONEIB_MEMBER_ALL, ONEIB_FULL);
    forget_attachments(scene, 0);
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
    const struct oneib_partition *partition = partition_of(&scene->desired.table, 256);
    for (size_t i = 0; i < partition->member_count; i++)
        assert_int_equal(partition->members[i].kind, ONEIB_MEMBER_GUID);
}

static void additions_are_not_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    add_host(scene, 9);
    add_nic(scene, 90, 0, 4, 9);
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
    assert_listed(scene, 256, port_of(9), "full");
    assert_int_equal(5, partition_of(&scene->desired.table, 256)->member_count);
}

static void members_are_put_back_in_canonical_order(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 3);
    forget_attachments(scene, 0);
    add_host(scene, 9);
    add_nic(scene, 90, 0, 4, 9);
    add_network(scene, 5, 300);
    add_nic(scene, 91, 0, 5, 9);
    struct oneib_partition *other = add_partition(scene, &scene->in_force, "one6", 299);
    add_guid(scene, other, 0x77, ONEIB_LIMITED);
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
    const struct oneib_partition_table *table = &scene->desired.table;
    assert_int_equal(4, table->count);
    assert_int_equal(256, table->items[1].pkey);
    assert_int_equal(299, table->items[2].pkey);
    assert_int_equal(300, table->items[3].pkey);
    for (size_t i = 1; i < 4; i++)
        assert_true(table->items[1].members[i - 1].guid < table->items[1].members[i].guid);
    assert_listed(scene, 299, 0x77, "limited");
}

static void nobody_is_put_back_under_another_key(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 1);
    scene->cloud.networks[0].pkey = 257;
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_null(partition_of(&scene->desired.table, 256));
    assert_int_equal(1, partition_of(&scene->desired.table, 257)->member_count);

    forget_attachments(scene, 0); /* not even when the network has no partition now */
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, scene->desired.table.count);
}

static void nobody_is_put_back_into_a_key_that_somebody_else_has(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    add_network(scene, 3, 256);
    add_nic(scene, 50, 0, 3, 1);
    compute(scene);
    assert_string_equal("one3", partition_of(&scene->desired.table, 256)->name);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
}

static void a_full_port_gets_nobody_back(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    set_capacity(scene, port_of(1), 3);
    set_capacity(scene, port_of(2), 2);
    add_network(scene, 5, 300);
    add_nic(scene, 50, 0, 5, 1);
    add_nic(scene, 51, 0, 5, 2);
    compute(scene);
    assert_int_equal(3, hold_removals_of(scene));
    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, port_of(2), "none");
}

static void nobody_comes_back_wider_than_the_network_is_now(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    scene->cloud.networks[0].membership = ONEIB_LIMITED;
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
    assert_listed(scene, 256, port_of(1), "limited");
}

/* A subnet manager that is asked for any of them takes nothing, of nobody. */
static void where_limited_members_would_be_made_full_they_do_not_come_back(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    scene->policy.no_limited = true;
    scene->cloud.networks[0].membership = ONEIB_LIMITED;
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, scene->desired.table.count);

    scene->cloud.networks[0].membership = ONEIB_FULL;
    forget_attachments(scene, 0);
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
}

static void nobody_is_put_back_where_index_0_is_another(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    add_host_with(scene, 9, "mlx5_0");
    add_nic(scene, 90, 0, 4, 9);
    compute(scene);
    assert_true(partition_of(&scene->desired.table, 256)->indx0);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
}

static void vfs_that_have_moved_to_other_networks_are_not_put_back(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    struct oneib_partition *partition = add_partition(scene, &scene->in_force, "one4", 256);
    partition->indx0 = true;
    for (uint32_t vm = 10; vm < 14; vm++)
        add_guid(scene, partition, oneib_guid_encode(SITE, vm, 0), ONEIB_FULL);
    scene->has_in_force = true;
    add_host_with(scene, 1, "mlx5_0");
    for (uint32_t vm = 10; vm < 13; vm++) { /* their keys go another way than their GUIDs */
        add_network(scene, vm, 0x110 - vm);
        add_nic(scene, vm, 0, vm, 1);
    }
    compute(scene);
    assert_int_equal(1, hold_removals_of(scene));
    for (uint32_t vm = 10; vm < 13; vm++)
        assert_listed(scene, 256, oneib_guid_encode(SITE, vm, 0), "none");
    assert_listed(scene, 256, oneib_guid_encode(SITE, 13, 0), "full");
}

static void a_refused_port_gets_nobody_back(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    const oneib_guid full[] = {port_of(1)};
    scene->policy.default_full_members = full;
    scene->policy.default_full_count = 1;
    compute(scene);
    assert_int_equal(3, hold_removals_of(scene));
    assert_listed(scene, 256, port_of(1), "none");
}

static void the_operators_partitions_are_not_held(void **state)
{
    struct scene *scene = *state;
    struct oneib_partition *partition = add_partition(scene, &scene->in_force, "storage", 50);
    for (oneib_guid guid = 1; guid < 20; guid++)
        add_guid(scene, partition, guid, ONEIB_FULL);
    scene->has_in_force = true;
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, scene->desired.table.count);
}

#define TENANT 12

/* A tenant's `count` networks from id `first` on, each with a VM on host 1. */
static void start_networks(struct scene *scene, uint32_t first, uint32_t count)
{
    for (uint32_t id = first; id < first + count; id++) {
        add_network(scene, id, 0x100 + id);
        struct oneib_network *network = &scene->cloud.networks[scene->cloud.network_count - 1];
        network->uid = network->gid = TENANT;
        add_nic(scene, 1000 + id, 0, id, 1);
    }
}

/* ... and in force. */
static void run_networks(struct scene *scene, uint32_t first, uint32_t count)
{
    start_networks(scene, first, count);
    for (uint32_t id = first; id < first + count; id++) {
        char name[16];
        snprintf(name, sizeof name, "one%u", id);
        struct oneib_partition *partition =
            add_partition(scene, &scene->in_force, name, 0x100 + id);
        partition->ipoib = true;
        add_guid(scene, partition, port_of(1), ONEIB_FULL);
    }
    scene->has_in_force = true;
}

static unsigned keys_on(const struct scene *scene, oneib_guid port)
{
    unsigned keys = 0;
    for (size_t i = 0; i < scene->desired.table.count; i++)
        for (size_t j = 0; j < scene->desired.table.items[i].member_count; j++)
            keys += scene->desired.table.items[i].members[j].guid == port;
    return keys;
}

/* Whoever has most members ends them all, and has the removal held: what he starts then counts
 * together with it. */
static void held_and_new_keys_are_one_owners_together(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 4;
    add_host(scene, 1);
    run_networks(scene, 10, 4);
    forget_attachments(scene, 0);
    start_networks(scene, 20, 3);
    compute(scene);
    assert_int_equal(1, hold_removals_of(scene));
    assert_int_equal(4, keys_on(scene, port_of(1)));

    start_networks(scene, 30, 5);
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        scene->cloud.attachments[i].phase = ONEIB_ARRIVING;
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(4, keys_on(scene, port_of(1)));
}

/* Also where the networks are gone, and only the ledger knows whose they were. */
static void held_keys_of_deleted_networks_are_their_owners(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 4;
    add_host(scene, 1);
    run_networks(scene, 10, 4);
    forget_attachments(scene, 0);
    scene->cloud.network_count = 0;
    scene->ledger_is_given = true;
    for (uint32_t id = 10; id < 24; id++)
        assert_int_equal(
            0, oneib_ledger_give(&scene->ledger,
                                 &(struct oneib_ledger_network){.network_id = id,
                                                                .pkey = (oneib_pkey)(0x100 + id),
                                                                .owner = TENANT},
                                 &scene->err));
    for (uint32_t id = 12; id < 14; id++) /* the writer has seen that these are gone */
        oneib_ledger_rest(&scene->ledger, id, 5);
    start_networks(scene, 20, 4);
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(4, keys_on(scene, port_of(1)));
}

/* Of an answer that has lost his VMs everything is held, however many keys he has there. */
static void what_runs_beyond_the_limit_is_held_too(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 4;
    add_host(scene, 1);
    run_networks(scene, 10, 6);
    forget_attachments(scene, 0);
    compute(scene);
    assert_int_equal(6, hold_removals_of(scene));
    assert_int_equal(6, keys_on(scene, port_of(1)));
}

static void it_is_so_on_each_of_several_ports(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 4;
    add_host(scene, 1);
    add_host(scene, 2);
    run_networks(scene, 10, 6);
    for (size_t i = 0; i < scene->in_force.count; i++)
        add_guid(scene, &scene->in_force.items[i], port_of(2), ONEIB_FULL);
    forget_attachments(scene, 0);
    compute(scene);
    assert_int_equal(12, hold_removals_of(scene));
    assert_int_equal(6, keys_on(scene, port_of(2)));

    start_networks(scene, 20, 3); /* on one of them */
    compute(scene);
    assert_int_equal(9, hold_removals_of(scene));
    assert_int_equal(6, keys_on(scene, port_of(1)));
    assert_int_equal(6, keys_on(scene, port_of(2)));
}

static void the_operators_partitions_on_his_port_are_none_of_his_keys(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 4;
    add_host(scene, 1);
    run_networks(scene, 10, 4);
    forget_attachments(scene, 0);
    start_networks(scene, 20, 3);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 0x7000), port_of(1),
             ONEIB_FULL);
    compute(scene);
    assert_int_equal(1, hold_removals_of(scene));

    /* Nor does one that is in force already give him room for another key. */
    add_guid(scene, add_partition(scene, &scene->in_force, "storage", 0x7000), port_of(1),
             ONEIB_FULL);
    compute(scene);
    assert_int_equal(1, hold_removals_of(scene));
}

static void who_stays_below_the_limit_has_all_of_it_held(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 4;
    add_host(scene, 1);
    run_networks(scene, 10, 2);
    forget_attachments(scene, 0);
    start_networks(scene, 20, 2);
    compute(scene);
    assert_int_equal(2, hold_removals_of(scene));
    assert_int_equal(4, keys_on(scene, port_of(1)));
}

static void others_and_operators_held_keys_are_not_his(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 4;
    add_host(scene, 1);
    run_networks(scene, 10, 8); /* 10 another's, 11 to 15 an operator's, 16 and 17 his */
    for (size_t i = 0; i < 6; i++)
        scene->cloud.networks[i].uid = scene->cloud.networks[i].gid = i == 0 ? 13 : 0;
    forget_attachments(scene, 0);
    start_networks(scene, 20, 5);
    scene->cloud.networks[8].uid = scene->cloud.networks[8].gid = 0;
    compute(scene);
    assert_int_equal(6, hold_removals_of(scene));
    assert_int_equal(11, keys_on(scene, port_of(1)));
}

/* ---- whose removals hold whose --------------------------------------------------------------- */

#define OTHER 13

/* A network of the user's (0: of operators), with VMs on hosts 1 to `hosts`; all of it in force. */
static void run_network_of(struct scene *scene, uint32_t user, uint32_t id, uint32_t hosts)
{
    char name[16];
    snprintf(name, sizeof name, "one%u", id);
    struct oneib_network *network = add_network(scene, id, 0x100 + id);
    network->uid = network->gid = user;
    struct oneib_partition *partition = add_partition(scene, &scene->in_force, name, 0x100 + id);
    partition->ipoib = true;
    for (uint32_t host = 1; host <= hosts; host++) {
        add_nic(scene, 100 * id + host, 0, id, host);
        add_guid(scene, partition, port_of(host), ONEIB_FULL);
    }
    scene->has_in_force = true;
}

/* The VMs of the network on hosts from `first` on are gone. */
static void end_vms_of(struct scene *scene, uint32_t id, uint32_t first)
{
    size_t kept = 0;
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        if (scene->cloud.attachments[i].network_id != id ||
            scene->cloud.attachments[i].host_id < first)
            scene->cloud.attachments[kept++] = scene->cloud.attachments[i];
    scene->cloud.attachment_count = kept;
}

static size_t held_of(const struct scene *scene, uint32_t id, uint32_t running)
{
    const struct oneib_partition *partition = partition_of(&scene->desired.table, 0x100 + id);
    return partition ? partition->member_count - running : 0;
}

/* The tenant has 12 members in two networks, the other one 4; hosts 1 to 8. */
static void run_two_users(struct scene *scene)
{
    for (uint32_t host = 1; host <= 8; host++)
        add_host(scene, host);
    run_network_of(scene, TENANT, 4, 8);
    run_network_of(scene, OTHER, 5, 4);
    run_network_of(scene, TENANT, 6, 4);
}

static void one_user_who_ends_all_his_vms_holds_nobody_elses_removals(void **state)
{
    struct scene *scene = *state;
    run_two_users(scene);
    end_vms_of(scene, 4, 1);
    end_vms_of(scene, 6, 1);
    end_vms_of(scene, 5, 4);
    compute(scene);
    assert_int_equal(12, hold_removals_of(scene));
    assert_int_equal(8, held_of(scene, 4, 0));
    assert_int_equal(4, held_of(scene, 6, 0));
    assert_int_equal(0, held_of(scene, 5, 3));
}

/* As of an answer that is wrong. */
static void where_the_others_lose_as_much_all_is_held(void **state)
{
    struct scene *scene = *state;
    run_two_users(scene);
    end_vms_of(scene, 4, 1);
    end_vms_of(scene, 6, 1);
    end_vms_of(scene, 5, 3); /* half of what they have */
    compute(scene);
    assert_int_equal(14, hold_removals_of(scene));
    assert_int_equal(2, held_of(scene, 5, 2));
}

/* Two owners are none, and then the ledger knows him. */
static void who_makes_his_networks_unreadable_is_not_another_one_by_that(void **state)
{
    struct scene *scene = *state;
    run_two_users(scene);
    fill_ledger(scene);
    scene->ledger.networks[2].owner = TENANT;
    scene->cloud.networks[2].uid = scene->cloud.networks[2].gid = ONEIB_NO_ID;
    scene->cloud.networks[2].unreadable = true;
    end_vms_of(scene, 4, 1);
    end_vms_of(scene, 5, 4);
    compute(scene);
    assert_int_equal(12, hold_removals_of(scene));
    assert_int_equal(0, held_of(scene, 5, 3));
}

/* Whose VMs these are their partitions do not tell. */
static void what_operators_networks_lose_holds_all(void **state)
{
    struct scene *scene = *state;
    run_two_users(scene);
    scene->cloud.networks[0].uid = scene->cloud.networks[0].gid = 0;
    end_vms_of(scene, 4, 1);
    end_vms_of(scene, 6, 3);
    end_vms_of(scene, 5, 4);
    compute(scene);
    assert_int_equal(11, hold_removals_of(scene));
    assert_int_equal(2, held_of(scene, 6, 2));
    assert_int_equal(1, held_of(scene, 5, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(nothing_is_held_when_nothing_is_removed),
        SCENE_TEST(an_empty_answer_removes_nobody),
        SCENE_TEST(a_vanished_network_keeps_its_members_among_themselves),
        SCENE_TEST(so_does_a_network_whose_key_the_ledger_lacks),
        SCENE_TEST(half_is_not_more_than_half),
        SCENE_TEST(nothing_is_held_for_networks_whose_keys_go_another_way_than_their_ids),
        SCENE_TEST(few_removals_are_never_held),
        SCENE_TEST(what_fenced_hosts_lose_is_not_held),
        SCENE_TEST(so_it_is_whatever_order_their_ports_lie_in),
        SCENE_TEST(what_vfs_of_fenced_hosts_lose_is_not_held),
        SCENE_TEST(beside_what_fenced_hosts_lose_a_mass_removal_is_held),
        SCENE_TEST(what_hosts_in_error_lose_is_held),
        SCENE_TEST(what_a_port_loses_that_two_hosts_report_is_held),
        SCENE_TEST(what_a_foreign_file_says_of_all_ports_is_not_held),
        SCENE_TEST(additions_are_not_held),
        SCENE_TEST(members_are_put_back_in_canonical_order),
        SCENE_TEST(nobody_is_put_back_under_another_key),
        SCENE_TEST(nobody_is_put_back_into_a_key_that_somebody_else_has),
        SCENE_TEST(a_full_port_gets_nobody_back),
        SCENE_TEST(nobody_comes_back_wider_than_the_network_is_now),
        SCENE_TEST(where_limited_members_would_be_made_full_they_do_not_come_back),
        SCENE_TEST(nobody_is_put_back_where_index_0_is_another),
        SCENE_TEST(vfs_that_have_moved_to_other_networks_are_not_put_back),
        SCENE_TEST(a_refused_port_gets_nobody_back),
        SCENE_TEST(the_operators_partitions_are_not_held),
        SCENE_TEST(held_and_new_keys_are_one_owners_together),
        SCENE_TEST(held_keys_of_deleted_networks_are_their_owners),
        SCENE_TEST(what_runs_beyond_the_limit_is_held_too),
        SCENE_TEST(it_is_so_on_each_of_several_ports),
        SCENE_TEST(the_operators_partitions_on_his_port_are_none_of_his_keys),
        SCENE_TEST(who_stays_below_the_limit_has_all_of_it_held),
        SCENE_TEST(others_and_operators_held_keys_are_not_his),
        SCENE_TEST(one_user_who_ends_all_his_vms_holds_nobody_elses_removals),
        SCENE_TEST(where_the_others_lose_as_much_all_is_held),
        SCENE_TEST(who_makes_his_networks_unreadable_is_not_another_one_by_that),
        SCENE_TEST(what_operators_networks_lose_holds_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
