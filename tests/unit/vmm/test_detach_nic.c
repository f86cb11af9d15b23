// SPDX-License-Identifier: Apache-2.0
/* NICs out of a running domain. */
#include "hotplug_scene.h"

static void a_detached_nic_loses_its_vf_and_then_its_dummy_interface(void **state)
{
    (void)state;
    begin_detach();
    assert_detached();
    assert_has_neither(NIC);
    assert_first_of("detach " DOMAIN " " VF_ALIAS, "detach " DOMAIN " " DUMMY_ALIAS);
}

/* OpenNebula undoes an attach by a detach, and calls no 'clean' then. */
static void a_detached_nic_gives_its_vf_back(void **state)
{
    (void)state;
    begin_detach();
    record_open(7, 6);
    assert_detached();
    assert_int_equal(service_calls("release 42/3 gone"), 1);
    assert_int_equal(service_calls(""), 1);
}

static void a_nic_that_is_not_detached_keeps_its_vf(void **state)
{
    (void)state;
    begin_detach();
    live_standin_fault("rejects " VF_ALIAS);
    assert_int_equal(detach(), -1);
    assert_int_equal(service_calls("release"), 0);
}

/* 'clean' follows, and fails then. */
static void a_nic_is_detached_though_the_service_is_silent(void **state)
{
    (void)state;
    begin_detach();
    service_is_silent = true;
    assert_detached();
    assert_has_neither(NIC);
}

static void detaching_one_nic_renumbers_no_other(void **state)
{
    (void)state;
    begin_detach();
    give(7, 6, 1, BOTH);
    assert_detached();
    assert_has_both(7, 6, 1);
}

static void a_nic_that_is_not_there_is_detached(void **state)
{
    (void)state;
    begin_attach();
    assert_detached();
    assert_logged("detach", false);
}

static void a_nic_that_nobody_would_attach_can_be_detached(void **state)
{
    (void)state;
    struct oneib_node_nic *nic = begin_detach();
    nic->bridged = nic->faulty = true;
    assert_detached();
    assert_has_neither(NIC);
}

static void a_nic_without_a_record_can_be_detached(void **state)
{
    (void)state;
    add_attached(NIC);
    give(NIC, VF, 0, BOTH);
    assert_detached();
    assert_has_neither(NIC);
}

