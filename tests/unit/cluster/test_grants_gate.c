// SPDX-License-Identifier: Apache-2.0
/* What may be put into the partitions file, by what nodes have said. */
#include "grant_scene.h"

/* Network 7 with VM 4 on host 1: granted, sent, open, and in force. */
static void settle(struct grant_scene *played)
{
    add_network_7(played, 1);
    add_nic(&played->scene, 4, 0, 7, 1);
    PUT_IN_FORCE(played, "one7", 0x101, port_of(1));
    played->scene.policy.hold_minimum = 100;
    grant_all(played);
    send_grants(played, 1);
    report(played, 1, 4, 7, 0x101);
}

static void end_vm(struct grant_scene *played)
{
    played->scene.cloud.attachments[0].phase = ONEIB_ABSENT;
    grant_all(played);
    send_grants(played, 1);
}

static void settle_and_end_vm(struct grant_scene *played)
{
    settle(played);
    end_vm(played);
}

static void pass(struct grant_scene *played)
{
    grant_all(played);
    pass_gate(played);
}

/* With the node of host 1 in that state. */
static void pass_while(struct grant_scene *played, enum oneib_node_state state)
{
    node_of(played, 1)->state = state;
    pass(played);
}

static void what_is_desired_and_in_force_stays(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    for (int i = ONEIB_NODE_UNHEARD; i <= ONEIB_NODE_SILENT; i++) {
        pass_while(played, (enum oneib_node_state)i);
        assert_gated(played, 0x101, port_of(1), "full");
        assert_int_equal(played->gate.kept, 0);
        assert_int_equal(played->gate.withheld, 0);
    }
}

static void a_key_stays_until_the_node_has_reported(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    pass_while(played, ONEIB_NODE_AWAITED);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_int_equal(played->gate.kept, 1);
    /* Also when nothing of it was reported before. */
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

/* It keeps nobody from anything, but what its own VF is open at: by the node's word alone. */
static void an_unreadable_vm_loses_its_grant_and_its_key_stays_until_its_vf_is_closed(void **state)
{
    static const uint32_t unreadable[] = {4};
    struct grant_scene *played = *state;
    settle(played);
    add_nic(&played->scene, 5, 0, 7, 1);
    report(played, 1, 5, 7, 0x101);
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 6, 0, 8, 1);
    played->scene.cloud.attachments[0].vm_id = 5; /* VM 4 has none any more */
    played->scene.cloud.attachments[1] = played->scene.cloud.attachments[2];
    played->scene.cloud.attachment_count = 2;
    know_vms(played, unreadable, 1);
    grant_all(played);
    send_grants(played, 1);
    assert_null(granted(played, 1, 4, 0));
    assert_int_equal(granted(played, 1, 5, 0)->pkey, 0x101);
    assert_int_equal(granted(played, 1, 6, 0)->pkey, 0x102);

    played->scene.cloud.attachments[0].phase = ONEIB_ABSENT; /* VM 5 ends */
    played->nodes[0].records[1].stage = ONEIB_VF_CLOSED;
    grant_all(played);
    send_grants(played, 1);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x102, port_of(1), "full");
    played->nodes[0].records[0].stage = ONEIB_VF_CLOSED;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_gated(played, 0x102, port_of(1), "full");
}

static void a_key_stays_while_the_node_has_it_open(void **state)
{
    static const enum oneib_vf_stage stages[] = {ONEIB_VF_OPEN, ONEIB_VF_PREPARING,
                                                 ONEIB_VF_RELEASING};
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        played->nodes[0].records[0].stage = stages[i];
        pass(played);
        assert_gated(played, 0x101, port_of(1), "full");
    }
}

/* Its table is longer than a report: what its other VFs are mapped to nobody knows. */
static void nothing_comes_to_a_port_whose_node_does_not_tell_all(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 6, 0, 8, 1);
    node_of(played, 1)->table_known = false;
    pass(played);
    assert_gated(played, 0x102, port_of(1), "none");
    assert_gated(played, 0x101, port_of(1), "full");
    node_of(played, 1)->table_known = true;
    pass(played);
    assert_gated(played, 0x102, port_of(1), "full");
}

static void a_key_goes_when_the_node_has_closed(void **state)
{
    static const enum oneib_vf_stage stages[] = {ONEIB_VF_CLOSED, ONEIB_VF_ENDED};
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        played->nodes[0].records[0].stage = stages[i];
        pass(played);
        assert_gated(played, 0x101, port_of(1), "none");
        assert_null(partition_of(&played->gate.table, 0x101));
        assert_int_equal(played->gate.kept, 0);
    }
}

static void a_key_goes_from_a_port_whose_node_is_silent(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    pass_while(played, ONEIB_NODE_SILENT);
    assert_gated(played, 0x101, port_of(1), "none");
    pass_while(played, ONEIB_NODE_UNHEARD);
    assert_gated(played, 0x101, port_of(1), "none");
    played->node_count = 0;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
}

