// SPDX-License-Identifier: Apache-2.0
/* When a record of a virtual function is nobody's any more. */
#include "scene.h"

#define SETTLED 120
#define ARRIVED 3600

static struct oneib_pci give_key(uint32_t vm_id, uint8_t nic_id, bool defer)
{
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(vm_id, nic_id, KEY);
    defer_guid(&wanted, defer);
    give(&wanted, &record);
    return record.vf;
}

static bool is_released(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_vf_record record;
    return !find_record(vm_id, nic_id, &record) || record.stage == ONEIB_VF_RELEASING;
}

static void step(void)
{
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    if (oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err) < 0)
        fail_msg("%s", err.text);
}

/* As if the record were so old. */
static void age(uint32_t vm_id, uint8_t nic_id, int64_t seconds)
{
    const struct oneib_vf_record record = record_of(vm_id, nic_id);
    leave_record(vm_id, nic_id, record.stage, seconds);
}

static void a_settled_record_without_its_vm_is_released(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    give_key(42, 1, false);
    age(42, 1, ARRIVED);
    assert_int_equal(oneib_vfs_due_ms(vfs), 0);
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err), 0);
    assert_int_equal(changes.freed, 1);
    assert_closed(&hca, 0);
    settle();
    assert_nothing_is_left();
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err), 0);
    assert_int_equal(changes.freed, 0);
    assert_int_equal(oneib_vfs_due_ms(vfs), UINT32_MAX);
}

static void that_a_stale_record_cannot_be_released_is_told_at_once(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    give_key(42, 1, false);
    age(42, 1, ARRIVED);
    set_mode_of_entry(0, 0, 0444);
    const int result = oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err);
    set_mode_of_entry(0, 0, 0644);
    assert_int_equal(result, -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "closing virtual function 0");
}

/* Between pre and the moment when libvirt knows the domain. */
static void a_young_record_is_left_alone_and_looked_at_in_time(void **state)
{
    (void)state;
    give_key(42, 1, false);
    age(42, 1, ARRIVED - 10);
    step();
    assert_false(is_released(42, 1));
    const uint32_t due = oneib_vfs_due_ms(vfs);
    assert_true(due > 8000 && due <= 10001);
}

/* Nothing else is ahead of the time since boot. */
static void a_record_of_another_boot_is_released(void **state)
{
    (void)state;
    give_key(42, 1, false);
    age(42, 1, -ARRIVED - 10);
    step();
    assert_true(is_released(42, 1));
}

/* Snapshots are copied, or the VM's memory is fetched from where it was saved. */
static void a_record_of_a_vm_that_takes_long_to_come_is_left_alone(void **state)
{
    (void)state;
    give_key(42, 1, true);
    give_key(42, 2, false);
    age(42, 1, SETTLED + 10);
    age(42, 2, SETTLED + 10);
    step();
    assert_false(is_released(42, 1));
    assert_false(is_released(42, 2));
    age(42, 1, ARRIVED);
    age(42, 2, ARRIVED);
    step();
    assert_true(is_released(42, 1));
    assert_true(is_released(42, 2));
}

/* OpenNebula calls nobody where a VM was to arrive and did not. */
static void a_record_of_a_vm_that_does_not_come_is_released_when_it_has_settled(void **state)
{
    (void)state;
    give_key(42, 1, true);
    age(42, 1, SETTLED + 10);
    drop_grant(42, 1);
    tell_grants(true);
    step();
    assert_false(is_released(42, 1));
    age(42, 1, SETTLED);
    step();
    assert_true(is_released(42, 1));
}

/* Its key is not there, and it was closed before. */
static void a_closed_record_settles_from_when_nothing_is_granted(void **state)
{
    (void)state;
    give_key(42, 1, false);
    leave_record(42, 1, ONEIB_VF_CLOSED, SETTLED + 10);
    drop_grant(42, 1);
    tell_grants(true);
    step();
    assert_false(is_released(42, 1));
    const uint32_t due = oneib_vfs_due_ms(vfs);
    assert_true(due > (SETTLED - 2) * 1000 && due <= SETTLED * 1000 + 1);
}

