// SPDX-License-Identifier: Apache-2.0
/* What the domains of libvirt mean for the VFs. */
#include "scene.h"

static struct oneib_pci give_key(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(vm_id, nic_id, KEY);
    give(&wanted, &record);
    return record.vf;
}

/* A running VM. */
static struct oneib_pci run(uint32_t vm_id)
{
    const struct oneib_pci vf = give_key(vm_id, 1);
    tell_of_domain(vm_id, true, &vf);
    return vf;
}

static void let_time_of_holding_pass(void)
{
    for (size_t i = 0; i < vfs->timer_count; i++)
        if (vfs->timers[i].what == ONEIB_VF_HELD)
            vfs->timers[i].until = 0;
    take_step();
}

static void let_time_of_leaving_pass(void)
{
    for (size_t i = 0; i < vfs->timer_count; i++)
        if (vfs->timers[i].what == ONEIB_VF_LEAVING)
            vfs->timers[i].until = 0;
}

/* ---- a domain ends --------------------------------------------------------------------------- */

static void a_domain_that_names_its_vf_is_noted(void **state)
{
    (void)state;
    const struct oneib_pci vf = give_key(42, 1);
    assert_false(record_of(42, 1).in_domain);
    tell_of_domain(42, false, &vf);
    assert_false(record_of(42, 1).in_domain);
    tell_of_domain(42, true, NULL);
    assert_false(record_of(42, 1).in_domain);
    tell_of_domain(42, true, &vf);
    assert_true(record_of(42, 1).in_domain);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void a_vf_is_closed_when_its_domain_ends(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    run(42);
    tell_of_no_domains();
    assert_closed(&hca, 0);
    assert_true(has_guid(0));
    const struct oneib_vf_record record = record_of(42, 1);
    assert_int_equal(record.stage, ONEIB_VF_ENDED);
    assert_int_equal(record.pkey, KEY);
    assert_int_equal(record.guid, ONEIB_VF_GUID_SET);
    assert_false(record.in_domain);
    /* The next step tells of it. */
    assert_int_equal(oneib_vfs_due_ms(vfs), 0);
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err), 0);
    assert_int_equal(changes.closed, 1);
    assert_true(oneib_vfs_due_ms(vfs) > 1000);
}

static void a_vf_is_closed_when_its_domain_is_only_defined_any_more(void **state)
{
    (void)state;
    const struct oneib_pci vf = run(42);
    tell_of_domain(42, false, &vf);
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
}

static void what_has_ended_is_opened_by_nobody_but_who_asks_for_it(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_pci vf = run(42);
    tell_of_no_domains();
    assert_int_equal(look().opened, 0);
    tell_of_domain(42, true, &vf);
    assert_int_equal(look().opened, 0);
    restart_engine();
    assert_int_equal(look().opened, 0);
    assert_closed(&hca, 0);
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_int_equal(record.index, 0);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void a_vf_that_has_ended_and_was_opened_by_hand_is_closed(void **state)
{
    (void)state;
    run(42);
    tell_of_no_domains();
    assert_int_equal(look().closed, 1);
    tree_set_vf_pkey(&hca, 0, 1, 0, "3");
    assert_int_equal(look().closed, 1);
    assert_closed(&hca, 0);
}

static void a_vf_that_no_domain_has_named_yet_stays_open(void **state)
{
    (void)state;
    const struct oneib_pci vf = give_key(42, 1);
    tell_of_domain(43, true, NULL);
    tell_of_domain(42, false, &vf);
    tell_of_no_domains();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

static void a_device_that_is_taken_from_a_running_domain_changes_nothing(void **state)
{
    (void)state;
    run(42);
    tell_of_domain(42, true, NULL);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    tell_of_no_domains();
    assert_closed(&hca, 0);
}

static void nothing_has_ended_while_nobody_knows(void **state)
{
    (void)state;
    run(42);
    tell_of_nothing_known();
    look();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    restart_engine();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    tell_of_no_domains();
    assert_closed(&hca, 0);
}

static void a_vf_that_cannot_be_closed_at_its_domains_end_is_tried_again(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    run(42);
    set_mode_of_entry(0, 0, 0444);
    tell_of_no_domains();
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "VM 42 NIC 1 (0000:81:00.1): closing");
    assert_int_equal(changes.closed, 0);
    assert_true(oneib_vfs_due_ms(vfs) <= 1000);
    set_mode_of_entry(0, 0, 0644);
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err), 0);
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
}

