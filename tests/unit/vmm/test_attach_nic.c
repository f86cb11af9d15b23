// SPDX-License-Identifier: Apache-2.0
/* NICs into a running domain. */
#include "hotplug_scene.h"

static void assert_was_not_plugged_but_given_back(void)
{
    assert_logged("attach", false);
    assert_int_equal(service_calls("release 42/3"), 1);
    assert_int_equal(service_calls(""), 1);
}

static void an_attached_nic_gets_its_dummy_interface_and_then_its_vf(void **state)
{
    (void)state;
    begin_attach();
    assert_attached();
    assert_has_both(NIC, VF, 0);
    assert_first_of("attach " DOMAIN " " DUMMY_ALIAS, "attach " DOMAIN " " VF_ALIAS);
    assert_int_equal(service_calls(""), 0);
    assert_logged("upstream", false);
}

static void the_dummy_interface_is_link_down(void **state)
{
    (void)state;
    begin_attach();
    assert_attached();
    assert_non_null(strstr(live_standin_document(DOMAIN), "<link state=\"down\"/>"));
}

static void a_nic_without_an_address_gets_a_dummy_mac_of_none(void **state)
{
    (void)state;
    begin_attach()->ipv4 = 0;
    assert_attached();
    assert_true(device_of(NIC).has_dummy);
    assert_int_equal(device_of(NIC).ipv4, 0);
}

static void a_vf_goes_where_its_index_belongs_in_the_guest(void **state)
{
    (void)state;
    begin_attach();
    assert_attached();
    assert_true(device_of(NIC).has_guest_address);
    assert_int_equal(device_of(NIC).guest_address.bus, 34);
}

static void a_pci_nic_goes_where_oned_says(void **state)
{
    (void)state;
    record_open(NIC, VF);
    add_pci_nic(NIC, VF, 7)->attach = true;
    vm.attaching = true;
    assert_attached();
    assert_has_both(NIC, VF, 0);
    assert_int_equal(device_of(NIC).guest_address.bus, 7);
}

static void an_attached_nic_gets_the_lowest_free_index(void **state)
{
    (void)state;
    give(0, 5, 0, BOTH);
    give(7, 6, 2, BOTH);
    begin_attach();
    assert_attached();
    assert_has_both(NIC, VF, 1);
    assert_has_both(7, 6, 2);
}