static void a_vf_that_the_guest_keeps_leaves_everything_as_it_was(void **state)
{
    (void)state;
    begin_detach();
    live_standin_fault("keeps " VF_ALIAS);
    assert_int_equal(detach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_told("VM 42 NIC 3: the guest does not let go of its virtual function 0000:81:00.3");
    assert_told("may still let go");
    assert_told("'oneib hca'");
    assert_has_both(NIC, VF, 0);
    assert_logged("detach " DOMAIN " " DUMMY_ALIAS, false);
}

static void a_guest_that_is_slow_has_as_long_as_the_configuration_says(void **state)
{
    (void)state;
    begin_detach();
    live_standin_fault("slow " VF_ALIAS " 900");
    assert_detached();
    assert_has_neither(NIC);
}

static void a_guest_that_lets_go_too_late_is_told_of_and_the_next_call_goes_on(void **state)
{
    (void)state;
    begin_detach();
    live_standin_fault("slow " VF_ALIAS " 1100");
    assert_int_equal(detach(), -1);
    assert_told("may still let go");
    live_standin_heal();
    assert_detached();
    assert_has_neither(NIC);
}

static void a_vf_that_the_guest_refuses_to_give_leaves_everything_as_it_was(void **state)
{
    (void)state;
    begin_detach();
    live_standin_fault("rejects " VF_ALIAS);
    assert_int_equal(detach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("the VM has the NIC as before");
    assert_has_both(NIC, VF, 0);
}

static void a_dummy_interface_that_the_guest_keeps_brings_the_vf_back_in(void **state)
{
    (void)state;
    begin_detach();
    const struct oneib_pci before = device_of(NIC).guest_address;
    live_standin_fault("keeps " DUMMY_ALIAS);
    assert_int_equal(detach(), -1);
    assert_told("VM 42 NIC 3: its dummy interface could not be taken out");
    assert_told("its virtual function is plugged in again");
    assert_has_both(NIC, VF, 0);
    assert_int_equal(device_of(NIC).guest_address.bus, before.bus);
}

static void a_vf_that_cannot_come_back_is_told(void **state)
{
    (void)state;
    begin_detach();
    live_standin_fault("keeps " DUMMY_ALIAS);
    live_standin_fault("attach-fails " VF_ALIAS);
    assert_int_equal(detach(), -1);
    assert_told("its virtual function is out, and was not plugged in again: ");
    assert_told("detach the NIC once more");
}

static void a_vf_that_is_no_longer_the_vms_does_not_come_back(void **state)
{
    (void)state;
    record_as(NIC, VF, ONEIB_VF_RELEASING, ONEIB_VF_GUID_SET);
    add_attached(NIC);
    give(NIC, VF, 0, BOTH);
    live_standin_fault("keeps " DUMMY_ALIAS);
    assert_int_equal(detach(), -1);
    assert_told("was not plugged in again");
    assert_false(device_of(NIC).has_vf);
}

static void a_lone_dummy_interface_of_a_killed_call_goes(void **state)
{
    (void)state;
    begin_attach();
    give(NIC, VF, 0, ONLY_DUMMY);
    assert_detached();
    assert_has_neither(NIC);
}

static void a_lone_dummy_interface_that_the_guest_keeps_gets_its_vf_back(void **state)
{
    (void)state;
    begin_attach();
    give(NIC, VF, 0, ONLY_DUMMY);
    live_standin_fault("keeps " DUMMY_ALIAS);
    assert_int_equal(detach(), -1);
    assert_has_both(NIC, VF, 0);
}

static void a_connection_that_is_lost_at_the_vf_is_told_and_the_next_call_goes_on(void **state)
{
    (void)state;
    static const char *const moments[] = {"lost", "lost-after"};
    begin_detach();
    for (unsigned moment = 0; moment < 2; moment++) {
        live_standin_heal();
        live_standin_fault("%s 3", moments[moment]);
        assert_int_equal(detach(), -1);
        assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
        assert_told("'oneib hca' shows whether");
    }
    assert_detached();
    assert_has_neither(NIC);
}

static void a_connection_lost_between_the_two_brings_the_vf_back_in(void **state)
{
    (void)state;
    begin_detach();
    live_standin_fault("lost 4");
    assert_int_equal(detach(), -1);
    assert_told("plugged in again");
    assert_has_both(NIC, VF, 0);
}

static void a_dummy_interface_that_is_gone_although_nobody_was_told_is_success(void **state)
{
    (void)state;
    begin_detach();
    live_standin_fault("lost-after 4");
    assert_detached();
    assert_int_equal(err.code, ONEIB_ERROR_NONE);
    assert_has_neither(NIC);
}

static void a_detach_without_libvirt_says_so(void **state)
{
    (void)state;
    begin_detach();
    live_standin_fault("refuse-open");
    assert_int_equal(detach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_has_both(NIC, VF, 0);
}

static void a_detach_of_a_vm_that_does_not_run_says_what_to_do(void **state)
{
    (void)state;
    begin_attach();
    assert_int_equal(live_standin_stop(DOMAIN, &err), 0);
    assert_int_equal(detach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_told("once OpenNebula shows that the VM is powered off");
}

static void a_detach_from_a_domain_of_another_vm_is_refused(void **state)
{
    (void)state;
    begin_detach();
    vm.id = 43;
    assert_int_equal(detach(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_has_both(NIC, VF, 0);
}

static void a_detach_for_another_mac_touches_nothing(void **state)
{
    (void)state;
    begin_detach();
    assert_int_equal(detach_for(OTHER_MAC), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told(OTHER_MAC);
    assert_nothing_was_touched();
    assert_has_both(NIC, VF, 0);
}

static void a_detach_of_a_nic_whose_mac_is_not_said_touches_nothing(void **state)
{
    (void)state;
    begin_detach()->mac[0] = '\0';
    assert_int_equal(detach_for(""), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_has_both(NIC, VF, 0);
}

static void a_nic_of_another_driver_is_detached_by_the_upstream_action(void **state)
{
    (void)state;
    assert_int_equal(live_standin_plug(DOMAIN,
                                       "<interface type='bridge'><mac address='" MAC "'/>"
                                       "<source bridge='br0'/></interface>",
                                       &err),
                     0);
    vm.attaching = true;
    assert_int_equal(detach(), 0);
    assert_int_equal(status, 0);
    assert_logged("upstream detach_nic " DOMAIN " " MAC " 42 node1", true);
    assert_null(strstr(live_standin_document(DOMAIN), MAC));
}

static void a_detach_that_was_killed_at_any_call_is_finished_by_the_next(void **state)
{
    (void)state;
    static const char *const moments[] = {"die", "die-after"};
    begin_detach();
    for (unsigned moment = 0; moment < 2; moment++)
        for (unsigned call = 1; call <= 4; call++) {
            live_standin_heal();
            live_standin_fault("%s %u", moments[moment], call);
            assert_true(is_killed(detach));
            live_standin_heal();
            assert_detached();
            assert_has_neither(NIC);
            write_table();
            assert_attached();
            assert_has_both(NIC, VF, 0);
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_running, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(a_detached_nic_loses_its_vf_and_then_its_dummy_interface),
        TEST(a_detached_nic_gives_its_vf_back),
        TEST(a_nic_that_is_not_detached_keeps_its_vf),
        TEST(a_nic_is_detached_though_the_service_is_silent),
        TEST(detaching_one_nic_renumbers_no_other),
        TEST(a_nic_that_is_not_there_is_detached),
        TEST(a_nic_that_nobody_would_attach_can_be_detached),
        TEST(a_nic_without_a_record_can_be_detached),
        TEST(a_vf_that_the_guest_keeps_leaves_everything_as_it_was),
        TEST(a_guest_that_is_slow_has_as_long_as_the_configuration_says),
        TEST(a_guest_that_lets_go_too_late_is_told_of_and_the_next_call_goes_on),
        TEST(a_vf_that_the_guest_refuses_to_give_leaves_everything_as_it_was),
        TEST(a_dummy_interface_that_the_guest_keeps_brings_the_vf_back_in),
        TEST(a_vf_that_cannot_come_back_is_told),
        TEST(a_vf_that_is_no_longer_the_vms_does_not_come_back),
        TEST(a_lone_dummy_interface_of_a_killed_call_goes),
        TEST(a_lone_dummy_interface_that_the_guest_keeps_gets_its_vf_back),
        TEST(a_connection_that_is_lost_at_the_vf_is_told_and_the_next_call_goes_on),
        TEST(a_connection_lost_between_the_two_brings_the_vf_back_in),
        TEST(a_dummy_interface_that_is_gone_although_nobody_was_told_is_success),
        TEST(a_detach_without_libvirt_says_so),
        TEST(a_detach_of_a_vm_that_does_not_run_says_what_to_do),
        TEST(a_detach_from_a_domain_of_another_vm_is_refused),
        TEST(a_detach_for_another_mac_touches_nothing),
        TEST(a_detach_of_a_nic_whose_mac_is_not_said_touches_nothing),
        TEST(a_nic_of_another_driver_is_detached_by_the_upstream_action),
        TEST(a_detach_that_was_killed_at_any_call_is_finished_by_the_next),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