static void a_table_that_is_not_whole_says_of_nothing_that_it_is_closed(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    node_of(played, 1)->record_count = 0;
    node_of(played, 1)->table_known = false;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

/* A list with the grant is out still, because a newer one could not be sent. */
static void what_a_node_was_sent_last_stays(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    played->scene.cloud.attachments[0].phase = ONEIB_ABSENT;
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    send_grants(played, 1);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
}

static void nothing_is_added_where_the_node_is_silent_or_not_heard(void **state)
{
    static const enum oneib_node_state states[] = {ONEIB_NODE_SILENT, ONEIB_NODE_UNHEARD};
    struct grant_scene *played = *state;
    settle(played);
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    for (size_t i = 0; i < 2; i++) {
        pass_while(played, states[i]);
        assert_gated(played, 0x101, port_of(1), "full");
        assert_gated(played, 0x102, port_of(1), "none");
        assert_int_equal(played->gate.withheld, 1);
    }
    played->node_count = 0;
    pass(played);
    assert_gated(played, 0x102, port_of(1), "none");
}

/* Host 1's port, as another host's subnet manager has it; at index 1: raw. */
static void lead_elsewhere(struct grant_scene *played, uint16_t raw)
{
    struct oneib_subnet_port *port = played->scene.subnet.ports;
    if (!played->is_led_elsewhere) {
        port = add_subnet_port(&played->scene, port_of(1), 8);
        port->pkeys = calloc(8, sizeof *port->pkeys);
        assert_non_null(port->pkeys);
        port->answered = true;
    }
    played->is_led_elsewhere = true;
    port->pkeys[1] = raw;
}

/* The file here is as old as the failure of this host. */
static void what_another_subnet_manager_has_put_there_waits_for_no_node(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    lead_elsewhere(played, 0x8102);
    played->scene.subnet.ports[0].pkeys[2] = 0x8101;
    for (int i = ONEIB_NODE_UNHEARD; i <= ONEIB_NODE_SILENT; i++) {
        pass_while(played, (enum oneib_node_state)i);
        assert_gated(played, 0x102, port_of(1), "full");
        assert_int_equal(played->gate.withheld, 0);
    }
    lead_elsewhere(played, 0x0102); /* wider than it is there */
    pass(played);
    assert_gated(played, 0x102, port_of(1), "none");
    lead_elsewhere(played, 0x8103);
    pass(played);
    assert_gated(played, 0x102, port_of(1), "none");
    lead_elsewhere(played, 0x8102);
    played->scene.subnet.ports[0].answered = false;
    pass(played);
    assert_gated(played, 0x102, port_of(1), "none");
    played->scene.subnet.ports[0].answered = true;
    played->is_led_elsewhere = false; /* then opensm may be about to take it off the port */
    pass(played);
    assert_gated(played, 0x102, port_of(1), "none");
}

/* What the file says of a port that lacks it counts for nobody. */
static void what_only_an_old_file_says_comes_back_to_no_port(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    lead_elsewhere(played, 0x8101);
    pass_while(played, ONEIB_NODE_AWAITED);
    assert_gated(played, 0x101, port_of(1), "full");
    lead_elsewhere(played, 0);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_int_equal(played->gate.kept, 0);

    /* Its VF is mapped to the place, as its node says: nothing else comes there. */
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    pass(played);
    assert_gated(played, 0x102, port_of(1), "none");
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_gated(played, 0x102, port_of(1), "full");
}

static void what_is_new_comes_at_once_to_a_node_that_is_heard(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    pass_while(played, ONEIB_NODE_AWAITED);
    assert_gated(played, 0x102, port_of(1), "full");
    assert_int_equal(played->gate.withheld, 0);
}

static void a_static_member_is_not_added_at_a_silent_nodes_port_either(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    struct oneib_network *network = add_network(&played->scene, 8, 0x102);
    oneib_network_add_static(network, port_of(1), ONEIB_FULL);
    pass_while(played, ONEIB_NODE_SILENT);
    assert_gated(played, 0x102, port_of(1), "none");
    pass_while(played, ONEIB_NODE_FOLLOWS);
    assert_gated(played, 0x102, port_of(1), "full");
}

static void a_host_without_vfs_and_a_port_that_no_host_reports_wait_for_nobody(void **state)
{
    struct grant_scene *played = *state;
    struct oneib_network *network = add_network(&played->scene, 8, 0x102);
    oneib_network_add_static(network, port_of(1), ONEIB_FULL);
    oneib_network_add_static(network, port_of(50), ONEIB_FULL);
    add_node(played, 1)->state = ONEIB_NODE_UNHEARD;
    played->scene.cloud.hosts[0].ports[0].vfs_total = 0;
    played->scene.cloud.hosts[0].vfs_limit = 0;
    played->snapshots[0].sent = &played->nodes[0].sent; /* nothing */
    pass(played);
    assert_gated(played, 0x102, port_of(1), "full");
    assert_gated(played, 0x102, port_of(50), "full");
    played->scene.cloud.hosts[0].vfs_limit = 1; /* it has some, though no probe has told of them */
    pass(played);
    assert_gated(played, 0x102, port_of(1), "none");
    assert_gated(played, 0x102, port_of(50), "full");
}

static void a_silent_node_holds_up_its_own_ports_alone(void **state)
{
    struct grant_scene *played = *state;
    add_network(&played->scene, 7, 0x101);
    for (uint32_t i = 1; i <= 3; i++) {
        add_node(played, i);
        add_nic(&played->scene, i, 0, 7, i);
    }
    node_of(played, 2)->state = ONEIB_NODE_SILENT;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x101, port_of(2), "none");
    assert_gated(played, 0x101, port_of(3), "full");
}

/* Adapters and ports of one host; the VF that is open is one of port 2's. */
static void a_key_stays_on_the_port_alone_whose_vf_is_open(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    struct oneib_host *host = &played->scene.cloud.hosts[0];
    add_port(&played->scene, host, "mlx4_0", 2, port_of(12))->vfs_total = 8;
    add_port(&played->scene, host, "mlx4_1", 2, port_of(22))->vfs_total = 8;
    for (uint32_t port = 12; port <= 22; port += 10)
        add_guid(&played->scene, &played->scene.in_force.items[0], port_of(port), ONEIB_FULL);
    played->nodes[0].records[0].port = 2;
    end_vm(played);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_gated(played, 0x101, port_of(12), "full");
    assert_gated(played, 0x101, port_of(22), "none");
    assert_int_equal(played->gate.kept, 1);
}

/* Whose partition it shared nobody knows any more. */
static void a_key_stays_while_a_vf_of_a_network_that_is_gone_is_open_at_it(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    played->nodes[0].records[0].network_id = 99;
    end_vm(played);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

static void a_key_stays_while_a_vf_of_a_reservation_that_shares_it_is_open(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    played->scene.cloud.networks[0].reservations_share = true;
    add_reservation(&played->scene, 8, 7, 0x101);
    played->nodes[0].records[0].network_id = 8;
    end_vm(played);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

/* In a file that somebody else has written. */
static void of_what_is_in_force_twice_the_narrower_stays(void **state)
{
    static const enum oneib_membership orders[][2] = {{ONEIB_FULL, ONEIB_LIMITED},
                                                      {ONEIB_LIMITED, ONEIB_FULL}};
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    for (size_t i = 0; i < 2; i++) {
        struct oneib_partition *partition = &played->scene.in_force.items[0];
        partition->member_count = 0;
        add_guid(&played->scene, partition, port_of(1), orders[i][0]);
        add_guid(&played->scene, partition, port_of(1), orders[i][1]);
        pass(played);
        assert_gated(played, 0x101, port_of(1), "limited");
    }
}

/* Its own new members take no key from it. */
static void a_cluster_whose_key_is_kept_somewhere_grows_elsewhere(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_node(played, 2);
    end_vm(played);
    add_nic(&played->scene, 5, 0, 7, 2);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x101, port_of(2), "full");
    assert_int_equal(played->gate.withheld, 0);
}

/* Port 1 has room for two. It keeps 0x101 until VM 4's VF is closed; 0x102 waits, for on host 2 it is
 * still open for a network that is gone. */
static void what_waits_for_another_host_leaves_its_place_to_what_comes(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    set_capacity(&played->scene, port_of(1), 3); /* default partition and two more */
    add_node(played, 2);
    report(played, 2, 9, 6, 0x102);
    PUT_IN_FORCE(played, "one6", 0x102, port_of(2));
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    add_network(&played->scene, 9, 0x103);
    add_nic(&played->scene, 6, 0, 9, 1);
    end_vm(played);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x102, port_of(1), "none");
    assert_gated(played, 0x103, port_of(1), "full");
    assert_int_equal(played->gate.withheld, 1);
}