static void a_record_whose_vm_is_here_is_left_alone(void **state)
{
    (void)state;
    give_key(42, 1, false);
    age(42, 1, ARRIVED);
    tell_of_domain(42, false, NULL);
    step();
    tell_of_domain(42, true, NULL);
    step();
    assert_false(is_released(42, 1));
    assert_int_equal(oneib_vfs_due_ms(vfs), UINT32_MAX);
}

/* An attach that OpenNebula has given up: the NIC is no more, and the VM runs on. */
static void what_a_vm_that_runs_has_no_use_for_is_released(void **state)
{
    (void)state;
    give_key(42, 1, false);
    give_key(42, 2, false);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    leave_record(42, 1, ONEIB_VF_CLOSED, ARRIVED);
    leave_record(42, 2, ONEIB_VF_CLOSED, ARRIVED);
    tell_of_domain(42, true, NULL);
    drop_grant(42, 1);
    tell_grants(true);
    step();
    assert_false(is_released(42, 1));
    age(42, 1, SETTLED);
    tell_of_domain(42, true, NULL);
    step();
    assert_true(is_released(42, 1));
    assert_false(is_released(42, 2));
}

static void what_is_not_granted_and_in_a_domain_is_left_alone(void **state)
{
    (void)state;
    const struct oneib_pci vf = give_key(42, 1, false);
    tell_of_domain(42, true, &vf);
    drop_grant(42, 1);
    tell_grants(true);
    age(42, 1, ARRIVED);
    tell_of_domain(42, true, &vf);
    step();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    assert_int_equal(record_of(42, 1).pkey, 0);
    assert_false(is_released(42, 1));
}

static void a_record_whose_vf_some_domain_names_is_left_alone(void **state)
{
    (void)state;
    const struct oneib_pci vf = give_key(42, 1, false);
    add_domain(-1, false, &vf);
    age(42, 1, ARRIVED);
    step();
    assert_false(is_released(42, 1));
}

static void nothing_settled_is_released_while_nobody_knows_the_domains(void **state)
{
    (void)state;
    give_key(42, 1, false);
    domains.known = false;
    age(42, 1, ARRIVED);
    step();
    assert_false(is_released(42, 1));
    assert_int_equal(oneib_vfs_due_ms(vfs), UINT32_MAX);
}

/* Pre gives a VM its VFs one by one. */
static void a_vm_that_got_another_vf_a_moment_ago_keeps_all(void **state)
{
    (void)state;
    give_key(42, 1, false);
    age(42, 1, ARRIVED + 10);
    domains.known = false;
    restart_engine();
    domains.known = true;
    tell_domains();
    give_key(42, 2, false);
    step();
    assert_false(is_released(42, 1));
    age(42, 2, ARRIVED + 10);
    step();
    assert_true(is_released(42, 1));
    assert_true(is_released(42, 2));
}

static void a_vm_that_waits_for_another_vf_keeps_all(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 2, OTHER_KEY);
    give_key(42, 1, false);
    age(42, 1, ARRIVED - 1);
    wanted.pkey_wait_ms = 30000;
    begin(&wanted);
    struct oneib_vf_record *records = vfs->table.items;
    records[0].since -= ARRIVED;
    records[1].since -= ARRIVED;
    step();
    assert_false(is_released(42, 1));
    assert_false(is_released(42, 2));
}

static void what_has_ended_is_free_after_the_same_time_from_its_end(void **state)
{
    (void)state;
    const struct oneib_pci vf = give_key(42, 1, false);
    age(42, 1, ARRIVED);
    tell_of_domain(42, true, &vf);
    tell_of_no_domains();
    step();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
    age(42, 1, SETTLED);
    step();
    assert_true(is_released(42, 1));
}