static void a_seventeenth_interface_is_refused(void **state)
{
    (void)state;
    for (uint8_t i = 0; i < 16; i++)
        give((uint8_t)(100 + i), 3U + i, i, ONLY_DUMMY);
    begin_attach();
    assert_int_equal(attach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("has 16 InfiniBand interfaces already");
    assert_has_neither(NIC);
}

static void a_dummy_interface_of_a_killed_call_keeps_its_index(void **state)
{
    (void)state;
    give(NIC, VF, 5, ONLY_DUMMY);
    begin_attach();
    assert_attached();
    assert_has_both(NIC, VF, 5);
    assert_logged("attach " DOMAIN " " DUMMY_ALIAS, false);
}

static void a_dummy_interface_with_an_earlier_nics_address_is_replaced(void **state)
{
    (void)state;
    give(NIC, VF, 5, ONLY_DUMMY);
    begin_attach()->ipv4 = 0x0a140063;
    assert_attached();
    assert_true(device_of(NIC).has_vf);
    assert_int_equal(device_of(NIC).index, 5);
    assert_int_equal(device_of(NIC).ipv4, 0x0a140063);
}

static void a_nic_that_is_there_already_is_left_alone(void **state)
{
    (void)state;
    begin_detach();
    assert_attached();
    assert_has_both(NIC, VF, 0);
    assert_nothing_was_touched();
}

static void a_vf_without_its_dummy_interface_gets_it(void **state)
{
    (void)state;
    give(NIC, VF, 0, ONLY_VF);
    begin_attach();
    assert_attached();
    assert_has_both(NIC, VF, 0);
}

static void another_vf_than_the_recorded_one_is_refused(void **state)
{
    (void)state;
    give(NIC, 9, 0, BOTH);
    begin_attach();
    assert_int_equal(attach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("0000:81:01.2");
    assert_told("0000:81:00.3");
    assert_has_both(NIC, 9, 0);
}

static void a_vf_that_cannot_be_plugged_in_takes_the_dummy_interface_with_it(void **state)
{
    (void)state;
    begin_attach();
    live_standin_fault("attach-fails " VF_ALIAS);
    assert_int_equal(attach(), -1);
    assert_told("VM 42 NIC 3");
    assert_told("plugging in its virtual function 0000:81:00.3");
    assert_told("nothing of the NIC is left in the VM");
    assert_has_neither(NIC);
}

static void a_vf_of_an_attach_that_failed_is_given_back(void **state)
{
    (void)state;
    begin_attach();
    live_standin_fault("attach-fails " VF_ALIAS);
    assert_int_equal(attach(), -1);
    assert_int_equal(service_calls("release 42/3"), 1);
    assert_int_equal(service_calls(""), 1);
}

static void a_dummy_interface_of_a_killed_call_goes_too_when_the_vf_fails(void **state)
{
    (void)state;
    give(NIC, VF, 5, ONLY_DUMMY);
    begin_attach();
    live_standin_fault("attach-fails " VF_ALIAS);
    assert_int_equal(attach(), -1);
    assert_has_neither(NIC);
}

static void a_dummy_interface_that_cannot_be_plugged_in_leaves_nothing(void **state)
{
    (void)state;
    begin_attach();
    live_standin_fault("attach-fails " DUMMY_ALIAS);
    assert_int_equal(attach(), -1);
    assert_told("plugging in its dummy interface");
    assert_told("nothing of the NIC is left in the VM");
    assert_logged("attach " DOMAIN " " VF_ALIAS, false);
    assert_has_neither(NIC);
}

static void a_dummy_interface_that_stays_is_told(void **state)
{
    (void)state;
    begin_attach();
    live_standin_fault("attach-fails " VF_ALIAS);
    live_standin_fault("keeps " DUMMY_ALIAS);
    assert_int_equal(attach(), -1);
    assert_told("its dummy interface may still be in the VM");
    assert_told("did not let go of " DUMMY_ALIAS);
}

static void a_connection_that_is_lost_at_any_call_leaves_nothing(void **state)
{
    (void)state;
    static const char *const moments[] = {"lost", "lost-after"};
    begin_attach();
    for (unsigned moment = 0; moment < 2; moment++)
        for (unsigned call = 2; call <= 4; call++) {
            live_standin_heal();
            live_standin_fault("%s %u", moments[moment], call);
            assert_int_equal(attach(), -1);
            assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
            assert_has_neither(NIC);
            write_table(); /* 'pre' runs again */
        }
}

static void an_attach_without_libvirt_says_so(void **state)
{
    (void)state;
    begin_attach();
    live_standin_fault("refuse-open");
    assert_int_equal(attach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_told("VM 42 NIC 3");
    assert_has_neither(NIC);
}

static void libvirt_that_does_not_come_back_is_told(void **state)
{
    (void)state;
    begin_attach();
    live_standin_fault("lost 4");
    live_standin_fault("lost 5");
    assert_int_equal(attach(), -1);
    assert_told("its virtual function or dummy interface may still be in the VM");
}

static void a_nic_of_a_vm_that_does_not_run_is_for_its_next_start(void **state)
{
    (void)state;
    begin_attach();
    assert_int_equal(live_standin_stop(DOMAIN, &err), 0);
    assert_int_equal(attach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_told("once OpenNebula shows that the VM is powered off");
}

static void a_domain_of_another_vm_is_refused(void **state)
{
    (void)state;
    vm.id = 43;
    record_open(NIC, VF);
    table.items[0].vm_id = 43;
    write_table();
    add_attached(NIC);
    assert_int_equal(attach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_has_neither(NIC);
}

static void an_attach_for_another_mac_touches_nothing_of_the_vm(void **state)
{
    (void)state;
    begin_attach();
    assert_int_equal(attach_for(OTHER_MAC), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told(MAC);
    assert_told(OTHER_MAC);
    assert_was_not_plugged_but_given_back();
}

static void a_mac_in_capitals_is_the_same(void **state)
{
    (void)state;
    begin_attach();
    assert_int_equal(attach_for("02:00:0A:14:00:0D"), 0);
    assert_has_both(NIC, VF, 0);
}

static void a_mac_with_control_characters_is_shown_harmlessly(void **state)
{
    (void)state;
    begin_attach();
    assert_int_equal(attach_for("\x1b[2J\n"), -1);
    assert_null(strpbrk(err.text, "\x1b\n"));
}

static void a_nic_without_a_record_is_refused(void **state)
{
    (void)state;
    add_attached(NIC);
    assert_int_equal(attach(), -1);
    assert_told("'pre' of the network driver did not run here");
    assert_has_neither(NIC);
}

static void a_vf_that_is_being_released_is_not_plugged_in(void **state)
{
    (void)state;
    record_as(NIC, VF, ONEIB_VF_RELEASING, ONEIB_VF_GUID_SET);
    add_attached(NIC);
    assert_int_equal(attach(), -1);
    assert_told("being released");
    assert_has_neither(NIC);
}

static void a_closed_vf_is_plugged_in(void **state)
{
    (void)state;
    record_as(NIC, VF, ONEIB_VF_CLOSED, ONEIB_VF_GUID_SET);
    add_attached(NIC);
    assert_attached();
    assert_has_both(NIC, VF, 0);
}

static void a_bridged_nic_is_refused(void **state)
{
    (void)state;
    begin_attach()->bridged = true;
    assert_int_equal(attach(), -1);
    assert_told("has a BRIDGE");
    assert_was_not_plugged_but_given_back();
}

static void a_pci_nic_without_an_address_is_refused(void **state)
{
    (void)state;
    begin_attach()->is_pci = true;
    assert_int_equal(attach(), -1);
    assert_told("no ADDRESS");
    assert_was_not_plugged_but_given_back();
}

static void a_nic_without_a_target_is_refused(void **state)
{
    (void)state;
    begin_attach()->target[0] = '\0';
    assert_int_equal(attach(), -1);
    assert_told("has no TARGET");
    assert_was_not_plugged_but_given_back();
}

static void two_nics_in_one_attach_are_refused(void **state)
{
    (void)state;
    begin_attach();
    add_attached(4);
    assert_int_equal(attach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_told("both NIC 3 and NIC 4");
    assert_logged("attach", false);
    assert_int_equal(service_calls("release"), 2);
}

static void a_target_with_markup_is_refused_before_anything_is_plugged_in(void **state)
{
    (void)state;
    struct oneib_node_nic *nic = begin_attach();
    snprintf(nic->target, sizeof nic->target, "a'/><x y=\"&");
    assert_int_equal(attach(), -1);
    assert_told("VM 42: NIC 3: its TARGET");
    assert_logged("attach", false);
}

static void a_vf_that_is_released_while_it_goes_in_is_taken_out_again(void **state)
{
    (void)state;
    begin_attach();
    table.items[0].vm_id = 99;
    write_table_to("/run/oneib/vfs.next");
    live_standin_fault("table-next 3");
    assert_int_equal(attach(), -1);
    assert_told("VM 42 NIC 3: its virtual function 0000:81:00.3 was released meanwhile");
    assert_logged("attach " DOMAIN " " VF_ALIAS, true);
    assert_has_neither(NIC);
}

static void a_nic_of_another_driver_is_attached_by_the_upstream_action(void **state)
{
    (void)state;
    add_nic(NIC);
    vm.attaching = true;
    assert_int_equal(attach(), 0);
    assert_int_equal(status, 0);
    assert_logged("upstream attach_nic " DOMAIN " " MAC " br0 - bridge one-42-3 42 node1", true);
    assert_logged("open", false);
    assert_has_neither(NIC);
}

static void give_the_vf_to_vm(uint32_t vm_id)
{
    record_open(NIC, VF);
    table.items[0].vm_id = vm_id;
    write_table();
}

static void plug_in(enum oneib_node_device device, unsigned index)
{
    vm.device = device;
    vm.device_address = tree_vf_pci(&hca, index);
}

static void a_vf_that_somebody_has_is_not_attached_as_an_ordinary_device(void **state)
{
    (void)state;
    static const uint32_t owners[] = {VM_ID, 99};
    for (size_t i = 0; i < 2; i++) {
        oneib_vf_table_clear(&table);
        give_the_vf_to_vm(owners[i]);
        plug_in(ONEIB_DEVICE_TOLD, VF);
        assert_int_equal(attach(), -1);
        assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
        assert_told("0000:81:00.3");
        assert_logged("upstream", false);
        assert_int_equal(service_calls(""), 0);
    }
}

static void any_other_device_is_attached_by_the_upstream_action(void **state)
{
    (void)state;
    give_the_vf_to_vm(99);
    plug_in(ONEIB_DEVICE_TOLD, VF + 1);
    assert_int_equal(attach(), 0);
    assert_logged("upstream attach_nic", true);
}

static void a_device_that_is_not_told_clearly_is_attached_where_nobody_has_a_vf(void **state)
{
    (void)state;
    plug_in(ONEIB_DEVICE_UNCLEAR, VF + 1);
    assert_int_equal(attach(), 0);
    assert_logged("upstream attach_nic", true);
    live_standin_forget_log();
    give_the_vf_to_vm(99);
    assert_int_equal(attach(), -1);
    assert_told("which device of the host");
    assert_logged("upstream", false);
}

static void an_upstream_attach_that_fails_passes_its_status_on(void **state)
{
    (void)state;
    live_standin_fault("upstream attach_nic fail 7");
    assert_int_equal(attach(), 0);
    assert_int_equal(status, 7);
}

static void a_missing_upstream_attach_is_an_error(void **state)
{
    (void)state;
    struct oneib_vmm vmm = acting("/nonexistent/kvm/attach_nic", attach_arguments);
    assert_int_equal(oneib_vmm_attach_nic(&vmm, MAC, &status, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_told("/nonexistent/kvm/attach_nic");
}

static void an_attach_that_was_killed_at_any_call_is_finished_by_the_next(void **state)
{
    (void)state;
    static const char *const moments[] = {"die", "die-after"};
    begin_attach();
    for (unsigned moment = 0; moment < 2; moment++)
        for (unsigned call = 1; call <= 4; call++) {
            live_standin_heal();
            live_standin_fault("%s %u", moments[moment], call);
            assert_true(is_killed(attach));
            live_standin_heal();
            assert_attached();
            assert_has_both(NIC, VF, 0);
            assert_detached();
            assert_has_neither(NIC);
            write_table();
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_running, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(an_attached_nic_gets_its_dummy_interface_and_then_its_vf),
        TEST(the_dummy_interface_is_link_down),
        TEST(a_nic_without_an_address_gets_a_dummy_mac_of_none),
        TEST(a_vf_goes_where_its_index_belongs_in_the_guest),
        TEST(a_pci_nic_goes_where_oned_says),
        TEST(an_attached_nic_gets_the_lowest_free_index),
        TEST(a_seventeenth_interface_is_refused),
        TEST(a_dummy_interface_of_a_killed_call_keeps_its_index),
        TEST(a_dummy_interface_with_an_earlier_nics_address_is_replaced),
        TEST(a_nic_that_is_there_already_is_left_alone),
        TEST(a_vf_without_its_dummy_interface_gets_it),
        TEST(another_vf_than_the_recorded_one_is_refused),
        TEST(a_vf_that_cannot_be_plugged_in_takes_the_dummy_interface_with_it),
        TEST(a_vf_of_an_attach_that_failed_is_given_back),
        TEST(a_dummy_interface_of_a_killed_call_goes_too_when_the_vf_fails),
        TEST(a_dummy_interface_that_cannot_be_plugged_in_leaves_nothing),
        TEST(a_dummy_interface_that_stays_is_told),
        TEST(a_connection_that_is_lost_at_any_call_leaves_nothing),
        TEST(an_attach_without_libvirt_says_so),
        TEST(libvirt_that_does_not_come_back_is_told),
        TEST(a_nic_of_a_vm_that_does_not_run_is_for_its_next_start),
        TEST(a_domain_of_another_vm_is_refused),
        TEST(an_attach_for_another_mac_touches_nothing_of_the_vm),
        TEST(a_mac_in_capitals_is_the_same),
        TEST(a_mac_with_control_characters_is_shown_harmlessly),
        TEST(a_nic_without_a_record_is_refused),
        TEST(a_vf_that_is_being_released_is_not_plugged_in),
        TEST(a_closed_vf_is_plugged_in),
        TEST(a_bridged_nic_is_refused),
        TEST(a_pci_nic_without_an_address_is_refused),
        TEST(a_nic_without_a_target_is_refused),
        TEST(two_nics_in_one_attach_are_refused),
        TEST(a_target_with_markup_is_refused_before_anything_is_plugged_in),
        TEST(a_vf_that_is_released_while_it_goes_in_is_taken_out_again),
        TEST(a_nic_of_another_driver_is_attached_by_the_upstream_action),
        TEST(a_vf_that_somebody_has_is_not_attached_as_an_ordinary_device),
        TEST(any_other_device_is_attached_by_the_upstream_action),
        TEST(a_device_that_is_not_told_clearly_is_attached_where_nobody_has_a_vf),
        TEST(an_upstream_attach_that_fails_passes_its_status_on),
        TEST(a_missing_upstream_attach_is_an_error),
        TEST(an_attach_that_was_killed_at_any_call_is_finished_by_the_next),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
