// SPDX-License-Identifier: Apache-2.0
#include "cloud_builder.h"
#include "ib/ipoib.h"

static struct oneib_attachment *add_unknown(struct scene *scene, uint32_t vm_id,
                                            uint32_t network_id, uint32_t host_id)
{
    struct oneib_attachment *nic = add_nic(scene, vm_id, 0, network_id, host_id);
    nic->phase = ONEIB_PHASE_UNKNOWN;
    nic->lcm_state = 99;
    return nic;
}

static void force(struct scene *scene, const char *name, unsigned key, oneib_guid guid,
                  enum oneib_membership membership)
{
    add_guid(scene, add_partition(scene, &scene->in_force, name, key), guid, membership);
    scene->has_in_force = true;
}

static void who_could_not_start_is_told_so_and_takes_no_place(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1)->phase = ONEIB_FAILED;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_START_FAILED);
    assert_int_equal(1, scene->desired.table.count);

    add_nic(scene, 11, 0, 5, 1)->phase = ONEIB_FAILED; /* more than that stands against it */
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
}

static void a_vm_of_unknown_state_keeps_what_is_in_force(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_unknown(scene, 10, 4, 1);
    force(scene, "one4", 256, port_of(1), ONEIB_FULL);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_listed(scene, 256, port_of(1), "full");
    assert_finding(scene, "state-unknown", ONEIB_NOTICE, "VM 10 NIC 0 is in state 3/99");
}

static void a_vm_of_unknown_state_gets_nothing_new(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_unknown(scene, 10, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_UNKNOWN_STATE);
    assert_finding(scene, "state-unknown", ONEIB_WARNING, "3/99");

    force(scene, "one4", 257, port_of(1), ONEIB_FULL);  /* another key */
    force(scene, "one5", 256, port_of(1), ONEIB_FULL);  /* another network */
    force(scene, "storage", 9, port_of(1), ONEIB_FULL); /* another's partition */
    force(scene, "one44", 258, port_of(1), ONEIB_FULL);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_UNKNOWN_STATE);
    assert_int_equal(1, scene->desired.table.count);
}

static void a_vm_of_unknown_state_is_never_widened(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_network(scene, 5, 257)->membership = ONEIB_LIMITED;
    add_host(scene, 1);
    add_host(scene, 2);
    add_unknown(scene, 10, 4, 1);
    add_unknown(scene, 11, 5, 2);
    force(scene, "one4", 256, port_of(1), ONEIB_LIMITED);
    force(scene, "one5", 257, port_of(2), ONEIB_FULL);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "limited");
    assert_listed(scene, 257, port_of(2), "limited");
}

static void each_vm_of_unknown_state_finds_its_own_whatever_order_the_file_has(void **state)
{
    struct scene *scene = *state;
    for (uint32_t id = 3; id <= 5; id++) {
        char name[16];
        snprintf(name, sizeof name, "one%u", id);
        add_network(scene, id, 0x110 - id);
        add_host(scene, id);
        add_unknown(scene, 10 + id, id, id);
        force(scene, name, 0x110 - id, port_of(id), ONEIB_FULL);
    }
    compute(scene);
    for (uint32_t id = 3; id <= 5; id++)
        assert_listed(scene, 0x110 - id, port_of(id), "full");
}

/* As a file that oneib did not write may. */
static void where_the_file_lists_it_twice_a_vm_of_unknown_state_is_limited(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_unknown(scene, 10, 4, 1);
    force(scene, "one4", 256, port_of(1), ONEIB_FULL);
    add_guid(scene, &scene->in_force.items[0], port_of(1), ONEIB_LIMITED);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "limited");
}

static void a_limited_vm_of_unknown_state_narrows_its_port(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256)->membership = ONEIB_LIMITED;
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_unknown(scene, 11, 5, 1);
    compute(scene);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_UNKNOWN_STATE);
    assert_listed(scene, 256, port_of(1), "limited");
}

