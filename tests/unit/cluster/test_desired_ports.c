// SPDX-License-Identifier: Apache-2.0
#include "cloud_builder.h"
#include "ib/ipoib.h"
#include <inttypes.h>

static void a_vm_without_nics_changes_nothing(void **state)
{
    struct scene *scene = *state;
    scene->cloud.vm_count = 1;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    compute(scene);
    assert_int_equal(1, scene->desired.table.count);
    assert_int_equal(0, scene->desired.findings.count);
    assert_int_equal(0, oneib_desired_cluster(&scene->desired, 4)->members);
}

static void sixty_four_nics_of_one_vm_fill_a_table_with_room_for_63(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    set_capacity(scene, port_of(1), 64);
    for (unsigned i = 0; i < 64; i++) {
        add_network(scene, 100 + i, 1000 + i);
        add_nic(scene, 10, i, 100 + i, 1);
    }
    add_subnet_port(scene, port_of(1), 64);
    compute(scene);
    /* 63 usable entries, one of them the default partition's. */
    for (unsigned i = 0; i < 64; i++)
        assert_member_status(scene, 10, i,
                             i < 62 ? ONEIB_MEMBER_STATUS_MEMBER : ONEIB_MEMBER_STATUS_PORT_FULL);
    assert_listed(scene, 1061, port_of(1), "full");
    assert_listed(scene, 1062, port_of(1), "none");
    assert_int_equal(1, findings_of(scene, "port-full"));
    assert_finding(scene, "port-full", ONEIB_WARNING, "of host 1 holds 63 P_Keys");
    assert_finding(scene, "port-full", ONEIB_WARNING, "no room for 0x0426 (network 162), 0x0427");
    const struct oneib_finding *full = finding(scene, "port-full");
    assert_null(strstr(full->text, "none of a virtual cluster"));
    assert_non_null(strstr(full->text, "(network 131) and 30 more; no room"));
    assert_non_null(strstr(full->text, "(network 163)"));
    assert_null(strstr(full->text, "(network 163) and"));
    assert_true(oneib_finding_is_about(full, ONEIB_SUBJECT_NETWORK, 162));
    assert_false(oneib_finding_is_about(full, ONEIB_SUBJECT_NETWORK, 101));
    assert_true(oneib_finding_is_about(full, ONEIB_SUBJECT_HOST, 1));
}

static void a_full_port_is_told_of_by_the_keys_that_it_has_and_has_not(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    for (unsigned i = 0; i < 34; i++) {
        add_network(scene, 100 + i, 1000 + i);
        add_nic(scene, 10, i, 100 + i, 1);
    }
    set_capacity(scene, port_of(1), 35);
    compute(scene);
    assert_no_finding(scene, "port-full");
    set_capacity(scene, port_of(1), 33);
    compute(scene);
    assert_finding(scene, "port-full", ONEIB_WARNING, "(network 131); no room for 0x0408");
    set_capacity(scene, port_of(1), 1);
    compute(scene);
    assert_finding(scene, "port-full", ONEIB_WARNING,
                   "it has none of a virtual cluster; no room for 0x03e8 (network 100)");
}

static void a_host_without_hca_data_is_said_once_for_each_network(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_empty_host(scene, 1);
    for (uint32_t vm = 10; vm < 20; vm++)
        add_nic(scene, vm, 0, 4, 1);
    add_nic(scene, 20, 0, 4, 77);
    add_network(scene, 5, 257);
    add_nic(scene, 14, 1, 5, 1); /* among those of the other network */
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_HCA_MISSING);
    assert_member_status(scene, 20, 0, ONEIB_MEMBER_STATUS_HCA_MISSING);
    assert_int_equal(3, findings_of(scene, "hca-missing"));
    assert_finding(scene, "hca-missing", ONEIB_WARNING,
                   "host 1 reports no InfiniBand port for network 4 (its only adapter)");
    assert_int_equal(1, scene->desired.table.count);
}

static void a_vm_of_a_vanished_network_gets_nothing(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_int_equal(1, scene->desired.table.count);
}

static void an_absent_vm_is_no_member(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1)->phase = ONEIB_ABSENT;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_ABSENT);
    assert_int_equal(1, scene->desired.table.count);
    assert_int_equal(1, oneib_desired_cluster(&scene->desired, 4)->attachment_count);
    assert_int_equal(0, oneib_desired_cluster(&scene->desired, 4)->members);
}

static void arriving_and_leaving_vms_are_members(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1)->phase = ONEIB_ARRIVING;
    add_nic(scene, 11, 0, 4, 2)->phase = ONEIB_LEAVING;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
}

static void a_migrating_vm_is_a_member_on_both_hosts(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    migrate(add_nic(scene, 10, 0, 4, 2), 1);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, port_of(2), "full");
    const struct oneib_cluster *cluster = oneib_desired_cluster(&scene->desired, 4);
    assert_int_equal(1, cluster->members);
    assert_int_equal(1, cluster->vms);
    assert_int_equal(2, cluster->hosts);
}

static void a_migrations_member_status_is_that_of_the_destination(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    migrate(add_nic(scene, 10, 0, 4, 1), 66);
    migrate(add_nic(scene, 11, 0, 4, 67), 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_HCA_MISSING);
    assert_int_equal(2, findings_of(scene, "hca-missing"));
    assert_finding(scene, "hca-missing", ONEIB_WARNING, "host 67");
    assert_int_equal(ONEIB_NOTICE, scene->desired.findings.items[1].severity);
    assert_non_null(strstr(scene->desired.findings.items[1].text, "host 66"));
}

