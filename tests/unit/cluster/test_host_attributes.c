// SPDX-License-Identifier: Apache-2.0
#include "cloud_builder.h"
#include "cluster/host_attributes.h"

#define LEAF_A UINT64_C(0x0002c90300aa0000)
#define LEAF_B UINT64_C(0x0002c90300bb0000)
#define TEXT_A "0x0002c90300aa0000"
#define TEXT_B "0x0002c90300bb0000"

struct room {
    struct scene *scene;
    struct oneib_leaf leaves[8];
    struct oneib_vf_record records[8]; /* of the nodes, one behind the other */
    struct oneib_node_snapshot nodes[4];
    size_t node_count;
    size_t leaf_count;
    struct oneib_hosts_attributes attributes;
};

static int make_room(void **state)
{
    struct room *room = calloc(1, sizeof *room);
    if (!room || scene_make((void **)&room->scene) < 0)
        return -1;
    *state = room;
    return 0;
}

static int free_room(void **state)
{
    struct room *room = *state;
    oneib_host_attributes_clear(&room->attributes);
    scene_free((void **)&room->scene);
    free(room);
    return 0;
}

/* Port 1 of mlx4_0, with so many VFs; what oned has is nothing yet. */
static struct oneib_host *host_with_vfs(struct room *room, uint32_t id, uint16_t vfs)
{
    struct oneib_host *host = add_host(room->scene, id);
    host->ports[0].vfs_total = vfs;
    host->vfs_free = -1;
    return host;
}

static struct oneib_hca_port *second_port(struct room *room, struct oneib_host *host,
                                          const char *device, uint16_t vfs)
{
    const unsigned number = strcmp(device, host->ports[0].device) == 0 ? 2 : 1;
    struct oneib_hca_port *port =
        add_port(room->scene, host, device, number, port_of(host->id) + 0x1000);
    port->vfs_total = vfs;
    return port;
}

static void leaf(struct room *room, oneib_guid port, oneib_guid leaf_switch)
{
    room->leaves[room->leaf_count++] = (struct oneib_leaf){port, leaf_switch};
}

static void oned_has_switches(struct oneib_host *host, const char *switches)
{
    free(host->switches);
    host->switches = strdup(switches);
    assert_non_null(host->switches);
}

static void compute_attributes(struct room *room)
{
    oneib_host_attributes_clear(&room->attributes);
    oneib_cloud_sort(&room->scene->cloud);
    const struct oneib_node_table nodes = {room->nodes, room->node_count};
    oneib_host_attributes_compute(&room->scene->cloud, &nodes, room->leaves, room->leaf_count,
                                  &room->attributes);
}

static const struct oneib_host_attributes *attributes_of(const struct room *room, uint32_t host_id)
{
    for (size_t i = 0; i < room->attributes.count; i++)
        if (room->attributes.items[i].host_id == host_id)
            return &room->attributes.items[i];
    return NULL;
}

static void assert_free(struct room *room, uint32_t host_id, uint32_t vfs_free)
{
    const struct oneib_host_attributes *item = attributes_of(room, host_id);
    assert_non_null(item);
    assert_int_equal(item->vfs_free, vfs_free);
}

static void each_vm_on_a_host_takes_one_vf(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 1, 7);
    add_nic(room->scene, 10, 1, 5, 1);
    add_nic(room->scene, 10, 2, 6, 1);
    add_nic(room->scene, 11, 1, 5, 1)->phase = ONEIB_LEAVING;
    add_nic(room->scene, 12, 1, 5, 1)->phase = ONEIB_ARRIVING;
    add_nic(room->scene, 13, 1, 5, 1)->phase = ONEIB_PHASE_UNKNOWN;
    compute_attributes(room);
    assert_free(room, 1, 2);
    assert_int_equal(attributes_of(room, 1)->vfs_total, 7);
    assert_true(attributes_of(room, 1)->differs_free);
}

