// SPDX-License-Identifier: Apache-2.0
/*
 * Networks that another driver serves now: whoever was attached while they were InfiniBand stays,
 * nobody else comes in, and no InfiniBand network loses anything by them.
 */
#include "cloud_builder.h"

static struct oneib_network *network_of(struct scene *scene, uint32_t id)
{
    for (size_t i = 0; i < scene->cloud.network_count; i++)
        if (scene->cloud.networks[i].id == id)
            return &scene->cloud.networks[i];
    fail_msg("no network %u", id);
    return NULL;
}

/* What was computed becomes what is in force. */
static void put_into_force(struct scene *scene)
{
    compute(scene);
    oneib_partition_table_clear(&scene->in_force);
    scene->in_force = scene->desired.table;
    scene->desired.table = (struct oneib_partition_table){0};
    scene->has_in_force = true;
}

static void switch_alone(struct scene *scene, uint32_t id, const char *driver)
{
    network_of(scene, id)->other_driver = strdup(driver);
    assert_non_null(network_of(scene, id)->other_driver);
}

/* What "Update" of Sunstone does to an InfiniBand network whose partition is in force. */
static void switch_to(struct scene *scene, uint32_t id, const char *driver)
{
    put_into_force(scene);
    switch_alone(scene, id, driver);
}

static struct oneib_attachment *nic_of(struct scene *scene, uint32_t vm_id)
{
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        if (scene->cloud.attachments[i].vm_id == vm_id)
            return &scene->cloud.attachments[i];
    fail_msg("no VM %u", vm_id);
    return NULL;
}

static void members_stay_when_their_network_gets_another_driver(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 4, 2);
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_true(oneib_partition_table_equal(&scene->in_force, &scene->desired.table));
    assert_no_finding(scene, "network-missing");
}

/* By its own word alone a NIC is nobody's: a user may have forged it. */
static void a_nic_of_a_network_that_never_was_infiniband_gets_nothing(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 9, 300);
    add_host(scene, 1);
    switch_to(scene, 9, "802.1Q");
    add_nic(scene, 10, 0, 9, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_null(partition_of(&scene->desired.table, 300));
    assert_finding(scene, "network-missing", ONEIB_WARNING, "VM 10 NIC 0");
    assert_no_finding(scene, "network-switched");
}

static void it_costs_an_infiniband_network_with_that_key_nothing(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 5, 300);
    add_network(scene, 4, 300);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    switch_alone(scene, 4, "802.1Q");
    add_nic(scene, 11, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_string_equal("one5", partition_of(&scene->desired.table, 300)->name);
    assert_listed(scene, 300, port_of(1), "full");
}

static void a_nic_that_comes_where_the_key_is_not_in_force_gets_nothing(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    add_nic(scene, 11, 0, 4, 2);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_SWITCHED);
    assert_listed(scene, 256, port_of(2), "none");
    assert_finding(scene, "network-switched", ONEIB_WARNING, "VM 11 NIC 0");
    assert_non_null(strstr(finding(scene, "network-switched")->fix,
                           "onevnet update 4 --append; then start the VM again"));
}

/* Its port cannot tell them apart: its network leases to both. */
static void a_nic_that_comes_to_a_members_port_costs_the_member_nothing(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    add_nic(scene, 11, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
}

static void a_virtual_port_of_its_own_is_new_wherever_it_comes(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host_with(scene, 1, "mlx5_0");
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    add_nic(scene, 11, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_SWITCHED);
}

static void without_knowing_what_is_in_force_nobody_stays(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    scene->has_in_force = false;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_null(partition_of(&scene->desired.table, 256));
}

/* VLAN_ID of another driver's network is that driver's, and no P_Key. */
static void a_key_that_was_changed_since_is_not_followed(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "802.1Q");
    network_of(scene, 4)->pkey = 300;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_null(partition_of(&scene->desired.table, 300));
    assert_listed(scene, 256, port_of(1), "full");
}

/* Its members are another key's: nobody is one of the key that the ledger has. */
static void what_is_in_force_under_another_key_keeps_nothing(void **state)
{
    struct scene *scene = *state;
    oneib_network_add_static(add_network(scene, 4, 256), 0x9001, ONEIB_FULL);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    scene->in_force.items[1].pkey = 300;
    add_partition(scene, &scene->in_force, "one99", 301); /* of a network that is gone */
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_listed(scene, 256, 0x9001, "none");
    assert_int_equal(1, scene->desired.table.count);
}