static void who_leaves_a_host_without_a_port_and_who_stays_there_are_one_finding(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_network(scene, 5, 257);
    add_empty_host(scene, 1);
    add_host(scene, 2);
    migrate(add_nic(scene, 10, 0, 4, 2), 1);
    add_nic(scene, 11, 0, 5, 1); /* between them */
    add_nic(scene, 12, 0, 4, 1);
    compute(scene);
    assert_int_equal(2, findings_of(scene, "hca-missing"));
}

static void the_network_chooses_device_and_port(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    snprintf(network->device, sizeof network->device, "mlx4_1");
    network->device_port = 2;
    struct oneib_host *host = add_host(scene, 1);
    add_port(scene, host, "mlx4_1", 1, 0x71);
    add_port(scene, host, "mlx4_1", 2, 0x72);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_listed(scene, 256, 0x72, "full");

    scene->cloud.networks[0].device_port = 0;
    compute(scene);
    assert_listed(scene, 256, 0x71, "full");

    scene->cloud.networks[0].device_port = 3;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_HCA_MISSING);
    assert_finding(scene, "hca-missing", ONEIB_WARNING, "port 3 of mlx4_1");
}

static void an_adapter_whose_only_port_is_not_the_first_serves_with_it(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    struct oneib_host *host = add_empty_host(scene, 1);
    add_port(scene, host, "mlx4_0", 2, 0x72);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_listed(scene, 256, 0x72, "full");

    /* Whatever ports another one has. */
    add_port(scene, &scene->cloud.hosts[0], "mlx4_1", 1, 0x81);
    snprintf(scene->cloud.networks[0].device, sizeof scene->cloud.networks[0].device, "mlx4_0");
    compute(scene);
    assert_listed(scene, 256, 0x72, "full");
}

static void of_several_ports_without_a_first_none_is_guessed(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    struct oneib_host *host = add_empty_host(scene, 1);
    add_port(scene, host, "mlx4_0", 2, 0x72);
    add_port(scene, host, "mlx4_0", 3, 0x73);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_HCA_MISSING);
    assert_int_equal(1, scene->desired.table.count);
}

static void a_port_that_a_probe_names_twice_is_one_when_it_says_the_same(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    struct oneib_host *host = add_empty_host(scene, 1);
    add_port(scene, host, "mlx4_0", 2, 0x72);
    add_port(scene, host, "mlx4_0", 2, 0x72);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_listed(scene, 256, 0x72, "full");

    scene->cloud.hosts[0].ports[1].driver = ONEIB_HCA_MLX5;
    compute(scene);
    assert_finding(scene, "hca-ambiguous", ONEIB_WARNING, "host 1");
    assert_listed(scene, 256, 0x72, "none");

    scene->cloud.hosts[0].ports[1].driver = ONEIB_HCA_MLX4;
    scene->cloud.hosts[0].ports[1].port_guid = 0x73;
    compute(scene);
    assert_finding(scene, "hca-ambiguous", ONEIB_WARNING, "host 1");
    assert_int_equal(1, scene->desired.table.count);
}

static void of_several_adapters_none_is_guessed(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_port(scene, add_host(scene, 1), "mlx4_1", 1, 0x71);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_HCA_AMBIGUOUS);
    assert_finding(scene, "hca-ambiguous", ONEIB_WARNING, "host 1");
    assert_int_equal(1, scene->desired.table.count);
}

static void an_invalid_phydev_gives_no_member_a_port(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->device_invalid = true;
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_PHYDEV_INVALID);
    assert_finding(scene, "phydev-invalid", ONEIB_WARNING, "network 4");

    /* Nor one of a reservation's, for which its parent speaks. */
    add_reservation(scene, 5, 4, 257);
    add_nic(scene, 11, 0, 5, 1);
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PHYDEV_INVALID);
}

static void a_driver_that_is_not_known_is_refused(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host_with(scene, 1, "qib0");
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_HCA_UNSUPPORTED);
    assert_finding(scene, "hca-unsupported", ONEIB_WARNING, "qib0");
    assert_int_equal(1, scene->desired.table.count);
}

/* What is held back is put back by these. */
static void a_port_that_must_serve_nobody_has_no_room_though_somebody_is_listed_there(void **state)
{
    struct scene *scene = *state;
    const oneib_guid full[] = {port_of(1), port_of(3)};
    scene->policy.default_full_members = full;
    scene->policy.default_full_count = 2;
    struct oneib_network *network = add_network(scene, 4, 256);
    oneib_network_add_static(network, port_of(1), ONEIB_FULL);
    for (uint32_t id = 1; id <= 3; id++)
        add_host(scene, id);
    add_nic(scene, 10, 0, 4, 2);
    compute(scene);
    const struct oneib_port_room *rooms = scene->desired.rooms;
    assert_int_equal(scene->desired.room_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(rooms[i].port_guid == port_of((uint32_t)i + 1));
        assert_true(rooms[i].room == 0 || i == 1);
    }
    assert_true(rooms[1].room > 0);
}

static void a_port_with_one_of_our_own_guids_is_refused(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1)->ports[0].port_guid = oneib_guid_encode(SITE, 99, 0);
    add_host(scene, 2)->ports[0].port_guid = 0;
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 4, 2);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_int_equal(2, findings_of(scene, "port-guid-site"));
    assert_int_equal(1, scene->desired.table.count);
}