static void mlx5_members_are_their_own_virtual_ports(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host_with(scene, 1, "mlx5_0");
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 2, 4, 1)->narrowed = true;
    compute(scene);
    const struct oneib_partition *partition = partition_of(&scene->desired.table, 256);
    assert_true(partition->indx0);
    assert_int_equal(2, partition->member_count);
    assert_listed(scene, 256, oneib_guid_encode(SITE, 10, 0), "full");
    assert_listed(scene, 256, oneib_guid_encode(SITE, 11, 2), "limited");
}

static void a_migrating_mlx5_vm_is_listed_once(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host_with(scene, 1, "mlx5_0");
    add_host_with(scene, 2, "mlx5_0");
    migrate(add_nic(scene, 10, 0, 4, 2), 1);
    compute(scene);
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
}

static void a_host_that_names_a_vfs_guid_as_its_adapters_takes_nothing_from_the_vf(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host_with(scene, 1, "mlx5_0");
    add_host(scene, 2)->ports[0].port_guid = oneib_guid_encode(SITE, 10, 0);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_finding(scene, "port-guid-site", ONEIB_VIOLATION, "host 2");
}

static void mlx5_members_are_refused_beside_mlx4_ports(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_network(scene, 5, 257);
    add_host(scene, 1);
    add_host_with(scene, 2, "mlx5_0");
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 4, 2);
    add_nic(scene, 12, 0, 5, 2);
    compute(scene);
    assert_false(partition_of(&scene->desired.table, 256)->indx0);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_true(partition_of(&scene->desired.table, 257)->indx0);
    assert_finding(scene, "mixed-adapters", ONEIB_WARNING, "network 4");
}

/* In a shared partition it is another user's VM that would be cut off. */
static void who_runs_on_mlx5_stays_when_somebody_starts_on_mlx4(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host_with(scene, 2, "mlx5_0");
    add_nic(scene, 10, 0, 4, 1)->since = 50;
    scene->cloud.attachments[0].phase = ONEIB_ARRIVING;
    add_nic(scene, 11, 0, 4, 2)->since = 100;
    add_nic(scene, 12, 0, 4, 1)->since = 200;
    compute(scene);
    assert_true(partition_of(&scene->desired.table, 256)->indx0);
    assert_int_equal(1, partition_of(&scene->desired.table, 256)->member_count);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_finding(scene, "mixed-adapters", ONEIB_WARNING, "2 of its NICs on mlx4");
}

/* A host that has the oldest VM cannot turn the partition by another adapter than it had. */
static void a_cluster_stays_on_the_kind_of_adapter_that_is_in_force(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host_with(scene, 2, "mlx5_0");
    add_nic(scene, 10, 0, 4, 2)->since = 50;
    add_nic(scene, 11, 0, 4, 1)->since = 100;
    add_guid(scene, add_partition(scene, &scene->in_force, "one4", 256), port_of(1), ONEIB_FULL);
    scene->has_in_force = true;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_false(partition_of(&scene->desired.table, 256)->indx0);
    scene->in_force.items[0].members[0].guid = oneib_guid_encode(SITE, 10, 0);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
}

static void a_static_members_port_never_gets_the_key_at_index_0(void **state)
{
    struct scene *scene = *state;
    oneib_network_add_static(add_network(scene, 4, 256), port_of(1), ONEIB_FULL);
    add_host(scene, 1);
    add_host_with(scene, 2, "mlx5_0");
    add_nic(scene, 11, 0, 4, 2);
    compute(scene);
    assert_false(partition_of(&scene->desired.table, 256)->indx0);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
}

static void add_fabric(struct scene *scene, uint8_t mtu, uint8_t rate)
{
    struct oneib_subnet_port *port = add_subnet_port(scene, 0x5000 + scene->subnet.port_count, 64);
    port->mtu_cap = mtu;
    port->rate = rate;
}

static const struct oneib_partition *partition_with_member(struct scene *scene)
{
    compute(scene);
    return partition_of(&scene->desired.table, 256);
}

static struct oneib_network *add_network_with_member(struct scene *scene)
{
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    return &scene->cloud.networks[0];
}

