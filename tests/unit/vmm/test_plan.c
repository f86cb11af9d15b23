// SPDX-License-Identifier: Apache-2.0
/* What the table has for a VM's NICs, as its domain is to have it. */
#include "nic_scene.h"
#include "vmm/plan.h"

static struct oneib_domain_nic planned[ONEIB_DOMAIN_NICS_MAX];
static size_t count;

static int plan_one(const struct oneib_node_nic *nic, unsigned index)
{
    return oneib_plan_nic(&vm, nic, &table, index, &planned[0], &err);
}

static void a_plan_says_what_document_and_table_say(void **state)
{
    (void)state;
    const struct oneib_pci vf = tree_vf_pci(&hca, 2);
    const struct oneib_node_nic *nic = add_nic(3);
    record_open(3, 2);
    assert_int_equal(plan_one(nic, 1), 0);
    assert_int_equal(planned[0].nic_id, 3);
    assert_int_equal(oneib_pci_compare(&planned[0].vf, &vf), 0);
    assert_int_equal(planned[0].index, 1);
    assert_int_equal(planned[0].ipv4, address_of(3));
    assert_string_equal(planned[0].mac, "02:00:0a:14:00:0d");
    assert_string_equal(planned[0].target, "one-42-3");
    assert_false(planned[0].is_pci);
    assert_false(planned[0].has_guest_address);
}

static void a_pci_nic_keeps_the_address_that_oned_gave_it_in_the_guest(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_pci_nic(3, 2, 4);
    record_open(3, 2);
    assert_int_equal(plan_one(nic, 0), 0);
    assert_true(planned[0].is_pci);
    assert_true(planned[0].has_guest_address);
    assert_int_equal(planned[0].guest_address.bus, 4);
}

static void a_nic_without_an_address_has_none(void **state)
{
    (void)state;
    struct oneib_node_nic *nic = add_nic(3);
    nic->ipv4 = 0;
    record_open(3, 2);
    assert_int_equal(plan_one(nic, 0), 0);
    assert_int_equal(planned[0].ipv4, 0);
}

static void a_vf_on_vfio_is_not_managed(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_nic(3);
    record_open(3, 2);
    tree_bind_vf(&hca, 2, "vfio-pci");
    assert_int_equal(plan_one(nic, 0), 0);
    assert_false(planned[0].managed);
}

static void a_vf_on_a_host_driver_is_managed(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_nic(3);
    record_open(3, 2);
    tree_bind_vf(&hca, 2, "mlx4_core");
    assert_int_equal(plan_one(nic, 0), 0);
    assert_true(planned[0].managed);
}

static void a_vf_without_a_driver_is_managed(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_nic(3);
    record_open(3, 2);
    tree_bind_vf(&hca, 2, NULL);
    assert_int_equal(plan_one(nic, 0), 0);
    assert_true(planned[0].managed);
}