static void a_port_that_is_full_member_of_the_default_partition_serves_nobody(void **state)
{
    struct scene *scene = *state;
    const oneib_guid full[] = {port_of(1)};
    scene->policy.default_full_members = full;
    scene->policy.default_full_count = 1;
    add_network(scene, 4, 256);
    for (uint32_t host = 1; host <= 3; host++) {
        add_host(scene, host);
        add_nic(scene, 10 + host, 0, 4, host);
    }
    add_subnet_port(scene, port_of(2), 64);
    scene->subnet.sm_port_guid = port_of(2);
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_member_status(scene, 13, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_int_equal(2, findings_of(scene, "port-full-member"));
    assert_finding(scene, "port-full-member", ONEIB_VIOLATION, "host 1");
}

static void a_port_that_must_not_serve_vms_and_has_none_is_only_noticed(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 2);
    add_subnet_port(scene, port_of(1), 64);
    scene->subnet.sm_port_guid = port_of(1);
    compute(scene);
    assert_finding(scene, "port-full-member", ONEIB_NOTICE, "host 1");

    add_nic(scene, 11, 0, 4, 1)->phase = ONEIB_ABSENT; /* it was there */
    compute(scene);
    assert_finding(scene, "port-full-member", ONEIB_NOTICE, "host 1");
    migrate(&scene->cloud.attachments[0], 1); /* and this one leaves it just now */
    compute(scene);
    assert_finding(scene, "port-full-member", ONEIB_VIOLATION, "host 1");
}

static void limited_and_full_nics_of_one_key_on_one_mlx4_port_are_limited(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256)->membership = ONEIB_LIMITED; /* an operator's word */
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 1);
    add_nic(scene, 12, 0, 4, 2);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "limited");
    assert_listed(scene, 256, port_of(2), "full");
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_finding(scene, "membership-narrowed", ONEIB_WARNING, "of host 1 has one entry");
    assert_finding(scene, "membership-narrowed", ONEIB_WARNING, "limited are also VM 10 NIC 0");
    assert_null(strstr(finding(scene, "membership-narrowed")->text, "VM 11"));
}

static void many_that_are_narrowed_are_told_of_by_number(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256)->membership = ONEIB_LIMITED;
    add_host(scene, 1);
    for (uint32_t id = 10; id < 40; id++)
        add_nic(scene, id, 0, 4, 1);
    add_nic(scene, 40, 0, 5, 1);
    compute(scene);
    assert_finding(scene, "membership-narrowed", ONEIB_WARNING, " and 22 more");
    const struct oneib_finding *narrowed = finding(scene, "membership-narrowed");
    assert_null(strstr(narrowed->text, "VM 39"));
    assert_true(oneib_finding_is_about(narrowed, ONEIB_SUBJECT_VM, 10));

    for (size_t i = 8; i < 30; i++)
        scene->cloud.attachments[i].phase = ONEIB_ABSENT;
    compute(scene);
    assert_null(strstr(finding(scene, "membership-narrowed")->text, " more"));
}

static void a_port_of_no_host_is_full_as_any(void **state)
{
    struct scene *scene = *state;
    for (unsigned i = 0; i < 4; i++)
        oneib_network_add_static(add_network(scene, 100 + i, 1000 + i), 0x55, ONEIB_FULL);
    add_subnet_port(scene, 0x55, 3);
    compute(scene);
    assert_finding(scene, "port-full", ONEIB_WARNING, "port 0x0000000000000055 holds ");
}

static void who_makes_his_own_nic_limited_narrows_nobody_else(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 4, 1)->narrowed = true;
    add_nic(scene, 12, 0, 4, 2)->narrowed = true;
    compute(scene);
    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, port_of(2), "limited");
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_GIVES_WAY);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_no_finding(scene, "membership-narrowed");
    assert_finding(scene, "membership-refused", ONEIB_WARNING, "VM 11 NIC 0");
    assert_null(strstr(finding(scene, "membership-refused")->text, "VM 12"));
}

/* Else a user's VM that cannot start would take the others' limited membership away. */
static void nobody_gives_way_to_one_who_is_no_member(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1)->phase = ONEIB_FAILED;
    add_nic(scene, 11, 0, 4, 1)->narrowed = true;
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_listed(scene, 256, port_of(1), "limited");
    assert_no_finding(scene, "membership-narrowed"); /* nor is he one who loses anything */
}

static void of_many_who_give_way_eight_are_named_and_the_others_counted(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    for (uint32_t vm = 11; vm <= 20; vm++)
        add_nic(scene, vm, 0, 4, 1)->narrowed = true;
    compute(scene);
    assert_finding(scene, "membership-refused", ONEIB_WARNING, "VM 18 NIC 0 and 2 more");
}

static void who_makes_his_reservation_limited_narrows_no_other_one(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256)->uid = 5;
    struct oneib_network *theirs = add_reservation(scene, 6, 4, 256);
    theirs->uid = 6;
    theirs->gid = 1;
    theirs->membership = ONEIB_LIMITED;
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 5, 1);
    add_nic(scene, 11, 0, 6, 1);
    add_nic(scene, 12, 0, 6, 2);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, port_of(2), "limited");
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_GIVES_WAY);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_MEMBER);
}

static void a_limited_nic_narrows_its_key_on_every_port_of_its_host(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    snprintf(scene->cloud.networks[0].device, 32, "mlx4_1");
    add_reservation(scene, 5, 4, 256)->device_invalid = true; /* so it has no port */
    scene->cloud.networks[1].membership = ONEIB_LIMITED;
    add_port(scene, add_host(scene, 1), "mlx4_1", 1, 0x71);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 1);
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PHYDEV_INVALID);
    assert_listed(scene, 256, 0x71, "limited");
}

static void who_makes_his_own_nic_limited_narrows_nobody_on_another_port_either(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    snprintf(scene->cloud.networks[0].device, 32, "mlx4_1");
    add_reservation(scene, 5, 4, 256)->device_invalid = true; /* so it has no port */
    add_port(scene, add_host(scene, 1), "mlx4_1", 1, 0x71);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 1)->narrowed = true;
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PHYDEV_INVALID);
    assert_listed(scene, 256, 0x71, "full");
}

