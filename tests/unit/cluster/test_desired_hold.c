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

/* The hosts from `first` on report no ports. */
static void lose_ports(struct scene *scene, uint32_t first)
{
    for (size_t i = 0; i < scene->cloud.host_count; i++)
        if (scene->cloud.hosts[i].id >= first)
            scene->cloud.hosts[i].port_count = 0;
}

static void lose_networks(struct scene *scene)
{
    while (scene->cloud.network_count)
        oneib_network_clear(&scene->cloud.networks[--scene->cloud.network_count]);
}

static void lose_everything(struct scene *scene)
{
    scene->cloud.attachment_count = 0;
    lose_networks(scene);
    while (scene->cloud.host_count)
        oneib_host_clear(&scene->cloud.hosts[--scene->cloud.host_count]);
}

/* The VMs that came last have ended: oned has read each that a network leases to. */
static void end_vms(struct scene *scene, size_t kept)
{
    scene->cloud.attachment_count = kept;
}

static void assert_reason(const struct scene *scene, oneib_pkey pkey, oneib_guid guid,
                          enum oneib_hold_reason reason)
{
    const struct oneib_held_removal *held = oneib_held_removal(&scene->desired, pkey, guid);
    assert_int_equal(held ? held->reason : ONEIB_HOLD_NONE, reason);
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
    fill_ledger(scene);
    lose_everything(scene);
    compute(scene);
    assert_int_equal(1, scene->desired.table.count);
    assert_int_equal(4, hold_removals_of(scene));
    assert_reason(scene, 256, port_of(2), ONEIB_HOLD_NETWORK_MISSING);
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
    lose_networks(scene);
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
    assert_reason(scene, 256, port_of(3), ONEIB_HOLD_KEY_MISSING);
}

static void half_is_not_more_than_half(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    lose_ports(scene, 3);
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    lose_ports(scene, 2);
    compute(scene);
    assert_int_equal(3, hold_removals_of(scene));
    assert_reason(scene, 256, port_of(2), ONEIB_HOLD_PORT_MISSING);
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
    lose_ports(scene, 1);
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
    lose_everything(scene);
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
    lose_ports(scene, 3); /* of the seven others six are missing */
    compute(scene);
    assert_int_equal(6, hold_removals_of(scene));
    assert_int_equal(7, partition_of(&scene->desired.table, 256)->member_count);
    assert_listed(scene, 256, port_of(1), "none");
}

/* Also where the host is in ERROR, and not fenced. */
static void what_vms_say_themselves_is_not_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    for (size_t i = 0; i < 4; i++) {
        scene->cloud.hosts[i].state = 3; /* MONITORING_ERROR */
        scene->cloud.attachments[i].phase = i < 2 ? ONEIB_ABSENT : ONEIB_FAILED;
    }
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_null(partition_of(&scene->desired.table, 256));
}

/* Whose it is nobody can say: its members may be the other host's. */
static void what_a_port_loses_that_two_hosts_report_is_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    for (uint32_t host = 1; host <= 4; host++)
        fence(scene, host, ONEIB_FENCE_SHARED);
    lose_everything(scene);
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
}

/* It would let in everybody. */
static void what_a_foreign_file_says_of_all_ports_is_not_held(void **state)
{
    struct scene *scene = *state;
    add_wildcard(scene, in_force_with_members(scene, 4), ONEIB_MEMBER_ALL, ONEIB_FULL);
    lose_ports(scene, 1);
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
    lose_ports(scene, 1);
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
    lose_ports(scene, 1);
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
    lose_ports(scene, 2);
    scene->cloud.networks[0].pkey = 257;
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_null(partition_of(&scene->desired.table, 256));
    assert_int_equal(1, partition_of(&scene->desired.table, 257)->member_count);

    lose_ports(scene, 1); /* not even when the network has no partition now */
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, scene->desired.table.count);
}

static void nobody_is_put_back_into_a_key_that_somebody_else_has(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    add_network(scene, 3, 256);
    add_host(scene, 9);
    add_nic(scene, 50, 0, 3, 9);
    compute(scene);
    assert_string_equal("one3", partition_of(&scene->desired.table, 256)->name);
    assert_int_equal(0, hold_removals_of(scene));
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
}

static void a_full_port_gets_nobody_back(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    scene->cloud.networks[0].unreadable = true;
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
    lose_ports(scene, 1);
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
    lose_ports(scene, 1);
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
}

