// SPDX-License-Identifier: Apache-2.0
/* A running VM gets the VFs that it lacks. */
#include "leave_scene.h"

static int reattaching(void)
{
    struct oneib_vmm vmm = calling("", arguments);
    err = (struct oneib_error){0};
    return oneib_vmm_reattach(&vmm, &err);
}

/* A guest that has let go of its VFs. */
static void let_go(void)
{
    const char *aliases[] = {VF_ALIAS_1, VF_ALIAS_2};
    bool gone[2];
    struct oneib_live *live;
    assert_int_equal(oneib_live_open("", &live, &err), 0);
    assert_int_equal(oneib_live_detach(live, DOMAIN, aliases, 2, 1000, gone, &err), 0);
    oneib_live_close(live);
    live_standin_forget_log();
    live_standin_heal();
    assert_shape(BOTH_OUT);
}

static int open_lacking_scene(void **state)
{
    open_running_scene(state);
    let_go();
    return 0;
}

static void a_vm_gets_what_it_lacks(void **state)
{
    (void)state;
    assert_int_equal(reattaching(), 0);
    assert_shape(BOTH_IN);
}

static void one_that_lacks_nothing_is_left_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(reattaching(), 0);
    assert_logged("attach", false);
    assert_shape(BOTH_IN);
}

static void a_document_without_nics_will_do(void **state)
{
    (void)state;
    vm.nic_count = 0;
    assert_int_equal(reattaching(), 0);
    assert_shape(BOTH_IN);
}

static void where_no_domain_runs_there_is_nothing_to_do(void **state)
{
    (void)state;
    assert_int_equal(live_standin_stop(DOMAIN, &err), 0);
    assert_int_equal(reattaching(), 0);
    assert_int_equal(err.code, ONEIB_ERROR_NONE);
}

static void without_records_there_is_nothing_to_do(void **state)
{
    (void)state;
    forget_records();
    assert_int_equal(reattaching(), 0);
    assert_shape(BOTH_OUT);
}

static void a_vf_without_its_guid_is_told_and_the_other_goes_in(void **state)
{
    (void)state;
    oneib_vf_table_clear(&table);
    record_as(1, 1, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    record_open(2, 2);
    assert_int_equal(reattaching(), -1);
    assert_told("VM 42 NIC 1");
    assert_told("its GUID is not set");
    assert_shape("1:-+0 2:vf2@21+1");
}

static void one_that_cannot_be_plugged_is_told_and_the_other_goes_in(void **state)
{
    (void)state;
    live_standin_fault("attach-fails " VF_ALIAS_1);
    assert_int_equal(reattaching(), -1);
    assert_told("VM 42 NIC 1: plugging in its virtual function");
    assert_shape("1:-+0 2:vf2@21+1");
}

static void a_damaged_table_is_told(void **state)
{
    (void)state;
    tree_write("vf=nonsense", "/run/oneib/vfs");
    assert_int_equal(reattaching(), -1);
    assert_told("/run/oneib/vfs");
    assert_shape(BOTH_OUT);
}

static void without_libvirt_it_fails(void **state)
{
    (void)state;
    live_standin_fault("refuse-open");
    assert_int_equal(reattaching(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
}

/* Whatever the moment, a second call ends with all of them in. */
static void lost_or_killed_at_any_call_a_second_one_heals(void **state)
{
    (void)state;
    static const char *const moments[] = {"lost", "lost-after", "die", "die-after"};
    for (size_t moment = 0; moment < sizeof moments / sizeof *moments; moment++) {
        unsigned call = 1;
        for (bool faulted = true; faulted; call++) {
            restart_vm();
            let_go();
            live_standin_fault("%s %u", moments[moment], call);
            if (moment < 2)
                faulted = reattaching() < 0;
            else
                faulted = is_killed(reattaching);
            repair();
            assert_shape(BOTH_IN);
        }
        /* open, a look, and for each an attach and a look. */
        assert_int_equal(call - 1, 7);
    }
}

int main(void)
{
    tree_open();
#define LACKING(function) cmocka_unit_test_setup_teardown(function, open_lacking_scene, close_scene)
#define RUNNING(function) cmocka_unit_test_setup_teardown(function, open_running_scene, close_scene)
    const struct CMUnitTest tests[] = {
        LACKING(a_vm_gets_what_it_lacks),
        RUNNING(one_that_lacks_nothing_is_left_as_it_is),
        LACKING(a_document_without_nics_will_do),
        RUNNING(where_no_domain_runs_there_is_nothing_to_do),
        LACKING(without_records_there_is_nothing_to_do),
        LACKING(a_vf_without_its_guid_is_told_and_the_other_goes_in),
        LACKING(one_that_cannot_be_plugged_is_told_and_the_other_goes_in),
        LACKING(a_damaged_table_is_told),
        LACKING(without_libvirt_it_fails),
        LACKING(lost_or_killed_at_any_call_a_second_one_heals),
    };
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