/* A host whose document says that it has no VFs, and whose node says that it has one. */
static void a_node_with_vfs_is_waited_for_whatever_its_host_says(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    played->scene.cloud.hosts[0].ports[0].vfs_total = 0;
    end_vm(played);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

/* What a host's probe says anybody can send; what oneibd wrote down of the host itself stays. */
static void a_host_that_may_hold_keys_is_waited_for_whatever_its_probe_says(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    struct oneib_host *host = &played->scene.cloud.hosts[0];
    host->ports[0].vfs_total = 0;
    host->keys = malloc(sizeof *host->keys);
    assert_non_null(host->keys);
    host->keys[0] = 0x101;
    host->key_count = 1;
    played->snapshots[0].state = ONEIB_NODE_UNHEARD;
    played->snapshots[0].record_count = 0;
    played->snapshots[0].sent = NULL;
    end_vm(played);
    oneib_grants_clear(&played->grants);
    add_network(&played->scene, 8, 0x102);
    oneib_network_add_static(&played->scene.cloud.networks[1], port_of(1), ONEIB_FULL);
    grant_all(played);
    pass_gate(played);
    assert_gated(played, 0x102, port_of(1), "none");
    host->key_count = 0;
    host->keys_invalid = true; /* nobody knows */
    pass_gate(played);
    assert_gated(played, 0x102, port_of(1), "none");
    host->keys_invalid = false;
    pass_gate(played);
    assert_gated(played, 0x102, port_of(1), "full");
}

static void a_new_key_of_a_network_comes_beside_the_old_one(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    change_key(played, 0, 0x102);
    grant_all(played);
    send_grants(played, 1);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x102, port_of(1), "full");
    assert_string_equal(partition_of(&played->gate.table, 0x102)->name, "one7");
    assert_string_equal(partition_of(&played->gate.table, 0x101)->name, "one7-0101");
    /* It can be read back, and what is left of the old key is told from it. */
    oneib_partition_table_clear(&played->scene.in_force);
    oneib_autotext struct oneib_text text = {0};
    oneib_partitions_render(&played->gate.table, &text);
    assert_int_equal(oneib_partitions_parse(text.data, text.length, "file", &played->scene.in_force,
                                            &played->scene.err),
                     0);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_string_equal(partition_of(&played->gate.table, 0x101)->name, "one7-0101");
    played->nodes[0].records[0].pkey = 0x102;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_gated(played, 0x102, port_of(1), "full");
}

static void keys_of_one_network_change_back_and_forth_without_a_name_twice(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    PUT_IN_FORCE(played, "one7-0102", 0x102, port_of(1));
    PUT_IN_FORCE(played, "one7-0103", 0x103, port_of(1));
    report(played, 1, 5, 7, 0x102);
    report(played, 1, 6, 7, 0x103);
    change_key(played, 0, 0x102);
    grant_all(played);
    send_grants(played, 1);
    pass(played);
    assert_string_equal(partition_of(&played->gate.table, 0x101)->name, "one7-0101");
    assert_string_equal(partition_of(&played->gate.table, 0x102)->name, "one7");
    assert_string_equal(partition_of(&played->gate.table, 0x103)->name, "one7-0103");
}

static void while_a_key_is_kept_it_is_nobody_elses(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    /* Nobody has waited until the key was free. */
    change_key(played, 0, 0x105);
    add_network(&played->scene, 9, 0x101);
    add_node(played, 2);
    add_nic(&played->scene, 5, 0, 9, 2);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x101, port_of(2), "none");
    assert_string_equal(partition_of(&played->gate.table, 0x101)->name, "one7");
    assert_int_equal(played->gate.withheld, 1);
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_gated(played, 0x101, port_of(2), "full");
    assert_string_equal(partition_of(&played->gate.table, 0x101)->name, "one9");
}

/* What is granted already with the key is not what has it open. */
static void two_networks_can_swap_their_keys(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    report(played, 1, 5, 8, 0x102);
    PUT_IN_FORCE(played, "one8", 0x102, port_of(1));
    change_key(played, 0, 0x102);
    change_key(played, 1, 0x101);
    grant_all(played);
    send_grants(played, 1);
    pass(played);
    assert_string_equal(partition_of(&played->gate.table, 0x101)->name, "one7-0101");
    assert_string_equal(partition_of(&played->gate.table, 0x102)->name, "one8-0102");
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_string_equal(partition_of(&played->gate.table, 0x101)->name, "one8");
    assert_string_equal(partition_of(&played->gate.table, 0x102)->name, "one7");
    assert_int_equal(played->gate.kept, 0);
}

/* The port cannot tell two clusters with one key apart: what stays would be a stranger's. */
static void a_silent_nodes_entry_does_not_become_another_clusters(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    change_key(played, 0, 0x105);
    add_network(&played->scene, 9, 0x101);
    add_nic(&played->scene, 5, 0, 9, 1);
    pass_while(played, ONEIB_NODE_SILENT);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_int_equal(played->gate.withheld, 1);
}

static void nothing_is_added_where_a_vf_is_open_at_what_is_gone(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    oneib_partition_table_clear(&played->scene.in_force); /* it went while the node was silent */
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    pass(played);
    assert_gated(played, 0x102, port_of(1), "none");
    /* Nor its own key, for another cluster. */
    change_key(played, 0, 0x105);
    change_key(played, 1, 0x101);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
    played->nodes[0].records[0].stage = ONEIB_VF_CLOSED;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

static void what_nodes_have_open_comes_back_after_the_file_was_lost(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    report(played, 1, 5, 8, 0x102);
    oneib_partition_table_clear(&played->scene.in_force);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x102, port_of(1), "full");
}

/* A VF is open at a key that its port lost and is to have again: first that one. */
static void what_a_port_has_to_catch_up_with_comes_alone(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_network(&played->scene, 8, 0x100);
    add_nic(&played->scene, 5, 0, 8, 1);
    oneib_partition_table_clear(&played->scene.in_force);
    grant_all(played);
    send_grants(played, 1); /* what is sent is not open by that */
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x100, port_of(1), "none");
    PUT_IN_FORCE(played, "one7", 0x101, port_of(1));
    pass(played);
    assert_gated(played, 0x100, port_of(1), "full");
}

static void a_reservation_is_at_home_in_its_parents_partition(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    played->scene.cloud.networks[0].reservations_share = true;
    add_reservation(&played->scene, 20, 7, 0x101);
    add_nic(&played->scene, 6, 0, 20, 1);
    report(played, 1, 6, 20, 0x101);
    add_network(&played->scene, 30, 0x103);
    add_nic(&played->scene, 8, 0, 30, 1);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x103, port_of(1), "full");
    assert_int_equal(granted(played, 1, 6, 0)->pkey, 0x101);
}