static void a_limited_networks_members_are_limited(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->membership = ONEIB_LIMITED;
    add_network(scene, 5, 257)->membership = ONEIB_BOTH;
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 10, 1, 5, 1);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "limited");
    assert_listed(scene, 257, port_of(1), "limited");
    assert_no_finding(scene, "membership-narrowed");
}

static void static_members_join_as_stated(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    network->membership = ONEIB_LIMITED;
    oneib_network_add_static(network, 0x99, ONEIB_FULL);
    oneib_network_add_static(network, 0x98, ONEIB_LIMITED);
    oneib_network_add_static(network, 0x97, ONEIB_FULL);
    oneib_network_add_static(network, 0x97, ONEIB_LIMITED);
    oneib_network_add_static(add_network(scene, 5, 257), 0x97, ONEIB_LIMITED);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_no_finding(scene, "membership-narrowed");
    assert_listed(scene, 256, 0x99, "full");
    assert_listed(scene, 256, 0x98, "limited");
    assert_listed(scene, 256, 0x97, "limited");
    assert_listed(scene, 256, port_of(1), "limited");
    assert_int_equal(4, partition_of(&scene->desired.table, 256)->member_count);
}

static void static_members_alone_make_a_partition(void **state)
{
    struct scene *scene = *state;
    oneib_network_add_static(add_network(scene, 4, 256), 0x99, ONEIB_FULL);
    compute(scene);
    assert_listed(scene, 256, 0x99, "full");
}

static void a_static_member_is_no_vfs_guid(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    oneib_guid stranger = oneib_guid_encode(SITE, 12, 3);
    oneib_network_add_static(network, stranger, ONEIB_FULL);
    oneib_network_add_static(network, 0, ONEIB_FULL);
    oneib_network_add_static(network, UINT64_MAX, ONEIB_FULL);
    compute(scene);
    assert_int_equal(1, scene->desired.table.count);
    assert_int_equal(3, findings_of(scene, "static-guid-site"));
    assert_finding(scene, "static-guid-site", ONEIB_WARNING, "network 4");
}

static void a_static_member_that_hosts_limited_nics_is_limited(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    oneib_network_add_static(network, port_of(1), ONEIB_FULL);
    oneib_network_add_static(network, port_of(2), ONEIB_FULL);
    add_host(scene, 1);
    add_host(scene, 2);
    network->membership = ONEIB_LIMITED;
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "limited");
    assert_listed(scene, 256, port_of(2), "full");
    assert_finding(scene, "membership-narrowed", ONEIB_WARNING, "the static member");
}

static void who_is_narrowed_is_named_once_and_each_apart(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    network->reservations_share = true;
    oneib_network_add_static(network, port_of(1), ONEIB_FULL);
    oneib_network_add_static(network, port_of(1), ONEIB_FULL);
    add_reservation(scene, 5, 4, 256)->membership = ONEIB_LIMITED;
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 1);
    compute(scene);
    const char *names = strstr(finding(scene, "membership-narrowed")->text, "VM 10");
    assert_string_equal(names, "VM 10 NIC 0, the static member");
}

static void a_static_member_stays_full_beside_nics_that_users_have_made_limited(void **state)
{
    struct scene *scene = *state;
    oneib_network_add_static(add_network(scene, 4, 256), port_of(1), ONEIB_FULL);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1)->narrowed = true;
    compute(scene);
    assert_listed(scene, 256, port_of(1), "full");
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_GIVES_WAY);
}

static void vms_on_a_refused_port_still_narrow_its_static_member(void **state)
{
    struct scene *scene = *state;
    const oneib_guid full[] = {port_of(1)};
    scene->policy.default_full_members = full;
    scene->policy.default_full_count = 1;
    struct oneib_network *network = add_network(scene, 4, 256);
    network->membership = ONEIB_LIMITED;
    oneib_network_add_static(network, port_of(1), ONEIB_FULL);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_listed(scene, 256, port_of(1), "limited");
}

static void a_sharing_reservation_adds_no_static_members(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *parent = add_network(scene, 4, 256);
    parent->reservations_share = true;
    oneib_network_add_static(parent, 0x98, ONEIB_LIMITED);
    struct oneib_network *sharer = add_reservation(scene, 5, 4, 256);
    oneib_network_add_static(sharer, 0x98, ONEIB_FULL);
    oneib_network_add_static(sharer, 0x99, ONEIB_FULL);
    compute(scene);
    assert_listed(scene, 256, 0x98, "limited");
    assert_listed(scene, 256, 0x99, "none");
    assert_finding(scene, "attribute-ignored", ONEIB_NOTICE, "network 5");
}

static void a_tenants_network_names_no_static_members(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    network->uid = 5;
    network->gid = 1;
    network->rate_gbps = 40;
    oneib_network_add_static(network, 0x98, ONEIB_FULL);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, 0x98, "none");
    assert_int_equal(partition_of(&scene->desired.table, 256)->rate, 0);
    assert_finding(scene, "attribute-ignored", ONEIB_NOTICE, "network 4 says IB_STATIC_GUIDS");

    scene->cloud.networks[0].gid = 0; /* of the group oneadmin */
    compute(scene);
    assert_listed(scene, 256, 0x98, "full");
    assert_no_finding(scene, "attribute-ignored");
}

