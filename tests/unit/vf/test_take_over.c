// SPDX-License-Identifier: Apache-2.0
/* A VF whose domain has ended is kept for its VM, but not while somebody else needs it. */
#include "scene.h"

#define ENOUGH 6 /* seconds: longer than a domain that is started anew is away */

static struct oneib_pci give_key(uint32_t vm_id, oneib_pkey pkey)
{
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(vm_id, 1, pkey);
    give(&wanted, &record);
    return record.vf;
}

/* VMs 42 to 45 have all that there are; then the domains of these end. */
static void fill_and_end(const uint32_t *ended, size_t count)
{
    struct oneib_pci vfs_of[4];
    for (uint32_t i = 0; i < 4; i++)
        vfs_of[i] = give_key(42 + i, KEY);
    for (size_t i = 0; i < count; i++)
        add_domain(ended[i], true, &vfs_of[ended[i] - 42]);
    tell_domains();
    tell_of_no_domains();
}

static void end_seconds_ago(uint32_t vm_id, int64_t seconds)
{
    leave_record(vm_id, 1, ONEIB_VF_ENDED, seconds);
}

static void it_is_anothers_when_none_is_free(void **state)
{
    (void)state;
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    fill_and_end((const uint32_t[]){43}, 1);
    const struct oneib_pci vf = record_of(43, 1).vf;
    const uint64_t old_guid = read_guid(1);
    end_seconds_ago(43, ENOUGH);
    const struct oneib_pci given = give_key(50, OTHER_KEY);
    assert_int_equal(oneib_pci_compare(&given, &vf), 0);
    assert_int_equal(open_index(&hca, 1, 1), OTHER_INDEX);
    assert_true(has_guid(1) && read_guid(1) != old_guid);
    struct oneib_vf_record gone;
    assert_false(find_record(43, 1, &gone));
}

static void the_one_that_ended_first_is_taken(void **state)
{
    (void)state;
    fill_and_end((const uint32_t[]){43, 44, 45}, 3);
    end_seconds_ago(43, ENOUGH);
    end_seconds_ago(44, ENOUGH + 20);
    end_seconds_ago(45, ENOUGH + 10);
    const struct oneib_pci vf = record_of(44, 1).vf;
    const struct oneib_pci given = give_key(50, KEY);
    assert_int_equal(oneib_pci_compare(&given, &vf), 0);
}

static void why_it_cannot_be_anothers_is_told(void **state)
{
    (void)state;
    fill_and_end((const uint32_t[]){43}, 1);
    end_seconds_ago(43, ENOUGH);
    const struct wanted wanted = wanted_of(50, 1, KEY);
    tree_set_mode(0555, "/run/oneib");
    assert_give_fails(&wanted, ONEIB_ERROR_SYSTEM, "/run/oneib");
    tree_set_mode(0755, "/run/oneib");
    assert_int_equal(record_of(43, 1).stage, ONEIB_VF_ENDED);
    assert_int_equal(count_records(), 4);
}

/* Whose it is, and what it may still be open for, is in its record. */
static void one_that_cannot_be_closed_stays_who_it_was(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    fill_and_end((const uint32_t[]){43}, 1);
    end_seconds_ago(43, ENOUGH);
    const struct wanted wanted = wanted_of(50, 1, KEY);
    set_mode_of_entry(1, 0, 0000);
    assert_int_equal(try_to_give(&wanted, &record, &err), -1);
    assert_int_equal(record_of(43, 1).stage, ONEIB_VF_RELEASING);
    assert_false(find_record(50, 1, &record));
    set_mode_of_entry(1, 0, 0644);
}

static void one_that_is_free_is_taken_before(void **state)
{
    (void)state;
    const struct oneib_pci vf = give_key(42, KEY);
    tell_of_domain(42, true, &vf);
    tell_of_no_domains();
    end_seconds_ago(42, ENOUGH);
    const struct oneib_pci given = give_key(50, KEY);
    assert_int_not_equal(oneib_pci_compare(&given, &vf), 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
}

static void one_that_has_just_ended_may_be_starting_anew(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    fill_and_end((const uint32_t[]){43}, 1);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "no free virtual function");
    assert_int_equal(record_of(43, 1).stage, ONEIB_VF_ENDED);
}

static void what_a_vm_is_about_to_start_with_is_its_own(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    fill_and_end(NULL, 0);
    leave_record(43, 1, ONEIB_VF_OPEN, 60);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "no free virtual function");
}

static void while_its_vm_is_here_in_any_form_it_is_kept(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    fill_and_end((const uint32_t[]){43}, 1);
    end_seconds_ago(43, ENOUGH);
    tell_of_domain(43, false, NULL);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "no free virtual function");
    tell_of_nothing_known();
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "libvirtd is down");
    assert_int_equal(record_of(43, 1).stage, ONEIB_VF_ENDED);
}

