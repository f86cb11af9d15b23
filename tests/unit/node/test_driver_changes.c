// SPDX-License-Identifier: Apache-2.0
/* What takes away and changes: clean and update_nic. */
#include "driver_scene.h"

/* ---- clean ----------------------------------------------------------------------------------- */

static int clean(const char *xml, const char *host)
{
    read_document(xml);
    return oneib_driver_clean(&config, &vm, host, &err);
}

static void clean_releases_all_that_the_vm_has_here(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    record_open(42, 7, 2);
    assert_int_equal(clean(VM("42", NIC("1", "") HOSTNAME("kvm1")), "kvm1"), 0);
    assert_calls("release 42\nwait\n");
}

static void clean_before_pre_does_nothing(void **state)
{
    (void)state;
    service_is_silent = true;
    record_open(43, 1, 1);
    assert_int_equal(clean(VM("42", NIC("1", "") HOSTNAME("kvm1")), "kvm1"), 0);
    assert_calls("");
}

static void clean_of_a_detach_releases_that_nic(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    record_open(42, 2, 2);
    assert_int_equal(clean(DEPLOYED("42", NIC("1", "") NIC("2", ATTACH)), "kvm1"), 0);
    assert_calls("release 42/2 gone\nwait\n");
}

static void clean_of_another_drivers_detach_does_nothing(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    assert_int_equal(clean(DEPLOYED("42", NIC("1", "") ALIAS_ATTACHED), "kvm1"), 0);
    assert_int_equal(clean(DEPLOYED("42", NIC("1", "") OTHER_ATTACHED), "kvm1"), 0);
    assert_calls("");
}

#define MOVED                                                                                      \
    PCI("1", "<ADDRESS>0000:82:00:3</ADDRESS><PREV_ADDRESS>0000:81:00:2</PREV_ADDRESS>")           \
    HOSTNAME("kvm2")

static void clean_of_a_migrations_source_means_the_previous_address(void **state)
{
    (void)state;
    assert_int_equal(clean(DEPLOYED("42", MOVED), "kvm1"), 0);
    assert_calls("release 42 vf 0000:81:00.2\nwait\n");
}

static void clean_later_on_the_destination_means_the_address(void **state)
{
    (void)state;
    assert_int_equal(clean(DEPLOYED("42", MOVED), "kvm2"), 0);
    assert_calls("release 42 vf 0000:82:00.3\nwait\n");
}

static void clean_goes_by_the_table_where_it_has_the_nic(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    assert_int_equal(clean(DEPLOYED("42", MOVED), "kvm1"), 0);
    assert_calls("release 42\nwait\n");
}

static void clean_leaves_a_vf_that_is_somebody_elses_by_now(void **state)
{
    (void)state;
    record_open(43, 1, 2);
    assert_int_equal(clean(DEPLOYED("42", MOVED), "kvm1"), 0);
    assert_calls("");
}

static void clean_of_a_detached_pci_nic_without_a_record_goes_by_its_address(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    assert_int_equal(
        clean(DEPLOYED("42", NIC("1", "") PCI("2", ATTACH "<ADDRESS>0000:82:00:3</ADDRESS>")
                                 HOSTNAME("kvm1")),
              "kvm1"),
        0);
    assert_calls("release 42 vf 0000:82:00.3\nwait\n");
}

static void clean_goes_on_after_a_failure_and_tells_the_first(void **state)
{
    (void)state;
    record_open(42, 3, 1);
    fails_at = 1;
    assert_int_equal(clean(DEPLOYED("42", MOVED), "kvm2"), -1);
    assert_string_equal(err.text, "no");
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_calls("release 42 fails\nrelease 42 vf 0000:82:00.3\nwait\n");
}

/* All is closed then, and the service goes on. */
static void clean_that_waits_in_vain_tells_it_from_a_failure(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    failure_code = ONEIB_ERROR_UNREACHABLE;
    fails_at = 2;
    assert_int_equal(clean(DEPLOYED("42", NIC("1", "")), "kvm1"), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_calls("release 42\nwait fails\n");
}

static void clean_without_the_service_fails(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    service_is_silent = true;
    assert_int_equal(clean(DEPLOYED("42", NIC("1", "")), "kvm1"), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
}

static void clean_is_not_hindered_by_a_malformed_nic(void **state)
{
    (void)state;
    record_open(42, 1, 1);
    assert_int_equal(clean(DEPLOYED("42", NIC("1", ATTACH MALFORMED)), "kvm1"), 0);
    assert_calls("release 42/1 gone\nwait\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(clean_releases_all_that_the_vm_has_here),
        TEST(clean_before_pre_does_nothing),
        TEST(clean_of_a_detach_releases_that_nic),
        TEST(clean_of_another_drivers_detach_does_nothing),
        TEST(clean_of_a_migrations_source_means_the_previous_address),
        TEST(clean_later_on_the_destination_means_the_address),
        TEST(clean_goes_by_the_table_where_it_has_the_nic),
        TEST(clean_leaves_a_vf_that_is_somebody_elses_by_now),
        TEST(clean_of_a_detached_pci_nic_without_a_record_goes_by_its_address),
        TEST(clean_goes_on_after_a_failure_and_tells_the_first),
        TEST(clean_that_waits_in_vain_tells_it_from_a_failure),
        TEST(clean_without_the_service_fails),
        TEST(clean_is_not_hindered_by_a_malformed_nic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