static void a_nic_without_a_record_is_refused(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_nic(3);
    record_open(4, 2);
    assert_int_equal(plan_one(nic, 0), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("VM 42 NIC 3");
    assert_told("'pre' of the network driver did not run here");
}

static void a_vf_that_is_being_released_is_refused(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_nic(3);
    record_as(3, 2, ONEIB_VF_RELEASING, ONEIB_VF_GUID_SET);
    assert_int_equal(plan_one(nic, 0), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("being released");
}

static void a_vf_that_is_not_ready_is_refused(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_nic(3);
    record_as(3, 2, ONEIB_VF_PREPARING, ONEIB_VF_GUID_NONE);
    assert_int_equal(plan_one(nic, 0), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("not ready yet");
}

static void a_vf_that_was_closed_meanwhile_will_do(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_nic(3);
    record_as(3, 2, ONEIB_VF_CLOSED, ONEIB_VF_GUID_SET);
    assert_int_equal(plan_one(nic, 0), 0);
}

static void another_vf_than_the_scheduler_chose_is_refused(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_pci_nic(3, 2, 4);
    record_open(3, 1);
    assert_int_equal(plan_one(nic, 0), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("0000:81:00.3");
    assert_told("0000:81:00.2");
}

static void a_vf_that_is_gone_from_the_host_is_refused(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = add_nic(3);
    record_open(3, 2);
    tree_remove_hca(&hca);
    assert_int_equal(plan_one(nic, 0), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("0000:81:00.3 is gone");
}

static void indices_count_from_0_in_the_order_of_nic_ids(void **state)
{
    (void)state;
    const uint8_t ids[] = {2, 5, 200};
    for (unsigned i = 0; i < 3; i++) {
        add_nic(ids[i]);
        record_open(ids[i], 2 - i);
    }
    assert_int_equal(oneib_plan_all(&vm, &table, planned, &count, &err), 0);
    assert_int_equal(count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(planned[i].nic_id, ids[i]);
        assert_int_equal(planned[i].index, i);
    }
}

static void sixteen_nics_are_planned(void **state)
{
    (void)state;
    for (uint8_t i = 0; i < 16; i++) {
        add_nic(i);
        record_open(i, i);
    }
    assert_int_equal(oneib_plan_all(&vm, &table, planned, &count, &err), 0);
    assert_int_equal(count, 16);
    assert_int_equal(planned[15].index, 15);
}

static void seventeen_nics_are_refused(void **state)
{
    (void)state;
    for (uint8_t i = 0; i < 17; i++) {
        add_nic(i);
        record_open(i, i);
    }
    assert_int_equal(oneib_plan_all(&vm, &table, planned, &count, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("VM 42 has 17 InfiniBand NICs");
}

static void one_nic_that_cannot_be_fails_all(void **state)
{
    (void)state;
    add_nic(1);
    add_nic(2);
    record_open(1, 0);
    assert_int_equal(oneib_plan_all(&vm, &table, planned, &count, &err), -1);
    assert_told("VM 42 NIC 2");
}

static void a_nic_without_a_mac_is_refused(void **state)
{
    (void)state;
    struct oneib_node_nic *nic = add_nic(3);
    assert_int_equal(oneib_plan_check(&vm, nic, &err), 0);
    nic->mac[0] = '\0';
    assert_int_equal(oneib_plan_check(&vm, nic, &err), -1);
    assert_told("VM 42 NIC 3 has no MAC");
}

static void a_nic_without_a_target_is_refused(void **state)
{
    (void)state;
    struct oneib_node_nic *nic = add_nic(3);
    nic->target[0] = '\0';
    assert_int_equal(oneib_plan_check(&vm, nic, &err), -1);
    assert_told("VM 42 NIC 3 has no TARGET");
}

static void a_nic_with_a_bridge_is_refused(void **state)
{
    (void)state;
    struct oneib_node_nic *nic = add_nic(3);
    nic->bridged = true;
    assert_int_equal(oneib_plan_check(&vm, nic, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("has a BRIDGE");
}

/* ---- where in a running guest ---------------------------------------------------------------- */

static uint8_t root_ports[] = {1, 2, 3};
static struct oneib_pci taken[] = {{.bus = 2}};
static const struct oneib_domain_description running = {
    .machine = ONEIB_MACHINE_PCIE,
    .root_ports = root_ports,
    .root_port_count = 3,
    .has_bus = {[1] = true, [2] = true, [3] = true, [4] = true},
    .taken = taken,
    .taken_count = 1,
};

static void place(bool is_told, uint8_t bus)
{
    planned[0] = (struct oneib_domain_nic){
        .has_guest_address = is_told, .guest_address = {.bus = bus}, .index = 0};
    oneib_plan_guest_address(&running, &planned[0]);
}

static void a_free_address_of_a_pci_nic_is_kept(void **state)
{
    (void)state;
    place(true, 1);
    assert_true(planned[0].has_guest_address);
    assert_int_equal(planned[0].guest_address.bus, 1);
}

static void an_address_behind_a_bridge_is_kept(void **state)
{
    (void)state;
    place(true, 4);
    assert_true(planned[0].has_guest_address);
    assert_int_equal(planned[0].guest_address.bus, 4);
}

static void a_taken_address_of_a_pci_nic_gives_way_to_that_of_its_index(void **state)
{
    (void)state;
    place(true, 2);
    assert_true(planned[0].has_guest_address);
    assert_int_equal(planned[0].guest_address.bus, 3);
}

static void a_bus_that_the_domain_lacks_gives_way_to_that_of_the_index(void **state)
{
    (void)state;
    place(true, 9);
    assert_true(planned[0].has_guest_address);
    assert_int_equal(planned[0].guest_address.bus, 3);
}

static void a_plain_nic_goes_where_its_index_belongs(void **state)
{
    (void)state;
    place(false, 0);
    assert_true(planned[0].has_guest_address);
    assert_int_equal(planned[0].guest_address.bus, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(a_plan_says_what_document_and_table_say),
        TEST(a_pci_nic_keeps_the_address_that_oned_gave_it_in_the_guest),
        TEST(a_nic_without_an_address_has_none),
        TEST(a_vf_on_vfio_is_not_managed),
        TEST(a_vf_on_a_host_driver_is_managed),
        TEST(a_vf_without_a_driver_is_managed),
        TEST(a_nic_without_a_record_is_refused),
        TEST(a_vf_that_is_being_released_is_refused),
        TEST(a_vf_that_is_not_ready_is_refused),
        TEST(a_vf_that_was_closed_meanwhile_will_do),
        TEST(another_vf_than_the_scheduler_chose_is_refused),
        TEST(a_vf_that_is_gone_from_the_host_is_refused),
        TEST(indices_count_from_0_in_the_order_of_nic_ids),
        TEST(sixteen_nics_are_planned),
        TEST(seventeen_nics_are_refused),
        TEST(one_nic_that_cannot_be_fails_all),
        TEST(a_nic_without_a_mac_is_refused),
        TEST(a_nic_without_a_target_is_refused),
        TEST(a_nic_with_a_bridge_is_refused),
        TEST(a_free_address_of_a_pci_nic_is_kept),
        TEST(an_address_behind_a_bridge_is_kept),
        TEST(a_taken_address_of_a_pci_nic_gives_way_to_that_of_its_index),
        TEST(a_bus_that_the_domain_lacks_gives_way_to_that_of_the_index),
        TEST(a_plain_nic_goes_where_its_index_belongs),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