static void each_thing_that_a_tenants_network_says_in_vain_is_named(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    network->uid = 5;
    network->gid = 1;
    network->rate_gbps = 40;
    compute(scene);
    assert_finding(scene, "attribute-ignored", ONEIB_NOTICE,
                   "network 4 says IB_RATE, which does not count: the network is not oneadmin's");

    scene->cloud.networks[0].rate_gbps = 0;
    scene->cloud.networks[0].reservations_share = true;
    compute(scene);
    assert_finding(scene, "attribute-ignored", ONEIB_NOTICE, "IB_RESERVATION");
}

static void what_a_reservation_says_in_vain_is_named_and_a_copy_is_not(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->rate_gbps = 40;
    struct oneib_network *reservation = add_reservation(scene, 5, 4, 257);
    reservation->uid = 5;
    reservation->gid = 1;
    reservation->rate_gbps = 100;
    compute(scene);
    assert_finding(scene, "attribute-ignored", ONEIB_NOTICE, "network 5 says IB_RATE");

    scene->cloud.networks[1].rate_gbps = 40;
    scene->cloud.networks[1].reservations_share = true;
    compute(scene);
    assert_finding(scene, "attribute-ignored", ONEIB_NOTICE, "network 5 says IB_RESERVATION");

    scene->cloud.networks[0].reservations_share = true;
    compute(scene);
    assert_no_finding(scene, "attribute-ignored");

    scene->cloud.networks[1].rate_gbps = 100;
    scene->cloud.networks[1].other_driver = strdup("bridge"); /* whose it is then */
    compute(scene);
    assert_no_finding(scene, "attribute-ignored");
}

/* Also those of the operator's own: who may write into a reservation is its owner. */
static void a_reservation_has_what_its_parent_says(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *parent = add_network(scene, 4, 256);
    parent->rate_gbps = 40;
    oneib_network_add_static(parent, 0x98, ONEIB_LIMITED);
    struct oneib_network *reservation = add_reservation(scene, 5, 4, 257);
    reservation->uid = 5;
    reservation->gid = 1;
    oneib_network_add_static(reservation, 0x99, ONEIB_FULL);
    compute(scene);
    assert_listed(scene, 257, 0x98, "limited");
    assert_listed(scene, 257, 0x99, "none");
    assert_int_equal(partition_of(&scene->desired.table, 257)->rate, oneib_rate_code(40));
    assert_finding(scene, "attribute-ignored", ONEIB_NOTICE, "network 5");

    scene->cloud.networks[1].uid = 0;
    compute(scene);
    assert_listed(scene, 257, 0x99, "none");
}

/* What oned copied from the parent is no finding. */
static void a_reservation_that_says_the_same_is_no_finding(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *parent = add_network(scene, 4, 256);
    parent->rate_gbps = 40;
    oneib_network_add_static(parent, 0x98, ONEIB_LIMITED);
    struct oneib_network *reservation = add_reservation(scene, 5, 4, 257);
    reservation->uid = 5;
    reservation->gid = 1;
    reservation->rate_gbps = 40;
    oneib_network_add_static(reservation, 0x98, ONEIB_LIMITED);
    compute(scene);
    assert_no_finding(scene, "attribute-ignored");
}

static void a_tenant_shares_no_partition_and_narrows_his_own_alone(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    network->uid = 5;
    network->gid = 1;
    network->reservations_share = true;
    network->membership = ONEIB_LIMITED;
    add_reservation(scene, 5, 4, 257);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 2);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "limited");
    assert_listed(scene, 256, port_of(2), "none");
    assert_listed(scene, 257, port_of(2), "full");
}

static void a_reservation_is_no_wider_than_its_parent_says(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->membership = ONEIB_LIMITED;
    add_reservation(scene, 5, 4, 257)->uid = 5;
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_listed(scene, 257, port_of(1), "limited");
}

static void keys_get_room_in_the_order_of_their_earliest_vm(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    set_capacity(scene, port_of(1), 4);
    for (uint32_t id = 1; id <= 6; id++)
        add_network(scene, id, 300 + id);
    add_nic(scene, 10, 0, 1, 1)->since = 500;
    add_nic(scene, 11, 0, 2, 1)->since = 400;
    add_nic(scene, 12, 0, 3, 1)->since = 100;
    scene->cloud.attachments[2].phase = ONEIB_ARRIVING;
    add_nic(scene, 13, 0, 4, 1)->since = 600;
    add_nic(scene, 14, 0, 5, 1)->since = 90;
    scene->cloud.attachments[4].attaching = true;
    add_nic(scene, 15, 0, 1, 1)->since = 9000; /* rides on VM 10's entry */
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 13, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 15, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_PORT_FULL);
    assert_member_status(scene, 14, 0, ONEIB_MEMBER_STATUS_PORT_FULL);
    assert_listed(scene, 303, port_of(1), "none");
}

static void of_those_who_run_the_earlier_has_room_and_of_one_second_the_lower_vm(void **state)
{
    struct scene *scene = *state;
    static const int64_t since[] = {300, 100, 200};
    add_host(scene, 1);
    set_capacity(scene, port_of(1), 3);
    for (unsigned i = 0; i < 3; i++) {
        add_network(scene, 1 + i, 300 + i);
        add_nic(scene, 10 + i, 2 - i, 1 + i, 1)->since = since[i];
    }
    compute(scene);
    assert_member_status(scene, 10, 2, ONEIB_MEMBER_STATUS_PORT_FULL);
    assert_member_status(scene, 11, 1, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_MEMBER);

    for (unsigned i = 0; i < 3; i++)
        scene->cloud.attachments[i].since = 100;
    compute(scene);
    assert_member_status(scene, 10, 2, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 1, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_PORT_FULL);
}