/* The node of that host has told its table, with a VF for NIC 1 of VM 10. */
static struct oneib_node_snapshot *node_with_vm_10(struct room *room, uint32_t host_id)
{
    struct oneib_node_snapshot *node = &room->nodes[room->node_count];
    struct oneib_vf_record *record = &room->records[room->node_count++];
    *record = (struct oneib_vf_record){.vm_id = 10, .nic_id = 1};
    *node = (struct oneib_node_snapshot){
        .host_id = host_id, .table_known = true, .records = record, .record_count = 1};
    return node;
}

static void what_a_vm_has_that_is_there_its_node_says(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 1, 7);
    add_nic(room->scene, 10, 1, 5, 1);
    add_nic(room->scene, 10, 2, 5, 1);
    add_nic(room->scene, 10, 3, 5, 1)->attaching = true; /* it says so, and the VM just runs */
    add_nic(room->scene, 11, 1, 5, 1)->phase = ONEIB_LEAVING;
    struct oneib_node_snapshot *node = node_with_vm_10(room, 1);
    compute_attributes(room);
    assert_free(room, 1, 6);

    node->table_known = false;
    compute_attributes(room);
    assert_free(room, 1, 3);
}

static void what_another_hosts_node_says_of_a_vm_takes_nothing_here(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 1, 7);
    host_with_vfs(room, 2, 7);
    add_nic(room->scene, 10, 1, 5, 1);
    node_with_vm_10(room, 1)->record_count = 0;
    node_with_vm_10(room, 2);
    compute_attributes(room);
    assert_free(room, 1, 7);
}

static void what_a_vm_gets_that_comes_is_what_networks_lease_it(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 1, 7);
    host_with_vfs(room, 2, 7);
    add_nic(room->scene, 11, 1, 5, 1)->phase = ONEIB_ARRIVING;
    add_nic(room->scene, 11, 2, 5, 1)->phase = ONEIB_ARRIVING;
    add_nic(room->scene, 11, 3, 5, 1)->phase = ONEIB_ARRIVING;
    room->scene->cloud.attachments[2].unleased = true;
    migrate(add_nic(room->scene, 12, 1, 5, 1), 2);
    struct oneib_attachment *attached = add_nic(room->scene, 13, 1, 5, 2);
    attached->attaching = true;
    attached->lcm_state = 25; /* HOTPLUG_NIC */
    node_with_vm_10(room, 1);
    node_with_vm_10(room, 2);
    compute_attributes(room);
    assert_free(room, 1, 4);
    assert_free(room, 2, 6);
}

static void a_vm_that_is_on_no_host_takes_none(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 1, 7);
    add_nic(room->scene, 10, 1, 5, 1)->phase = ONEIB_ABSENT;
    add_nic(room->scene, 10, 2, 5, 1)->phase = ONEIB_FAILED;
    add_nic(room->scene, 11, 1, 5, ONEIB_NO_ID);
    add_nic(room->scene, 12, 1, 5, 99);
    compute_attributes(room);
    assert_free(room, 1, 7);
}

static void a_migrating_vm_takes_one_on_both_hosts(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 1, 7);
    host_with_vfs(room, 2, 7);
    migrate(add_nic(room->scene, 10, 1, 5, 2), 1);
    compute_attributes(room);
    assert_free(room, 1, 6);
    assert_free(room, 2, 6);
}

static void a_migration_to_the_same_host_takes_one(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 1, 7);
    migrate(add_nic(room->scene, 10, 1, 5, 1), 1);
    compute_attributes(room);
    assert_free(room, 1, 6);
}

static void more_vms_than_vfs_leave_none_free(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 1, 2);
    for (uint32_t vm = 10; vm < 15; vm++)
        add_nic(room->scene, vm, 1, 5, 1);
    compute_attributes(room);
    assert_free(room, 1, 0);
}

static void the_ports_of_one_adapter_share_its_vfs(void **state)
{
    struct room *room = *state;
    struct oneib_host *host = host_with_vfs(room, 1, 7);
    second_port(room, host, "mlx4_0", 8);
    compute_attributes(room);
    assert_int_equal(attributes_of(room, 1)->vfs_total, 8);
}