static void the_slowest_port_of_the_fabric_sets_mtu_and_rate(void **state)
{
    struct scene *scene = *state;
    add_network_with_member(scene);
    assert_int_equal(0, partition_with_member(scene)->mtu);
    assert_int_equal(0, partition_with_member(scene)->rate);

    add_fabric(scene, 5, oneib_rate_code(56));
    add_fabric(scene, 4, oneib_rate_code(100));
    add_fabric(scene, 5, oneib_rate_code(40));
    add_fabric(scene, 0, 0); /* not known: does not count */
    add_fabric(scene, 1, 2);
    scene->subnet.ports[4].node_type = ONEIB_NODE_SWITCH; /* a switch's own port neither */
    const struct oneib_partition *partition = partition_with_member(scene);
    assert_int_equal(4, partition->mtu);
    assert_int_equal(oneib_rate_code(40), partition->rate);
    assert_int_equal(0, scene->desired.findings.count);
}

static void where_nothing_is_known_of_the_fabric_a_network_gets_what_it_asks_for(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network_with_member(scene);
    network->mtu_bytes = 2044;
    network->rate_gbps = 40;
    const struct oneib_partition *partition = partition_with_member(scene);
    assert_int_equal(4, partition->mtu);
    assert_int_equal(oneib_rate_code(40), partition->rate);
    assert_int_equal(0, scene->desired.findings.count);
}

static void network_comes_before_policy_before_fabric(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network_with_member(scene);
    add_fabric(scene, 5, oneib_rate_code(100));
    scene->policy.mtu = 3;
    scene->policy.rate = oneib_rate_code(20);
    const struct oneib_partition *partition = partition_with_member(scene);
    assert_int_equal(3, partition->mtu);
    assert_int_equal(oneib_rate_code(20), partition->rate);

    network->mtu_bytes = 2044;
    network->rate_gbps = 40;
    partition = partition_with_member(scene);
    assert_int_equal(4, partition->mtu);
    assert_int_equal(oneib_rate_code(40), partition->rate);
    assert_int_equal(0, scene->desired.findings.count);
}

static void no_network_gets_more_than_the_fabric_has(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network_with_member(scene);
    add_fabric(scene, 4, oneib_rate_code(40));
    network->mtu_bytes = 4092;
    network->rate_gbps = 100;
    const struct oneib_partition *partition = partition_with_member(scene);
    assert_int_equal(4, partition->mtu);
    assert_int_equal(oneib_rate_code(40), partition->rate);
    assert_int_equal(1, findings_of(scene, "mtu-capped"));
    assert_finding(scene, "rate-capped", ONEIB_WARNING, "network 4 asks for a rate of 100 Gb/s");
}

static void who_asks_for_what_the_fabric_has_gets_it_without_a_word(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network_with_member(scene);
    add_fabric(scene, 4, oneib_rate_code(40));
    network->mtu_bytes = 2044;
    network->rate_gbps = 40;
    const struct oneib_partition *partition = partition_with_member(scene);
    assert_int_equal(4, partition->mtu);
    assert_int_equal(oneib_rate_code(40), partition->rate);
    assert_int_equal(0, scene->desired.findings.count);
}

static void the_operators_word_stands_and_the_ports_that_are_below_are_named(void **state)
{
    struct scene *scene = *state;
    add_network_with_member(scene)->mtu_bytes = 4092;
    add_fabric(scene, 4, oneib_rate_code(40));
    scene->policy.mtu = 5;
    scene->policy.rate = oneib_rate_code(56);
    const struct oneib_partition *partition = partition_with_member(scene);
    assert_int_equal(5, partition->mtu);
    assert_int_equal(oneib_rate_code(56), partition->rate);
    assert_int_equal(0, findings_of(scene, "mtu-capped"));
    assert_finding(scene, "port-below", ONEIB_WARNING,
                   "port 0x0000000000005000 supports an MTU of 2048 bytes and 40 Gb/s, and "
                   "partitions have 4096 and 56");
}

