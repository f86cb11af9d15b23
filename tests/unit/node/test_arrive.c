// SPDX-License-Identifier: Apache-2.0
/* What 'post' does where a VM has started, was restored or has migrated to. */
#include "driver_scene.h"
#include "node/start_reattach.h"

static const char document[] = "<VM/>";
static bool reattach_fails;
static struct oneib_error left;

int oneib_reattach(uint32_t vm_id, const char *told, size_t length, struct oneib_error *error)
{
    assert_ptr_equal(told, document);
    assert_int_equal(length, strlen(document));
    oneib_text_printf(&calls, "reattach %" PRIu32 "\n", vm_id);
    return reattach_fails ? oneib_fail(error, ONEIB_ERROR_REFUSED, "QEMU says no") : 0;
}

/* VM 42 with NICs 1 and 2 has come back or over, or, unless it ran before, has started. */
static int begin_arrival(void **state)
{
    begin(state);
    reattach_fails = false;
    left = (struct oneib_error){0};
    read_document(DEPLOYED("42", NIC("1", "") NIC("2", "")));
    record_open(42, 1, 1);
    record_open(42, 2, 2);
    return 0;
}

static void defer_guids(void)
{
    for (size_t i = 0; i < table.count; i++)
        table.items[i].guid = ONEIB_VF_GUID_DEFERRED;
}

static int arrive(void)
{
    return oneib_driver_arrive(&config, &vm, document, strlen(document), &left, &err);
}

static void assert_warned(const char *words)
{
    assert_int_equal(arrive(), 0);
    assert_int_equal(err.code, ONEIB_ERROR_NONE);
    if (!strstr(left.text, words))
        fail_msg("\"%s\" is not in: %s", words, left.text);
}

static void assert_failed(const char *words)
{
    assert_int_equal(arrive(), -1);
    assert_int_equal(left.code, ONEIB_ERROR_NONE);
    assert_told(words);
}

#define WITH_BOTH "running one-42 0000:81:00.1 0000:81:00.2\n"
#define WITH_ONE "running one-42 0000:81:00.2\n"
#define WITH_NONE "running one-42\n"

static void guids_are_completed_and_then_vfs_plugged_in(void **state)
{
    (void)state;
    defer_guids();
    assert_int_equal(arrive(), 0);
    assert_int_equal(left.code, ONEIB_ERROR_NONE);
    assert_calls("have 42/1 net 7\nhave 42/2 net 7\nwait\nreattach 42\n");
}

static void a_vm_without_nics_of_ours_is_left_alone(void **state)
{
    (void)state;
    read_document(DEPLOYED("42", OTHER_NIC));
    assert_int_equal(arrive(), 0);
    assert_calls("");
}

static void a_guid_that_cannot_be_set_is_a_warning_where_the_vm_runs_without(void **state)
{
    (void)state;
    defer_guids();
    fails_at = 1;
    domains_here = WITH_NONE;
    assert_warned("no");
    assert_calls("have 42/1 net 7 fails\nhave 42/2 net 7\nwait\nreattach 42\n");
}

static void so_is_a_vf_that_cannot_be_plugged_in(void **state)
{
    (void)state;
    reattach_fails = true;
    domains_here = WITH_ONE;
    assert_warned("QEMU says no");
}

static void of_two_failures_the_first_is_told(void **state)
{
    (void)state;
    defer_guids();
    fails_at = 2;
    reattach_fails = true;
    domains_here = WITH_NONE;
    assert_warned("no");
}

/* Its state would be lost. */
static void a_vm_that_ran_before_lives_on(void **state)
{
    (void)state;
    defer_guids();
    fails_at = 1;
    domains_here = WITH_BOTH;
    assert_warned("no");
}

static void one_that_has_its_vfs_fails_when_it_runs_for_the_first_time(void **state)
{
    (void)state;
    defer_guids();
    vm.deployed = false;
    fails_at = 1;
    domains_here = WITH_BOTH;
    assert_failed("no");
}

static void having_them_is_enough_where_reattaching_fails(void **state)
{
    (void)state;
    vm.deployed = false;
    reattach_fails = true;
    domains_here = WITH_BOTH;
    assert_warned("QEMU says no");
}

static void one_that_does_not_run_here_fails(void **state)
{
    (void)state;
    defer_guids();
    fails_at = 1;
    assert_failed("no");
    call_count = 0;
    domains_here = "defined one-42\n";
    assert_failed("no");
}

/* What the service hears of it comes a moment later. */
static void one_that_has_only_just_started_lives_on(void **state)
{
    (void)state;
    defer_guids();
    fails_at = 1;
    domains_here_later = WITH_NONE;
    assert_warned("no");
}

static void a_record_that_was_lost_is_a_warning_only_where_no_device_is(void **state)
{
    (void)state;
    oneib_vf_table_clear(&table);
    vm.deployed = false;
    domains_here = WITH_NONE;
    assert_warned("VM 42 NIC 1 has no virtual function on this node");
    domains_here = WITH_ONE;
    left = (struct oneib_error){0};
    assert_failed("VM 42 NIC 1 has no virtual function on this node");
}

static void a_damaged_table_does_not_end_a_vm_that_came_back(void **state)
{
    (void)state;
    table_is_damaged = true;
    domains_here = WITH_NONE;
    assert_warned("damaged");
}

/* Nobody knows: then its state counts for more. */
static void without_libvirt_only_a_vm_that_never_ran_fails(void **state)
{
    (void)state;
    libvirt_is_silent = reattach_fails = true;
    assert_warned("QEMU says no");
    left = (struct oneib_error){0};
    vm.deployed = false;
    assert_failed("QEMU says no");
}

static void nor_does_anything_else_fail_without_the_service(void **state)
{
    (void)state;
    defer_guids();
    service_is_silent = true;
    assert_warned("oneib-node does not answer");
    left = (struct oneib_error){0};
    vm.deployed = false;
    assert_failed("oneib-node does not answer");
}

static void nothing_is_taken_back(void **state)
{
    (void)state;
    defer_guids();
    fails_at = 1;
    vm.deployed = false;
    domains_here = WITH_BOTH;
    assert_failed("no");
    assert_calls("have 42/1 net 7 fails\nhave 42/2 net 7\nwait\nreattach 42\n");
    for (size_t i = 0; i < vm.nic_count; i++)
        assert_false(vm.nics[i].to_undo);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin_arrival, end)
    const struct CMUnitTest tests[] = {
        TEST(guids_are_completed_and_then_vfs_plugged_in),
        TEST(a_vm_without_nics_of_ours_is_left_alone),
        TEST(a_guid_that_cannot_be_set_is_a_warning_where_the_vm_runs_without),
        TEST(so_is_a_vf_that_cannot_be_plugged_in),
        TEST(of_two_failures_the_first_is_told),
        TEST(a_vm_that_ran_before_lives_on),
        TEST(one_that_has_its_vfs_fails_when_it_runs_for_the_first_time),
        TEST(having_them_is_enough_where_reattaching_fails),
        TEST(one_that_does_not_run_here_fails),
        TEST(one_that_has_only_just_started_lives_on),
        TEST(a_record_that_was_lost_is_a_warning_only_where_no_device_is),
        TEST(a_damaged_table_does_not_end_a_vm_that_came_back),
        TEST(without_libvirt_only_a_vm_that_never_ran_fails),
        TEST(nor_does_anything_else_fail_without_the_service),
        TEST(nothing_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
