// SPDX-License-Identifier: Apache-2.0
/* A saved VM is resumed. Tuning is stood in for: its own tests are elsewhere. */
#include "leave_scene.h"
#include "vmm/tune.h"

#define MARK "<metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1'/></metadata>"
#define LOCK 7

static char checkpoint[1024], domain[] = DOMAIN;
static char *save_arguments[] = {domain, checkpoint, host, id, host, NULL};
static char *restore_arguments[] = {checkpoint, host, domain, id, host, NULL};
static int status;

/* ---- a stand-in for tuning ------------------------------------------------------------------- */

static size_t tunings, tuned_vfs;
static bool tuning_fails, is_locked, held_until_started, changes_nothing;

int oneib_vmm_tune(struct oneib_live *live, const char *xml, size_t length, bool hpc,
                   const struct oneib_pci *vfs, size_t vf_count, struct oneib_text *tuned,
                   int *lock, struct oneib_error *error)
{
    (void)live;
    const struct oneib_pci first = tree_vf_pci(&hca, 1);
    const char *devices = strstr(xml, "<devices>");
    assert_true(hpc);
    assert_non_null(devices);
    assert_int_equal(oneib_pci_compare(&vfs[0], &first), 0);
    tunings++;
    tuned_vfs = vf_count;
    if (tuning_fails)
        return oneib_fail(error, ONEIB_ERROR_REFUSED, "no free cores");
    *lock = LOCK;
    is_locked = true;
    if (changes_nothing)
        return 0;
    oneib_text_append_bytes(tuned, xml, (size_t)(devices - xml));
    oneib_text_append(tuned, "<description>tuned anew</description>");
    oneib_text_append_bytes(tuned, devices, length - (size_t)(devices - xml));
    return 0;
}

void oneib_vmm_tune_unlock(int lock)
{
    if (lock < 0)
        return;
    assert_int_equal(lock, LOCK);
    is_locked = false;
    held_until_started = strstr(live_standin_log(), "upstream restore") != NULL;
}

/* ---- the scene ------------------------------------------------------------------------------- */

static int save(void)
{
    struct oneib_vmm vmm = calling(UPSTREAM_STANDIN "/save", save_arguments);
    return oneib_vmm_leave(&vmm, false, &status, &err);
}