static void a_port_that_lacks_one_of_both_is_named_as_well(void **state)
{
    struct scene *scene = *state;
    add_network_with_member(scene);
    add_fabric(scene, 4, oneib_rate_code(40));
    add_fabric(scene, 5, oneib_rate_code(40));
    add_fabric(scene, 4, oneib_rate_code(56));
    scene->policy.mtu = 5;
    compute(scene);
    assert_int_equal(2, findings_of(scene, "port-below"));

    scene->policy.mtu = 0;
    scene->policy.rate = oneib_rate_code(56);
    compute(scene);
    assert_int_equal(2, findings_of(scene, "port-below"));
}

static void what_was_measured_once_stays_whatever_comes_to_the_fabric(void **state)
{
    struct scene *scene = *state;
    add_network_with_member(scene);
    add_fabric(scene, 5, oneib_rate_code(100));
    partition_with_member(scene);
    assert_int_equal(5, scene->desired.mtu);
    assert_int_equal(oneib_rate_code(100), scene->desired.rate);
    scene->ledger.mtu = scene->desired.mtu;
    scene->ledger.rate = scene->desired.rate;

    add_fabric(scene, 4, oneib_rate_code(10));
    const struct oneib_partition *partition = partition_with_member(scene);
    assert_int_equal(5, partition->mtu);
    assert_int_equal(oneib_rate_code(100), partition->rate);
    assert_int_equal(1, findings_of(scene, "port-below"));

    scene->subnet.port_count = 0;
    partition = partition_with_member(scene);
    assert_int_equal(5, partition->mtu);
    assert_int_equal(oneib_rate_code(100), partition->rate);
}

static void add_link(struct scene *scene, unsigned enabled_gbps, unsigned runs_at_gbps)
{
    add_fabric(scene, 5, oneib_rate_code(enabled_gbps));
    scene->subnet.ports[scene->subnet.port_count - 1].active_rate = oneib_rate_code(runs_at_gbps);
}

/* A lane that has failed, say. */
static void a_link_that_runs_below_what_it_could_is_named_and_changes_nothing(void **state)
{
    struct scene *scene = *state;
    add_network_with_member(scene);
    add_link(scene, 100, 100);
    add_link(scene, 100, 25);
    const struct oneib_partition *partition = partition_with_member(scene);
    assert_int_equal(oneib_rate_code(100), partition->rate);
    assert_int_equal(1, findings_of(scene, "link-slow"));
    assert_finding(scene, "link-slow", ONEIB_WARNING,
                   "the link of port 0x0000000000005001 runs at 25 Gb/s, and could at 100: "
                   "meanwhile it cannot join");
    assert_int_equal(0, findings_of(scene, "port-below"));
}

static void adapters_that_are_faster_than_all_switches_are_no_finding(void **state)
{
    struct scene *scene = *state;
    add_network_with_member(scene);
    add_link(scene, 100, 40);
    add_link(scene, 56, 40);
    add_fabric(scene, 5, oneib_rate_code(56)); /* at what its link runs is not known */
    add_link(scene, 200, 200); /* a switch's own port, and one that is slow: neither counts */
    add_link(scene, 100, 10);
    scene->subnet.ports[3].node_type = scene->subnet.ports[4].node_type = ONEIB_NODE_SWITCH;
    assert_int_equal(oneib_rate_code(40), partition_with_member(scene)->rate);
    assert_int_equal(0, scene->desired.findings.count);
}

static void a_slow_link_that_no_partition_asks_more_of_is_named_all_the_same(void **state)
{
    struct scene *scene = *state;
    add_network_with_member(scene);
    add_link(scene, 40, 20);
    add_link(scene, 40, 40);
    scene->policy.rate = oneib_rate_code(10);
    partition_with_member(scene);
    assert_finding(scene, "link-slow", ONEIB_WARNING, "runs at 20 Gb/s, and could at 40");
    assert_null(strstr(finding(scene, "link-slow")->text, "join"));
}

static void an_odd_rate_is_ignored_and_said(void **state)
{
    struct scene *scene = *state;
    add_network_with_member(scene)->rate_gbps = 57;
    assert_int_equal(0, partition_with_member(scene)->rate);
    assert_finding(scene, "rate-invalid", ONEIB_WARNING, "57");
}

