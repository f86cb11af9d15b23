// SPDX-License-Identifier: Apache-2.0
/* What nodes are granted, and which keys they may hold. */
#include "cluster/grants_internal.h"
#include "grant_scene.h"

static void a_member_is_granted_its_networks_key(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_nic(&played->scene, 4, 2, 7, 1);
    grant_all(played);
    const struct oneib_grant *grant = granted(played, 1, 4, 2);
    assert_non_null(grant);
    assert_int_equal(grant->network_id, 7);
    assert_int_equal(grant->pkey, 0x101);
    assert_string_equal(grant->device, "mlx4_0");
    assert_int_equal(grant->port, 1);
    assert_false(grant->limited);
    assert_false(grant->has_vf);
    assert_true(grant->may_set_guid);
    assert_int_equal(grant->guid, oneib_guid_encode(SITE, 4, 2));
}

static void who_is_refused_is_granted_nothing(void **state)
{
    struct grant_scene *played = *state;
    add_network(&played->scene, 7, 0x101);
    add_network(&played->scene, 8, 0);
    add_node(played, 1);
    add_nic(&played->scene, 4, 0, 7, 1)->unleased = true;
    add_nic(&played->scene, 5, 0, 8, 1);
    add_nic(&played->scene, 6, 0, 9, 1);
    add_nic(&played->scene, 7, 0, 7, 1)->phase = ONEIB_ABSENT;
    add_nic(&played->scene, 8, 0, 7, 2);
    grant_all(played);
    assert_null(oneib_grants_of_host(&played->grants, 1));
    assert_null(oneib_grants_of_host(&played->grants, 2));
    assert_int_equal(played->grants.host_count, 0);
}

static void a_limited_member_is_granted_no_more(void **state)
{
    struct grant_scene *played = *state;
    add_network(&played->scene, 7, 0x101)->reservations_share = true;
    add_reservation(&played->scene, 8, 7, 0x101)->membership = ONEIB_LIMITED;
    add_node(played, 1);
    add_nic(&played->scene, 4, 0, 8, 1);
    add_nic(&played->scene, 5, 0, 7, 1); /* one port, one entry: limited for both */
    grant_all(played);
    assert_true(granted(played, 1, 4, 0)->limited);
    assert_true(granted(played, 1, 5, 0)->limited);
}

static void who_makes_his_nic_limited_is_granted_nothing_beside_full_members(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_nic(&played->scene, 4, 0, 7, 1)->narrowed = true;
    add_nic(&played->scene, 5, 0, 7, 1);
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
    assert_false(granted(played, 1, 5, 0)->limited);
}

static void the_port_is_the_one_of_the_networks_phydev(void **state)
{
    struct grant_scene *played = *state;
    struct oneib_network *network = add_network(&played->scene, 7, 0x101);
    strcpy(network->device, "mlx4_1");
    network->device_port = 2;
    add_node(played, 1);
    add_port(&played->scene, &played->scene.cloud.hosts[0], "mlx4_1", 2, port_of(77));
    add_nic(&played->scene, 4, 0, 7, 1);
    grant_all(played);
    assert_string_equal(granted(played, 1, 4, 0)->device, "mlx4_1");
    assert_int_equal(granted(played, 1, 4, 0)->port, 2);
}

/* A tenant who forges PHYDEV into a reservation: another adapter may be on another rail, or have no
 * port for tenants. */
static void a_reservation_is_on_its_parents_adapter_whatever_it_says(void **state)
{
    struct grant_scene *played = *state;
    strcpy(add_network(&played->scene, 6, 0x100)->device, "mlx4_1");
    struct oneib_network *reservation = add_reservation(&played->scene, 7, 6, 0x101);
    strcpy(reservation->device, "mlx4_0");
    reservation->device_port = 1;
    reservation->uid = reservation->gid = 5;
    add_node(played, 1);
    add_port(&played->scene, &played->scene.cloud.hosts[0], "mlx4_1", 1, port_of(77));
    add_nic(&played->scene, 4, 0, 7, 1);
    grant_all(played);
    assert_string_equal(granted(played, 1, 4, 0)->device, "mlx4_1");
}

static void grants_of_a_host_lie_by_vm_and_nic(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_nic(&played->scene, 9, 0, 7, 1);
    add_nic(&played->scene, 4, 3, 7, 1);
    add_nic(&played->scene, 4, 1, 7, 1);
    grant_all(played);
    const struct oneib_host_grants *host = oneib_grants_of_host(&played->grants, 1);
    assert_int_equal(host->count, 3);
    for (size_t i = 1; i < host->count; i++)
        assert_true(oneib_grant_compare(&host->items[i - 1], &host->items[i]) < 0);
}