static void the_one_that_opennebula_has_chosen_is_taken_and_no_other(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(50, 1, KEY);
    fill_and_end((const uint32_t[]){43, 44}, 2);
    end_seconds_ago(43, ENOUGH + 10);
    end_seconds_ago(44, ENOUGH);
    const struct oneib_pci chosen = record_of(44, 1).vf, running = record_of(45, 1).vf;
    want_vf(&wanted, running);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "cannot be assigned");
    want_vf(&wanted, chosen);
    give(&wanted, &record);
    assert_int_equal(oneib_pci_compare(&record.vf, &chosen), 0);
    assert_int_equal(record_of(43, 1).stage, ONEIB_VF_ENDED);
}

static void who_gives_up_meanwhile_leaves_it_free(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    fill_and_end((const uint32_t[]){43}, 1);
    end_seconds_ago(43, ENOUGH);
    sm_let_guids_go(false);
    const oneib_vfs_ticket ticket = begin(&wanted);
    oneib_vfs_forget(vfs, ticket);
    sm_let_guids_go(true);
    settle();
    assert_closed(&hca, 1);
    struct oneib_vf_record gone;
    assert_false(find_record(43, 1, &gone));
    assert_false(find_record(50, 1, &gone));
}

/* ---- who else comes meanwhile ---------------------------------------------------------------- */

/* VM 50 waits for the VF of VM 43, whose GUID the SM does not let go of. */
static oneib_vfs_ticket wait_for_the_ended(const struct wanted *wanted)
{
    fill_and_end((const uint32_t[]){43}, 1);
    end_seconds_ago(43, ENOUGH);
    sm_let_guids_go(false);
    return begin(wanted);
}

static void assert_ends(oneib_vfs_ticket ticket, const char *refusal)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record = {0};
    const int result = finish(ticket, &record, &err);
    assert_int_equal(result, refusal ? -1 : 0);
    if (refusal)
        assert_is_about(&err, ONEIB_ERROR_REFUSED, refusal);
    else
        assert_int_equal(record.vm_id, 50);
}

static void a_late_release_of_the_old_vm_takes_nothing_from_the_new_one(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_released released;
    oneib_vfs_ticket unused;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    const struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, 43, -1);
    const oneib_vfs_ticket ticket = wait_for_the_ended(&wanted);
    assert_int_equal(oneib_vfs_release(vfs, &request, &released, &unused, &err), 0);
    sm_let_guids_go(true);
    assert_ends(ticket, NULL);
    assert_int_equal(record_of(50, 1).stage, ONEIB_VF_OPEN);
}

static void release_by_address(uint32_t vm_id, const struct oneib_pci *vf)
{
    struct oneib_error err = {0};
    struct oneib_released released;
    oneib_vfs_ticket unused;
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE_VF, vm_id, -1);
    request.vf = *vf;
    assert_int_equal(oneib_vfs_release_vf(vfs, &request, &released, &unused, &err), 0);
}