static void too_many_partitions_for_multicast_are_named(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    for (uint32_t i = 0; i < 5; i++) {
        add_network(scene, i, 300 + i);
        add_nic(scene, i, 0, i, 1);
    }
    add_fabric(scene, 4, 3);
    scene->subnet.multicast_cap = 3;
    compute(scene);
    assert_int_equal(6, scene->desired.table.count);
    assert_finding(scene, "multicast-full", ONEIB_WARNING,
                   "5 partitions need a multicast group and a switch holds 3");
    scene->policy.default_ipoib = true;
    compute(scene);
    assert_true(scene->desired.table.items[0].ipoib);
    assert_finding(scene, "multicast-full", ONEIB_WARNING, "6 partitions");
    scene->subnet.multicast_cap = 6;
    compute(scene);
    assert_no_finding(scene, "multicast-full");
    scene->subnet.multicast_cap = 0; /* not known */
    compute(scene);
    assert_no_finding(scene, "multicast-full");
}

static void static_partitions_come_along_as_they_are(void **state)
{
    struct scene *scene = *state;
    struct oneib_partition *partition =
        add_partition(scene, &scene->static_partitions, "storage", 300);
    add_guid(scene, partition, 0x99, ONEIB_FULL);
    add_guid(scene, partition, 0x11, ONEIB_BOTH);
    add_wildcard(scene, partition, ONEIB_MEMBER_ALL_SWITCHES, ONEIB_FULL);
    partition->has_sl = true;
    partition->sl = 3;
    add_guid(scene, add_partition(scene, &scene->static_partitions, "admin", 100), 0x99,
             ONEIB_FULL);
    add_partition(scene, &scene->static_partitions, "nobody", 301);
    add_network_with_member(scene);
    compute(scene);

    const struct oneib_partition_table *table = &scene->desired.table;
    assert_int_equal(4, table->count);
    assert_string_equal("admin", table->items[1].name);
    assert_string_equal("one4", table->items[2].name);
    assert_string_equal("storage", table->items[3].name);
    assert_int_equal(3, table->items[3].sl);
    assert_int_equal(0x99, table->items[3].members[0].guid);
    assert_int_equal(0x11, table->items[3].members[1].guid);
    assert_int_equal(ONEIB_MEMBER_ALL_SWITCHES, table->items[3].members[2].kind);
    assert_int_equal(0, scene->desired.findings.count);
}

static void assert_refused(struct scene *scene, const char *words)
{
    assert_int_equal(-1, try_compute(scene));
    assert_int_equal(ONEIB_ERROR_INPUT, scene->err.code);
    if (!strstr(scene->err.text, words))
        fail_msg("\"%s\" is not in: %s", words, scene->err.text);
    oneib_partition_table_clear(&scene->static_partitions);
}

static void a_static_partition_must_not_pose_as_oneib(void **state)
{
    struct scene *scene = *state;
    add_guid(scene, add_partition(scene, &scene->static_partitions, "one12", 300), 0x99,
             ONEIB_FULL);
    assert_refused(scene, "\"one12\"");
    add_guid(scene, add_partition(scene, &scene->static_partitions, "one1x", 300), 0x99,
             ONEIB_FULL);
    assert_refused(scene, "\"one1x\"");
    add_guid(scene, add_partition(scene, &scene->static_partitions, "Default", 300), 0x99,
             ONEIB_FULL);
    assert_refused(scene, "default_partition.full_members");
    add_guid(scene, add_partition(scene, &scene->static_partitions, "mine", 0x7fff), 0x99,
             ONEIB_FULL);
    assert_refused(scene, "default_partition.full_members");
    add_partition(scene, &scene->static_partitions, "none", 0);
    assert_refused(scene, "0x0000 is no P_Key");
    add_partition(scene, &scene->static_partitions, "beyond", 0x8001);
    assert_refused(scene, "0x8001 is no P_Key");
    add_guid(scene, add_partition(scene, &scene->static_partitions, "ones", 300), 0x99, ONEIB_FULL);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "lab2", 301), 0x99, ONEIB_FULL);
    compute(scene);
}