static void a_key_that_a_running_vm_waits_for_does_not_open_what_has_ended(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 30000;
    run(42);
    const oneib_vfs_ticket ticket = begin(&wanted);
    let_time_of_holding_pass();
    tell_of_no_domains();
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "the VM's domain has ended meanwhile");
    look();
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
}

/* Its VM is not here, and whoever wanted to start it was told that it could not be. */
static void what_has_ended_and_could_not_be_opened_is_not_opened_later(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    run(42);
    tell_of_no_domains();
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "P_Key 0x0005");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
    wanted.pkey_wait_ms = 30000;
    oneib_vfs_forget(vfs, begin(&wanted));
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    assert_int_equal(look().opened, 0);
    assert_closed(&hca, 0);
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
}

/* A snapshot's revert has started it anew. */
static void but_for_a_vm_that_runs_again_it_is(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    run(42);
    tell_of_no_domains();
    tell_of_domain(42, true, NULL);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "P_Key 0x0005");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    assert_int_equal(look().opened, 1);
}

/* ---- asked for while it runs ----------------------------------------------------------------- */

/* A snapshot's revert: the end of before may be told after the VF was asked for. */
static void an_end_that_is_told_late_does_not_close_what_was_asked_for_since(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_pci vf = run(42);
    give(&wanted, &record);
    tell_of_domain(42, true, &vf);
    tell_of_no_domains();
    tell_of_domain(42, true, &vf);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    let_time_of_holding_pass();
    assert_true(record_of(42, 1).in_domain);
    tell_of_no_domains();
    assert_closed(&hca, 0);
}

static void a_step_is_due_when_the_domain_counts_again(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    run(42);
    take_step();
    give(&wanted, &record);
    assert_false(record_of(42, 1).in_domain);
    const uint32_t due = oneib_vfs_due_ms(vfs);
    assert_true(due > 0 && due <= ONEIB_VF_HELD_MS + 1);
}

static void a_domain_that_starts_after_its_vf_was_asked_for_counts_at_once(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_pci vf = run(42);
    tell_of_no_domains();
    give(&wanted, &record);
    tell_of_domain(42, true, &vf);
    assert_true(record_of(42, 1).in_domain);
    tell_of_no_domains();
    assert_closed(&hca, 0);
}

/* ---- releasing what runs --------------------------------------------------------------------- */

static struct oneib_released release_at_once(uint32_t vm_id, int nic_id, unsigned flags)
{
    struct oneib_error err = {0};
    struct oneib_released released;
    oneib_vfs_ticket ticket;
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, vm_id, nic_id);
    request.flags = (uint16_t)flags;
    if (oneib_vfs_release(vfs, &request, &released, &ticket, &err) < 0)
        fail_msg("%s", err.text);
    oneib_vfs_forget(vfs, ticket);
    return released;
}

static void what_a_running_domain_has_is_left_alone(void **state)
{
    (void)state;
    run(42);
    give_key(42, 2);
    const struct oneib_released released = release_at_once(42, -1, 0);
    assert_int_equal(released.left, 1);
    assert_int_equal(released.freed + released.lingering, 1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    assert_closed(&hca, 1);
}

/* It is being given back, and the SM keeps its GUID: whoever asks for the table is to know that no
 * guest has it any more. */
static void a_vf_that_is_given_back_is_in_no_domain_once_that_has_ended(void **state)
{
    (void)state;
    run(42);
    sm_let_guids_go(false);
    assert_int_equal(release_at_once(42, 1, ONEIB_RELEASE_NIC_GONE).lingering, 1);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
    assert_true(record_of(42, 1).in_domain);
    tell_of_no_domains();
    take_step();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
    assert_int_equal(record_of(42, 1).pkey, 0);
    assert_false(record_of(42, 1).in_domain);
}

static void what_another_domain_names_is_released_all_the_same(void **state)
{
    (void)state;
    const struct oneib_pci vf = give_key(42, 1);
    tell_of_domain(42, false, &vf);
    const struct oneib_released released = release_at_once(42, -1, 0);
    assert_int_equal(released.left, 0);
    assert_closed(&hca, 0);
}

static void a_domain_that_ends_a_moment_after_its_release_leaves_nothing(void **state)
{
    (void)state;
    run(42);
    assert_int_equal(release_at_once(42, -1, 0).left, 1);
    tell_of_no_domains();
    assert_closed(&hca, 0);
    settle();
    assert_nothing_is_left();
}

static void a_device_that_is_out_a_moment_after_its_release_leaves_nothing(void **state)
{
    (void)state;
    run(42);
    assert_int_equal(release_at_once(42, 1, 0).left, 1);
    tell_of_domain(42, true, NULL);
    assert_closed(&hca, 0);
    settle();
    assert_nothing_is_left();
}

static void a_domain_that_ends_does_not_end_a_release_that_could_not_be_written(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_released released;
    oneib_vfs_ticket ticket;
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, 42, 1);
    request.flags = ONEIB_RELEASE_NIC_GONE;
    run(42);
    tree_set_mode(0555, "/run/oneib");
    assert_int_equal(oneib_vfs_release(vfs, &request, &released, &ticket, &err), -1);
    tree_set_mode(0755, "/run/oneib");
    tell_of_no_domains();
    settle();
    assert_nothing_is_left();
}