static void the_key_that_a_network_had_to_itself_stays_while_it_is_open(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_network(&played->scene, 8, 0x102)->reservations_share = true;
    played->scene.cloud.networks[0].parent_id = 8; /* its partition is another's from now on */
    grant_all(played);
    send_grants(played, 1);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    played->nodes[0].records[0].stage = ONEIB_VF_CLOSED;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
}

static void a_record_of_a_port_that_the_host_does_not_report_counts_on_all_its_ports(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    strcpy(played->nodes[0].records[0].device, "mlx4_9");
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

static void two_hosts_that_report_one_port_must_both_have_let_go(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_node(played, 2);
    played->scene.cloud.hosts[1].ports[0].port_guid = port_of(1);
    report(played, 2, 44, 7, 0x101);
    end_vm(played);
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    send_grants(played, 2);
    node_of(played, 2)->record_count = 0;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
}

static void limited_becomes_full_when_the_node_follows(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    played->scene.in_force.items[0].members[0].membership = ONEIB_LIMITED;
    played->nodes[0].records[0].limited = true;
    static const enum oneib_node_state states[] = {ONEIB_NODE_AWAITED, ONEIB_NODE_SILENT,
                                                   ONEIB_NODE_UNHEARD, ONEIB_NODE_FOLLOWS};
    for (size_t i = 0; i < 4; i++) {
        pass_while(played, states[i]);
        assert_gated(played, 0x101, port_of(1), "limited");
        assert_int_equal(played->gate.kept, 1);
    }
    played->nodes[0].records[0].limited = false;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

static void full_becomes_limited_at_once(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    played->scene.cloud.attachments[0].narrowed = true;
    pass_while(played, ONEIB_NODE_AWAITED);
    assert_gated(played, 0x101, port_of(1), "limited");
}

static void what_is_kept_leaves_no_room_for_what_is_new(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    set_capacity(&played->scene, port_of(1), 3); /* default partition and two more */
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    add_network(&played->scene, 9, 0x103);
    add_nic(&played->scene, 6, 0, 9, 1);
    end_vm(played);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x102, port_of(1), "full");
    assert_gated(played, 0x103, port_of(1), "none");
    assert_int_equal(played->gate.withheld, 1);
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_gated(played, 0x103, port_of(1), "full");
}

static void the_default_partition_and_the_static_ones_are_as_desired(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    struct oneib_partition *storage =
        add_partition(&played->scene, &played->scene.static_partitions, "storage", 0x50);
    add_wildcard(&played->scene, storage, ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    add_guid(&played->scene, storage, port_of(1), ONEIB_FULL);
    add_guid(&played->scene, storage, port_of(0), ONEIB_FULL);
    add_partition(&played->scene, &played->scene.static_partitions, "nobodys", 0x52);
    PUT_IN_FORCE(played, "backup", 0x51, port_of(1));
    pass(played);
    const struct oneib_partition_table *desired = &played->scene.desired.table;
    assert_true(oneib_partition_table_equal(&played->gate.table, desired));
}

/* A VF may be mapped to the place that the new key would take. */
static void a_port_of_a_silent_node_does_not_come_by_a_static_partition(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    PUT_IN_FORCE(played, "backup", 0x50, port_of(1));
    PUT_IN_FORCE(played, "storage", 0x51, port_of(8)); /* no host's */
    add_guid(&played->scene,
             add_partition(&played->scene, &played->scene.static_partitions, "backup", 0x50),
             port_of(1), ONEIB_FULL);
    struct oneib_partition *storage =
        add_partition(&played->scene, &played->scene.static_partitions, "storage", 0x51);
    add_guid(&played->scene, storage, port_of(1), ONEIB_FULL);
    add_guid(&played->scene, storage, port_of(9), ONEIB_FULL); /* no host's */
    add_guid(&played->scene,
             add_partition(&played->scene, &played->scene.static_partitions, "alone", 0x52),
             port_of(1), ONEIB_FULL);
    pass_while(played, ONEIB_NODE_SILENT);
    assert_gated(played, 0x50, port_of(1), "full");
    assert_gated(played, 0x51, port_of(1), "none");
    assert_gated(played, 0x51, port_of(9), "full");
    assert_null(partition_of(&played->gate.table, 0x52));
    assert_int_equal(played->gate.withheld, 2);
    pass_while(played, ONEIB_NODE_FOLLOWS);
    assert_gated(played, 0x51, port_of(1), "full");
    assert_gated(played, 0x52, port_of(1), "full");
    assert_int_equal(played->gate.withheld, 0);
}

static void pin_port(struct grant_scene *played, uint32_t host_id, oneib_guid guid)
{
    struct oneib_ledger *ledger = &played->scene.ledger;
    const struct oneib_ledger_host host = {.host_id = host_id};
    const struct oneib_ledger_port port = {.guid = guid, .host_id = host_id};
    oneib_ledger_pin(ledger, &host);
    assert_int_equal(oneib_ledger_set_port(ledger, &port, &played->scene.err), 0);
}

/* A probe that fails, as while an adapter is reset, takes no key off a port, and opens none. */
static void a_port_that_no_probe_reports_is_the_hosts_that_the_ledger_says(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    pin_port(played, 1, port_of(1));
    pin_port(played, 1, port_of(11));
    PUT_IN_FORCE(played, "one9", 0x109, port_of(11));
    add_network(&played->scene, 8, 0x102);
    oneib_network_add_static(&played->scene.cloud.networks[1], port_of(1), ONEIB_FULL);
    played->scene.cloud.hosts[0].port_count = 0;
    grant_all(played);
    send_grants(played, 1);
    assert_null(granted(played, 1, 4, 0));
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x109, port_of(11), "none"); /* nothing is open at that */
    pass_while(played, ONEIB_NODE_AWAITED);
    assert_gated(played, 0x109, port_of(11), "full");
    pass_while(played, ONEIB_NODE_SILENT);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_gated(played, 0x102, port_of(1), "none");
    node_of(played, 1)->state = ONEIB_NODE_FOLLOWS;
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_gated(played, 0x102, port_of(1), "full");
}

/* What is open somewhere keeps no key on a port where nothing can be open by it. */
static void what_is_open_counts_on_no_other_hosts_port_that_no_probe_reports(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    pin_port(played, 1, port_of(11));
    add_node(played, 2);
    send_grants(played, 2);
    pin_port(played, 2, port_of(2));
    add_guid(&played->scene, &played->scene.in_force.items[0], port_of(11), ONEIB_FULL);
    add_guid(&played->scene, &played->scene.in_force.items[0], port_of(2), ONEIB_FULL);
    played->scene.cloud.hosts[1].port_count = 0;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x101, port_of(11), "none"); /* the VF's port is reported */
    assert_gated(played, 0x101, port_of(2), "none");
    played->scene.cloud.hosts[0].port_count = 0;
    pass(played);
    assert_gated(played, 0x101, port_of(11), "full");
    assert_gated(played, 0x101, port_of(2), "none");
}