/* ---- PCI NICs -------------------------------------------------------------------------------- */

static const struct oneib_pci device = {.bus = 0x81, .function = 3};

static struct oneib_attachment *add_pci_nic(struct grant_scene *played, uint32_t vm_id)
{
    struct oneib_attachment *nic = add_nic(&played->scene, vm_id, 0, 7, 1);
    nic->is_pci = true;
    nic->has_address = true;
    nic->address = device;
    return nic;
}

static bool is_about(const struct oneib_finding *finding, enum oneib_subject subject, uint32_t id)
{
    for (size_t i = 0; i < finding->mention_count; i++)
        if (finding->mentions[i].subject == subject && finding->mentions[i].id == id)
            return true;
    return false;
}

static void a_pci_nic_is_granted_the_vf_that_its_host_gives_it(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_pci_nic(played, 4);
    oneib_host_give(&played->scene.cloud.hosts[0], &device, 4);
    grant_all(played);
    assert_true(granted(played, 1, 4, 0)->has_vf);
    assert_int_equal(oneib_pci_compare(&granted(played, 1, 4, 0)->vf, &device), 0);
    assert_int_equal(played->findings.count, 0);
}

static void a_pci_nic_with_another_vms_vf_is_granted_nothing(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_pci_nic(played, 4);
    oneib_host_give(&played->scene.cloud.hosts[0], &device, 5);
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
    assert_int_equal(played->findings.count, 1);
    assert_string_equal(played->findings.items[0].code, "vf-not-given");
    assert_true(is_about(&played->findings.items[0], ONEIB_SUBJECT_VM, 4));
    assert_true(is_about(&played->findings.items[0], ONEIB_SUBJECT_NETWORK, 7));
    assert_true(is_about(&played->findings.items[0], ONEIB_SUBJECT_HOST, 1));
}

static void a_pci_nic_of_a_device_that_nobody_gave_is_granted_nothing(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_pci_nic(played, 4);
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
}

static void a_pci_nic_without_an_address_is_granted_nothing(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_pci_nic(played, 4)->has_address = false;
    oneib_host_give(&played->scene.cloud.hosts[0], &device, 4);
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
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
    /* ... unless somebody else has it by now. */
    const struct oneib_pci had = {.bus = 0x10, .function = 1};
    oneib_host_give(&played->scene.cloud.hosts[0], &had, 99);
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
}

/* Nobody could say which VF would be the VM's there. */
static void the_host_that_a_pci_nic_leaves_gets_no_vf_that_it_never_had(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 2);
    struct oneib_attachment *nic = add_pci_nic(played, 4);
    nic->host_id = 2;
    migrate(nic, 1);
    oneib_host_give(&played->scene.cloud.hosts[1], &device, 4);
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
    assert_non_null(granted(played, 2, 4, 0));
}

/* ---- GUIDs ----------------------------------------------------------------------------------- */

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

static void both_hosts_of_a_migration_are_granted(void **state)
{
    struct grant_scene *played = *state;
    begin_migration(played);
    grant_and_send(played);
    assert_who_may_set_guid(played, true, false);
    grant_and_send(played);
    assert_who_may_set_guid(played, true, false);
}

/* `post` is called, and needs the GUID, while OpenNebula still says that the VM migrates. */
static void a_guid_moves_when_the_host_that_a_vm_leaves_follows_that_it_has_it_no_more(void **state)
{
    struct grant_scene *played = *state;
    begin_migration(played);
    grant_and_send(played);
    node_of(played, 1)->record_count = 0;
    grant_and_send(played);
    assert_who_may_set_guid(played, false, false);
    node_of(played, 1)->state = ONEIB_NODE_AWAITED;
    grant_and_send(played);
    assert_who_may_set_guid(played, false, false);
    node_of(played, 1)->state = ONEIB_NODE_FOLLOWS;
    grant_and_send(played);
    assert_who_may_set_guid(played, false, true);
    played->nodes[1].records[0].guid = ONEIB_VF_GUID_SET;
    grant_and_send(played);
    assert_who_may_set_guid(played, false, true);
}

static void another_nics_vf_keeps_no_guid_where_it_was(void **state)
{
    struct grant_scene *played = *state;
    begin_migration(played);
    grant_and_send(played);
    played->nodes[0].records[0].nic_id = 1;
    grant_and_send(played);
    assert_who_may_set_guid(played, false, false);
    grant_and_send(played);
    assert_who_may_set_guid(played, false, true);
}

