// SPDX-License-Identifier: Apache-2.0
/* Conditions of grants and of the gate, one by one: each case fails without one of them, which no
 * scenario needs. */
#include "grant_scene.h"

static const struct oneib_pci device = {.bus = 0x81, .function = 3};

static void a_vf_is_open_at_a_key_unless_it_is_closed(void **state)
{
    (void)state;
    static const struct {
        struct oneib_vf_record record;
        bool is_open;
    } rows[] = {
        {{.pkey = 0x101, .stage = ONEIB_VF_OPEN}, true},
        {{.pkey = 0x101, .stage = ONEIB_VF_PREPARING}, true},
        {{.pkey = 0x101, .stage = ONEIB_VF_CLOSED}, false},
        {{.pkey = 0x101, .stage = ONEIB_VF_ENDED}, false},
        {{.pkey = 0, .stage = ONEIB_VF_OPEN}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(oneib_record_may_be_open(&rows[i].record), rows[i].is_open);
}

static struct oneib_attachment *add_pci_nic(struct grant_scene *played, uint32_t vm_id)
{
    struct oneib_attachment *nic = add_nic(&played->scene, vm_id, 0, 7, 1);
    nic->is_pci = true;
    nic->has_address = true;
    nic->address = device;
    return nic;
}

/* ADDRESS is the other host's while the VM moves. */
static void the_host_that_a_pci_nic_leaves_keeps_the_vf_that_it_had(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 2);
    struct oneib_attachment *nic = add_pci_nic(played, 4);
    nic->host_id = 2;
    migrate(nic, 1);
    report(played, 1, 4, 7, 0x101)->vf = (struct oneib_pci){.bus = 0x10, .function = 1};
    oneib_host_give(&played->scene.cloud.hosts[1], &device, 4);
    grant_all(played);
    assert_int_equal(granted(played, 1, 4, 0)->vf.bus, 0x10);
    assert_int_equal(granted(played, 2, 4, 0)->vf.bus, 0x81);
    /* A grant of before it was a PCI NIC names none. */
    send_grants(played, 1);
    played->nodes[0].sent.items[0].has_vf = false;
    played->nodes[0].sent.items[0].vf = (struct oneib_pci){0};
    grant_all(played);
    assert_int_equal(granted(played, 1, 4, 0)->vf.bus, 0x10);
    /* The host's document still gives it to the VM. */
    const struct oneib_pci had = {.bus = 0x10, .function = 1};
    oneib_host_give(&played->scene.cloud.hosts[0], &had, 4);
    grant_all(played);
    assert_int_equal(granted(played, 1, 4, 0)->vf.bus, 0x10);
}

/* VM 4 goes from host 1, which has its VF, to host 2. */
static void begin_migration(struct grant_scene *played)
{
    add_network_7(played, 2);
    migrate(add_nic(&played->scene, 4, 0, 7, 2), 1);
    report(played, 1, 4, 7, 0x101);
    report(played, 2, 4, 7, 0x101)->guid = ONEIB_VF_GUID_DEFERRED;
}

static void grant_and_send(struct grant_scene *played)
{
    grant_all(played);
    send_grants(played, 1);
    send_grants(played, 2);
}

static void assert_who_may_set_guid(struct grant_scene *played, bool source, bool destination)
{
    assert_int_equal(granted(played, 1, 4, 0)->may_set_guid, source);
    assert_int_equal(granted(played, 2, 4, 0)->may_set_guid, destination);
}

/* Of the host that the VM leaves, once it is: the GUID goes in two steps. */
static void assert_guid_moves(struct grant_scene *played)
{
    grant_and_send(played);
    assert_who_may_set_guid(played, false, false);
    grant_and_send(played);
    assert_who_may_set_guid(played, false, true);
}

static void another_vms_vf_keeps_no_guid_where_it_was(void **state)
{
    struct grant_scene *played = *state;
    begin_migration(played);
    grant_and_send(played);
    played->nodes[0].records[0].vm_id = 5;
    assert_guid_moves(played);
}

/* The VM went on before its GUID had come to the host that it leaves. */
static void a_vf_whose_guid_is_still_to_come_keeps_it_from_nobody(void **state)
{
    struct grant_scene *played = *state;
    begin_migration(played);
    grant_and_send(played);
    played->nodes[0].records[0].guid = ONEIB_VF_GUID_DEFERRED;
    assert_guid_moves(played);
}

/* By a list of the daemon before it may set it still. */
static void a_guid_waits_until_the_host_that_a_vm_leaves_was_sent_a_list(void **state)
{
    struct grant_scene *played = *state;
    begin_migration(played);
    node_of(played, 1)->record_count = 0;
    grant_all(played);
    assert_who_may_set_guid(played, false, false);
}

static void a_guid_stays_with_a_host_of_which_no_node_is_known(void **state)
{
    struct grant_scene *played = *state;
    add_network(&played->scene, 7, 0x101);
    add_node(played, 2);
    add_host(&played->scene, 3);
    migrate(add_nic(&played->scene, 4, 0, 7, 2), 3);
    grant_all(played);
    assert_true(granted(played, 3, 4, 0)->may_set_guid);
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
}

static void a_guid_that_both_hosts_of_a_migration_have_neither_may_set(void **state)
{
    struct grant_scene *played = *state;
    begin_migration(played);
    grant_and_send(played);
    played->nodes[1].records[0].guid = ONEIB_VF_GUID_SET;
    grant_all(played);
    assert_who_may_set_guid(played, false, false);
}

static void what_a_host_was_sent_of_another_nic_keeps_no_guid(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 2);
    struct oneib_attachment *nic = add_nic(&played->scene, 4, 1, 7, 1);
    grant_all(played);
    send_grants(played, 1);
    nic->nic_id = 0;
    nic->host_id = 2;
    grant_all(played);
    assert_true(granted(played, 2, 4, 0)->may_set_guid);
}

