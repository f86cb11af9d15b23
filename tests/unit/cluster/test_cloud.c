// SPDX-License-Identifier: Apache-2.0
#include "../base/random_source.h"
#include "cloud_builder.h"
#include "cluster/port_index.h"

static void sorting_orders_networks_hosts_and_attachments(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 9, 0);
    add_network(scene, 2, 0);
    add_host(scene, 5);
    add_host(scene, 1);
    add_nic(scene, 4, 1, 2, 1);
    add_nic(scene, 4, 0, 2, 1);
    add_nic(scene, 3, 7, 2, 1);
    oneib_cloud_sort(&scene->cloud);

    assert_int_equal(2, scene->cloud.networks[0].id);
    assert_int_equal(9, scene->cloud.networks[1].id);
    assert_int_equal(1, scene->cloud.hosts[0].id);
    assert_int_equal(5, scene->cloud.hosts[1].id);
    assert_int_equal(3, scene->cloud.attachments[0].vm_id);
    assert_int_equal(0, scene->cloud.attachments[1].nic_id);
    assert_int_equal(1, scene->cloud.attachments[2].nic_id);
}

static void of_what_was_read_twice_the_later_stays(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 1, 100);
    add_host(scene, 1);
    add_nic(scene, 1, 0, 1, 1);
    add_network(scene, 1, 200);
    add_host(scene, 1)->ports[0].port_guid = 0x99;
    add_nic(scene, 1, 0, 1, 8);
    oneib_cloud_sort(&scene->cloud);

    assert_int_equal(1, scene->cloud.network_count);
    assert_int_equal(200, scene->cloud.networks[0].pkey);
    assert_int_equal(1, scene->cloud.host_count);
    assert_int_equal(0x99, scene->cloud.hosts[0].ports[0].port_guid);
    assert_int_equal(1, scene->cloud.attachment_count);
    assert_int_equal(8, scene->cloud.attachments[0].host_id);
}

static void sorting_a_large_cloud_keeps_the_last_of_each(void **state)
{
    struct scene *scene = *state;
    struct random_source source = random_seeded(11);
    enum { VMS = 500, READ = 20000 };
    uint32_t last_host[VMS] = {0};
    for (uint32_t i = 0; i < READ; i++) {
        uint32_t vm_id = (uint32_t)random_below(&source, VMS);
        add_nic(scene, vm_id, 0, 1, i + 1);
        last_host[vm_id] = i + 1;
    }
    oneib_cloud_sort(&scene->cloud);
    assert_int_equal(VMS, scene->cloud.attachment_count);
    for (uint32_t i = 0; i < VMS; i++) {
        assert_int_equal(i, scene->cloud.attachments[i].vm_id);
        assert_int_equal(last_host[i], scene->cloud.attachments[i].host_id);
    }
}

static void looking_up_finds_what_is_there_and_nothing_else(void **state)
{
    struct scene *scene = *state;
    assert_null(oneib_cloud_network(&scene->cloud, 0));
    assert_null(oneib_cloud_host(&scene->cloud, 0));
    for (uint32_t id = 0; id < 40; id += 2) {
        add_network(scene, id, id);
        add_host(scene, id);
    }
    oneib_cloud_sort(&scene->cloud);
    for (uint32_t id = 0; id < 40; id++) {
        const struct oneib_network *network = oneib_cloud_network(&scene->cloud, id);
        const struct oneib_host *host = oneib_cloud_host(&scene->cloud, id);
        assert_int_equal(id % 2 == 0, network != NULL);
        assert_int_equal(id % 2 == 0, host != NULL);
        if (network && host) {
            assert_int_equal(id, network->id);
            assert_int_equal(id, host->id);
        }
    }
}

static void an_empty_cloud_can_be_sorted_and_cleared_twice(void **state)
{
    struct scene *scene = *state;
    oneib_cloud_sort(&scene->cloud);
    oneib_cloud_clear(&scene->cloud);
    oneib_cloud_clear(&scene->cloud);
    assert_int_equal(0, scene->cloud.network_count);
}

static void ids_and_leases_are_found_whatever_order_they_came_in(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    const uint32_t ids[] = {9, 3, 7};
    struct oneib_lease *leases = calloc(3, sizeof *leases);
    assert_non_null(leases);
    for (size_t i = 0; i < 3; i++)
        leases[i] = (struct oneib_lease){.mac = 2 * ids[i], .vm_id = ids[i]};
    oneib_network_set_vms(network, ids, 3);
    oneib_network_set_reservations(network, ids, 3);
    oneib_network_take_leases(network, &leases, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(oneib_network_names_vm(network, ids[i]));
        assert_true(oneib_network_has_reservation(network, ids[i]));
        assert_true(oneib_network_leases_to(network, ids[i], 2 * ids[i]));
    }
    assert_false(oneib_network_names_vm(network, 8));
    assert_false(oneib_network_leases_to(network, 9, 6)); /* VM 3's */
    oneib_network_set_vms(network, NULL, 0);
    assert_false(oneib_network_names_vm(network, 9));
}