static void a_guid_stays_with_a_host_that_does_not_say_that_it_has_it_no_more(void **state)
{
    struct grant_scene *played = *state;
    begin_migration(played);
    grant_and_send(played);
    /* It may have been set, and not be written down yet. */
    played->nodes[0].records[0].guid = ONEIB_VF_GUID_NONE;
    grant_and_send(played);
    assert_who_may_set_guid(played, true, false);
    node_of(played, 1)->record_count = 0;
    node_of(played, 1)->state = ONEIB_NODE_SILENT;
    grant_and_send(played);
    assert_who_may_set_guid(played, true, false);
    node_of(played, 1)->state = ONEIB_NODE_FOLLOWS;
    node_of(played, 1)->table_known = false;
    grant_and_send(played);
    assert_who_may_set_guid(played, true, false);
}

/* OpenNebula goes on with the migration: what the VM had there reaches nobody. */
static void a_guid_is_the_other_hosts_when_the_one_that_a_vm_leaves_is_fenced(void **state)
{
    struct grant_scene *played = *state;
    const struct oneib_ledger_fence fence = {.host_id = 1, .asked = 1};
    begin_migration(played);
    grant_and_send(played);
    oneib_ledger_set_fence(&played->scene.ledger, &fence);
    *node_of(played, 1) = oneib_node_of_fenced_host(1);
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
    assert_true(granted(played, 2, 4, 0)->may_set_guid);
}

static void a_guid_that_another_host_still_has_may_not_be_set(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 2);
    add_nic(&played->scene, 4, 0, 7, 2);
    struct oneib_vf_record *record = report(played, 1, 4, 7, 0x101);
    record->stage = ONEIB_VF_ENDED;
    tell(played, 1, 4, 0);
    grant_all(played);
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
    record->guid = ONEIB_VF_GUID_NONE;
    grant_all(played);
    assert_true(granted(played, 2, 4, 0)->may_set_guid);
    record->guid = ONEIB_VF_GUID_DEFERRED;
    grant_all(played);
    assert_true(granted(played, 2, 4, 0)->may_set_guid);
}

static void each_guid_that_another_host_still_has_may_not_be_set(void **state)
{
    struct grant_scene *played = *state;
    add_network(&played->scene, 7, 0x101);
    add_node(played, 0);
    add_node(played, 2);
    for (uint32_t vm = 4; vm <= 6; vm++)
        for (uint8_t nic = 0; nic < 2; nic++) {
            add_nic(&played->scene, vm, nic, 7, 2);
            /* A node's table is by VFs, not by VMs. */
            report(played, 0, 10 - vm, 7, 0x101)->nic_id = 1 - nic;
            tell(played, 0, 10 - vm, 1 - nic);
        }
    grant_all(played);
    for (uint32_t vm = 4; vm <= 6; vm++)
        for (uint8_t nic = 0; nic < 2; nic++)
            assert_false(granted(played, 2, vm, nic)->may_set_guid);
}

/* Root on one host could keep each VM of the site from starting. */
static void a_host_that_was_never_told_of_a_nic_keeps_no_guid_from_it(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 2);
    add_nic(&played->scene, 4, 0, 7, 2);
    report(played, 1, 4, 7, 0x101);
    tell(played, 1, 3, 0);
    tell(played, 1, 4, 1);
    for (int i = ONEIB_NODE_UNHEARD; i <= ONEIB_NODE_SILENT; i++) {
        node_of(played, 1)->state = (enum oneib_node_state)i;
        grant_all(played);
        assert_true(granted(played, 2, 4, 0)->may_set_guid);
    }
}

static void what_the_host_itself_has_set_it_may_set(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_nic(&played->scene, 4, 0, 7, 1);
    report(played, 1, 4, 7, 0x101);
    grant_all(played);
    send_grants(played, 1);
    grant_all(played);
    assert_true(granted(played, 1, 4, 0)->may_set_guid);
}