/* Another host has the adapter now, and says so. */
static void a_port_that_another_host_reports_waits_for_that_one_alone(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_nic(&played->scene, 4, 0, 7, 1);
    pin_port(played, 3, port_of(1));
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

/* An operator's partition of 0x50 is to have the port. */
static void want_static_at(struct grant_scene *played, oneib_guid guid)
{
    add_guid(&played->scene,
             add_partition(&played->scene, &played->scene.static_partitions, "some", 0x50), guid,
             ONEIB_FULL);
}

static void nothing_comes_to_a_port_of_a_host_that_is_gone(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    pin_port(played, 3, port_of(3));
    want_static_at(played, port_of(3));
    pass(played);
    assert_gated(played, 0x50, port_of(3), "none");
    oneib_ledger_unpin(&played->scene.ledger, 3);
    pass(played);
    assert_gated(played, 0x50, port_of(3), "full");
}

static void assert_all_comes(struct grant_scene *played, bool comes)
{
    pass(played);
    assert_true((partition_of(&played->gate.table, 0x50) != NULL) == comes);
}

/* No port can be left out of it, and a VF may be mapped to the place that it would take there. */
static void what_comes_to_all_ports_waits_for_each_host_that_may_hold_keys(void **state)
{
    const struct oneib_ledger_host lost = {.host_id = 3};
    struct grant_scene *played = *state;
    settle(played);
    add_node(played, 2)->state = ONEIB_NODE_UNHEARD; /* it was never granted anything */
    add_wildcard(&played->scene,
                 add_partition(&played->scene, &played->scene.static_partitions, "all", 0x50),
                 ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    assert_all_comes(played, true);
    hold_key(&played->scene.cloud.hosts[1], 0x108);
    assert_all_comes(played, false);
    node_of(played, 2)->state = ONEIB_NODE_AWAITED;
    assert_all_comes(played, true);
    report(played, 2, 44, 9, 0x109); /* its port does not hold that */
    assert_all_comes(played, false);
    node_of(played, 2)->record_count = 0;
    oneib_partition_table_clear(&played->scene.in_force);
    assert_all_comes(played, false); /* VM 4 is open at what its port is to have first */
    PUT_IN_FORCE(played, "one7", 0x101, port_of(1));
    assert_all_comes(played, true);
    oneib_ledger_pin(&played->scene.ledger, &lost);
    assert_all_comes(played, false);
    add_wildcard(&played->scene,
                 add_partition(&played->scene, &played->scene.in_force, "all", 0x50),
                 ONEIB_MEMBER_ALL, ONEIB_LIMITED); /* what is in force stays */
    assert_all_comes(played, true);
    lead_elsewhere(played, 0x0050);
    assert_all_comes(played, true);
    lead_elsewhere(played, 0); /* it is in an old file alone */
    assert_all_comes(played, false);
}

/* What is open there nobody knows, and a port that is disabled may be enabled by hand. */
static void what_comes_to_all_ports_waits_while_a_host_is_fenced(void **state)
{
    const struct oneib_ledger_fence fence = {.host_id = 2, .asked = 1};
    const struct oneib_ledger_fenced_port port = {
        .host_id = 2, .guid = port_of(2), .state = ONEIB_FENCE_GONE};
    struct grant_scene *played = *state;
    settle(played);
    add_node(played, 2);
    *node_of(played, 2) = oneib_node_of_fenced_host(2);
    add_wildcard(&played->scene,
                 add_partition(&played->scene, &played->scene.static_partitions, "all", 0x50),
                 ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    oneib_ledger_set_fence(&played->scene.ledger, &fence);
    assert_int_equal(oneib_ledger_set_fenced_port(&played->scene.ledger, &port, &played->scene.err),
                     0);
    assert_all_comes(played, false);
    oneib_ledger_lift_fence(&played->scene.ledger, 2);
    assert_all_comes(played, true);
}

/* A place too many would be the last one of the table, where what is not assigned leads. */
static void the_operators_partitions_wait_where_what_is_kept_leaves_no_room(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    set_capacity(&played->scene, port_of(1), 2); /* with the default partition */
    struct oneib_partition_table *statics = &played->scene.static_partitions;
    want_static_at(played, port_of(1));
    pass(played); /* VM 4 has no place any more, and is open still */
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x50, port_of(1), "none");
    oneib_partition_table_clear(statics);
    add_wildcard(&played->scene, add_partition(&played->scene, statics, "all", 0x51),
                 ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_null(partition_of(&played->gate.table, 0x51));
    send_grants(played, 1);
    played->nodes[0].records[0].stage = ONEIB_VF_CLOSED;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_non_null(partition_of(&played->gate.table, 0x51));
}

/* What was settled ends on a port with room for so many, the default partition's entry among them;
 * another cluster and an operator's partition are to come. */
static void end_vm_where_two_come(struct grant_scene *played, uint16_t pkeys_max)
{
    set_capacity(&played->scene, port_of(1), pkeys_max);
    want_static_at(played, port_of(1));
    add_network(&played->scene, 8, 0x102);
    add_nic(&played->scene, 5, 0, 8, 1);
    end_vm(played);
    pass(played);
}

static void an_operators_partition_comes_into_the_last_place(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    end_vm_where_two_come(played, 4);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x102, port_of(1), "full");
    assert_gated(played, 0x50, port_of(1), "full");
}

static void a_clusters_key_waits_beside_what_the_operators_partitions_have(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    PUT_IN_FORCE(played, "some", 0x50, port_of(1));
    end_vm_where_two_come(played, 3);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x50, port_of(1), "full");
    assert_gated(played, 0x102, port_of(1), "none");
}

/* What the operator's do not take there a cluster's may. */
static void the_place_of_an_operators_partition_that_waits_is_not_lost(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    end_vm_where_two_come(played, 3);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x102, port_of(1), "full");
    assert_gated(played, 0x50, port_of(1), "none");
}

/* A static partition is the operator's word: its key is not kept for a cluster. */
static void a_key_that_a_static_partition_takes_is_kept_for_nobody(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_guid(&played->scene,
             add_partition(&played->scene, &played->scene.static_partitions, "mine", 0x101),
             port_of(60), ONEIB_FULL);
    pass(played);
    assert_gated(played, 0x101, port_of(60), "full");
    assert_gated(played, 0x101, port_of(1), "none");
    for (size_t i = 0; i < played->gate.table.count; i++)
        assert_string_not_equal(played->gate.table.items[i].name, "one7");
}