/* A VF that is a port of its own would be in it with whatever VM has it. */
static void a_static_partition_must_not_list_a_vf(void **state)
{
    struct scene *scene = *state;
    const oneib_guid guid = oneib_guid_encode(scene->policy.site, 7, 1);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "Storage", 300), guid,
             ONEIB_FULL);
    assert_refused(scene, "\"Storage\" (0x012c) lists 0x");
}

static void a_rate_that_the_subnet_manager_does_not_know_is_not_written(void **state)
{
    struct scene *scene = *state;
    scene->policy.rate_max = oneib_rate_code(600);
    add_partition(scene, &scene->static_partitions, "Storage", 300)->rate = oneib_rate_code(800);
    assert_refused(scene, "does not know rate=23 (800 Gb/s)");

    struct oneib_network *network = add_network_with_member(scene);
    network->rate_gbps = 1200;
    assert_int_equal(oneib_rate_code(600), partition_with_member(scene)->rate);
    assert_finding(scene, "rate-capped", ONEIB_WARNING, "the site's is 600");
    network->rate_gbps = 0;
    scene->policy.rate = oneib_rate_code(800);
    assert_int_equal(oneib_rate_code(600), partition_with_member(scene)->rate);
    scene->policy.rate = 0;
    add_fabric(scene, 5, oneib_rate_code(800));
    assert_int_equal(oneib_rate_code(600), partition_with_member(scene)->rate);
    scene->policy.rate_max = ONEIB_RATE_CODE_MAX;
    assert_int_equal(oneib_rate_code(800), partition_with_member(scene)->rate);
}

