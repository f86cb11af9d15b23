// SPDX-License-Identifier: Apache-2.0
/* What gives: pre and post. */
#include "driver_scene.h"

/* ---- pre ------------------------------------------------------------------------------------- */

static int pre(const char *xml)
{
    read_document(xml);
    return oneib_driver_pre(&config, &vm, &err);
}

/* Those that the scheduler has chosen come first: another NIC could get one otherwise. */
static void pre_asks_for_all_nics_of_ours_before_it_waits(void **state)
{
    (void)state;
    assert_int_equal(
        pre(VM("42", OTHER_NIC NIC("1", "") PCI("2", "<ADDRESS>0000:82:00:3</ADDRESS>"))), 0);
    assert_calls("have 42/2 net 7\nhave 42/1 net 7\nwait\n");
    assert_int_equal(connections, 1);
}

static void pre_of_a_vm_that_ran_before_defers_guids(void **state)
{
    (void)state;
    assert_int_equal(pre(DEPLOYED("42", NIC("1", ""))), 0);
    assert_calls("have 42/1 net 7 deferred\nwait\n");
}

static void pre_of_an_attach_is_about_that_nic_and_defers_nothing(void **state)
{
    (void)state;
    assert_int_equal(pre(DEPLOYED("42", NIC("1", "") NIC("2", ATTACH))), 0);
    assert_calls("have 42/2 net 7 attach\nwait\n");
}

static void pre_of_another_drivers_attach_does_nothing(void **state)
{
    (void)state;
    service_is_silent = true;
    assert_int_equal(pre(DEPLOYED("42", NIC("1", "") OTHER_ATTACHED)), 0);
    end(NULL);
    assert_int_equal(pre(DEPLOYED("42", NIC("1", "") ALIAS_ATTACHED)), 0);
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
    assert_int_equal(pre(VM("42", NIC("1", MALFORMED))), -1);
    assert_told("malformed");
    assert_calls("");
}

static void pre_fails_when_the_service_does_not_answer(void **state)
{
    (void)state;
    service_is_silent = true;
    assert_int_equal(pre(VM("42", NIC("1", ""))), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_told("oneib-node does not answer");
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

static void pre_that_is_refused_takes_back_what_it_got(void **state)
{
    (void)state;
    fails_at = 3;
    assert_int_equal(pre(VM("42", NIC("1", "") NIC("2", "") NIC("3", "") NIC("4", ""))), -1);
    assert_string_equal(err.text, "no");
    assert_calls("have 42/1 net 7\nhave 42/2 net 7\nhave 42/3 net 7 fails\n"
                 "release 42/1\nrelease 42/2\nrelease 42/3\nwait\n");
}

static void pre_whose_key_does_not_come_takes_back_what_it_got(void **state)
{
    (void)state;
    failure_code = ONEIB_ERROR_TIMEOUT;
    fails_at = 3;
    assert_int_equal(pre(VM("42", NIC("1", "") NIC("2", ""))), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_calls("have 42/1 net 7\nhave 42/2 net 7\nwait fails\n"
                 "release 42/1\nrelease 42/2\nwait\n");
}

static void pre_that_fails_leaves_what_the_vm_had_before(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    fails_at = 3;
    assert_int_equal(pre(VM("42", NIC("1", "") NIC("2", "") NIC("3", ""))), -1);
    assert_calls("have 42/1 net 7\nhave 42/2 net 7\nhave 42/3 net 7 fails\n"
                 "release 42/2\nrelease 42/3\nwait\n");
}

/* The VM has lost it, whatever its domain has been given of it. */
static void undo_of_an_attach_takes_back_even_what_was_there(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    record_open(42, 2, 2);
    assert_int_equal(pre(DEPLOYED("42", NIC("1", "") NIC("2", ATTACH))), 0);
    oneib_driver_undo(&config, &vm);
    assert_calls("have 42/2 net 7 attach\nwait\nrelease 42/2 gone\nwait\n");
}

static void undo_after_a_pre_that_succeeded_releases_what_it_got(void **state)
{
    (void)state;
    assert_int_equal(pre(VM("42", NIC("1", ""))), 0);
    oneib_driver_undo(&config, &vm);
    assert_calls("have 42/1 net 7\nwait\nrelease 42/1\nwait\n");
}

/* ---- post ------------------------------------------------------------------------------------ */

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

static void post_completes_what_was_deferred(void **state)
{
    (void)state;
    record(42, 1, 1, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    assert_int_equal(post(DEPLOYED("42", NIC("1", ""))), 0);
    assert_calls("have 42/1 net 7\nwait\n");
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
    assert_calls("have 42/1 net 7 fails\nwait\nrelease 42/1 gone\nwait\n");
}

static void post_of_a_failed_migration_keeps_the_vf(void **state)
{
    (void)state;
    record(42, 1, 1, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    record(42, 2, 2, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    fails_at = 1;
    assert_int_equal(post(DEPLOYED("42", NIC("1", "") NIC("2", ""))), -1);
    assert_told("no");
    assert_calls("have 42/1 net 7 fails\nhave 42/2 net 7\nwait\n");
}

static void post_opens_what_was_closed_when_the_domain_ended(void **state)
{
    (void)state;
    record(42, 1, 1, 5, ONEIB_VF_ENDED, ONEIB_VF_GUID_SET);
    assert_int_equal(post(DEPLOYED("42", NIC("1", ""))), 0);
    assert_calls("have 42/1 net 7\nwait\n");
}

/* The NIC has been given another network, perhaps with the same key. */
static void post_asks_again_for_a_vf_of_another_network(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    oneib_vf_table_of_nic(&table, 42, 1)->network_id = 6;
    assert_int_equal(post(DEPLOYED("42", NIC("1", ""))), 0);
    assert_calls("have 42/1 net 7\nwait\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(pre_asks_for_all_nics_of_ours_before_it_waits),
        TEST(pre_of_a_vm_that_ran_before_defers_guids),
        TEST(pre_of_an_attach_is_about_that_nic_and_defers_nothing),
        TEST(pre_of_another_drivers_attach_does_nothing),
        TEST(pre_with_a_bridge_is_refused),
        TEST(pre_of_a_pci_nic_without_an_address_is_refused),
        TEST(pre_with_a_malformed_nic_is_refused),
        TEST(pre_fails_when_the_service_does_not_answer),
        TEST(pre_fails_when_the_table_is_damaged),
        TEST(pre_that_is_refused_takes_back_what_it_got),
        TEST(pre_whose_key_does_not_come_takes_back_what_it_got),
        TEST(pre_that_fails_leaves_what_the_vm_had_before),
        TEST(undo_of_an_attach_takes_back_even_what_was_there),
        TEST(undo_after_a_pre_that_succeeded_releases_what_it_got),
        TEST(post_has_nothing_to_do_where_nothing_was_deferred),
        TEST(post_completes_what_was_deferred),
        TEST(post_never_hands_out_a_vf),
        TEST(post_of_a_failed_attach_releases_its_vf),
        TEST(post_of_a_failed_migration_keeps_the_vf),
        TEST(post_opens_what_was_closed_when_the_domain_ended),
        TEST(post_asks_again_for_a_vf_of_another_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