static void a_domain_that_ends_long_after_its_release_keeps_its_vf(void **state)
{
    (void)state;
    run(42);
    assert_int_equal(release_at_once(42, -1, 0).left, 1);
    let_time_of_leaving_pass();
    tell_of_no_domains();
    settle();
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
}

/* It may run still. */
static void what_was_left_is_not_released_while_nobody_knows(void **state)
{
    (void)state;
    run(42);
    assert_int_equal(release_at_once(42, -1, 0).left, 1);
    tell_of_nothing_known();
    settle();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

/* Alone it would be looked at every five seconds. */
static void a_release_goes_on_at_once_when_the_domain_has_let_go(void **state)
{
    (void)state;
    run(42);
    release_at_once(42, 1, ONEIB_RELEASE_NIC_GONE);
    vfs->works[0].due = oneib_now_ms() + 5000;
    tell_of_no_domains();
    assert_int_equal(oneib_vfs_due_ms(vfs), 0);
    settle();
    assert_nothing_is_left();
}

static void what_is_asked_for_again_does_not_leave(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    run(42);
    assert_int_equal(release_at_once(42, -1, 0).left, 1);
    give(&wanted, &record);
    tell_of_no_domains();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void what_is_asked_for_again_while_it_is_under_way_does_not_leave(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = GUID_WAIT_MS;
    run(42);
    const oneib_vfs_ticket first = begin(&wanted);
    assert_int_equal(release_at_once(42, 1, 0).left, 1);
    const oneib_vfs_ticket second = begin(&wanted);
    tell_of_no_domains();
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    assert_int_equal(finish(first, &record, &err), 0);
    assert_int_equal(finish(second, &record, &err), 0);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
}

/* Not when it has been opened in the end, and taken for given. */
static void what_was_given_back_leaves_before_it_is_given(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = GUID_WAIT_MS;
    const oneib_vfs_ticket ticket = begin(&wanted);
    const struct oneib_pci vf = record_of(42, 1).vf;
    tell_of_domain(42, true, &vf);
    assert_int_equal(release_at_once(42, 1, 0).left, 1);
    tell_of_no_domains();
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "released meanwhile");
    settle();
    assert_nothing_is_left();
}

/* Whoever has the VF next has not left. */
static void what_was_asked_of_a_vf_is_not_remembered_of_its_next_owner(void **state)
{
    (void)state;
    run(42);
    assert_int_equal(release_at_once(42, 1, 0).left, 1);
    release_at_once(42, 1, ONEIB_RELEASE_NIC_GONE);
    tell_of_no_domains();
    settle();
    assert_nothing_is_left();
    give_key(43, 1);
    assert_int_equal(record_of(43, 1).index, 0);
    tell_of_no_domains();
    assert_int_equal(record_of(43, 1).stage, ONEIB_VF_OPEN);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

/* Its id was given again while its domain runs on: OpenNebula's database was put back. */
static void a_vm_that_starts_does_not_take_its_network_to_a_domain_that_has_its_id(void **state)
{
    (void)state;
    run(42);
    struct wanted wanted = wanted_of(42, 1, KEY);
    wanted.request.network_id = NETWORK + 1;
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "a domain of that id runs");
    assert_int_not_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    assert_int_equal(open_index(&hca, 0, 1), 0);
    tell_of_nothing_known(); /* the table knows that a domain has it */
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "a domain of that id runs");
    look();
    assert_int_equal(open_index(&hca, 0, 1), 0);

    struct oneib_vf_record record;
    tell_of_no_domains();
    give(&wanted, &record);
    assert_int_equal(record.network_id, NETWORK + 1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

/* Its old NIC of that id was detached, and its guest is slow to let go. */
static void a_nic_that_is_attached_takes_what_its_domain_has_to_its_own_network(void **state)
{
    (void)state;
    run(42);
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    wanted.request.network_id = NETWORK + 1;
    wanted.request.flags |= ONEIB_HAVE_ATTACH;
    give(&wanted, &record);
    assert_int_equal(record.network_id, NETWORK + 1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void a_nic_that_is_gone_is_closed_although_its_domain_has_the_vf(void **state)
{
    (void)state;
    const struct oneib_pci vf = run(42);
    const struct oneib_released released = release_at_once(42, 1, ONEIB_RELEASE_NIC_GONE);
    assert_int_equal(released.lingering, 1);
    assert_int_equal(released.left, 0);
    assert_closed(&hca, 0);
    /* It stays the domain's, with its GUID, until that lets go. */
    for (int i = 0; i < 5; i++)
        take_step();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
    assert_true(has_guid(0));
    restart_engine();
    look();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
    assert_true(has_guid(0));
    give_key(43, 0);
    assert_int_equal(record_of(43, 0).index, 1);
    tell_of_domain(42, true, NULL);
    settle();
    assert_false(has_guid(0));
    assert_int_equal(count_records(), 1);
    (void)vf;
}

static void whoever_waits_for_such_a_release_is_told_who_has_the_vf(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_released released;
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, 42, 1);
    request.flags = ONEIB_RELEASE_NIC_GONE;
    run(42);
    vfs->guid_wait_ms = 50;
    assert_int_equal(try_to_release(&request, &released, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_TIMEOUT, "the VM's domain still has it");
}

static void releases_do_not_need_to_know_the_domains(void **state)
{
    (void)state;
    run(42);
    tell_of_nothing_known();
    assert_int_equal(release_at_once(42, -1, 0).left, 0);
    settle();
    assert_nothing_is_left();
}

/* ---- giving while nobody knows --------------------------------------------------------------- */

static void nothing_new_is_given_while_nobody_knows_the_domains(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY), other = wanted_of(43, 0, KEY);
    give(&wanted, &record);
    tell_of_nothing_known();
    assert_give_fails(&other, ONEIB_ERROR_REFUSED,
                      "libvirt's domains are unknown: libvirtd is down");
    assert_int_equal(count_records(), 1);
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    tell_of_no_domains();
    give(&other, &record);
}

static void nothing_is_known_before_the_first_list(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    restart_engine();
    oneib_vfs_set_domains(vfs, NULL);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "libvirt has not answered yet");
}

static void a_vf_that_another_vms_domain_names_is_not_opened(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY), other_key = wanted_of(42, 1, OTHER_KEY);
    const struct oneib_pci vf = give_key(42, 1);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    tell_of_domain(43, false, &vf);
    assert_give_fails(&other_key, ONEIB_ERROR_REFUSED, "not this VM's names its virtual function");
    assert_closed(&hca, 0);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "not this VM's names its virtual function");
    assert_closed(&hca, 0);
}