/* With ALL its ports would be in the operator's partition while VFs are open there. */
static void a_key_that_a_static_partition_takes_is_kept_while_a_host_may_hold_it(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    hold_key(&played->scene.cloud.hosts[0], 0x101);
    add_wildcard(&played->scene,
                 add_partition(&played->scene, &played->scene.static_partitions, "mine", 0x101),
                 ONEIB_MEMBER_ALL, ONEIB_FULL);
    played->scene.policy.hold_minimum = 1; /* the removal hold is none of it */
    grant_all(played);
    send_grants(played, 1);
    assert_null(granted(played, 1, 4, 0));
    pass(played);
    assert_string_equal(partition_of(&played->gate.table, 0x101)->name, "one7");
    assert_gated(played, 0x101, port_of(1), "full");
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_null(partition_of(&played->gate.table, 0x101));
    hold_key(&played->scene.cloud.hosts[0], 0x102); /* so it has been written down */
    pass(played);
    assert_string_equal(partition_of(&played->gate.table, 0x101)->name, "mine");
}

/* The command hears nobody: it judges as the daemon does that has not heard a node yet. */
static void who_hears_no_nodes_adds_nothing_at_the_ports_of_hosts_with_vfs(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    played->node_count = 0;
    for (uint32_t i = 2; i <= 4; i++)
        add_host(&played->scene, i)->ports[0].vfs_total = i == 4 ? 0 : 8;
    played->scene.cloud.hosts[0].ports[0].vfs_total = 8;
    hold_key(&played->scene.cloud.hosts[1], 0x109);
    add_network(&played->scene, 8, 0x102);
    for (uint32_t i = 1; i <= 4; i++)
        add_nic(&played->scene, 4 + i, 0, 8, i);
    grant_all(played);
    oneib_grants_clear(&played->grants);
    for (int hears_no_nodes = 0; hears_no_nodes < 2; hears_no_nodes++) {
        pass_gate_as(played, hears_no_nodes);
        assert_gated(played, 0x101, port_of(1), "full");
        for (uint32_t i = 1; i <= 3; i++)
            assert_gated(played, 0x102, port_of(i), "none");
        assert_gated(played, 0x102, port_of(4), "full");
        assert_int_equal(played->gate.withheld, 3);
    }
    oneib_partition_table_clear(&played->scene.in_force); /* then all is new */
    pass_gate_as(played, true);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_gated(played, 0x102, port_of(4), "full");
}

static void move_vf(struct grant_scene *played)
{
    add_network_7(played, 2);
    played->scene.cloud.hosts[0].ports[0].driver = ONEIB_HCA_MLX5;
    played->scene.cloud.hosts[1].ports[0].driver = ONEIB_HCA_MLX5;
    add_nic(&played->scene, 4, 0, 7, 2);
    PUT_IN_FORCE(played, "one7", 0x101, oneib_guid_encode(SITE, 4, 0));
}

/* Another host's VF may have that GUID, and nobody here knows. */
static void who_hears_no_nodes_adds_no_guid_of_a_vf_on_their_hosts(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid there = oneib_guid_encode(SITE, 4, 0), new = oneib_guid_encode(SITE, 5, 0);
    const oneib_guid elsewhere = oneib_guid_encode(SITE, 6, 0);
    move_vf(played);
    played->node_count = 0;
    add_nic(&played->scene, 5, 0, 7, 2);
    add_nic(&played->scene, 6, 0, 7, 1);
    grant_all(played);
    oneib_grants_clear(&played->grants);
    pass_gate_as(played, true);
    assert_gated(played, 0x101, there, "full");
    assert_gated(played, 0x101, new, "none");
    assert_gated(played, 0x101, elsewhere, "none");
    pass_gate(played);
    assert_gated(played, 0x101, new, "full");
    assert_gated(played, 0x101, elsewhere, "full");
}

/* VFs of mlx5 are ports of their own: taking a key away reaches that VM alone. */
static void vfs_with_tables_of_their_own_are_as_desired(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    add_network_7(played, 1);
    played->scene.cloud.hosts[0].ports[0].driver = ONEIB_HCA_MLX5;
    add_nic(&played->scene, 4, 0, 7, 1);
    report(played, 1, 4, 7, 0x101);
    pass_while(played, ONEIB_NODE_SILENT);
    assert_gated(played, 0x101, vf, "full");
    assert_true(partition_of(&played->gate.table, 0x101)->indx0);
}

static bool is_said(const struct grant_scene *played, const char *words)
{
    for (size_t i = 0; i < played->findings.count; i++)
        if (strcmp(played->findings.items[i].code, "guid-twice") == 0 &&
            strstr(played->findings.items[i].text, words))
            return true;
    return false;
}

/* VM 4 was on host 1, is on host 2 now, both with mlx5; its VF's GUID is in force. */
static void a_guid_that_another_host_still_has_is_in_no_partition(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    move_vf(played);
    report(played, 1, 4, 7, 0x101);
    tell(played, 1, 4, 0);
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
    assert_true(is_said(played, "host 1 still has its GUID"));
    assert_true(played->gate.withheld > 0);

    /* Also when nobody hears of it any more: the SM would let both have it. */
    node_of(played, 1)->state = ONEIB_NODE_SILENT;
    played->scene.cloud.hosts[0].state = 3;
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    assert_false(granted(played, 2, 4, 0)->may_set_guid);

    /* Its fence is as good as a report that it has nothing. */
    *node_of(played, 1) = oneib_node_of_fenced_host(1);
    pass(played);
    assert_gated(played, 0x101, vf, "full");
    assert_true(granted(played, 2, 4, 0)->may_set_guid);
    assert_false(is_said(played, ""));
}

/* After a restart of the daemon anybody may name anybody's NIC in his first table. */
static void
what_a_node_is_only_assumed_to_have_been_sent_takes_no_guid_out_of_a_partition(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    move_vf(played);
    report(played, 1, 4, 7, 0x101);
    tell(played, 1, 4, 0);
    played->nodes[0].told[0].is_assumed = true;
    pass(played);
    assert_gated(played, 0x101, vf, "full");
    assert_false(is_said(played, ""));

    /* It is not in force yet: it waits. */
    oneib_partition_table_clear(&played->scene.in_force);
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    assert_true(is_said(played, "host 1 still has its GUID"));
}

static void a_guid_that_the_fabric_still_has_is_in_no_partition(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    move_vf(played);
    played->scene.has_subnet = true;
    add_subnet_port(&played->scene, vf, 0); /* of whom nobody says that he has it */
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
    assert_true(is_said(played, "another port of the fabric"));

    report(played, 2, 4, 7, 0x101); /* it is this one's */
    pass(played);
    assert_gated(played, 0x101, vf, "full");

    add_subnet_port(&played->scene, vf, 0); /* and somebody else's */
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    assert_true(is_said(played, "another port of the fabric"));
}

/* The fabric shows it before the node has reported: a VM that starts is not taken for one that is
 * elsewhere, too. */
static void a_guid_that_a_node_was_told_to_set_is_its_own(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    move_vf(played);
    grant_all(played);
    send_grants(played, 2);
    played->scene.has_subnet = true;
    add_subnet_port(&played->scene, vf, 0);
    pass(played);
    assert_gated(played, 0x101, vf, "full");
    assert_false(is_said(played, ""));
    /* What it was told to leave alone is another's. */
    played->nodes[1].sent.items[0].may_set_guid = false;
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    assert_true(is_said(played, "another port of the fabric"));
}