static void a_host_that_oned_has_given_up_keeps_no_guid(void **state)
{
    struct grant_scene *played = *state;
    add_network(&played->scene, 7, 0x101);
    add_node(played, 1)->state = ONEIB_NODE_SILENT;
    add_node(played, 2);
    add_nic(&played->scene, 4, 0, 7, 2);
    report(played, 1, 4, 7, 0x101);
    tell(played, 1, 4, 0);
    played->scene.cloud.hosts[0].state = 2; /* MONITORED */
    grant_all(played);
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
    played->scene.cloud.hosts[0].state = 3; /* ERROR */
    grant_all(played);
    assert_true(granted(played, 2, 4, 0)->may_set_guid);
    node_of(played, 1)->state = ONEIB_NODE_UNHEARD;
    grant_all(played);
    assert_true(granted(played, 2, 4, 0)->may_set_guid);
    /* A node that is heard has what it has, whatever oned says. */
    node_of(played, 1)->state = ONEIB_NODE_FOLLOWS;
    grant_all(played);
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
}

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

static void move_vf(struct grant_scene *played)
{
    add_network_7(played, 2);
    played->scene.cloud.hosts[0].ports[0].driver = ONEIB_HCA_MLX5;
    played->scene.cloud.hosts[1].ports[0].driver = ONEIB_HCA_MLX5;
    add_nic(&played->scene, 4, 0, 7, 2);
    PUT_IN_FORCE(played, "one7", 0x101, oneib_guid_encode(SITE, 4, 0));
}

static bool is_said(const struct grant_scene *played, const char *words)
{
    for (size_t i = 0; i < played->findings.count; i++)
        if (strcmp(played->findings.items[i].code, "guid-twice") == 0 &&
            strstr(played->findings.items[i].text, words))
            return true;
    return false;
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
    assert_false(granted(played, 2, 4, 0)->may_set_guid);

    /* It is not in force yet: it waits. */
    oneib_partition_table_clear(&played->scene.in_force);
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    assert_true(is_said(played, "host 1 still has its GUID"));
    PUT_IN_FORCE(played, "one7", 0x101, oneib_guid_encode(SITE, 4, 1));
    pass(played);
    assert_gated(played, 0x101, vf, "none");
}

/* What is assumed of one NIC is not of another one. */
static void what_a_node_was_sent_keeps_a_guid_whatever_it_is_assumed_to_have_been_sent(void **state)
{
    struct grant_scene *played = *state;
    move_vf(played);
    tell(played, 1, 5, 0);
    report(played, 1, 5, 7, 0x101);
    played->nodes[0].told[0].is_assumed = true;
    played->nodes[0].sent = (struct oneib_grant_list){.count = 1};
    played->nodes[0].sent.items[0] =
        (struct oneib_grant){.vm_id = 4, .network_id = 7, .pkey = 0x101, .may_set_guid = true};
    node_of(played, 1)->sent = &played->nodes[0].sent;
    pass(played);
    assert_gated(played, 0x101, oneib_guid_encode(SITE, 4, 0), "none");
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

    report(played, 2, 4, 7, 0x101)->guid = ONEIB_VF_GUID_NONE; /* it has a VF, without the GUID */
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    played->nodes[1].records[0].guid = ONEIB_VF_GUID_SET; /* it is this one's */
    pass(played);
    assert_gated(played, 0x101, vf, "full");

    add_subnet_port(&played->scene, vf, 0); /* and somebody else's */
    pass(played);
    assert_gated(played, 0x101, vf, "none");
    assert_true(is_said(played, "another port of the fabric"));
}