static void a_guid_that_another_host_was_allowed_to_set_may_not_be_set(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 2);
    struct oneib_attachment *nic = add_nic(&played->scene, 4, 0, 7, 1);
    grant_all(played);
    send_grants(played, 1);
    nic->host_id = 2;
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
    send_grants(played, 1);
    grant_all(played);
    assert_true(granted(played, 2, 4, 0)->may_set_guid);
    /* It has the VF, and may have set its GUID since it reported. */
    report(played, 1, 4, 7, 0x101)->guid = ONEIB_VF_GUID_NONE;
    node_of(played, 1)->state = ONEIB_NODE_AWAITED;
    grant_all(played);
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
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
    /* A node that is heard has what it has, whatever oned says. */
    node_of(played, 1)->state = ONEIB_NODE_FOLLOWS;
    grant_all(played);
    assert_false(granted(played, 2, 4, 0)->may_set_guid);
}

/* ---- held removals --------------------------------------------------------------------------- */

/* Two VMs of network 7 are members and granted; then something is missing from a reading. */
static void begin_hold(struct grant_scene *played)
{
    add_network_7(played, 2);
    add_nic(&played->scene, 4, 0, 7, 1);
    add_nic(&played->scene, 5, 0, 7, 2);
    PUT_IN_FORCE(played, "one7", 0x101, port_of(1), port_of(2));
    grant_all(played);
    assert_int_equal(played->held, 0);
    send_grants(played, 1);
    send_grants(played, 2);
}

static void lose_networks(struct grant_scene *played)
{
    oneib_ledger_clear(&played->scene.ledger);
    struct oneib_cloud *cloud = &played->scene.cloud;
    while (cloud->network_count)
        oneib_network_clear(&cloud->networks[--cloud->network_count]);
}

static void held_members_stay_granted(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    grant_all(played);
    assert_int_equal(played->held, 2);
    assert_int_equal(granted(played, 1, 4, 0)->pkey, 0x101);
    assert_int_equal(granted(played, 2, 5, 0)->pkey, 0x101);
    assert_false(granted(played, 1, 4, 0)->limited);
}

static void held_members_stay_granted_beside_those_that_are_desired(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    add_network(&played->scene, 10, 0x102);
    add_node(played, 3);
    add_nic(&played->scene, 7, 0, 10, 3);
    know_vms(played, NULL, 0);
    grant_all(played);
    assert_int_equal(played->held, 2);
    assert_non_null(granted(played, 1, 4, 0));
    assert_non_null(granted(played, 2, 5, 0));
    assert_non_null(granted(played, 3, 7, 0));
}

static void drop_nic(struct grant_scene *played, uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_cloud *cloud = &played->scene.cloud;
    size_t kept = 0;
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (cloud->attachments[i].vm_id != vm_id || cloud->attachments[i].nic_id != nic_id)
            cloud->attachments[kept++] = cloud->attachments[i];
    cloud->attachment_count = kept;
}

static void of_a_vms_nics_those_that_are_gone_are_not_held(void **state)
{
    struct grant_scene *played = *state;
    for (unsigned nic_id = 1; nic_id <= 4; nic_id++)
        add_nic(&played->scene, 4, nic_id, 7, 1);
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    drop_nic(played, 4, 2);
    for (size_t i = 0; i < played->scene.cloud.attachment_count; i++)
        if (played->scene.cloud.attachments[i].nic_id == 4)
            played->scene.cloud.attachments[i].phase = ONEIB_ABSENT;
    grant_all(played);
    assert_int_equal(played->held, 2);
    assert_non_null(granted(played, 1, 4, 0));
    assert_non_null(granted(played, 1, 4, 1));
    assert_null(granted(played, 1, 4, 2));
    assert_non_null(granted(played, 1, 4, 3));
    assert_null(granted(played, 1, 4, 4));
}

static void of_vms_that_no_network_leases_to_nothing_is_held(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    played->scene.cloud.attachment_count = 0;
    know_vms(played, NULL, 0);
    grant_all(played);
    assert_int_equal(played->held, 0);
    assert_null(granted(played, 1, 4, 0));
    assert_null(granted(played, 2, 5, 0));
}

static void an_empty_answer_about_hosts_takes_no_grants(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    struct oneib_cloud *cloud = &played->scene.cloud;
    while (cloud->host_count)
        oneib_host_clear(&cloud->hosts[--cloud->host_count]);
    grant_all(played);
    assert_int_equal(played->held, 2);
    assert_non_null(granted(played, 1, 4, 0));
}

static void without_a_hold_nothing_stays(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    played->scene.policy.hold_minimum = 100;
    grant_all(played);
    assert_int_equal(played->held, 0);
    assert_int_equal(played->grants.host_count, 0);
}

static void a_vm_that_says_that_it_has_ended_is_not_held(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    played->scene.cloud.attachments[0].phase = ONEIB_ABSENT;
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
    assert_non_null(granted(played, 2, 5, 0));
}