static void a_keys_place_is_that_of_its_earliest_vm_and_who_has_failed_is_told_so(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    set_capacity(scene, port_of(1), 2);
    add_network(scene, 1, 301);
    add_network(scene, 2, 302);
    add_nic(scene, 10, 0, 1, 1)->since = 500;
    add_nic(scene, 11, 0, 2, 1)->since = 100;
    add_nic(scene, 12, 0, 1, 1)->since = 50;
    add_nic(scene, 13, 0, 2, 1)->phase = ONEIB_FAILED;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_FULL);
    assert_member_status(scene, 13, 0, ONEIB_MEMBER_STATUS_START_FAILED);
}

static void who_migrates_still_runs_where_he_leaves_and_arrives_where_he_comes(void **state)
{
    struct scene *scene = *state;
    for (uint32_t id = 1; id <= 2; id++) {
        add_host(scene, id);
        set_capacity(scene, port_of(id), 2);
    }
    for (uint32_t id = 1; id <= 3; id++)
        add_network(scene, id, 300 + id);
    migrate(add_nic(scene, 10, 0, 1, 2), 1);
    add_nic(scene, 11, 0, 2, 1)->phase = ONEIB_ARRIVING;
    add_nic(scene, 12, 0, 3, 2);
    scene->cloud.attachments[1].since = 1; /* long before him */
    compute(scene);
    assert_listed(scene, 301, port_of(1), "full");
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_FULL);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_PORT_FULL);
}

static void a_full_port_costs_nobody_else_anything(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    set_capacity(scene, port_of(1), 2);
    add_host(scene, 2);
    add_network(scene, 1, 300);
    add_network(scene, 2, 301);
    add_nic(scene, 10, 0, 1, 1);
    add_nic(scene, 11, 0, 2, 1);
    add_nic(scene, 12, 0, 2, 2);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_FULL);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_listed(scene, 301, port_of(2), "full");
}

static void static_partitions_get_room_first(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    set_capacity(scene, port_of(1), 4);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 50), port_of(1),
             ONEIB_FULL);
    add_wildcard(scene, add_partition(scene, &scene->static_partitions, "all", 51),
                 ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    add_network(scene, 1, 300);
    add_network(scene, 2, 301);
    add_nic(scene, 10, 0, 1, 1);
    add_nic(scene, 11, 0, 2, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_FULL);
}

static void who_runs_there_has_room_before_static_members_and_these_before_who_arrives(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    set_capacity(scene, port_of(1), 4);
    oneib_network_add_static(add_network(scene, 1, 301), port_of(1), ONEIB_FULL);
    oneib_network_add_static(add_network(scene, 2, 302), port_of(1), ONEIB_FULL);
    add_network(scene, 3, 303);
    add_network(scene, 4, 304);
    add_nic(scene, 10, 0, 3, 1)->since = 500;
    add_nic(scene, 11, 0, 4, 1)->since = 100;
    scene->cloud.attachments[1].phase = ONEIB_ARRIVING;
    add_nic(scene, 12, 0, 2, 1)->since = 900; /* its network has a static member there, too */
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_listed(scene, 301, port_of(1), "full");
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_FULL);

    set_capacity(scene, port_of(1), 3);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_listed(scene, 301, port_of(1), "none");
    assert_finding(scene, "port-full", ONEIB_WARNING, "no room for 0x012d (network 1)");
}

/* `count` networks of user 5, ids 100 on, keys 1000 on, each with a VM on host 1. */
static void reserve_for_user_5(struct scene *scene, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct oneib_network *network = add_network(scene, 100 + i, 1000 + i);
        network->uid = 5;
        network->gid = 1;
        add_nic(scene, 10 + i, 0, 100 + i, 1)->phase = ONEIB_ARRIVING;
    }
}

static void settle(struct scene *scene)
{
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        scene->cloud.attachments[i].phase = ONEIB_SETTLED;
}

static void each_user_beyond_the_limit_is_told_of_once(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 1;
    add_host(scene, 1);
    add_host(scene, 2);
    for (unsigned i = 0; i < 4; i++) {
        struct oneib_network *network = add_network(scene, 100 + i, 1000 + i);
        network->uid = 5 + i / 2;
        network->gid = 1;
        add_nic(scene, 10 + i, 0, 100 + i, 1)->phase = ONEIB_ARRIVING;
        add_nic(scene, 20 + i, 0, 100 + i, 2)->phase = ONEIB_ARRIVING;
    }
    compute(scene);
    assert_int_equal(2, findings_of(scene, "owner-limit"));
}

static void what_a_user_has_too_much_is_named_as_long_as_it_is_little(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 16;
    add_host(scene, 1);
    reserve_for_user_5(scene, 24);
    compute(scene);
    assert_finding(scene, "owner-limit", ONEIB_WARNING, "(network 123)");
    assert_null(strstr(finding(scene, "owner-limit")->text, " more"));

    /* Whoever came first: by network. */
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        scene->cloud.attachments[i].since = -(int64_t)i;
    compute(scene);
    assert_finding(scene, "owner-limit", ONEIB_WARNING, "(network 100), 0x03e9 (network 101)");
}