static void the_vfs_of_two_adapters_add_up(void **state)
{
    struct room *room = *state;
    struct oneib_host *host = host_with_vfs(room, 1, 7);
    second_port(room, host, "mlx4_1", 16);
    host_with_vfs(room, 2, 100);
    add_nic(room->scene, 10, 1, 5, 2);
    compute_attributes(room);
    assert_int_equal(attributes_of(room, 1)->vfs_total, 23);
    assert_int_equal(room->attributes.vfs_total, 123);
    assert_int_equal(room->attributes.vfs_free, 122);
}

static void a_host_without_adapters_is_left_alone(void **state)
{
    struct room *room = *state;
    add_empty_host(room->scene, 1)->vfs_free = -1;
    compute_attributes(room);
    assert_int_equal(room->attributes.count, 0);
}

static void a_host_that_lost_its_adapters_has_no_vf_free(void **state)
{
    struct room *room = *state;
    add_empty_host(room->scene, 1)->vfs_free = 4;
    add_empty_host(room->scene, 2)->vfs_free = 0;
    compute_attributes(room);
    assert_free(room, 1, 0);
    assert_true(attributes_of(room, 1)->differs_free);
    assert_false(attributes_of(room, 1)->differs_switches);
    assert_false(attributes_of(room, 2)->differs_free);
}

static void what_oned_has_already_does_not_differ(void **state)
{
    struct room *room = *state;
    struct oneib_host *host = host_with_vfs(room, 1, 7);
    host->vfs_free = 6;
    oned_has_switches(host, TEXT_A);
    add_nic(room->scene, 10, 1, 5, 1);
    leaf(room, port_of(1), LEAF_A);
    compute_attributes(room);
    assert_free(room, 1, 6);
    assert_string_equal(attributes_of(room, 1)->switches, TEXT_A);
    assert_false(attributes_of(room, 1)->differs_free);
    assert_false(attributes_of(room, 1)->differs_switches);
}

static void a_host_on_another_switch_differs(void **state)
{
    struct room *room = *state;
    oned_has_switches(host_with_vfs(room, 1, 7), TEXT_B);
    host_with_vfs(room, 2, 7);
    leaf(room, port_of(1), LEAF_A);
    leaf(room, port_of(2), LEAF_A);
    compute_attributes(room);
    assert_true(attributes_of(room, 1)->differs_switches);
    assert_string_equal(attributes_of(room, 2)->switches, TEXT_A);
    assert_true(attributes_of(room, 2)->differs_switches);
}

static void two_ports_name_two_switches_in_their_order(void **state)
{
    struct room *room = *state;
    struct oneib_host *host = host_with_vfs(room, 1, 7);
    second_port(room, host, "mlx4_0", 7);
    leaf(room, port_of(1), LEAF_B);
    leaf(room, port_of(1) + 0x1000, LEAF_A);
    compute_attributes(room);
    assert_string_equal(attributes_of(room, 1)->switches, TEXT_B "," TEXT_A);
}

static void two_ports_on_one_switch_name_it_once(void **state)
{
    struct room *room = *state;
    struct oneib_host *host = host_with_vfs(room, 1, 7);
    second_port(room, host, "mlx4_0", 7);
    leaf(room, port_of(1), LEAF_A);
    leaf(room, port_of(1) + 0x1000, LEAF_A);
    compute_attributes(room);
    assert_string_equal(attributes_of(room, 1)->switches, TEXT_A);
}

static void a_switch_that_is_not_known_now_is_not_taken_from_oned(void **state)
{
    struct room *room = *state;
    struct oneib_host *host = host_with_vfs(room, 1, 7);
    oned_has_switches(host, TEXT_A "," TEXT_B);
    second_port(room, host, "mlx4_0", 7);
    compute_attributes(room); /* neither is known */
    assert_null(attributes_of(room, 1)->switches);
    assert_false(attributes_of(room, 1)->differs_switches);
    leaf(room, port_of(1), LEAF_A);
    leaf(room, port_of(1) + 0x1000, 0);
    compute_attributes(room);
    assert_string_equal(attributes_of(room, 1)->switches, TEXT_A);
    assert_false(attributes_of(room, 1)->differs_switches);
}