static void the_finding_has_the_command_that_puts_it_right(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->name = strdup("red");
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    scene->policy.vn_mad = "ib-test";
    compute(scene);
    assert_finding(scene, "network-switched", ONEIB_WARNING,
                   "network 4 \"red\" is no InfiniBand network any more: its VN_MAD is \"bridge\"");
    assert_non_null(strstr(finding(scene, "network-switched")->fix,
                           "printf 'VN_MAD=\"ib-test\"\\nBRIDGE_TYPE=\"none\"\\n' | onevnet update "
                           "4 --append"));
    assert_int_equal(1, findings_of(scene, "network-switched"));
}

static void a_network_that_names_no_driver_is_said_to_name_none(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "");
    compute(scene);
    assert_finding(scene, "network-switched", ONEIB_WARNING, "its VN_MAD is \"\"");
}

static void a_hostile_driver_name_is_shown_escaped(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "\033[2J");
    compute(scene);
    assert_finding(scene, "network-switched", ONEIB_WARNING, "\\x1b[2J");
}

static void a_member_moves_on_to_another_host(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    nic_of(scene, 10)->host_id = 2;
    migrate(nic_of(scene, 10), 1);
    put_into_force(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_string_equal("full", listed_in(&scene->in_force, 256, port_of(1)));
    assert_string_equal("full", listed_in(&scene->in_force, 256, port_of(2)));
    nic_of(scene, 10)->phase = ONEIB_SETTLED;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_listed(scene, 256, port_of(1), "none");
    assert_listed(scene, 256, port_of(2), "full");
}

static void a_nic_that_comes_from_nowhere_does_not_move_in(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    for (uint32_t host = 1; host <= 3; host++)
        add_host(scene, host);
    add_nic(scene, 10, 0, 4, 3);
    switch_to(scene, 4, "bridge");
    migrate(add_nic(scene, 11, 0, 4, 2), 1);
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_SWITCHED);
    assert_listed(scene, 256, port_of(1), "none");
    assert_listed(scene, 256, port_of(2), "none");

    nic_of(scene, 11)->host_id = 3; /* where a member is: it had nothing on its way all the same */
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_listed(scene, 256, port_of(1), "none");
}

static void who_was_powered_off_waits_until_the_network_is_set_back(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    nic_of(scene, 10)->phase = ONEIB_ABSENT;
    put_into_force(scene);
    assert_null(partition_of(&scene->in_force, 256));
    assert_no_finding(scene, "network-switched");
    nic_of(scene, 10)->phase = ONEIB_ARRIVING;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_finding(scene, "network-missing", ONEIB_WARNING, "VM 10 NIC 0");
}

static void it_keeps_its_key_from_others(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_network(scene, 5, 0);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    nic_of(scene, 10)->phase = ONEIB_ABSENT;
    scene->has_in_force = false;
    compute(scene);
    assert_int_equal(257, requested(scene, 5));
}

static void it_asks_for_no_key_itself(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 0);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "802.1Q");
    compute(scene);
    assert_int_equal(-1, requested(scene, 4));
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_finding(scene, "network-missing", ONEIB_WARNING, "VM 10 NIC 0");
}

static void a_nic_that_the_network_leases_nothing_keeps_nothing_alive(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    nic_of(scene, 10)->unleased = true;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_LEASE);
    assert_null(partition_of(&scene->desired.table, 256));
    assert_no_finding(scene, "network-switched");
    assert_finding(scene, "nic-unleased", ONEIB_VIOLATION, "VM 10 NIC 0");
}

/* An Ethernet network may have any VLAN_ID: a NIC forged for it must not cost anybody a key. */
static void an_ethernet_network_of_lower_id_has_no_key(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    switch_alone(scene, 4, "802.1Q");
    add_network(scene, 9, 256);
    add_nic(scene, 11, 0, 9, 2);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_string_equal("one9", partition_of(&scene->desired.table, 256)->name);
    assert_listed(scene, 256, port_of(1), "none");
}

static void static_members_stay_with_the_vms(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    oneib_network_add_static(network, 0x9001, ONEIB_FULL);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_listed(scene, 256, 0x9001, "full");
    nic_of(scene, 10)->phase = ONEIB_ABSENT;
    compute(scene);
    assert_listed(scene, 256, 0x9001, "none");
}