static void seventy_reservations_of_one_user_leave_room_for_others(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 16;
    add_host(scene, 1);
    add_host(scene, 2);
    reserve_for_user_5(scene, 70);
    add_network(scene, 200, 2000)->uid = 6;
    scene->cloud.networks[70].gid = 1;
    add_nic(scene, 100, 0, 200, 1)->phase = ONEIB_ARRIVING; /* the last to come */
    add_nic(scene, 101, 0, 160, 2);
    compute(scene);
    for (unsigned i = 0; i < 70; i++)
        assert_member_status(scene, 10 + i, 0,
                             i < 16 ? ONEIB_MEMBER_STATUS_MEMBER : ONEIB_MEMBER_STATUS_OWNER_LIMIT);
    assert_member_status(scene, 100, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 101, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_no_finding(scene, "port-full");
    assert_int_equal(1, findings_of(scene, "owner-limit"));
    assert_finding(scene, "owner-limit", ONEIB_WARNING,
                   "port 0x0002c90300000001 of host 1 holds as many P_Keys of networks of user 5");
    assert_finding(scene, "owner-limit", ONEIB_WARNING,
                   "(pkeys.per_owner, 16): no place there for 0x03f8 (network 116), ");
    assert_finding(scene, "owner-limit", ONEIB_WARNING, "(network 123) and 46 more");
    assert_null(strstr(finding(scene, "owner-limit")->text, "other ports"));
    assert_true(oneib_finding_is_about(finding(scene, "owner-limit"), ONEIB_SUBJECT_NETWORK, 169));
    assert_false(oneib_finding_is_about(finding(scene, "owner-limit"), ONEIB_SUBJECT_NETWORK, 115));
}

static void what_runs_is_not_taken_away_by_the_limit(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 2;
    add_host(scene, 1);
    reserve_for_user_5(scene, 5);
    settle(scene);
    scene->cloud.attachments[1].phase = ONEIB_ARRIVING;
    compute(scene);
    for (unsigned i = 0; i < 5; i++)
        assert_member_status(scene, 10 + i, 0,
                             i == 1 ? ONEIB_MEMBER_STATUS_OWNER_LIMIT : ONEIB_MEMBER_STATUS_MEMBER);
}

static void an_operators_networks_and_no_limit_are_not_counted(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 2;
    add_host(scene, 1);
    reserve_for_user_5(scene, 5);
    for (unsigned i = 0; i < 5; i++)
        scene->cloud.networks[i].gid = 0; /* of a user of the group oneadmin */
    compute(scene);
    assert_no_finding(scene, "owner-limit");

    for (unsigned i = 0; i < 5; i++)
        scene->cloud.networks[i].gid = 1;
    scene->policy.per_owner_max = 0;
    compute(scene);
    assert_no_finding(scene, "owner-limit");
    scene->policy.per_owner_max = 4;
    compute(scene);
    assert_member_status(scene, 14, 0, ONEIB_MEMBER_STATUS_OWNER_LIMIT);
}

static void a_storage_servers_port_is_not_one_users_either(void **state)
{
    struct scene *scene = *state;
    const oneib_guid server = 0x9000, other = 0x9001;
    scene->policy.per_owner_max = 3;
    add_host(scene, 1);
    struct oneib_network *pool = add_network(scene, 1, 300);
    oneib_network_add_static(pool, server, ONEIB_FULL);
    oneib_network_add_static(pool, other, ONEIB_FULL);
    for (unsigned i = 0; i < 70; i++) {
        struct oneib_network *mine = add_reservation(scene, 100 + i, 1, 1000 + i);
        mine->uid = 5;
        mine->gid = 1;
    }
    compute(scene);
    assert_listed(scene, 300, server, "full");
    assert_listed(scene, 1002, server, "full");
    assert_listed(scene, 1003, server, "none");
    assert_int_equal(1, findings_of(scene, "owner-limit"));
    assert_finding(scene, "owner-limit", ONEIB_WARNING, "and 59 more; other ports like this: 1");
}

static void nothing_said_about_a_port_means_room_for_63(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    for (unsigned i = 0; i < 70; i++) {
        add_network(scene, 100 + i, 1000 + i);
        add_nic(scene, 10 + i, 0, 100 + i, 1);
    }
    compute(scene);
    for (unsigned i = 0; i < 70; i++)
        assert_member_status(scene, 10 + i, 0,
                             i < 62 ? ONEIB_MEMBER_STATUS_MEMBER : ONEIB_MEMBER_STATUS_PORT_FULL);
}

static void a_table_of_one_entry_has_the_default_key_alone(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_subnet_port(scene, port_of(1), 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_PORT_FULL);
}

static void clusters_count_distinct_vms_and_hosts(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    for (uint32_t host = 1; host <= 3; host++)
        add_host(scene, host);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 10, 1, 4, 1);
    add_nic(scene, 11, 0, 4, 2);
    add_nic(scene, 12, 0, 4, 1);
    add_nic(scene, 13, 0, 4, 99);
    compute(scene);
    const struct oneib_cluster *cluster = oneib_desired_cluster(&scene->desired, 4);
    assert_int_equal(5, cluster->attachment_count);
    assert_int_equal(4, cluster->members);
    assert_int_equal(3, cluster->vms);
    assert_int_equal(2, cluster->hosts);
    assert_null(oneib_desired_cluster(&scene->desired, 5));
}

/* Which others begin at 0. */
static void vm_0_and_host_0_count_as_well(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_network(scene, 5, 0);
    add_host(scene, 0);
    add_nic(scene, 0, 0, 4, 0);
    add_nic(scene, 0, 1, 5, 0);
    compute(scene);
    assert_int_equal(1, oneib_desired_cluster(&scene->desired, 4)->vms);
    assert_int_equal(1, oneib_desired_cluster(&scene->desired, 4)->hosts);
    assert_int_equal(1, oneib_desired_cluster(&scene->desired, 5)->refused_vms);
}