static void half_of_the_switches_is_better_than_wrong_ones(void **state)
{
    struct room *room = *state;
    struct oneib_host *host = host_with_vfs(room, 1, 7);
    oned_has_switches(host, TEXT_A "0," TEXT_B);
    second_port(room, host, "mlx4_0", 7);
    leaf(room, port_of(1), LEAF_A);
    compute_attributes(room);
    assert_true(attributes_of(room, 1)->differs_switches);
}

static void an_adapter_that_the_probe_does_not_count_any_more_has_no_free_functions(void **state)
{
    struct room *room = *state;
    struct oneib_host *host = host_with_vfs(room, 1, 7);
    second_port(room, host, "mlx4_1", 7);
    host->vfs_limit = 7;
    add_nic(room->scene, 10, 1, 5, 1);
    compute_attributes(room);
    assert_int_equal(attributes_of(room, 1)->vfs_total, 7);

    host->vfs_limit = 0;
    compute_attributes(room);
    assert_int_equal(attributes_of(room, 1)->vfs_total, 0);
    assert_int_equal(attributes_of(room, 1)->vfs_free, 0);
}

static void a_probe_that_counts_more_than_its_adapters_have_is_not_believed(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 1, 7)->vfs_limit = 63;
    compute_attributes(room);
    assert_int_equal(attributes_of(room, 1)->vfs_total, 7);
}

static void hosts_come_by_their_ids(void **state)
{
    struct room *room = *state;
    host_with_vfs(room, 9, 1);
    host_with_vfs(room, 3, 1);
    add_empty_host(room->scene, 5)->vfs_free = -1;
    host_with_vfs(room, 7, 1);
    compute_attributes(room);
    assert_int_equal(room->attributes.count, 3);
    assert_int_equal(room->attributes.items[0].host_id, 3);
    assert_int_equal(room->attributes.items[1].host_id, 7);
    assert_int_equal(room->attributes.items[2].host_id, 9);
}

static void nothing_comes_of_nothing(void **state)
{
    struct room *room = *state;
    add_nic(room->scene, 10, 1, 5, 1);
    compute_attributes(room);
    assert_int_equal(room->attributes.count, 0);
    assert_int_equal(room->attributes.vfs_total, 0);
}

#define ROOM_TEST(function) cmocka_unit_test_setup_teardown(function, make_room, free_room)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM_TEST(each_vm_on_a_host_takes_one_vf),
        ROOM_TEST(what_a_vm_has_that_is_there_its_node_says),
        ROOM_TEST(what_another_hosts_node_says_of_a_vm_takes_nothing_here),
        ROOM_TEST(what_a_vm_gets_that_comes_is_what_networks_lease_it),
        ROOM_TEST(a_vm_that_is_on_no_host_takes_none),
        ROOM_TEST(a_migrating_vm_takes_one_on_both_hosts),
        ROOM_TEST(a_migration_to_the_same_host_takes_one),
        ROOM_TEST(more_vms_than_vfs_leave_none_free),
        ROOM_TEST(the_ports_of_one_adapter_share_its_vfs),
        ROOM_TEST(the_vfs_of_two_adapters_add_up),
        ROOM_TEST(a_host_without_adapters_is_left_alone),
        ROOM_TEST(a_host_that_lost_its_adapters_has_no_vf_free),
        ROOM_TEST(what_oned_has_already_does_not_differ),
        ROOM_TEST(a_host_on_another_switch_differs),
        ROOM_TEST(two_ports_name_two_switches_in_their_order),
        ROOM_TEST(two_ports_on_one_switch_name_it_once),
        ROOM_TEST(a_switch_that_is_not_known_now_is_not_taken_from_oned),
        ROOM_TEST(half_of_the_switches_is_better_than_wrong_ones),
        ROOM_TEST(an_adapter_that_the_probe_does_not_count_any_more_has_no_free_functions),
        ROOM_TEST(a_probe_that_counts_more_than_its_adapters_have_is_not_believed),
        ROOM_TEST(hosts_come_by_their_ids),
        ROOM_TEST(nothing_comes_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