/* What was refused must not be done by itself. */
static void a_vf_that_another_vms_domain_names_stays_closed_until_that_is_mended(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_pci vf = give_key(42, 1);
    tell_of_domain(-1, false, &vf);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "stays closed until that is corrected");
    look();
    glance();
    assert_closed(&hca, 0);
    tell_of_no_domains();
    assert_int_equal(look().opened, 1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

/* Libvirt's last word was that somebody else has it. */
static void what_another_domain_ran_with_is_not_opened_while_nobody_knows(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_error err = {0};
    const struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_pci vf = give_key(42, 1);
    tell_of_domain(-1, true, &vf);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
    tell_of_nothing_known();
    assert_int_equal(try_to_give(&wanted, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "libvirtd is down");
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
    tell_of_no_domains();
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
}

/* Libvirt gives it to nobody else then. */
static void what_a_running_domain_has_is_its_own_whoever_else_is_defined_with_it(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_pci vf = run(42);
    add_domain(-1, false, &vf);
    tell_domains();
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    assert_int_equal(look().closed, 1);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | KEY);
    assert_int_equal(look().opened, 1);
}

/* It has run with it before, perhaps, and was started anew after the VF was given away. */
static void a_vf_that_another_vms_domain_runs_with_is_closed(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_pci vf = give_key(42, 1);
    tell_of_domain(43, false, &vf);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    tell_of_domain(43, true, &vf);
    assert_closed(&hca, 0);
    look();
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
    tell_of_no_domains();
    look();
    assert_closed(&hca, 0);
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    tell_of_domain(-1, true, &vf);
    assert_closed(&hca, 0);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_domain_that_names_its_vf_is_noted),
        IN_SCENE(a_vf_is_closed_when_its_domain_ends),
        IN_SCENE(a_vf_is_closed_when_its_domain_is_only_defined_any_more),
        IN_SCENE(what_has_ended_is_opened_by_nobody_but_who_asks_for_it),
        IN_SCENE(a_vf_that_has_ended_and_was_opened_by_hand_is_closed),
        IN_SCENE(a_vf_that_no_domain_has_named_yet_stays_open),
        IN_SCENE(a_device_that_is_taken_from_a_running_domain_changes_nothing),
        IN_SCENE(nothing_has_ended_while_nobody_knows),
        IN_SCENE(a_vf_that_cannot_be_closed_at_its_domains_end_is_tried_again),
        IN_SCENE(a_key_that_a_running_vm_waits_for_does_not_open_what_has_ended),
        IN_SCENE(what_has_ended_and_could_not_be_opened_is_not_opened_later),
        IN_SCENE(but_for_a_vm_that_runs_again_it_is),
        IN_SCENE(an_end_that_is_told_late_does_not_close_what_was_asked_for_since),
        IN_SCENE(a_step_is_due_when_the_domain_counts_again),
        IN_SCENE(a_domain_that_starts_after_its_vf_was_asked_for_counts_at_once),
        IN_SCENE(what_a_running_domain_has_is_left_alone),
        IN_SCENE(a_vf_that_is_given_back_is_in_no_domain_once_that_has_ended),
        IN_SCENE(what_another_domain_names_is_released_all_the_same),
        IN_SCENE(a_domain_that_ends_a_moment_after_its_release_leaves_nothing),
        IN_SCENE(a_device_that_is_out_a_moment_after_its_release_leaves_nothing),
        IN_SCENE(a_domain_that_ends_does_not_end_a_release_that_could_not_be_written),
        IN_SCENE(a_domain_that_ends_long_after_its_release_keeps_its_vf),
        IN_SCENE(what_was_left_is_not_released_while_nobody_knows),
        IN_SCENE(a_release_goes_on_at_once_when_the_domain_has_let_go),
        IN_SCENE(what_is_asked_for_again_does_not_leave),
        IN_SCENE(what_is_asked_for_again_while_it_is_under_way_does_not_leave),
        IN_SCENE(what_was_given_back_leaves_before_it_is_given),
        IN_SCENE(what_was_asked_of_a_vf_is_not_remembered_of_its_next_owner),
        IN_SCENE(a_vm_that_starts_does_not_take_its_network_to_a_domain_that_has_its_id),
        IN_SCENE(a_nic_that_is_attached_takes_what_its_domain_has_to_its_own_network),
        IN_SCENE(a_nic_that_is_gone_is_closed_although_its_domain_has_the_vf),
        IN_SCENE(whoever_waits_for_such_a_release_is_told_who_has_the_vf),
        IN_SCENE(releases_do_not_need_to_know_the_domains),
        IN_SCENE(nothing_new_is_given_while_nobody_knows_the_domains),
        IN_SCENE(nothing_is_known_before_the_first_list),
        IN_SCENE(a_vf_that_another_vms_domain_names_is_not_opened),
        IN_SCENE(a_vf_that_another_vms_domain_names_stays_closed_until_that_is_mended),
        IN_SCENE(what_another_domain_ran_with_is_not_opened_while_nobody_knows),
        IN_SCENE(what_a_running_domain_has_is_its_own_whoever_else_is_defined_with_it),
        IN_SCENE(a_vf_that_another_vms_domain_runs_with_is_closed),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