/* Three VMs, the last on the first host; the fabric has the GUID of each. */
static void show_three_vfs(struct grant_scene *played)
{
    add_network(&played->scene, 7, 0x101);
    for (uint32_t i = 1; i <= 3; i++) {
        add_node(played, i);
        played->scene.cloud.hosts[i - 1].ports[0].driver = ONEIB_HCA_MLX5;
        add_nic(&played->scene, 7 - i, 0, 7, i);
        add_subnet_port(&played->scene, oneib_guid_encode(SITE, 7 - i, 0), 0);
    }
}

static void each_guid_on_the_fabric_is_its_own_hosts_when_that_reports_it(void **state)
{
    struct grant_scene *played = *state;
    show_three_vfs(played);
    for (uint32_t i = 1; i <= 3; i++)
        report(played, i, 7 - i, 7, 0x101);
    pass(played);
    for (uint32_t vm = 4; vm <= 6; vm++)
        assert_gated(played, 0x101, oneib_guid_encode(SITE, vm, 0), "full");
    assert_int_equal(played->grants.twice_count, 0);
}

static void each_guid_that_the_fabric_still_has_is_found_and_named(void **state)
{
    struct grant_scene *played = *state;
    show_three_vfs(played);
    pass(played);
    assert_int_equal(played->grants.twice_count, 3);
    assert_int_equal(played->findings.count, 3);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_gated(played, 0x101, oneib_guid_encode(SITE, 7 - i, 0), "none");
        assert_true(
            oneib_finding_is_about(&played->findings.items[i - 1], ONEIB_SUBJECT_VM, 7 - i));
        assert_true(
            oneib_finding_is_about(&played->findings.items[i - 1], ONEIB_SUBJECT_NETWORK, 7));
        assert_true(oneib_finding_is_about(&played->findings.items[i - 1], ONEIB_SUBJECT_HOST, i));
    }
}

/* What was read of a host's adapter may be older than what the host says. */
static void a_guid_that_an_adapter_has_shown_is_its_hosts_to_report(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    move_vf(played);
    played->scene.has_subnet = true;
    add_subnet_port(&played->scene, vf, 0)->owner = UINT64_C(0x0002c90300000001);
    pass(played);
    assert_gated(played, 0x101, vf, "full");
    assert_false(is_said(played, "another port of the fabric"));
}

/* oneibd was started anew, and the node has not reported yet: its VM runs on. */
static void a_guid_of_a_node_that_has_told_nothing_is_not_twice(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    move_vf(played);
    played->scene.has_subnet = true;
    add_subnet_port(&played->scene, vf, 0);
    node_of(played, 2)->state = ONEIB_NODE_UNHEARD;
    node_of(played, 2)->table_known = false;
    pass(played);
    assert_gated(played, 0x101, vf, "full");
    assert_false(is_said(played, ""));
}

/* The fence counts as a report that nothing is open there. But nobody knows what is: a key that
 * comes could take the place that an open VF is mapped to. */
static void nothing_comes_to_a_fenced_port_whoever_reports_or_lists_it(void **state)
{
    struct grant_scene *played = *state;
    const struct oneib_ledger_fenced_port fenced = {
        .host_id = 9, .guid = port_of(1), .state = ONEIB_FENCE_GONE};
    add_network_7(played, 1);
    add_nic(&played->scene, 4, 0, 7, 1);
    add_guid(&played->scene,
             add_partition(&played->scene, &played->scene.static_partitions, "store", 0x10),
             port_of(1), ONEIB_FULL);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_gated(played, 0x10, port_of(1), "full");
    oneib_ledger_set_fence(&played->scene.ledger,
                           &(struct oneib_ledger_fence){.host_id = 9, .asked = 1});
    assert_int_equal(
        oneib_ledger_set_fenced_port(&played->scene.ledger, &fenced, &played->scene.err), 0);
    pass_gate(played);
    assert_gated(played, 0x101, port_of(1), "none");
    assert_gated(played, 0x10, port_of(1), "none");
    assert_true(played->gate.withheld > 0);
    lead_elsewhere(played, 0x8101);
    pass_gate(played);
    assert_gated(played, 0x101, port_of(1), "none");
    /* Nor does what it has come to be wider. */
    PUT_IN_FORCE(played, "one7", 0x101, port_of(1));
    played->scene.in_force.items[0].members[0].membership = ONEIB_LIMITED;
    pass_gate(played);
    assert_gated(played, 0x101, port_of(1), "limited");
}

static void a_guid_that_migrates_is_not_twice(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    move_vf(played);
    played->scene.cloud.attachments[0].phase = ONEIB_MIGRATING;
    played->scene.cloud.attachments[0].source_host_id = 1;
    report(played, 1, 4, 7, 0x101);
    tell(played, 1, 4, 0);
    pass(played);
    assert_gated(played, 0x101, vf, "full");
    assert_false(is_said(played, ""));
    assert_true(granted(played, 1, 4, 0)->may_set_guid);
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
}

/* Both hosts of the migration may have the GUID: the third one is seen all the same. */
static void a_guid_that_migrates_is_twice_where_a_third_host_has_it(void **state)
{
    struct grant_scene *played = *state;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    move_vf(played);
    played->scene.cloud.attachments[0].phase = ONEIB_MIGRATING;
    played->scene.cloud.attachments[0].source_host_id = 1;
    add_node(played, 3);
    for (uint32_t host = 1; host <= 3; host++) {
        report(played, host, 4, 7, 0x101);
        tell(played, host, 4, 0);
    }
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    assert_true(is_said(played, "host 3 still has its GUID"));
}

/* The network's VMs are on VFs with tables of their own now, and the last of the old ones is still
 * open: at index 0 of its port the key would be every VF's. */
static void what_is_kept_on_a_port_keeps_its_key_from_index_0(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    add_host_with(&played->scene, 3, "mlx5_0");
    add_nic(&played->scene, 5, 0, 7, 3);
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
    assert_false(partition_of(&played->gate.table, 0x101)->indx0);
    node_of(played, 1)->record_count = 0;
    pass(played);
    assert_true(partition_of(&played->gate.table, 0x101)->indx0);
}

static void partitions_lie_by_key(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    add_network(&played->scene, 3, 0x100);
    add_nic(&played->scene, 5, 0, 3, 1);
    add_network(&played->scene, 5, 0x102);
    add_nic(&played->scene, 6, 0, 5, 1);
    pass(played);
    assert_int_equal(played->gate.table.count, 4);
    assert_int_equal(played->gate.table.items[0].pkey, ONEIB_PKEY_DEFAULT);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(played->gate.table.items[i].pkey, 0xff + i);
}