/* Whoever could say of another VM's function that it is his would open it. */
static void a_device_that_two_vms_are_given_is_nobodys(void **state)
{
    struct scene *scene = *state;
    struct oneib_host *host = add_host(scene, 1);
    const struct oneib_pci device = {.bus = 3, .function = 2}, other = {.bus = 3, .function = 3};
    oneib_host_give(host, &device, 5);
    oneib_host_give(host, &device, 5);
    oneib_host_give(host, &other, 6);
    assert_int_equal(oneib_host_given_to(host, &device), 5);
    oneib_host_give(host, &device, 6);
    assert_int_equal(oneib_host_given_to(host, &device), ONEIB_NO_ID);
    oneib_host_give(host, &device, 5);
    assert_int_equal(oneib_host_given_to(host, &device), ONEIB_NO_ID);
    assert_int_equal(oneib_host_given_to(host, &other), 6);
}

static void a_host_may_hold_so_many_keys_and_no_more(void **state)
{
    static char text[7 * (ONEIB_HOST_KEYS_MAX + 1) + 1];
    struct scene *scene = *state;
    oneib_pkey *keys;
    size_t count, length = 0;
    for (unsigned i = 0; i <= ONEIB_HOST_KEYS_MAX; i++)
        length += (size_t)sprintf(text + length, "%s0x%04x", i ? "," : "", i + 1);
    assert_int_equal(oneib_host_keys_parse(text, length, &keys, &count, &scene->err), -1);
    assert_null(keys);
    length -= strlen(",0x0000");
    assert_int_equal(oneib_host_keys_parse(text, length, &keys, &count, &scene->err), 0);
    assert_int_equal(count, ONEIB_HOST_KEYS_MAX);
    free(keys);
}

/* A NIC whose address is another's as well has none. */
static void no_address_is_leased_to_nobody(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    struct oneib_lease *leases = calloc(1, sizeof *leases);
    assert_non_null(leases);
    leases->vm_id = 9;
    oneib_network_take_leases(network, &leases, 1);
    assert_false(oneib_network_leases_to(network, 9, 0));
}

static void a_state_that_opennebula_does_not_have_is_unknown_and_nothing_is_heard(void **state)
{
    (void)state;
    assert_string_equal(oneib_host_state_name(0), "init");
    assert_string_equal(oneib_host_state_name(8), "off");
    assert_string_equal(oneib_host_state_name(9), "unknown");
    assert_string_equal(oneib_host_state_name(-1), "unknown");
    assert_true(oneib_host_is_heard(7));
    assert_false(oneib_host_is_heard(8));
    assert_false(oneib_host_is_heard(9));
    assert_false(oneib_host_is_heard(-1));
}

static void a_port_is_found_by_its_guid_whichever_host_has_it(void **state)
{
    struct scene *scene = *state;
    struct oneib_port_index index;
    for (uint32_t id = 1; id <= 2; id++) {
        struct oneib_host *host = add_empty_host(scene, id);
        add_port(scene, host, "mlx4_0", 1, id == 1 ? 0x72 : 0x71);
        add_port(scene, host, "mlx4_0", 2, id == 1 ? 0x73 : 0x72);
    }
    oneib_port_index_make(&scene->cloud, &index);
    assert_int_equal(oneib_port_index_find(&index, 0x71)->host->id, 2);
    assert_int_equal(oneib_port_index_find(&index, 0x72)->host->id, 1);
    assert_int_equal(oneib_port_index_find(&index, 0x73)->port->port, 2);
    assert_null(oneib_port_index_find(&index, 0x74));
    oneib_port_index_clear(&index);
}

/* ---- whose reservation a network is ---------------------------------------------------------- */

static void leases_to(struct oneib_network *network, uint32_t reservation)
{
    oneib_network_set_reservations(network, &reservation, 1);
}

/* Proving twice changes nothing, and says so. */
static bool is_unproven(struct scene *scene, uint32_t id)
{
    oneib_cloud_sort(&scene->cloud);
    oneib_cloud_prove_parents(&scene->cloud);
    assert_false(oneib_cloud_prove_parents(&scene->cloud));
    return oneib_cloud_network(&scene->cloud, id)->parent_unproven;
}

