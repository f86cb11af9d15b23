// SPDX-License-Identifier: Apache-2.0
#include "cloud_builder.h"

static size_t hold(struct scene *scene)
{
    size_t held = 12345;
    if (oneib_removals_hold(&scene->in_force, &scene->policy, &scene->desired, &held, &scene->err) <
        0)
        fail_msg("oneib_removals_hold: %s", scene->err.text);
    return held;
}

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
    assert_int_equal(0, hold(scene));
    assert_int_equal(4, partition_of(&scene->desired.table, 256)->member_count);
}

static void an_empty_answer_removes_nobody(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    compute(scene);
    assert_int_equal(1, scene->desired.table.count);
    assert_int_equal(4, hold(scene));
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
    assert_int_equal(4, hold(scene));
    assert_listed(scene, 256, port_of(3), "full");
}

static void half_is_not_more_than_half(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 2);
    compute(scene);
    assert_int_equal(0, hold(scene));
    forget_attachments(scene, 1);
    compute(scene);
    assert_int_equal(3, hold(scene));
    assert_int_equal(4, partition_of(&scene->desired.table, 256)->member_count);
}

static void few_removals_are_never_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    scene->policy.hold_minimum = 5;
    forget_attachments(scene, 0);
    compute(scene);
    assert_int_equal(0, hold(scene));
    assert_int_equal(1, scene->desired.table.count);
}

/* Host `id` is fenced, and its port is down. */
static void fence(struct scene *scene, uint32_t id, enum oneib_fence_state state)
{
    const struct oneib_ledger_fence entry = {.host_id = id, .asked = 1};
    const struct oneib_ledger_fenced_port port = {
        .host_id = id, .guid = port_of(id), .state = state};
    if (oneib_ledger_set_fence(&scene->ledger, &entry, &scene->err) < 0 ||
        oneib_ledger_set_fenced_port(&scene->ledger, &port, &scene->err) < 0)
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
    assert_member_status(scene, 14, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_int_equal(0, hold(scene));
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
    assert_listed(scene, 256, port_of(4), "full");

    /* Their VMs have been recreated, and are not placed yet: likewise. */
    scene->cloud.attachments[0].phase = ONEIB_ABSENT;
    compute(scene);
    assert_int_equal(0, hold(scene));
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
        assert_int_equal(oneib_ledger_set_fence(&scene->ledger, &entry, &scene->err), 0);
        assert_int_equal(oneib_ledger_set_fenced_port(&scene->ledger, &port, &scene->err), 0);
    }
    forget_attachments(scene, 0);
    scene->policy.hold_minimum = 1;
    compute(scene);
    assert_int_equal(1, hold(scene));
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
    assert_int_equal(0, hold(scene));
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
    assert_int_equal(6, hold(scene));
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
    assert_int_equal(4, hold(scene));
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
    assert_int_equal(4, hold(scene));
}

static void additions_are_not_held(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    add_host(scene, 9);
    add_nic(scene, 90, 0, 4, 9);
    compute(scene);
    assert_int_equal(4, hold(scene));
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
    assert_int_equal(4, hold(scene));
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
    assert_int_equal(0, hold(scene));
    assert_null(partition_of(&scene->desired.table, 256));
    assert_int_equal(1, partition_of(&scene->desired.table, 257)->member_count);

    forget_attachments(scene, 0); /* not even when the network has no partition now */
    compute(scene);
    assert_int_equal(0, hold(scene));
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
    assert_int_equal(0, hold(scene));
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
}

static void a_full_port_gets_nobody_back(void **state)
{
    struct scene *scene = *state;
    in_force_with_members(scene, 4);
    forget_attachments(scene, 0);
    scene->cloud.hosts[0].ports[0].pkeys_max = 3;
    scene->cloud.hosts[1].ports[0].pkeys_max = 2;
    add_network(scene, 5, 300);
    add_nic(scene, 50, 0, 5, 1);
    add_nic(scene, 51, 0, 5, 2);
    compute(scene);
    assert_int_equal(3, hold(scene));
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
    assert_int_equal(4, hold(scene));
    assert_listed(scene, 256, port_of(1), "limited");
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
    assert_int_equal(0, hold(scene));
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
}

static void a_vf_that_has_moved_to_another_network_is_not_put_back(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_network(scene, 5, 257);
    struct oneib_partition *partition = add_partition(scene, &scene->in_force, "one4", 256);
    partition->indx0 = true;
    for (uint32_t vm = 10; vm < 14; vm++)
        add_guid(scene, partition, oneib_guid_encode(SITE, vm, 0), ONEIB_FULL);
    scene->has_in_force = true;
    add_host_with(scene, 1, "mlx5_0");
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_int_equal(3, hold(scene));
    assert_listed(scene, 256, oneib_guid_encode(SITE, 10, 0), "none");
    assert_listed(scene, 256, oneib_guid_encode(SITE, 11, 0), "full");
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
    assert_int_equal(3, hold(scene));
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
    assert_int_equal(0, hold(scene));
    assert_int_equal(1, scene->desired.table.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(nothing_is_held_when_nothing_is_removed),
        SCENE_TEST(an_empty_answer_removes_nobody),
        SCENE_TEST(a_vanished_network_keeps_its_members_among_themselves),
        SCENE_TEST(half_is_not_more_than_half),
        SCENE_TEST(few_removals_are_never_held),
        SCENE_TEST(what_fenced_hosts_lose_is_not_held),
        SCENE_TEST(so_it_is_whatever_order_their_ports_lie_in),
        SCENE_TEST(what_vfs_of_fenced_hosts_lose_is_not_held),
        SCENE_TEST(beside_what_fenced_hosts_lose_a_mass_removal_is_held),
        SCENE_TEST(what_hosts_in_error_lose_is_held),
        SCENE_TEST(what_a_port_loses_that_two_hosts_report_is_held),
        SCENE_TEST(additions_are_not_held),
        SCENE_TEST(members_are_put_back_in_canonical_order),
        SCENE_TEST(nobody_is_put_back_under_another_key),
        SCENE_TEST(nobody_is_put_back_into_a_key_that_somebody_else_has),
        SCENE_TEST(a_full_port_gets_nobody_back),
        SCENE_TEST(nobody_comes_back_wider_than_the_network_is_now),
        SCENE_TEST(nobody_is_put_back_where_index_0_is_another),
        SCENE_TEST(a_vf_that_has_moved_to_another_network_is_not_put_back),
        SCENE_TEST(a_refused_port_gets_nobody_back),
        SCENE_TEST(the_operators_partitions_are_not_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