static void nothing_in_force_and_nobody_there_is_fine(void **state)
{
    struct grant_scene *played = *state;
    grant_all(played);
    const struct oneib_gate_input input = {.cloud = &played->scene.cloud,
                                           .desired = &played->scene.desired,
                                           .grants = &played->grants};
    oneib_gate_compute(&input, &played->gate);
    assert_int_equal(played->gate.table.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRANT_TEST(what_is_desired_and_in_force_stays),
        GRANT_TEST(a_key_stays_until_the_node_has_reported),
        GRANT_TEST(an_unreadable_vm_loses_its_grant_and_its_key_stays_until_its_vf_is_closed),
        GRANT_TEST(a_key_stays_while_the_node_has_it_open),
        GRANT_TEST(nothing_comes_to_a_port_whose_node_does_not_tell_all),
        GRANT_TEST(a_key_goes_when_the_node_has_closed),
        GRANT_TEST(a_key_goes_from_a_port_whose_node_is_silent),
        GRANT_TEST(a_table_that_is_not_whole_says_of_nothing_that_it_is_closed),
        GRANT_TEST(what_a_node_was_sent_last_stays),
        GRANT_TEST(nothing_is_added_where_the_node_is_silent_or_not_heard),
        GRANT_TEST(what_another_subnet_manager_has_put_there_waits_for_no_node),
        GRANT_TEST(what_only_an_old_file_says_comes_back_to_no_port),
        GRANT_TEST(what_is_new_comes_at_once_to_a_node_that_is_heard),
        GRANT_TEST(a_static_member_is_not_added_at_a_silent_nodes_port_either),
        GRANT_TEST(a_host_without_vfs_and_a_port_that_no_host_reports_wait_for_nobody),
        GRANT_TEST(a_silent_node_holds_up_its_own_ports_alone),
        GRANT_TEST(a_key_stays_on_the_port_alone_whose_vf_is_open),
        GRANT_TEST(a_key_stays_while_a_vf_of_a_network_that_is_gone_is_open_at_it),
        GRANT_TEST(a_key_stays_while_a_vf_of_a_reservation_that_shares_it_is_open),
        GRANT_TEST(of_what_is_in_force_twice_the_narrower_stays),
        GRANT_TEST(a_cluster_whose_key_is_kept_somewhere_grows_elsewhere),
        GRANT_TEST(what_waits_for_another_host_leaves_its_place_to_what_comes),
        GRANT_TEST(a_node_with_vfs_is_waited_for_whatever_its_host_says),
        GRANT_TEST(a_host_that_may_hold_keys_is_waited_for_whatever_its_probe_says),
        GRANT_TEST(a_new_key_of_a_network_comes_beside_the_old_one),
        GRANT_TEST(keys_of_one_network_change_back_and_forth_without_a_name_twice),
        GRANT_TEST(while_a_key_is_kept_it_is_nobody_elses),
        GRANT_TEST(two_networks_can_swap_their_keys),
        GRANT_TEST(a_silent_nodes_entry_does_not_become_another_clusters),
        GRANT_TEST(nothing_is_added_where_a_vf_is_open_at_what_is_gone),
        GRANT_TEST(what_nodes_have_open_comes_back_after_the_file_was_lost),
        GRANT_TEST(what_a_port_has_to_catch_up_with_comes_alone),
        GRANT_TEST(a_reservation_is_at_home_in_its_parents_partition),
        GRANT_TEST(the_key_that_a_network_had_to_itself_stays_while_it_is_open),
        GRANT_TEST(a_record_of_a_port_that_the_host_does_not_report_counts_on_all_its_ports),
        GRANT_TEST(two_hosts_that_report_one_port_must_both_have_let_go),
        GRANT_TEST(limited_becomes_full_when_the_node_follows),
        GRANT_TEST(full_becomes_limited_at_once),
        GRANT_TEST(what_is_kept_leaves_no_room_for_what_is_new),
        GRANT_TEST(the_default_partition_and_the_static_ones_are_as_desired),
        GRANT_TEST(a_port_of_a_silent_node_does_not_come_by_a_static_partition),
        GRANT_TEST(a_port_that_no_probe_reports_is_the_hosts_that_the_ledger_says),
        GRANT_TEST(what_is_open_counts_on_no_other_hosts_port_that_no_probe_reports),
        GRANT_TEST(a_port_that_another_host_reports_waits_for_that_one_alone),
        GRANT_TEST(nothing_comes_to_a_port_of_a_host_that_is_gone),
        GRANT_TEST(what_comes_to_all_ports_waits_for_each_host_that_may_hold_keys),
        GRANT_TEST(what_comes_to_all_ports_waits_while_a_host_is_fenced),
        GRANT_TEST(the_operators_partitions_wait_where_what_is_kept_leaves_no_room),
        GRANT_TEST(an_operators_partition_comes_into_the_last_place),
        GRANT_TEST(a_clusters_key_waits_beside_what_the_operators_partitions_have),
        GRANT_TEST(the_place_of_an_operators_partition_that_waits_is_not_lost),
        GRANT_TEST(who_hears_no_nodes_adds_nothing_at_the_ports_of_hosts_with_vfs),
        GRANT_TEST(who_hears_no_nodes_adds_no_guid_of_a_vf_on_their_hosts),
        GRANT_TEST(a_key_that_a_static_partition_takes_is_kept_for_nobody),
        GRANT_TEST(a_key_that_a_static_partition_takes_is_kept_while_a_host_may_hold_it),
        GRANT_TEST(vfs_with_tables_of_their_own_are_as_desired),
        GRANT_TEST(a_guid_that_another_host_still_has_is_in_no_partition),
        GRANT_TEST(what_a_node_is_only_assumed_to_have_been_sent_takes_no_guid_out_of_a_partition),
        GRANT_TEST(a_guid_that_the_fabric_still_has_is_in_no_partition),
        GRANT_TEST(nothing_comes_to_a_fenced_port_whoever_reports_or_lists_it),
        GRANT_TEST(a_guid_that_an_adapter_has_shown_is_its_hosts_to_report),
        GRANT_TEST(each_guid_on_the_fabric_is_its_own_hosts_when_that_reports_it),
        GRANT_TEST(each_guid_that_the_fabric_still_has_is_found_and_named),
        GRANT_TEST(a_guid_that_a_node_was_told_to_set_is_its_own),
        GRANT_TEST(a_guid_of_a_node_that_has_told_nothing_is_not_twice),
        GRANT_TEST(a_guid_that_migrates_is_not_twice),
        GRANT_TEST(a_guid_that_migrates_is_twice_where_a_third_host_has_it),
        GRANT_TEST(what_is_kept_on_a_port_keeps_its_key_from_index_0),
        GRANT_TEST(partitions_lie_by_key),
        GRANT_TEST(nothing_in_force_and_nobody_there_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
