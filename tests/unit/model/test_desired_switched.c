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

/* What "Update" of Sunstone does to an InfiniBand network. */
static void switch_to(struct scene *scene, uint32_t id, const char *driver)
{
    network_of(scene, id)->other_driver = strdup(driver);
    assert_non_null(network_of(scene, id)->other_driver);
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
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_MEMBER);
    assert_verdict(scene, 11, 0, ONEIB_VERDICT_MEMBER);
    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, port_of(2), "full");
    assert_string_equal("one4", partition_of(&scene->desired.table, 256)->name);
    assert_no_finding(scene, "network-missing");
    assert_no_finding(scene, "pkey-claimed");
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
    assert_non_null(strstr(finding(scene, "network-switched")->remedy,
                           "printf 'VN_MAD=\"ib-test\"\\nBRIDGE_TYPE=\"none\"\\n' | onevnet update "
                           "4 --append /dev/stdin"));
    assert_int_equal(1, findings_of(scene, "network-switched"));
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
    migrate(add_nic(scene, 10, 0, 4, 2), 1);
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_MEMBER);
    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, port_of(2), "full");
}

static void a_member_that_was_powered_off_comes_back(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    struct oneib_attachment *nic = add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    nic->presence = ONEIB_ABSENT;
    compute(scene);
    assert_null(partition_of(&scene->desired.table, 256));
    assert_no_finding(scene, "network-switched");
    scene->cloud.attachments[0].presence = ONEIB_ARRIVING;
    compute(scene);
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_MEMBER);
}

static void the_key_goes_to_nobody_while_a_nic_has_it(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_network(scene, 5, 0);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_int_equal(257, requested(scene, 5));
    scene->cloud.attachments[0].presence = ONEIB_ABSENT;
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
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_NO_NETWORK);
    assert_finding(scene, "network-missing", ONEIB_WARNING, "VM 10 NIC 0");
}

/* VLAN_ID of a network of another driver is that driver's: it counts only as the key that the NIC
 * has. */
static void a_nic_with_another_key_than_its_network_gets_nothing(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    claim(add_nic(scene, 11, 0, 4, 2), 300);
    switch_to(scene, 4, "802.1Q");
    compute(scene);
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_MEMBER);
    assert_verdict(scene, 11, 0, ONEIB_VERDICT_NO_NETWORK);
    assert_listed(scene, 256, port_of(2), "none");
    assert_finding(scene, "pkey-claimed", ONEIB_VIOLATION, "VM 11 NIC 0");
}

static void a_nic_that_the_network_leases_nothing_keeps_nothing_alive(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1)->unleased = true;
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_NO_LEASE);
    assert_null(partition_of(&scene->desired.table, 256));
    assert_no_finding(scene, "network-switched");
    assert_finding(scene, "nic-unleased", ONEIB_VIOLATION, "VM 10 NIC 0");
}

/* An Ethernet network may have any VLAN_ID: a NIC forged for it must not cost anybody a key. */
static void an_infiniband_network_comes_before_a_switched_one_of_lower_id(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_network(scene, 9, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 9, 2);
    switch_to(scene, 4, "802.1Q");
    compute(scene);
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_KEY_CONFLICT);
    assert_verdict(scene, 11, 0, ONEIB_VERDICT_MEMBER);
    assert_string_equal("one9", partition_of(&scene->desired.table, 256)->name);
    assert_listed(scene, 256, port_of(1), "none");
    assert_finding(scene, "pkey-conflict", ONEIB_WARNING, "network 4");
}

static void static_members_stay_with_the_vms(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    assert_int_equal(0, oneib_network_add_static(network, 0x9001, ONEIB_FULL, &scene->err));
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    switch_to(scene, 4, "bridge");
    compute(scene);
    assert_listed(scene, 256, 0x9001, "full");
    scene->cloud.attachments[0].presence = ONEIB_ABSENT;
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
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_MEMBER);
    assert_verdict(scene, 11, 0, ONEIB_VERDICT_MEMBER);
    assert_string_equal("one4", partition_of(&scene->desired.table, 256)->name);
    assert_no_finding(scene, "pkey-conflict");
    assert_finding(scene, "network-switched", ONEIB_WARNING, "network 4");
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
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_MEMBER);
    assert_verdict(scene, 11, 0, ONEIB_VERDICT_NO_KEY);
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
    compute(scene);
    assert_verdict(scene, 10, 0, ONEIB_VERDICT_MEMBER);
    assert_no_finding(scene, "network-switched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(members_stay_when_their_network_gets_another_driver),
        SCENE_TEST(the_finding_has_the_command_that_puts_it_right),
        SCENE_TEST(a_hostile_driver_name_is_shown_escaped),
        SCENE_TEST(a_member_moves_on_to_another_host),
        SCENE_TEST(a_member_that_was_powered_off_comes_back),
        SCENE_TEST(the_key_goes_to_nobody_while_a_nic_has_it),
        SCENE_TEST(it_asks_for_no_key_itself),
        SCENE_TEST(a_nic_with_another_key_than_its_network_gets_nothing),
        SCENE_TEST(a_nic_that_the_network_leases_nothing_keeps_nothing_alive),
        SCENE_TEST(an_infiniband_network_comes_before_a_switched_one_of_lower_id),
        SCENE_TEST(static_members_stay_with_the_vms),
        SCENE_TEST(reservations_that_share_stay_in_the_switched_networks_partition),
        SCENE_TEST(a_reservation_that_has_its_parents_key_does_not_inherit_the_partition),
        SCENE_TEST(a_switched_network_without_members_is_no_cluster),
        SCENE_TEST(a_switched_network_with_members_is_a_cluster),
        SCENE_TEST(switched_back_it_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
