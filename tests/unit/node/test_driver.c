// SPDX-License-Identifier: Apache-2.0
/* What gives: pre and post. */
#include "driver_scene.h"

/* --- pre ------------------------------------------------------------------------------------ */

static int pre(const char *xml)
{
    read_document(xml);
    return oneib_driver_pre(&config, &vm, &err);
}

/* Those that the scheduler has chosen come first: another NIC could get one otherwise. */
static void pre_assigns_every_nic_of_ours(void **state)
{
    (void)state;
    assert_int_equal(pre(VM("42", OTHER_NIC NIC("1", "<PHYDEV>mlx4_1:2</PHYDEV>")
                                      PCI("2", "<ADDRESS>0000:82:00:3</ADDRESS>"
                                               "<IB_MEMBERSHIP>limited</IB_MEMBERSHIP>"))),
                     0);
    assert_calls("assign 42/2 key 5 limited vf 0000:82:00.3 in-use 2\n"
                 "assign 42/1 key 5 on mlx4_1:2 in-use 2\n");
    assert_int_equal(libvirt_questions, 1);
}

static void pre_of_a_vm_that_ran_before_defers_guids(void **state)
{
    (void)state;
    assert_int_equal(pre(DEPLOYED("42", NIC("1", ""))), 0);
    assert_calls("assign 42/1 key 5 deferred in-use 2\n");
}

static void pre_of_an_attach_is_about_that_nic_and_defers_nothing(void **state)
{
    (void)state;
    assert_int_equal(pre(DEPLOYED("42", NIC("1", "") NIC("2", ATTACH))), 0);
    assert_calls("assign 42/2 key 5 in-use 2\n");
}

static void pre_of_another_drivers_attach_does_nothing(void **state)
{
    (void)state;
    libvirt_is_silent = true;
    assert_int_equal(pre(DEPLOYED("42", NIC("1", "") OTHER_ATTACHED)), 0);
    end(NULL);
    assert_int_equal(pre(DEPLOYED("42", NIC("1", "") ALIAS_ATTACHED)), 0);
    assert_calls("");
    assert_int_equal(libvirt_questions, 0);
}

/* A guest that switched itself off, and whose VM was terminated then. */
static void pre_takes_back_what_vms_without_a_domain_still_have(void **state)
{
    (void)state;
    record(7, 0, 1, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_SET);
    now = 1000;
    assert_int_equal(pre(VM("42", NIC("1", ""))), 0);
    assert_calls("release 7/0\nassign 42/1 key 5 in-use 2\n");
}