static void nobody_is_put_back_where_index_0_is_another(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    lose_ports(scene, 1);
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
    scene->cloud.networks[0].unreadable = true;
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
    assert_int_equal(0, hold_removals_of(scene));
    assert_null(partition_of(&scene->desired.table, 0x104));
    assert_null(partition_of(&scene->desired.table, 0x106));
    assert_int_equal(0, held_of(scene, 5, 3));
}

static void nor_does_one_who_makes_all_his_networks_unreadable(void **state)
{
    struct scene *scene = *state;
    run_two_users(scene);
    scene->cloud.networks[0].unreadable = scene->cloud.networks[2].unreadable = true;
    end_vms_of(scene, 5, 4);
    end_vms_of(scene, 6, 4);
    compute(scene);
    assert_int_equal(11, hold_removals_of(scene));
    assert_int_equal(8, held_of(scene, 4, 0));
    assert_int_equal(0, held_of(scene, 5, 3));
    assert_listed(scene, 0x106, port_of(3), "full");
    assert_listed(scene, 0x106, port_of(4), "none"); /* whose VM there has ended */
    assert_reason(scene, 0x106, port_of(3), ONEIB_HOLD_NETWORK_UNREADABLE);
}

/* What has ended counts for nothing, neither way. */
static void what_is_missing_is_a_share_of_what_has_not_ended(void **state)
{
    struct scene *scene = *state;
    run_two_users(scene);
    end_vms_of(scene, 4, 1);
    scene->cloud.networks[2].unreadable = true;
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene)); /* half of 8 */
    end_vms_of(scene, 5, 4);
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
}

static void members_of_a_deleted_network_are_not_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    fill_ledger(scene);
    lose_everything(scene);
    oneib_ledger_rest(&scene->ledger, 4, 5); /* oned has said that it is gone */
    compute(scene);
    assert_int_equal(0, hold_removals_of(scene));
    assert_null(partition_of(&scene->desired.table, 256));
}

/* The ledger knows whose ports are whose that no probe reports. */
static void of_hosts_that_report_no_port_those_with_vms_are_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    for (uint32_t host = 1; host <= 4; host++) {
        const struct oneib_ledger_host pinned = {.host_id = host};
        const struct oneib_ledger_port port = {.host_id = host, .guid = port_of(host)};
        oneib_ledger_pin(&scene->ledger, &pinned);
        assert_int_equal(oneib_ledger_set_port(&scene->ledger, &port, &scene->err), 0);
    }
    lose_ports(scene, 1);
    end_vms(scene, 3);
    compute(scene);
    assert_int_equal(3, hold_removals_of(scene));
    assert_listed(scene, 256, port_of(3), "full");
    assert_listed(scene, 256, port_of(4), "none");
}

static void of_vfs_with_tables_of_their_own_those_whose_vms_have_not_ended_are_held(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    struct oneib_partition *partition = add_partition(scene, &scene->in_force, "one4", 256);
    partition->indx0 = true;
    for (uint32_t host = 1; host <= 4; host++) {
        add_host_with(scene, host, "mlx5_0");
        add_nic(scene, 10 + host, 0, 4, host);
        add_guid(scene, partition, oneib_guid_encode(SITE, 10 + host, 0), ONEIB_FULL);
    }
    scene->has_in_force = true;
    lose_ports(scene, 1);
    end_vms(scene, 3);
    compute(scene);
    assert_int_equal(3, hold_removals_of(scene));
    assert_listed(scene, 256, oneib_guid_encode(SITE, 13, 0), "full");
    assert_listed(scene, 256, oneib_guid_encode(SITE, 14, 0), "none");
}

static void members_for_vms_of_reservations_are_held_in_the_parents_partition(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    scene->cloud.networks[0].reservations_share = true;
    add_reservation(scene, 5, 4, 0);
    for (size_t i = 0; i < 4; i++)
        scene->cloud.attachments[i].network_id = 5;
    lose_ports(scene, 1);
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
    scene->cloud.networks[1].unreadable = true;
    compute(scene);
    assert_int_equal(4, hold_removals_of(scene));
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
        SCENE_TEST(what_vms_say_themselves_is_not_held),
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
        SCENE_TEST(one_user_who_ends_all_his_vms_holds_nobody_elses_removals),
        SCENE_TEST(nor_does_one_who_makes_all_his_networks_unreadable),
        SCENE_TEST(what_is_missing_is_a_share_of_what_has_not_ended),
        SCENE_TEST(members_of_a_deleted_network_are_not_held),
        SCENE_TEST(of_hosts_that_report_no_port_those_with_vms_are_held),
        SCENE_TEST(of_vfs_with_tables_of_their_own_those_whose_vms_have_not_ended_are_held),
        SCENE_TEST(members_for_vms_of_reservations_are_held_in_the_parents_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