static void a_nic_or_a_lease_that_is_gone_is_not_held(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    add_node(played, 3);
    add_nic(&played->scene, 6, 0, 7, 3);
    add_guid(&played->scene, &played->scene.in_force.items[0], port_of(3), ONEIB_FULL);
    drop_nic(played, 4, 0);
    played->scene.cloud.attachments[0].unleased = true; /* of VM 5 */
    know_vms(played, (const uint32_t[]){4}, 1);
    lose_networks(played);
    grant_all(played);
    assert_true(played->held > 0);
    assert_null(granted(played, 1, 4, 0));
    assert_null(granted(played, 2, 5, 0));
}

static void a_vm_that_has_moved_is_not_held_where_it_was(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    played->scene.cloud.attachments[0].host_id = 2;
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
    /* While it moves it is on both. */
    migrate(&played->scene.cloud.attachments[0], 1);
    grant_all(played);
    assert_non_null(granted(played, 1, 4, 0));
    /* Between two others it is on neither. */
    migrate(&played->scene.cloud.attachments[0], 3);
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
}

static void a_nic_that_is_another_networks_now_is_not_held(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    grant_all(played);
    assert_non_null(granted(played, 1, 4, 0));
    played->scene.cloud.attachments[0].network_id++;
    grant_all(played);
    assert_null(granted(played, 1, 4, 0));
}

static void a_key_that_is_anothers_now_is_not_held(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    add_network(&played->scene, 9, 0x101);
    add_node(played, 3);
    add_nic(&played->scene, 6, 0, 9, 3);
    add_network(&played->scene, 10, 0x102);
    add_nic(&played->scene, 7, 0, 10, 2);
    PUT_IN_FORCE(played, "one11", 0x103, port_of(61), port_of(62), port_of(63), port_of(64));
    oneib_cloud_sort(&played->scene.cloud);
    know_vms(played, NULL, 0);
    grant_all(played);
    assert_true(played->held > 0);
    assert_null(granted(played, 1, 4, 0));
    assert_null(granted(played, 2, 5, 0));
}

static void a_key_that_is_the_static_partitionss_now_is_not_held(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    add_guid(&played->scene,
             add_partition(&played->scene, &played->scene.static_partitions, "mine", 0x101),
             port_of(1), ONEIB_FULL);
    PUT_IN_FORCE(played, "one10", 0x102, port_of(1), port_of(2), port_of(3), port_of(4));
    grant_all(played);
    assert_true(played->held > 0);
    assert_null(granted(played, 1, 4, 0));
}

static void what_a_node_has_open_is_held_by_a_new_daemon(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    node_of(played, 1)->sent = node_of(played, 2)->sent = NULL;
    report(played, 1, 4, 7, 0x101);
    report(played, 2, 5, 7, 0x101)->stage = ONEIB_VF_CLOSED;
    grant_all(played);
    assert_non_null(granted(played, 1, 4, 0));
    assert_true(granted(played, 1, 4, 0)->has_vf);
    assert_true(granted(played, 1, 4, 0)->may_set_guid);
    assert_null(granted(played, 2, 5, 0));
}

/* Of lists and tables the last one counts, though an entry of an older one lies behind it. */
static void what_a_node_was_sent_or_has_told_before_is_not_held(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    played->nodes[0].sent.count = 0;
    node_of(played, 2)->sent = NULL;
    report(played, 2, 5, 7, 0x101);
    node_of(played, 2)->record_count = 0;
    grant_all(played);
    assert_true(played->held > 0);
    assert_null(granted(played, 1, 4, 0));
    assert_null(granted(played, 2, 5, 0));
}

/* Where the hosts are missing from the reading nothing else says that there is no such port. */
static void what_a_node_tells_half_of_is_not_held(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    struct oneib_cloud *cloud = &played->scene.cloud;
    while (cloud->host_count)
        oneib_host_clear(&cloud->hosts[--cloud->host_count]);
    node_of(played, 1)->sent = node_of(played, 2)->sent = NULL;
    report(played, 1, 4, 7, 0x101)->port = 0;
    report(played, 2, 5, 7, 0x101)->device[0] = '\0';
    grant_all(played);
    assert_true(played->held > 0);
    assert_null(granted(played, 1, 4, 0));
    assert_null(granted(played, 2, 5, 0));
}