static void reservations_that_share_stay_in_the_switched_networks_partition(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256);
    add_reservation(scene, 6, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 5, 1);
    add_nic(scene, 11, 0, 6, 2);
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_string_equal("one4", partition_of(&scene->desired.table, 256)->name);
    assert_no_finding(scene, "pkey-conflict");
    assert_finding(scene, "network-switched", ONEIB_WARNING, "network 4");
}

/* It is InfiniBand by its own document, and its VMs are nobody new to its parent. */
static void a_reservation_that_shares_brings_its_parents_partition_back(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256);
    add_host(scene, 1);
    switch_to(scene, 4, "bridge");
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_string_equal("one4", partition_of(&scene->desired.table, 256)->name);
}

static void it_brings_nothing_back_that_has_no_key(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 0)->reservations_share = true;
    switch_alone(scene, 4, "bridge");
    add_reservation(scene, 5, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_null(oneib_desired_cluster(&scene->desired, 4));
}

static void a_switched_reservation_keeps_its_members_in_its_parents_partition(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 5, 1);
    switch_to(scene, 5, "bridge");
    add_nic(scene, 11, 0, 5, 2);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_SWITCHED);
    assert_listed(scene, 256, port_of(2), "none");
}

static void a_switched_reservation_costs_its_parent_no_port(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256);
    add_host(scene, 1);
    switch_alone(scene, 5, "bridge");
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
}

static void a_reservation_that_has_its_parents_key_does_not_inherit_the_partition(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_reservation(scene, 5, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 2);
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_listed(scene, 256, port_of(2), "none");
    assert_int_equal(257, requested(scene, 5));
}

static void a_switched_network_without_members_is_no_cluster(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_network(scene, 5, 257);
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_null(oneib_desired_cluster(&scene->desired, 4));
    assert_non_null(oneib_desired_cluster(&scene->desired, 5));
}

static void a_switched_network_with_members_is_a_cluster(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_int_equal(1, oneib_desired_cluster(&scene->desired, 4)->members);
}

static void switched_back_it_is_as_it_was(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    compute(scene);
    free(scene->cloud.networks[0].other_driver);
    scene->cloud.networks[0].other_driver = NULL;
    add_host(scene, 2);
    add_nic(scene, 11, 0, 4, 2);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_no_finding(scene, "network-switched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(members_stay_when_their_network_gets_another_driver),
        SCENE_TEST(the_finding_has_the_command_that_puts_it_right),
        SCENE_TEST(a_network_that_names_no_driver_is_said_to_name_none),
        SCENE_TEST(a_hostile_driver_name_is_shown_escaped),
        SCENE_TEST(a_member_moves_on_to_another_host),
        SCENE_TEST(a_nic_of_a_network_that_never_was_infiniband_gets_nothing),
        SCENE_TEST(it_costs_an_infiniband_network_with_that_key_nothing),
        SCENE_TEST(a_nic_that_comes_where_the_key_is_not_in_force_gets_nothing),
        SCENE_TEST(a_nic_that_comes_to_a_members_port_costs_the_member_nothing),
        SCENE_TEST(a_virtual_port_of_its_own_is_new_wherever_it_comes),
        SCENE_TEST(without_knowing_what_is_in_force_nobody_stays),
        SCENE_TEST(a_key_that_was_changed_since_is_not_followed),
        SCENE_TEST(what_is_in_force_under_another_key_keeps_nothing),
        SCENE_TEST(a_nic_that_comes_from_nowhere_does_not_move_in),
        SCENE_TEST(who_was_powered_off_waits_until_the_network_is_set_back),
        SCENE_TEST(it_keeps_its_key_from_others),
        SCENE_TEST(it_asks_for_no_key_itself),
        SCENE_TEST(a_nic_that_the_network_leases_nothing_keeps_nothing_alive),
        SCENE_TEST(an_ethernet_network_of_lower_id_has_no_key),
        SCENE_TEST(static_members_stay_with_the_vms),
        SCENE_TEST(reservations_that_share_stay_in_the_switched_networks_partition),
        SCENE_TEST(a_reservation_that_shares_brings_its_parents_partition_back),
        SCENE_TEST(it_brings_nothing_back_that_has_no_key),
        SCENE_TEST(a_switched_reservation_keeps_its_members_in_its_parents_partition),
        SCENE_TEST(a_switched_reservation_costs_its_parent_no_port),
        SCENE_TEST(a_reservation_that_has_its_parents_key_does_not_inherit_the_partition),
        SCENE_TEST(a_switched_network_without_members_is_no_cluster),
        SCENE_TEST(a_switched_network_with_members_is_a_cluster),
        SCENE_TEST(switched_back_it_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