static void a_static_partition_of_all_as_full_members_is_said(void **state)
{
    struct scene *scene = *state;
    struct oneib_partition *shut = add_partition(scene, &scene->static_partitions, "shut", 301);
    add_wildcard(scene, shut, ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    add_guid(scene, shut, 0x99, ONEIB_FULL);
    add_wildcard(scene, shut, ONEIB_MEMBER_ALL_SWITCHES, ONEIB_FULL);
    compute(scene);
    assert_no_finding(scene, "static-partition-open");

    add_wildcard(scene, add_partition(scene, &scene->static_partitions, "open", 300),
                 ONEIB_MEMBER_ALL_CAS, ONEIB_FULL);
    add_wildcard(scene, add_partition(scene, &scene->static_partitions, "both", 302),
                 ONEIB_MEMBER_ALL, ONEIB_BOTH);
    compute(scene);
    assert_int_equal(2, findings_of(scene, "static-partition-open"));
    assert_finding(scene, "static-partition-open", ONEIB_WARNING, "\"both\" (0x012e)");
}

/* Its own key is one of the subnet manager's port's: one less for others. */
static void self_is_the_port_of_the_subnet_manager(void **state)
{
    struct scene *scene = *state;
    oneib_network_add_static(add_network(scene, 4, 256), 0x55, ONEIB_FULL);
    add_subnet_port(scene, 0x55, 3); /* one place beside the default partition's */
    scene->subnet.sm_port_guid = 0x55;
    add_wildcard(scene, add_partition(scene, &scene->static_partitions, "switches", 300),
                 ONEIB_MEMBER_ALL_SWITCHES, ONEIB_FULL);
    compute(scene);
    assert_listed(scene, 256, 0x55, "full");

    add_wildcard(scene, add_partition(scene, &scene->static_partitions, "manager", 301),
                 ONEIB_MEMBER_SELF, ONEIB_FULL);
    compute(scene);
    assert_listed(scene, 256, 0x55, "none");

    scene->has_subnet = false; /* nobody knows which it is */
    compute(scene);
    assert_listed(scene, 256, 0x55, "full");
}

static void a_port_that_a_static_partition_lists_twice_has_its_key_once(void **state)
{
    struct scene *scene = *state;
    struct oneib_partition *partition =
        add_partition(scene, &scene->static_partitions, "storage", 300);
    add_guid(scene, partition, port_of(1), ONEIB_LIMITED);
    add_guid(scene, partition, port_of(1), ONEIB_FULL);
    add_guid(scene, partition, port_of(9), ONEIB_FULL); /* which is another's place */
    add_host(scene, 1);
    set_capacity(scene, port_of(1), 3);
    add_network(scene, 4, 256);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
}

static void a_static_partition_with_indx0_closes_the_ports_that_it_lists(void **state)
{
    struct scene *scene = *state;
    struct oneib_partition *partition =
        add_partition(scene, &scene->static_partitions, "storage", 300);
    partition->indx0 = true;
    for (uint32_t host = 9; host > 2; host -= 2) /* in no order */
        add_guid(scene, partition, port_of(host), ONEIB_FULL);
    add_guid(scene, partition, port_of(1), ONEIB_FULL);
    add_network_with_member(scene);
    add_host(scene, 2);
    add_nic(scene, 11, 0, 4, 2);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_PORT_REFUSED);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_finding(scene, "port-index0", ONEIB_VIOLATION, "host 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(who_could_not_start_is_told_so_and_takes_no_place),
        SCENE_TEST(a_vm_of_unknown_state_keeps_what_is_in_force),
        SCENE_TEST(a_vm_of_unknown_state_gets_nothing_new),
        SCENE_TEST(a_vm_of_unknown_state_is_never_widened),
        SCENE_TEST(each_vm_of_unknown_state_finds_its_own_whatever_order_the_file_has),
        SCENE_TEST(where_the_file_lists_it_twice_a_vm_of_unknown_state_is_limited),
        SCENE_TEST(a_limited_vm_of_unknown_state_narrows_its_port),
        SCENE_TEST(mlx5_members_are_their_own_virtual_ports),
        SCENE_TEST(a_migrating_mlx5_vm_is_listed_once),
        SCENE_TEST(a_host_that_names_a_vfs_guid_as_its_adapters_takes_nothing_from_the_vf),
        SCENE_TEST(mlx5_members_are_refused_beside_mlx4_ports),
        SCENE_TEST(who_runs_on_mlx5_stays_when_somebody_starts_on_mlx4),
        SCENE_TEST(a_cluster_stays_on_the_kind_of_adapter_that_is_in_force),
        SCENE_TEST(a_static_members_port_never_gets_the_key_at_index_0),
        SCENE_TEST(the_slowest_port_of_the_fabric_sets_mtu_and_rate),
        SCENE_TEST(where_nothing_is_known_of_the_fabric_a_network_gets_what_it_asks_for),
        SCENE_TEST(network_comes_before_policy_before_fabric),
        SCENE_TEST(no_network_gets_more_than_the_fabric_has),
        SCENE_TEST(who_asks_for_what_the_fabric_has_gets_it_without_a_word),
        SCENE_TEST(the_operators_word_stands_and_the_ports_that_are_below_are_named),
        SCENE_TEST(a_port_that_lacks_one_of_both_is_named_as_well),
        SCENE_TEST(what_was_measured_once_stays_whatever_comes_to_the_fabric),
        SCENE_TEST(a_link_that_runs_below_what_it_could_is_named_and_changes_nothing),
        SCENE_TEST(adapters_that_are_faster_than_all_switches_are_no_finding),
        SCENE_TEST(a_slow_link_that_no_partition_asks_more_of_is_named_all_the_same),
        SCENE_TEST(an_odd_rate_is_ignored_and_said),
        SCENE_TEST(too_many_partitions_for_multicast_are_named),
        SCENE_TEST(static_partitions_come_along_as_they_are),
        SCENE_TEST(a_static_partition_must_not_pose_as_oneib),
        SCENE_TEST(a_static_partition_must_not_list_a_vf),
        SCENE_TEST(a_rate_that_the_subnet_manager_does_not_know_is_not_written),
        SCENE_TEST(a_static_partition_of_all_as_full_members_is_said),
        SCENE_TEST(self_is_the_port_of_the_subnet_manager),
        SCENE_TEST(a_port_that_a_static_partition_lists_twice_has_its_key_once),
        SCENE_TEST(a_static_partition_with_indx0_closes_the_ports_that_it_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