/* What 'pre' does where a VM comes back. */
static void reserve_again(void)
{
    oneib_vf_table_clear(&table);
    record_as(1, 1, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    record_as(2, 2, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
}

static void begin_restore(void)
{
    assert_int_equal(save(), 0);
    assert_int_equal(status, 0);
    reserve_again();
    vm.deployed = true;
    live_standin_forget_log();
    live_standin_heal();
    tree_remove("/calls");
    status = 77;
}

static int open_saved(void **state)
{
    open_scene(state);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", tree_root());
    tree_remove("/checkpoint");
    tree_remove("/refuse");
    tunings = tuned_vfs = 0;
    tuning_fails = is_locked = held_until_started = changes_nothing = false;
    run_vm();
    begin_restore();
    return 0;
}

/* oneib has tuned it at its deployment. */
static void mark_checkpoint(void)
{
    char content[65536], *path = tree_path("/checkpoint");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    char *devices = strstr(content, "<devices>");
    assert_non_null(devices);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s" MARK "%s", (int)(devices - content), content, devices);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static int restoring(void)
{
    struct oneib_vmm vmm = calling(UPSTREAM_STANDIN "/restore", restore_arguments);
    err = (struct oneib_error){0};
    return oneib_vmm_restore(&vmm, checkpoint, &status, &err);
}

static void assert_restored(const char *expected)
{
    if (restoring() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status, 0);
    assert_false(is_locked);
    assert_shape(expected);
}

static void assert_untouched(void)
{
    assert_logged("upstream", false);
    assert_true(tree_exists("/checkpoint"));
    assert_false(live_standin_runs(DOMAIN));
}

/* ---- what goes well -------------------------------------------------------------------------- */

static void a_vm_gets_its_guids_before_it_runs_and_its_vfs_then(void **state)
{
    (void)state;
    assert_restored(BOTH_IN);
    assert_int_equal(service_calls("have 42/1 net 7"), 1);
    assert_int_equal(service_calls("have 42/2 net 7"), 1);
    assert_int_equal(service_calls("release"), 0);
    assert_order("upstream restore", "attach " DOMAIN " " VF_ALIAS_1);
    assert_int_equal(tunings, 0);
    assert_no_warnings();
}

static void one_whose_guids_are_set_is_not_assigned_again(void **state)
{
    (void)state;
    oneib_vf_table_clear(&table);
    record_open(1, 1);
    record_open(2, 2);
    assert_restored(BOTH_IN);
    assert_int_equal(service_calls("have"), 0);
}

static void it_may_have_another_vf_than_before(void **state)
{
    (void)state;
    oneib_vf_table_clear(&table);
    record_open(1, 5);
    record_open(2, 6);
    assert_restored("1:vf5@22+0 2:vf6@21+1");
}

static void a_vm_without_nics_of_ours_is_the_upstream_actions_own(void **state)
{
    (void)state;
    vm.nic_count = 0;
    live_standin_fault("refuse-open");
    assert_int_equal(restoring(), 0);
    assert_int_equal(status, 0);
    assert_logged("open", false);
    assert_true(live_standin_runs(DOMAIN));
    assert_no_warnings();
}

/* ---- tuning ---------------------------------------------------------------------------------- */

static void one_that_oneib_has_tuned_is_tuned_anew(void **state)
{
    (void)state;
    mark_checkpoint();
    assert_restored(BOTH_IN);
    assert_int_equal(tunings, 1);
    assert_int_equal(tuned_vfs, 2);
    assert_order("saved-replace", "upstream restore");
    assert_true(held_until_started);
    assert_non_null(strstr(live_standin_document(DOMAIN), "tuned anew"));
}

static void so_is_one_that_asks_for_it_now(void **state)
{
    (void)state;
    vm.wants_hpc = true;
    assert_restored(BOTH_IN);
    assert_int_equal(tunings, 1);
}

static void what_needs_no_change_is_not_written(void **state)
{
    (void)state;
    mark_checkpoint();
    changes_nothing = true;
    assert_restored(BOTH_IN);
    assert_int_equal(tunings, 1);
    assert_logged("saved-replace", false);
}

static void what_this_host_cannot_give_leaves_the_checkpoint(void **state)
{
    (void)state;
    mark_checkpoint();
    tuning_fails = true;
    assert_int_equal(restoring(), -1);
    assert_told("VM 42: no free cores");
    assert_untouched();
    tuning_fails = false;
    reserve_again();
    assert_restored(BOTH_IN);
}

/* Its datastore keeps checkpoints elsewhere, and the upstream action fetches it. */
static void a_checkpoint_that_is_not_here_yet_hinders_nobody_who_is_not_tuned(void **state)
{
    (void)state;
    char *from = tree_path("/checkpoint"), *to = tree_path("/fetched");
    assert_int_equal(rename(from, to), 0);
    struct oneib_vmm vmm = calling(UPSTREAM_STANDIN "/restore", restore_arguments);
    restore_arguments[0] = to;
    assert_int_equal(oneib_vmm_restore(&vmm, checkpoint, &status, &err), 0);
    restore_arguments[0] = checkpoint;
    assert_int_equal(status, 0);
    assert_shape(BOTH_IN);
    free(from);
    free(to);
}

static void one_that_is_tuned_must_have_its_checkpoint_here(void **state)
{
    (void)state;
    tree_remove("/checkpoint");
    vm.wants_hpc = true;
    assert_int_equal(restoring(), -1);
    assert_told("reading the VM's checkpoint");
    assert_logged("upstream", false);
}

static void a_checkpoint_that_cannot_be_read_fails_before_the_upstream_action(void **state)
{
    (void)state;
    tree_write("nonsense", "/checkpoint");
    assert_int_equal(restoring(), -1);
    assert_told("reading the VM's checkpoint");
    assert_logged("upstream", false);
}

/* The guest has put itself to sleep; its domain is here with its VFs, and there is no file. */
static void a_guest_that_sleeps_here_is_woken_by_the_upstream_action(void **state)
{
    (void)state;
    close_scene(NULL);
    open_running_scene(NULL);
    vm.wants_hpc = true;
    tree_remove("/checkpoint");
    tree_write("#!/bin/sh\nexit 0", "/wake");
    tree_set_mode(0755, "/wake");
    char *path = tree_path("/wake");
    struct oneib_vmm vmm = calling(path, restore_arguments);
    if (oneib_vmm_restore(&vmm, checkpoint, &status, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
    assert_int_equal(status, 0);
    assert_int_equal(tunings, 0);
    assert_shape(BOTH_IN);
    assert_no_warnings();
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void without_the_upstream_action_nothing_is_touched(void **state)
{
    (void)state;
    struct oneib_vmm vmm = calling("/nowhere/kvm/restore", restore_arguments);
    assert_int_equal(oneib_vmm_restore(&vmm, checkpoint, &status, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_int_equal(service_calls("have"), 0);
    assert_untouched();
}

static void a_nic_without_a_record_is_refused_before_any_is_completed(void **state)
{
    (void)state;
    oneib_vf_table_clear(&table);
    record_as(1, 1, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    assert_int_equal(restoring(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("VM 42 NIC 2 has no virtual function on this node");
    assert_told("checkpoint is as it was");
    assert_int_equal(service_calls("have"), 0);
    assert_untouched();
}

static void one_whose_vf_is_being_released_is_refused(void **state)
{
    (void)state;
    oneib_vf_table_clear(&table);
    record_open(1, 1);
    record_as(2, 2, ONEIB_VF_RELEASING, ONEIB_VF_GUID_SET);
    assert_int_equal(restoring(), -1);
    assert_told("VM 42 NIC 2 has a virtual function that is being released");
    assert_untouched();
}

static void a_guid_that_cannot_be_set_fails_before_the_upstream_action(void **state)
{
    (void)state;
    nics[1].attach = vm.attaching = true;
    tree_write("have 42/1", "/refuse");
    assert_int_equal(restoring(), -1);
    assert_told("the stand-in refuses");
    assert_untouched();
    assert_int_equal(service_calls("have 42/2"), 1);
    tree_remove("/refuse");
    reserve_again();
    assert_restored(BOTH_IN);
}

static void without_libvirt_it_fails_before_the_upstream_action(void **state)
{
    (void)state;
    live_standin_fault("refuse-open");
    assert_int_equal(restoring(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_untouched();
}

/* ---- what must not fail ---------------------------------------------------------------------- */

static void the_upstream_actions_failure_passes(void **state)
{
    (void)state;
    vm.wants_hpc = true;
    live_standin_fault("upstream restore fail 9");
    assert_int_equal(restoring(), 0);
    assert_int_equal(status, 9);
    assert_false(is_locked);
    assert_true(held_until_started);
    assert_true(tree_exists("/checkpoint"));
    assert_logged("attach", false);
    assert_no_warnings();
    live_standin_heal();
    reserve_again();
    assert_restored(BOTH_IN);
}

/* The next host must not find their GUIDs taken. */
static void a_vm_that_does_not_come_back_gives_its_vfs_back(void **state)
{
    (void)state;
    live_standin_fault("upstream restore fail 9");
    assert_int_equal(restoring(), 0);
    assert_int_equal(service_calls("release 42/1"), 1);
    assert_int_equal(service_calls("release 42/2"), 1);
}

static void one_that_runs_all_the_same_keeps_them(void **state)
{
    (void)state;
    tree_write("#!/bin/sh\n'" UPSTREAM_STANDIN "/restore' \"$@\"\nexit 9", "/fail-late");
    tree_set_mode(0755, "/fail-late");
    char *path = tree_path("/fail-late");
    struct oneib_vmm vmm = calling(path, restore_arguments);
    assert_int_equal(oneib_vmm_restore(&vmm, checkpoint, &status, &err), 0);
    free(path);
    assert_int_equal(status, 9);
    assert_true(live_standin_runs(DOMAIN));
    assert_int_equal(service_calls("release"), 0);
}

static void while_libvirt_does_not_answer_nothing_is_given_back(void **state)
{
    (void)state;
    live_standin_fault("refuse-open");
    assert_int_equal(restoring(), -1);
    assert_int_equal(service_calls("release"), 0);
}

static void a_vf_that_cannot_be_plugged_is_a_warning(void **state)
{
    (void)state;
    live_standin_fault("attach-fails " VF_ALIAS_1);
    assert_restored("1:-+0 2:vf2@21+1");
    assert_warned("VM 42 NIC 1: plugging in its virtual function");
    repair();
    assert_shape(BOTH_IN);
}

static void a_domain_that_is_gone_again_is_a_warning(void **state)
{
    (void)state;
    tree_write("#!/bin/sh\nexit 0", "/pretend");
    tree_set_mode(0755, "/pretend");
    char *path = tree_path("/pretend");
    struct oneib_vmm vmm = calling(path, restore_arguments);
    assert_int_equal(oneib_vmm_restore(&vmm, checkpoint, &status, &err), 0);
    free(path);
    assert_int_equal(status, 0);
    assert_warned("VM 42 was resumed, but runs no more");
}

/* ---- lost and killed ------------------------------------------------------------------------- */

static unsigned try_all(const char *moment, bool kills)
{
    unsigned call = 1;
    for (bool faulted = true; faulted; call++) {
        restart_vm();
        tree_remove("/checkpoint");
        begin_restore();
        mark_checkpoint();
        live_standin_fault("%s %u", moment, call);
        faulted = kills ? is_killed(restoring) : restoring() < 0 || warnings.length > 0;
        live_standin_heal();
        is_locked = false;
        /* Its state is in the file or in the domain. */
        assert_true(tree_exists("/checkpoint") != live_standin_runs(DOMAIN));
        if (!live_standin_runs(DOMAIN)) {
            reserve_again();
            assert_restored(BOTH_IN);
        } else {
            repair();
            assert_shape(BOTH_IN);
        }
    }
    return call - 1;
}

static void lost_or_killed_at_any_call_the_state_is_kept_and_repair_heals(void **state)
{
    (void)state;
    /* open, a look, reading, replacing; open, a look, and two for each VF. */
    assert_int_equal(try_all("die", true), 11);
    assert_int_equal(try_all("lost", false), 11);
    assert_true(try_all("lost-after", false) >= 10);
}

static void killed_around_the_upstream_action_the_state_is_kept(void **state)
{
    (void)state;
    live_standin_fault("upstream restore kill-before");
    assert_true(is_killed(restoring));
    assert_true(tree_exists("/checkpoint"));
    live_standin_heal();
    live_standin_fault("upstream restore kill-after");
    assert_true(is_killed(restoring));
    assert_shape(BOTH_OUT);
    repair();
    assert_shape(BOTH_IN);
}

int main(void)
{
    tree_open();
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_saved, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(a_vm_gets_its_guids_before_it_runs_and_its_vfs_then),
        TEST(one_whose_guids_are_set_is_not_assigned_again),
        TEST(it_may_have_another_vf_than_before),
        TEST(a_vm_without_nics_of_ours_is_the_upstream_actions_own),
        TEST(one_that_oneib_has_tuned_is_tuned_anew),
        TEST(so_is_one_that_asks_for_it_now),
        TEST(what_needs_no_change_is_not_written),
        TEST(what_this_host_cannot_give_leaves_the_checkpoint),
        TEST(a_checkpoint_that_is_not_here_yet_hinders_nobody_who_is_not_tuned),
        TEST(one_that_is_tuned_must_have_its_checkpoint_here),
        TEST(a_checkpoint_that_cannot_be_read_fails_before_the_upstream_action),
        TEST(a_guest_that_sleeps_here_is_woken_by_the_upstream_action),
        TEST(without_the_upstream_action_nothing_is_touched),
        TEST(a_nic_without_a_record_is_refused_before_any_is_completed),
        TEST(one_whose_vf_is_being_released_is_refused),
        TEST(a_guid_that_cannot_be_set_fails_before_the_upstream_action),
        TEST(without_libvirt_it_fails_before_the_upstream_action),
        TEST(the_upstream_actions_failure_passes),
        TEST(a_vm_that_does_not_come_back_gives_its_vfs_back),
        TEST(one_that_runs_all_the_same_keeps_them),
        TEST(while_libvirt_does_not_answer_nothing_is_given_back),
        TEST(a_vf_that_cannot_be_plugged_is_a_warning),
        TEST(a_domain_that_is_gone_again_is_a_warning),
        TEST(lost_or_killed_at_any_call_the_state_is_kept_and_repair_heals),
        TEST(killed_around_the_upstream_action_the_state_is_kept),
    };
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