static void assert_all_comes(struct grant_scene *played, bool comes)
{
    pass(played);
    assert_true((partition_of(&played->gate.table, 0x50) != NULL) == comes);
}

static void
what_comes_to_all_ports_waits_for_a_host_that_was_granted_or_sent_something(void **state)
{
    struct grant_scene *played = *state;
    settle(played);
    add_node(played, 2)->state = ONEIB_NODE_UNHEARD;
    add_wildcard(&played->scene,
                 add_partition(&played->scene, &played->scene.static_partitions, "all", 0x50),
                 ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    assert_all_comes(played, true);
    add_nic(&played->scene, 5, 0, 7, 2);
    assert_all_comes(played, false); /* granted */
    send_grants(played, 2);
    played->scene.cloud.attachment_count--;
    assert_all_comes(played, false); /* sent */
    played->nodes[1].sent.count = 0;
    assert_all_comes(played, true);
}

/* Whoever says in a host's name that its adapter is an mlx5 lets a key come to a port under an open VF. */
static void of_an_adapter_whose_kind_is_not_proven_vfs_share_its_ports_table(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    report(played, 1, 4, 7, 0x101);
    node_of(played, 1)->state = ONEIB_NODE_SILENT;
    struct oneib_hca_port *port = &played->scene.cloud.hosts[0].ports[0];
    port->driver = ONEIB_HCA_MLX5;
    add_guid(&played->scene,
             add_partition(&played->scene, &played->scene.static_partitions, "store", 0x10),
             port_of(1), ONEIB_FULL);
    add_wildcard(&played->scene,
                 add_partition(&played->scene, &played->scene.static_partitions, "all", 0x50),
                 ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    pass(played);
    assert_gated(played, 0x10, port_of(1), "none");
    assert_all_comes(played, false);
    port->is_proven = true;
    pass(played);
    assert_gated(played, 0x10, port_of(1), "full");
    assert_all_comes(played, true);
}

/* Host 0 is a host like any other. */
static void
what_a_host_reports_of_an_unknown_adapter_is_on_none_of_another_hosts_ports(void **state)
{
    struct grant_scene *played = *state;
    add_network(&played->scene, 7, 0x101);
    add_node(played, 0);
    add_node(played, 1);
    strcpy(report(played, 0, 4, 9, 0x109)->device, "mlx4_9");
    add_nic(&played->scene, 5, 0, 7, 1);
    played->scene.cloud.hosts[1].ports[0].is_proven = true;
    pass(played);
    assert_gated(played, 0x101, port_of(1), "full");
}

static void without_a_ledger_the_gate_judges_by_what_is_there(void **state)
{
    struct grant_scene *played = *state;
    settle_and_end_vm(played);
    const struct scene *scene = &played->scene;
    const struct oneib_gate_input input = {.cloud = &scene->cloud,
                                           .desired = &scene->desired,
                                           .in_force = &scene->in_force,
                                           .grants = &played->grants,
                                           .nodes = played->snapshots,
                                           .node_count = played->node_count};
    oneib_gate_compute(&input, &played->gate);
    assert_gated(played, 0x101, port_of(1), "full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRANT_TEST(a_vf_is_open_at_a_key_unless_it_is_closed),
        GRANT_TEST(the_host_that_a_pci_nic_leaves_keeps_the_vf_that_it_had),
        GRANT_TEST(another_vms_vf_keeps_no_guid_where_it_was),
        GRANT_TEST(a_vf_whose_guid_is_still_to_come_keeps_it_from_nobody),
        GRANT_TEST(a_guid_waits_until_the_host_that_a_vm_leaves_was_sent_a_list),
        GRANT_TEST(a_guid_stays_with_a_host_of_which_no_node_is_known),
        GRANT_TEST(a_guid_that_both_hosts_of_a_migration_have_neither_may_set),
        GRANT_TEST(what_a_host_was_sent_of_another_nic_keeps_no_guid),
        GRANT_TEST(a_host_that_oned_has_given_up_keeps_no_guid),
        GRANT_TEST(what_a_node_is_only_assumed_to_have_been_sent_takes_no_guid_out_of_a_partition),
        GRANT_TEST(what_a_node_was_sent_keeps_a_guid_whatever_it_is_assumed_to_have_been_sent),
        GRANT_TEST(a_guid_that_the_fabric_still_has_is_in_no_partition),
        GRANT_TEST(what_comes_to_all_ports_waits_for_a_host_that_was_granted_or_sent_something),
        GRANT_TEST(of_an_adapter_whose_kind_is_not_proven_vfs_share_its_ports_table),
        GRANT_TEST(what_a_host_reports_of_an_unknown_adapter_is_on_none_of_another_hosts_ports),
        GRANT_TEST(without_a_ledger_the_gate_judges_by_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