static void pre_takes_nothing_back_from_who_may_be_about_to_start(void **state)
{
    (void)state;
    record(7, 0, 1, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_SET);
    record(8, 0, 2, 5, ONEIB_VF_RELEASING, ONEIB_VF_GUID_NONE);
    record(9, 0, 3, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    record(42, 1, 4, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_SET);
    now = 60;
    assert_int_equal(pre(VM("42", NIC("1", ""))), 0);
    assert_calls("assign 42/1 key 5 in-use 2\n");
}

/* Its pre waits for the second, and has had the first for long. */
static void pre_takes_nothing_back_from_who_is_getting_another_one(void **state)
{
    (void)state;
    record(7, 0, 1, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_SET);
    record(7, 1, 2, 5, ONEIB_VF_PREPARING, ONEIB_VF_GUID_NONE);
    oneib_vf_table_of_nic(&table, 7, 1)->owner = 1;
    now = 1000;
    assert_int_equal(pre(VM("42", NIC("1", ""))), 0);
    assert_calls("assign 42/1 key 5 in-use 2\n");
}

static void pre_closes_what_the_vm_has_for_nics_that_it_has_not(void **state)
{
    (void)state;
    record_open(42, 3, 1);
    record(42, 4, 2, 0, ONEIB_VF_CLOSED, ONEIB_VF_GUID_SET);
    record(42, 5, 3, 5, ONEIB_VF_RELEASING, ONEIB_VF_GUID_SET);
    domains_here = "running one-42 0000:81:00.1 0000:81:00.2 0000:81:00.3\n";
    read_document(DEPLOYED("42", NIC("1", ATTACH)));
    assert_int_equal(oneib_driver_pre(&config, &vm, &err), 0);
    assert_calls("assign 42/3 key 0 on mlx4_0:1\n"
                 "assign 42/1 key 5 in-use 3\n");
}

static void what_cannot_be_closed_so_hinders_no_other_nic(void **state)
{
    (void)state;
    record_open(42, 3, 1);
    fails_at = 1;
    domains_here = "running one-42 0000:81:00.1\n";
    read_document(DEPLOYED("42", NIC("1", ATTACH)));
    assert_int_equal(oneib_driver_pre(&config, &vm, &err), 0);
    assert_calls("assign 42/3 key 0 on mlx4_0:1 fails\n"
                 "assign 42/1 key 5 in-use 1\n");
}

static void pre_without_a_key_is_refused_before_anything_is_touched(void **state)
{
    (void)state;
    assert_int_equal(pre(VM("42", NIC("1", "") "<TEMPLATE><NIC><NIC_ID>2</NIC_ID>"
                                               "<NETWORK_ID>8</NETWORK_ID>"
                                               "<VN_MAD>infiniband</VN_MAD><VLAN_ID/>"
                                               "</NIC></TEMPLATE>")),
                     -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("VM 42 NIC 2: network 8 has no P_Key: 'oneib check'");
    assert_calls("");
}

static void pre_with_a_key_that_is_none_is_refused(void **state)
{
    (void)state;
    assert_int_equal(pre(VM("42", "<TEMPLATE><NIC><NIC_ID>2</NIC_ID><NETWORK_ID>8</NETWORK_ID>"
                                  "<VN_MAD>infiniband</VN_MAD><VLAN_ID>32767</VLAN_ID>"
                                  "</NIC></TEMPLATE>")),
                     -1);
    assert_told("VLAN_ID that is no P_Key");
    assert_calls("");
}

static void pre_with_a_bridge_is_refused(void **state)
{
    (void)state;
    assert_int_equal(pre(VM("42", NIC("1", "<BRIDGE>onebr0</BRIDGE>"))), -1);
    assert_told("VM 42 NIC 1: network 7 has a BRIDGE");
    assert_calls("");
}

static void pre_of_a_pci_nic_without_an_address_is_refused(void **state)
{
    (void)state;
    assert_int_equal(pre(VM("42", PCI("1", ""))), -1);
    assert_told("no ADDRESS");
    assert_calls("");
}

static void pre_with_a_malformed_nic_is_refused(void **state)
{
    (void)state;
    assert_int_equal(pre(VM("42", NIC("1", "<PHYDEV>;</PHYDEV>"))), -1);
    assert_told("malformed");
    assert_calls("");
}

static void pre_fails_when_libvirt_does_not_answer(void **state)
{
    (void)state;
    libvirt_is_silent = true;
    assert_int_equal(pre(VM("42", NIC("1", ""))), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_told("libvirt does not answer");
    assert_calls("");
}

static void pre_fails_when_the_table_is_damaged(void **state)
{
    (void)state;
    table_is_damaged = true;
    assert_int_equal(pre(VM("42", NIC("1", ""))), -1);
    assert_told("damaged");
    assert_calls("");
}

static void pre_that_fails_takes_back_what_it_gave(void **state)
{
    (void)state;
    fails_at = 3;
    assert_int_equal(pre(VM("42", NIC("1", "") NIC("2", "") NIC("3", ""))), -1);
    assert_told("VM 42 NIC 3: no");
    assert_calls("assign 42/1 key 5 in-use 2\nassign 42/2 key 5 in-use 2\n"
                 "assign 42/3 key 5 in-use 2 fails\nrelease 42/1\nrelease 42/2\n");
}

static void words_of_oneib_vf_are_told_as_they_are(void **state)
{
    (void)state;
    failure_code = ONEIB_ERROR_REFUSED;
    fails_at = 1;
    assert_int_equal(pre(VM("42", NIC("2", ""))), -1);
    assert_string_equal(err.text, "no");
    end(NULL);
    begin(NULL);
    record_open(42, 1, 1);
    failure_code = ONEIB_ERROR_REFUSED;
    fails_at = 1;
    read_document(VM("42", ""));
    assert_int_equal(oneib_driver_clean(&config, &vm, "kvm1", &err), -1);
    assert_string_equal(err.text, "no");
}

static void pre_that_fails_leaves_what_the_vm_had_before(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    fails_at = 3;
    assert_int_equal(pre(VM("42", NIC("1", "") NIC("2", "") NIC("3", ""))), -1);
    assert_calls("assign 42/1 key 5 in-use 2\nassign 42/2 key 5 in-use 2\n"
                 "assign 42/3 key 5 in-use 2 fails\nrelease 42/2\n");
}

static void pre_of_an_attach_drops_nothing_that_a_domain_has(void **state)
{
    (void)state;
    record_open(42, 2, 7);
    assert_int_equal(pre(DEPLOYED("42", NIC("2", ATTACH))), 0);
    oneib_driver_undo(&config, &vm);
    assert_calls("assign 42/2 key 5 in-use 2\n");
}

/* oneib-vf may still be at work then, and succeed. */
static void pre_that_did_not_hear_from_oneib_vf_takes_back_what_it_may_give(void **state)
{
    (void)state;
    failure_code = ONEIB_ERROR_TIMEOUT;
    fails_at = 2;
    assert_int_equal(pre(VM("42", NIC("1", "") NIC("2", ""))), -1);
    assert_calls("assign 42/1 key 5 in-use 2\nassign 42/2 key 5 in-use 2 fails\n"
                 "release 42/1\nrelease 42/2\n");
}

static void pre_of_an_attach_drops_what_an_earlier_one_left(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    record_open(42, 2, 2);
    assert_int_equal(pre(DEPLOYED("42", NIC("1", "") NIC("2", ATTACH))), 0);
    oneib_driver_undo(&config, &vm);
    assert_calls("release 42/2\nassign 42/2 key 5 in-use 2\nrelease 42/2\n");
}

static void undo_after_a_pre_that_succeeded_releases_what_it_gave(void **state)
{
    (void)state;
    assert_int_equal(pre(VM("42", NIC("1", ""))), 0);
    oneib_driver_undo(&config, &vm);
    assert_calls("assign 42/1 key 5 in-use 2\nrelease 42/1\n");
}

/* --- post ----------------------------------------------------------------------------------- */

static int post(const char *xml)
{
    read_document(xml);
    return oneib_driver_post(&config, &vm, &err);
}

static void post_has_nothing_to_do_where_nothing_was_deferred(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    assert_int_equal(post(VM("42", NIC("1", ""))), 0);
    assert_calls("");
}

static void post_completes_what_was_deferred_without_libvirt(void **state)
{
    (void)state;
    record(42, 1, 1, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    assert_int_equal(post(DEPLOYED("42", NIC("1", ""))), 0);
    assert_calls("assign 42/1 key 5\n");
    assert_int_equal(libvirt_questions, 0);
}

static void post_never_hands_out_a_vf(void **state)
{
    (void)state;
    record_open(42, 2, 1);
    assert_int_equal(post(VM("42", NIC("1", ""))), -1);
    assert_told("VM 42 NIC 1 has no virtual function on this node");
    assert_calls("");
}

static void post_of_a_failed_attach_releases_its_vf(void **state)
{
    (void)state;
    record(42, 1, 1, 5, ONEIB_VF_CLOSED, ONEIB_VF_GUID_NONE);
    fails_at = 1;
    assert_int_equal(post(DEPLOYED("42", NIC("1", ATTACH))), -1);
    assert_calls("assign 42/1 key 5 fails\nrelease 42/1\n");
}

static void post_of_a_failed_migration_keeps_the_vf(void **state)
{
    (void)state;
    record(42, 1, 1, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    record(42, 2, 2, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    fails_at = 1;
    assert_int_equal(post(DEPLOYED("42", NIC("1", "") NIC("2", ""))), -1);
    assert_told("VM 42 NIC 1: no");
    assert_calls("assign 42/1 key 5 fails\nassign 42/2 key 5\n");
}

static void post_closes_a_nic_whose_key_is_gone(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    assert_int_equal(post(VM("42", "<TEMPLATE><NIC><NIC_ID>1</NIC_ID><NETWORK_ID>8</NETWORK_ID>"
                                   "<VN_MAD>infiniband</VN_MAD></NIC></TEMPLATE>")),
                     0);
    assert_calls("assign 42/1 key 0 on mlx4_0:1\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(pre_assigns_every_nic_of_ours),
        TEST(pre_of_a_vm_that_ran_before_defers_guids),
        TEST(pre_of_an_attach_is_about_that_nic_and_defers_nothing),
        TEST(pre_of_another_drivers_attach_does_nothing),
        TEST(pre_takes_back_what_vms_without_a_domain_still_have),
        TEST(pre_takes_nothing_back_from_who_may_be_about_to_start),
        TEST(pre_takes_nothing_back_from_who_is_getting_another_one),
        TEST(pre_closes_what_the_vm_has_for_nics_that_it_has_not),
        TEST(what_cannot_be_closed_so_hinders_no_other_nic),
        TEST(pre_without_a_key_is_refused_before_anything_is_touched),
        TEST(pre_with_a_key_that_is_none_is_refused),
        TEST(pre_with_a_bridge_is_refused),
        TEST(pre_of_a_pci_nic_without_an_address_is_refused),
        TEST(pre_with_a_malformed_nic_is_refused),
        TEST(pre_fails_when_libvirt_does_not_answer),
        TEST(pre_fails_when_the_table_is_damaged),
        TEST(pre_that_fails_takes_back_what_it_gave),
        TEST(words_of_oneib_vf_are_told_as_they_are),
        TEST(pre_that_fails_leaves_what_the_vm_had_before),
        TEST(pre_that_did_not_hear_from_oneib_vf_takes_back_what_it_may_give),
        TEST(pre_of_an_attach_drops_what_an_earlier_one_left),
        TEST(pre_of_an_attach_drops_nothing_that_a_domain_has),
        TEST(undo_after_a_pre_that_succeeded_releases_what_it_gave),
        TEST(post_has_nothing_to_do_where_nothing_was_deferred),
        TEST(post_completes_what_was_deferred_without_libvirt),
        TEST(post_never_hands_out_a_vf),
        TEST(post_of_a_failed_attach_releases_its_vf),
        TEST(post_of_a_failed_migration_keeps_the_vf),
        TEST(post_closes_a_nic_whose_key_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