static void a_node_that_tells_of_one_nic_twice_is_granted_it_once(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    know_vms(played, NULL, 0);
    lose_networks(played);
    node_of(played, 1)->sent = NULL;
    report(played, 1, 4, 7, 0x101);
    report(played, 1, 4, 7, 0x101);
    grant_all(played);
    assert_int_equal(oneib_grants_of_host(&played->grants, 1)->count, 1);
}

static void a_node_cannot_have_itself_granted_a_key_that_its_port_has_not(void **state)
{
    struct grant_scene *played = *state;
    begin_hold(played);
    add_node(played, 3);
    know_vms(played, NULL, 0);
    lose_networks(played);
    report(played, 3, 44, 7, 0x101);
    report(played, 3, 45, 7, ONEIB_PKEY_DEFAULT);
    strcpy(report(played, 3, 46, 7, 0x101)->device, "mlx4_7");
    grant_all(played);
    assert_true(played->held > 0);
    assert_null(oneib_grants_of_host(&played->grants, 3));
}

/* ---- too many -------------------------------------------------------------------------------- */

static void those_that_came_last_find_no_room_in_a_list(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    for (uint32_t i = 0; i < ONEIB_GRANTS_MAX + 2; i++)
        add_nic(&played->scene, i, 0, 7, 1)->since = 10000 - i;
    grant_all(played);
    assert_int_equal(oneib_grants_of_host(&played->grants, 1)->count, ONEIB_GRANTS_MAX);
    assert_null(granted(played, 1, 0, 0));
    assert_null(granted(played, 1, 1, 0));
    assert_non_null(granted(played, 1, 2, 0));
    assert_int_equal(played->findings.count, 1);
    assert_string_equal(played->findings.items[0].code, "grants-full");
}

static void
a_list_that_is_just_full_leaves_nobody_out_and_one_that_was_too_long_is_in_order(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    for (uint32_t i = 0; i < ONEIB_GRANTS_MAX; i++)
        add_nic(&played->scene, i, 0, 7, 1)->since = 10000 - i;
    grant_all(played);
    assert_int_equal(oneib_grants_of_host(&played->grants, 1)->count, ONEIB_GRANTS_MAX);
    assert_int_equal(played->findings.count, 0);
    add_nic(&played->scene, ONEIB_GRANTS_MAX, 0, 7, 1);
    grant_all(played);
    const struct oneib_host_grants *host = oneib_grants_of_host(&played->grants, 1);
    for (size_t i = 1; i < host->count; i++)
        assert_true(oneib_grant_compare(&host->items[i - 1], &host->items[i]) < 0);
    assert_true(is_about(&played->findings.items[0], ONEIB_SUBJECT_HOST, 1));
}

/* ---- whose it is ----------------------------------------------------------------------------- */

static void a_host_of_which_no_node_is_known_has_no_snapshot(void **state)
{
    const struct oneib_node_snapshot snapshots[] = {{.host_id = 1}, {.host_id = 3}, {.host_id = 4}};
    (void)state;
    assert_ptr_equal(oneib_node_snapshot_of(snapshots, 2, 1), &snapshots[0]);
    assert_ptr_equal(oneib_node_snapshot_of(snapshots, 2, 3), &snapshots[1]);
    assert_null(oneib_node_snapshot_of(snapshots, 2, 0));
    assert_null(oneib_node_snapshot_of(snapshots, 2, 2));
    assert_null(oneib_node_snapshot_of(snapshots, 2, 4));
}