static struct oneib_network *add_users(struct scene *scene, uint32_t id, oneib_pkey pkey)
{
    struct oneib_network *network = add_network(scene, id, pkey);
    network->uid = network->gid = 12;
    return network;
}

static void a_reservation_is_proven_by_its_parents_leases(void **state)
{
    struct scene *scene = *state;
    leases_to(add_network(scene, 4, 256), 6);
    add_users(scene, 6, 257)->parent_id = 4;
    assert_false(is_unproven(scene, 4));
    assert_false(is_unproven(scene, 6));
}

static void who_names_a_network_that_leases_him_nothing_is_unproven(void **state)
{
    struct scene *scene = *state;
    leases_to(add_network(scene, 4, 256), 6);
    add_network(scene, 5, 300)->reservations_share = true;
    add_users(scene, 6, 257)->parent_id = 5;
    add_users(scene, 7, 258)->parent_id = 99; /* there is none */
    assert_true(is_unproven(scene, 6));
    assert_true(is_unproven(scene, 7));
    assert_false(is_unproven(scene, 5));
}

/* Also one whose owner has given all addresses back (one.vn.free_ar). */
static void a_users_network_that_names_no_parent_is_unproven(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_users(scene, 6, 257);
    assert_true(is_unproven(scene, 6));
    scene->cloud.networks[1].gid = 0; /* an operator's */
    assert_false(is_unproven(scene, 6));
}

/* OpenNebula lets a group's administrators manage its networks, whoever owns them. */
static void a_network_of_oneadmins_that_is_given_to_a_group_is_unproven(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->gid = 12;
    assert_true(is_unproven(scene, 4));
}

/* He wrote the leases of his own networks. */
static void what_a_users_network_leases_proves_nothing(void **state)
{
    struct scene *scene = *state;
    leases_to(add_users(scene, 4, 256), 6);
    add_users(scene, 6, 257)->parent_id = 4;
    assert_true(is_unproven(scene, 6));
    scene->cloud.networks[0].unreadable = true; /* of which he would be the one to blame */
    assert_true(is_unproven(scene, 6));
    scene->cloud.networks[0].gid = 0;
    assert_false(is_unproven(scene, 6));
}

static void of_an_unreadable_parent_nobody_knows_whom_it_leases_to(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->unreadable = true;
    add_users(scene, 6, 257)->parent_id = 4;
    assert_false(is_unproven(scene, 6));
}

static void an_unreadable_reservation_is_proven_like_any_other(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_users(scene, 6, 257)->parent_id = 4;
    scene->cloud.networks[1].unreadable = true;
    assert_true(is_unproven(scene, 6));
}

static void a_reservation_is_proven_again_when_it_is_leased_to(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_users(scene, 6, 257)->parent_id = 4;
    assert_true(is_unproven(scene, 6));
    leases_to(&scene->cloud.networks[0], 6);
    assert_true(oneib_cloud_prove_parents(&scene->cloud)); /* it has changed */
    assert_false(is_unproven(scene, 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(sorting_orders_networks_hosts_and_attachments),
        SCENE_TEST(of_what_was_read_twice_the_later_stays),
        SCENE_TEST(sorting_a_large_cloud_keeps_the_last_of_each),
        SCENE_TEST(looking_up_finds_what_is_there_and_nothing_else),
        SCENE_TEST(an_empty_cloud_can_be_sorted_and_cleared_twice),
        SCENE_TEST(ids_and_leases_are_found_whatever_order_they_came_in),
        SCENE_TEST(a_device_that_two_vms_are_given_is_nobodys),
        SCENE_TEST(a_host_may_hold_so_many_keys_and_no_more),
        SCENE_TEST(no_address_is_leased_to_nobody),
        SCENE_TEST(a_state_that_opennebula_does_not_have_is_unknown_and_nothing_is_heard),
        SCENE_TEST(a_port_is_found_by_its_guid_whichever_host_has_it),
        SCENE_TEST(a_reservation_is_proven_by_its_parents_leases),
        SCENE_TEST(who_names_a_network_that_leases_him_nothing_is_unproven),
        SCENE_TEST(a_users_network_that_names_no_parent_is_unproven),
        SCENE_TEST(a_network_of_oneadmins_that_is_given_to_a_group_is_unproven),
        SCENE_TEST(what_a_users_network_leases_proves_nothing),
        SCENE_TEST(an_unreadable_reservation_is_proven_like_any_other),
        SCENE_TEST(of_an_unreadable_parent_nobody_knows_whom_it_leases_to),
        SCENE_TEST(a_reservation_is_proven_again_when_it_is_leased_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