static void a_host_that_a_member_leaves_counts_while_it_is_one_there(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    migrate(add_nic(scene, 10, 0, 4, 2), 1);
    compute(scene);
    assert_int_equal(2, oneib_desired_cluster(&scene->desired, 4)->hosts);
    scene->cloud.hosts[0].port_count = 0;
    compute(scene);
    assert_int_equal(1, oneib_desired_cluster(&scene->desired, 4)->hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_vm_without_nics_changes_nothing),
        SCENE_TEST(sixty_four_nics_of_one_vm_fill_a_table_with_room_for_63),
        SCENE_TEST(a_full_port_is_told_of_by_the_keys_that_it_has_and_has_not),
        SCENE_TEST(a_host_without_hca_data_is_said_once_for_each_network),
        SCENE_TEST(a_vm_of_a_vanished_network_gets_nothing),
        SCENE_TEST(an_absent_vm_is_no_member),
        SCENE_TEST(arriving_and_leaving_vms_are_members),
        SCENE_TEST(a_migrating_vm_is_a_member_on_both_hosts),
        SCENE_TEST(a_migrations_member_status_is_that_of_the_destination),
        SCENE_TEST(who_leaves_a_host_without_a_port_and_who_stays_there_are_one_finding),
        SCENE_TEST(the_network_chooses_device_and_port),
        SCENE_TEST(an_adapter_whose_only_port_is_not_the_first_serves_with_it),
        SCENE_TEST(of_several_ports_without_a_first_none_is_guessed),
        SCENE_TEST(a_port_that_a_probe_names_twice_is_one_when_it_says_the_same),
        SCENE_TEST(of_several_adapters_none_is_guessed),
        SCENE_TEST(an_invalid_phydev_gives_no_member_a_port),
        SCENE_TEST(a_driver_that_is_not_known_is_refused),
        SCENE_TEST(a_port_that_must_serve_nobody_has_no_room_though_somebody_is_listed_there),
        SCENE_TEST(a_port_with_one_of_our_own_guids_is_refused),
        SCENE_TEST(a_port_that_is_full_member_of_the_default_partition_serves_nobody),
        SCENE_TEST(a_port_that_must_not_serve_vms_and_has_none_is_only_noticed),
        SCENE_TEST(limited_and_full_nics_of_one_key_on_one_mlx4_port_are_limited),
        SCENE_TEST(a_port_of_no_host_is_full_as_any),
        SCENE_TEST(many_that_are_narrowed_are_told_of_by_number),
        SCENE_TEST(who_makes_his_own_nic_limited_narrows_nobody_else),
        SCENE_TEST(nobody_gives_way_to_one_who_is_no_member),
        SCENE_TEST(of_many_who_give_way_eight_are_named_and_the_others_counted),
        SCENE_TEST(who_makes_his_reservation_limited_narrows_no_other_one),
        SCENE_TEST(a_limited_nic_narrows_its_key_on_every_port_of_its_host),
        SCENE_TEST(who_makes_his_own_nic_limited_narrows_nobody_on_another_port_either),
        SCENE_TEST(a_limited_networks_members_are_limited),
        SCENE_TEST(static_members_join_as_stated),
        SCENE_TEST(static_members_alone_make_a_partition),
        SCENE_TEST(a_static_member_is_no_vfs_guid),
        SCENE_TEST(a_static_member_that_hosts_limited_nics_is_limited),
        SCENE_TEST(who_is_narrowed_is_named_once_and_each_apart),
        SCENE_TEST(a_static_member_stays_full_beside_nics_that_users_have_made_limited),
        SCENE_TEST(vms_on_a_refused_port_still_narrow_its_static_member),
        SCENE_TEST(a_sharing_reservation_adds_no_static_members),
        SCENE_TEST(a_tenants_network_names_no_static_members),
        SCENE_TEST(each_thing_that_a_tenants_network_says_in_vain_is_named),
        SCENE_TEST(what_a_reservation_says_in_vain_is_named_and_a_copy_is_not),
        SCENE_TEST(a_reservation_has_what_its_parent_says),
        SCENE_TEST(a_reservation_that_says_the_same_is_no_finding),
        SCENE_TEST(a_tenant_shares_no_partition_and_narrows_his_own_alone),
        SCENE_TEST(a_reservation_is_no_wider_than_its_parent_says),
        SCENE_TEST(keys_get_room_in_the_order_of_their_earliest_vm),
        SCENE_TEST(of_those_who_run_the_earlier_has_room_and_of_one_second_the_lower_vm),
        SCENE_TEST(a_keys_place_is_that_of_its_earliest_vm_and_who_has_failed_is_told_so),
        SCENE_TEST(who_migrates_still_runs_where_he_leaves_and_arrives_where_he_comes),
        SCENE_TEST(a_full_port_costs_nobody_else_anything),
        SCENE_TEST(static_partitions_get_room_first),
        SCENE_TEST(who_runs_there_has_room_before_static_members_and_these_before_who_arrives),
        SCENE_TEST(each_user_beyond_the_limit_is_told_of_once),
        SCENE_TEST(what_a_user_has_too_much_is_named_as_long_as_it_is_little),
        SCENE_TEST(seventy_reservations_of_one_user_leave_room_for_others),
        SCENE_TEST(what_runs_is_not_taken_away_by_the_limit),
        SCENE_TEST(an_operators_networks_and_no_limit_are_not_counted),
        SCENE_TEST(a_storage_servers_port_is_not_one_users_either),
        SCENE_TEST(nothing_said_about_a_port_means_room_for_63),
        SCENE_TEST(a_table_of_one_entry_has_the_default_key_alone),
        SCENE_TEST(clusters_count_distinct_vms_and_hosts),
        SCENE_TEST(vm_0_and_host_0_count_as_well),
        SCENE_TEST(a_host_that_a_member_leaves_counts_while_it_is_one_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