static void a_partition_is_its_networks_and_that_of_who_shares_it(void **state)
{
    struct grant_scene *played = *state;
    const struct oneib_partition theirs = {.name = "one7", .pkey = 0x101};
    const struct oneib_partition gone = {.name = "one99", .pkey = 0x109};
    add_network(&played->scene, 7, 0x101)->reservations_share = true;
    add_reservation(&played->scene, 8, 7, 0x101);
    add_network(&played->scene, 9, 0x102);
    add_node(played, 1);
    add_nic(&played->scene, 4, 0, 7, 1);
    add_nic(&played->scene, 5, 0, 9, 1);
    grant_all(played);
    assert_true(oneib_partition_is_networks(&played->scene.desired, &theirs, 7));
    assert_true(oneib_partition_is_networks(&played->scene.desired, &theirs, 8));
    assert_false(oneib_partition_is_networks(&played->scene.desired, &theirs, 9));
    assert_false(oneib_partition_is_networks(&played->scene.desired, &theirs, 99));
    assert_true(oneib_partition_is_networks(&played->scene.desired, &gone, 99));
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* before: NULL: nobody knows. */
static size_t keys_of(struct grant_scene *played, const oneib_pkey *before, size_t before_count,
                      oneib_pkey keys[ONEIB_PKEY_COUNT])
{
    const struct oneib_held_keys held = {
        .known = before != NULL, .keys = before, .count = before_count};
    return oneib_keys_of_node(node_of(played, 1), oneib_grants_of_host(&played->grants, 1), &held,
                              keys);
}

static void a_node_may_hold_what_it_is_granted_was_sent_and_reports(void **state)
{
    struct grant_scene *played = *state;
    add_network(&played->scene, 7, 0x103);
    add_node(played, 1);
    add_nic(&played->scene, 4, 0, 7, 1);
    grant_all(played);
    send_grants(played, 1);
    change_key(played, 0, 0x102);
    grant_all(played);
    report(played, 1, 9, 6, 0x101);
    report(played, 1, 10, 6, 0x104)->stage = ONEIB_VF_RELEASING;
    report(played, 1, 11, 6, 0x105)->stage = ONEIB_VF_CLOSED;
    report(played, 1, 12, 6, 0x106)->stage = ONEIB_VF_ENDED;
    const oneib_pkey before[] = {0x101, 0x103, 0x104, 0x105, 0x106};
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    assert_int_equal(keys_of(played, before, 5, keys), 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(keys[i], 0x101 + i);
}

/* It would keep whatever key it likes from being given again. */
static void a_node_holds_no_key_that_it_was_never_sent(void **state)
{
    struct grant_scene *played = *state;
    struct oneib_node_snapshot *snapshot = add_node(played, 1);
    const oneib_pkey before[] = {0x102};
    report(played, 1, 9, 6, 0x101);
    report(played, 1, 10, 6, 0x102);
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    for (int i = ONEIB_NODE_UNHEARD; i <= ONEIB_NODE_SILENT; i++) {
        snapshot->state = (enum oneib_node_state)i;
        assert_int_equal(keys_of(played, before, 1, keys), 1);
        assert_int_equal(keys[0], 0x102);
    }
    /* While nobody knows what it was sent it may have been all of them, and until it follows what
     * it calls closed may be open again. */
    report(played, 1, 11, 6, 0x103)->stage = ONEIB_VF_CLOSED;
    assert_int_equal(keys_of(played, NULL, 0, keys), 3);
    send_grants(played, 1);
    snapshot->state = ONEIB_NODE_FOLLOWS;
    assert_int_equal(keys_of(played, NULL, 0, keys), 2);
}

/* The default partition is everybody's, and what is no key stands for a grant that has none. */
static void a_node_holds_nothing_that_is_no_networks_key(void **state)
{
    struct grant_scene *played = *state;
    add_node(played, 1);
    report(played, 1, 9, 6, 0);
    report(played, 1, 10, 6, ONEIB_PKEY_DEFAULT);
    report(played, 1, 11, 6, 0xffff);
    report(played, 1, 12, 6, 0x7ffe);
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    assert_int_equal(keys_of(played, NULL, 0, keys), 1);
    assert_int_equal(keys[0], 0x7ffe);
}

static void a_key_goes_only_from_a_node_that_follows_and_tells_all(void **state)
{
    struct grant_scene *played = *state;
    struct oneib_node_snapshot *snapshot = add_node(played, 1);
    const oneib_pkey before[] = {0x101};
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    grant_all(played);
    send_grants(played, 1);
    assert_int_equal(keys_of(played, before, 1, keys), 0);
    for (int i = ONEIB_NODE_UNHEARD; i <= ONEIB_NODE_SILENT; i++) {
        snapshot->state = (enum oneib_node_state)i;
        snapshot->table_known = snapshot->state != ONEIB_NODE_FOLLOWS;
        assert_int_equal(keys_of(played, before, 1, keys), 1);
        assert_int_equal(keys[0], 0x101);
    }
}

/* What it has closed, because its port lost the key, it may open again by the list that the daemon
 * before has sent. */
static void a_key_stays_with_a_node_that_was_sent_no_list_by_this_daemon(void **state)
{
    struct grant_scene *played = *state;
    const oneib_pkey before[] = {0x101};
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    add_node(played, 1);
    report(played, 1, 9, 6, 0x101)->stage = ONEIB_VF_CLOSED;
    assert_int_equal(keys_of(played, before, 1, keys), 1);
    assert_int_equal(keys[0], 0x101);
    grant_all(played);
    send_grants(played, 1);
    assert_int_equal(keys_of(played, before, 1, keys), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRANT_TEST(a_member_is_granted_its_networks_key),
        GRANT_TEST(who_is_refused_is_granted_nothing),
        GRANT_TEST(a_limited_member_is_granted_no_more),
        GRANT_TEST(who_makes_his_nic_limited_is_granted_nothing_beside_full_members),
        GRANT_TEST(the_port_is_the_one_of_the_networks_phydev),
        GRANT_TEST(a_reservation_is_on_its_parents_adapter_whatever_it_says),
        GRANT_TEST(grants_of_a_host_lie_by_vm_and_nic),
        GRANT_TEST(a_pci_nic_is_granted_the_vf_that_its_host_gives_it),
        GRANT_TEST(a_pci_nic_with_another_vms_vf_is_granted_nothing),
        GRANT_TEST(a_pci_nic_of_a_device_that_nobody_gave_is_granted_nothing),
        GRANT_TEST(a_pci_nic_without_an_address_is_granted_nothing),
        GRANT_TEST(the_host_that_a_pci_nic_leaves_keeps_the_vf_that_it_had),
        GRANT_TEST(the_host_that_a_pci_nic_leaves_gets_no_vf_that_it_never_had),
        GRANT_TEST(both_hosts_of_a_migration_are_granted),
        GRANT_TEST(a_guid_moves_when_the_host_that_a_vm_leaves_follows_that_it_has_it_no_more),
        GRANT_TEST(another_nics_vf_keeps_no_guid_where_it_was),
        GRANT_TEST(a_guid_stays_with_a_host_that_does_not_say_that_it_has_it_no_more),
        GRANT_TEST(a_guid_is_the_other_hosts_when_the_one_that_a_vm_leaves_is_fenced),
        GRANT_TEST(a_guid_that_another_host_still_has_may_not_be_set),
        GRANT_TEST(each_guid_that_another_host_still_has_may_not_be_set),
        GRANT_TEST(a_host_that_was_never_told_of_a_nic_keeps_no_guid_from_it),
        GRANT_TEST(what_the_host_itself_has_set_it_may_set),
        GRANT_TEST(a_guid_that_another_host_was_allowed_to_set_may_not_be_set),
        GRANT_TEST(a_host_that_oned_has_given_up_keeps_no_guid),
        GRANT_TEST(held_members_stay_granted),
        GRANT_TEST(held_members_stay_granted_beside_those_that_are_desired),
        GRANT_TEST(of_a_vms_nics_those_that_are_gone_are_not_held),
        GRANT_TEST(of_vms_that_no_network_leases_to_nothing_is_held),
        GRANT_TEST(an_empty_answer_about_hosts_takes_no_grants),
        GRANT_TEST(without_a_hold_nothing_stays),
        GRANT_TEST(a_vm_that_says_that_it_has_ended_is_not_held),
        GRANT_TEST(a_nic_or_a_lease_that_is_gone_is_not_held),
        GRANT_TEST(a_vm_that_has_moved_is_not_held_where_it_was),
        GRANT_TEST(a_nic_that_is_another_networks_now_is_not_held),
        GRANT_TEST(a_key_that_is_anothers_now_is_not_held),
        GRANT_TEST(a_key_that_is_the_static_partitionss_now_is_not_held),
        GRANT_TEST(what_a_node_has_open_is_held_by_a_new_daemon),
        GRANT_TEST(what_a_node_was_sent_or_has_told_before_is_not_held),
        GRANT_TEST(what_a_node_tells_half_of_is_not_held),
        GRANT_TEST(a_node_that_tells_of_one_nic_twice_is_granted_it_once),
        GRANT_TEST(a_node_cannot_have_itself_granted_a_key_that_its_port_has_not),
        GRANT_TEST(those_that_came_last_find_no_room_in_a_list),
        GRANT_TEST(
            a_list_that_is_just_full_leaves_nobody_out_and_one_that_was_too_long_is_in_order),
        GRANT_TEST(a_host_of_which_no_node_is_known_has_no_snapshot),
        GRANT_TEST(a_partition_is_its_networks_and_that_of_who_shares_it),
        GRANT_TEST(a_node_may_hold_what_it_is_granted_was_sent_and_reports),
        GRANT_TEST(a_node_holds_no_key_that_it_was_never_sent),
        GRANT_TEST(a_node_holds_nothing_that_is_no_networks_key),
        GRANT_TEST(a_key_goes_only_from_a_node_that_follows_and_tells_all),
        GRANT_TEST(a_key_stays_with_a_node_that_was_sent_no_list_by_this_daemon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