/* So does one of the same VM's: it is another NIC that waits. */
static void a_late_release_of_the_old_nic_takes_nothing_from_the_vms_new_one(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record = {0};
    const struct wanted wanted = wanted_of(43, 2, KEY);
    const oneib_vfs_ticket ticket = wait_for_the_ended(&wanted);
    const struct oneib_pci vf = record_of(43, 1).vf;
    release_by_address(43, &vf);
    sm_let_guids_go(true);
    if (finish(ticket, &record, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(record.nic_id, 2);
}

static void the_old_vm_that_comes_back_first_keeps_it(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(50, 1, KEY), old = wanted_of(43, 1, KEY);
    const oneib_vfs_ticket ticket = wait_for_the_ended(&wanted);
    give(&old, &record);
    assert_int_equal(record.vm_id, 43);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_ends(ticket, "VM 50 NIC 1: the virtual function that it was to get");
}

static void who_asks_twice_waits_for_one(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    const oneib_vfs_ticket first = wait_for_the_ended(&wanted), second = begin(&wanted);
    sm_let_guids_go(true);
    assert_ends(first, NULL);
    assert_ends(second, NULL);
    assert_int_equal(count_records(), 4);
}

static void who_asks_twice_is_told_of_his_own_both_times(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record first = {0}, second = {0};
    oneib_vfs_ticket ticket;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    fill_and_end((const uint32_t[]){43}, 1);
    end_seconds_ago(43, ENOUGH);
    sm_let_guids_go(false);
    assert_int_equal(have(&wanted, &first, &ticket, &err), 0);
    assert_int_equal(have(&wanted, &second, &ticket, &err), 0);
    assert_int_equal(second.vm_id, 50);
    assert_int_equal(second.nic_id, 1);
    assert_int_equal(second.stage, first.stage);
    assert_int_equal(oneib_pci_compare(&second.vf, &first.vf), 0);
    assert_int_equal(second.port, first.port);
    assert_string_equal(second.device, first.device);
}

static void who_asks_for_something_else_ends_what_was_asked_before(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    struct wanted newer = wanted;
    const oneib_vfs_ticket ticket = wait_for_the_ended(&wanted);
    newer.request.network_id++;
    assert_give_fails(&newer, ONEIB_ERROR_REFUSED, "no free virtual function");
    assert_ends(ticket, "VM 50 NIC 1: a newer request replaced it");
}

static void one_whose_adapter_is_none_any_more_is_refused(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    struct wanted newer = wanted;
    const oneib_vfs_ticket ticket = wait_for_the_ended(&wanted);
    strcpy(newer.grant.device, "mlx4_7");
    assert_give_fails(&newer, ONEIB_ERROR_NOT_FOUND, "VM 50 NIC 1: this host has no adapter");
    assert_ends(ticket, "VM 50 NIC 1: a newer request replaced it");
}

static void a_release_of_another_nic_leaves_it_waiting(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    const oneib_vfs_ticket ticket = wait_for_the_ended(&wanted);
    assert_int_equal(release(50, 0), 0);
    sm_let_guids_go(true);
    assert_ends(ticket, NULL);
}

static void a_vm_that_is_released_meanwhile_gets_nothing(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    const oneib_vfs_ticket ticket = wait_for_the_ended(&wanted);
    assert_int_equal(release(50, -1), 0);
    sm_let_guids_go(true);
    assert_ends(ticket, "VM 50 NIC 1: the VF was released meanwhile");
    settle();
    assert_false(find_record(50, 1, &record));
}

/* It wants another one now, and the subnet manager lets go of the GUID of this one soon, or has
 * just done so. */
static struct wanted attaching_elsewhere(uint32_t vm_id)
{
    struct wanted elsewhere = wanted_of(vm_id, 1, KEY);
    elsewhere.request.flags |= ONEIB_HAVE_ATTACH;
    want_vf(&elsewhere, record_of(42, 1).vf);
    return elsewhere;
}

static void the_old_vm_that_is_attached_elsewhere_leaves_nobody_waiting_for_ever(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    const oneib_vfs_ticket ticket = wait_for_the_ended(&wanted);
    const struct wanted elsewhere = attaching_elsewhere(43);
    begin(&elsewhere);
    sm_let_guids_go(true);
    assert_ends(ticket, "VM 50 NIC 1: the virtual function that it was to get");
}

static void one_that_is_attached_elsewhere_is_told_when_its_old_vf_is_released(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted elsewhere;
    const struct oneib_pci vf = give_key(43, KEY);
    sm_let_guids_go(false);
    elsewhere = wanted_of(43, 1, KEY);
    elsewhere.request.flags |= ONEIB_HAVE_ATTACH;
    want_vf(&elsewhere, tree_vf_pci(&hca, 3));
    const oneib_vfs_ticket ticket = begin(&elsewhere);
    release_by_address(43, &vf);
    assert_int_equal(oneib_vfs_progress(vfs, ticket, &record, &err), ONEIB_VFS_FAILED);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "VM 43 NIC 1: the VF was released meanwhile");
    oneib_vfs_forget(vfs, ticket);
}

static void the_old_vm_that_is_attached_elsewhere_is_not_told_of_anothers_vf(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(50, 1, KEY);
    const oneib_vfs_ticket ticket = wait_for_the_ended(&wanted);
    const struct wanted elsewhere = attaching_elsewhere(43);
    sm_let_guids_go(true);
    sleep_ms(200);
    assert_give_fails(&elsewhere, ONEIB_ERROR_REFUSED, "VM 43 NIC 1: 0000:81:00.1");
    assert_ends(ticket, "VM 50 NIC 1: the virtual function that it was to get");
    assert_isolated(&hca);
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)

int main(void)
{
    tree_open();
    const struct CMUnitTest tests[] = {
        IN_SCENE(it_is_anothers_when_none_is_free),
        IN_SCENE(the_one_that_ended_first_is_taken),
        IN_SCENE(why_it_cannot_be_anothers_is_told),
        IN_SCENE(one_that_cannot_be_closed_stays_who_it_was),
        IN_SCENE(one_that_is_free_is_taken_before),
        IN_SCENE(one_that_has_just_ended_may_be_starting_anew),
        IN_SCENE(what_a_vm_is_about_to_start_with_is_its_own),
        IN_SCENE(while_its_vm_is_here_in_any_form_it_is_kept),
        IN_SCENE(the_one_that_opennebula_has_chosen_is_taken_and_no_other),
        IN_SCENE(who_gives_up_meanwhile_leaves_it_free),
        IN_SCENE(a_late_release_of_the_old_vm_takes_nothing_from_the_new_one),
        IN_SCENE(a_late_release_of_the_old_nic_takes_nothing_from_the_vms_new_one),
        IN_SCENE(the_old_vm_that_comes_back_first_keeps_it),
        IN_SCENE(who_asks_twice_waits_for_one),
        IN_SCENE(who_asks_twice_is_told_of_his_own_both_times),
        IN_SCENE(who_asks_for_something_else_ends_what_was_asked_before),
        IN_SCENE(one_whose_adapter_is_none_any_more_is_refused),
        IN_SCENE(a_release_of_another_nic_leaves_it_waiting),
        IN_SCENE(a_vm_that_is_released_meanwhile_gets_nothing),
        IN_SCENE(one_that_is_attached_elsewhere_is_told_when_its_old_vf_is_released),
        IN_SCENE(the_old_vm_that_is_attached_elsewhere_is_not_told_of_anothers_vf),
        IN_SCENE(the_old_vm_that_is_attached_elsewhere_leaves_nobody_waiting_for_ever),
    };
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