/* Whoever had asked for it before the service was started again asks again. */
static void what_nobody_waits_for_is_released_a_moment_after_the_start(void **state)
{
    (void)state;
    give_key(42, 1, false);
    domains.known = false;
    leave_record(42, 1, ONEIB_VF_PREPARING, 0);
    step();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_PREPARING);
    const uint32_t due = oneib_vfs_due_ms(vfs);
    assert_true(due > 8000 && due <= 10001);
    vfs->opened -= 10000;
    step();
    assert_true(is_released(42, 1));
}

static void a_caller_that_comes_back_has_what_it_had_begun(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 30000;
    begin(&wanted);
    restart_engine();
    look();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_PREPARING);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    look();
    assert_closed(&hca, 0);
    give(&wanted, &record);
    assert_int_equal(record.index, 0);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
    vfs->opened -= 10000;
    step();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

static void a_release_that_was_killed_is_gone_on_with_at_once(void **state)
{
    (void)state;
    give_key(42, 1, false);
    domains.known = false;
    leave_record(42, 1, ONEIB_VF_RELEASING, 0);
    assert_int_equal(oneib_vfs_due_ms(vfs), 0);
    step();
    assert_closed(&hca, 0);
    settle();
    assert_nothing_is_left();
}

static void a_record_whose_vf_is_gone_goes_when_it_is_stale(void **state)
{
    (void)state;
    give_key(42, 1, false);
    age(42, 1, ARRIVED);
    tree_remove_hca(&hca);
    step();
    assert_int_equal(count_records(), 0);
    tree_add_hca(&hca);
}

/* Else the service would never sleep again. */
static void what_was_remembered_for_a_while_makes_nothing_due_afterwards(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    const struct oneib_pci vf = tree_vf_pci(&hca, 0);
    oneib_vfs_remember(vfs, &vf, ONEIB_VF_RESTS, 1);
    sleep_ms(3);
    assert_int_equal(oneib_vfs_due_ms(vfs), 0);
    oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err);
    assert_int_equal(oneib_vfs_due_ms(vfs), UINT32_MAX);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_settled_record_without_its_vm_is_released),
        IN_SCENE(that_a_stale_record_cannot_be_released_is_told_at_once),
        IN_SCENE(a_young_record_is_left_alone_and_looked_at_in_time),
        IN_SCENE(a_record_of_another_boot_is_released),
        IN_SCENE(a_record_of_a_vm_that_takes_long_to_come_is_left_alone),
        IN_SCENE(a_record_of_a_vm_that_does_not_come_is_released_when_it_has_settled),
        IN_SCENE(a_closed_record_settles_from_when_nothing_is_granted),
        IN_SCENE(a_record_whose_vm_is_here_is_left_alone),
        IN_SCENE(what_a_vm_that_runs_has_no_use_for_is_released),
        IN_SCENE(what_is_not_granted_and_in_a_domain_is_left_alone),
        IN_SCENE(a_record_whose_vf_some_domain_names_is_left_alone),
        IN_SCENE(nothing_settled_is_released_while_nobody_knows_the_domains),
        IN_SCENE(a_vm_that_got_another_vf_a_moment_ago_keeps_all),
        IN_SCENE(a_vm_that_waits_for_another_vf_keeps_all),
        IN_SCENE(what_has_ended_is_free_after_the_same_time_from_its_end),
        IN_SCENE(what_nobody_waits_for_is_released_a_moment_after_the_start),
        IN_SCENE(a_caller_that_comes_back_has_what_it_had_begun),
        IN_SCENE(a_release_that_was_killed_is_gone_on_with_at_once),
        IN_SCENE(a_record_whose_vf_is_gone_goes_when_it_is_stale),
        IN_SCENE(what_was_remembered_for_a_while_makes_nothing_due_afterwards),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
