// SPDX-License-Identifier: Apache-2.0
/* The table on the disk: damaged, lost, not to be written, another service's. */
#include "scene.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct oneib_vf_record give_key(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(vm_id, nic_id, KEY);
    give(&wanted, &record);
    return record;
}

/* ---- damaged --------------------------------------------------------------------------------- */

static void a_damaged_table_hands_out_nothing_until_it_is_mended(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(43, 1, KEY);
    const struct oneib_vfs_options options = {.pkey_wait_ms = 100, .guid_wait_ms = 100};
    stop_engine();
    tree_write("vf=nonsense", "/run/oneib/vfs");
    assert_int_equal(oneib_vfs_open(&options, &vfs, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_INPUT, "/run/oneib/vfs is damaged: line 1");
    assert_non_null(vfs);
    tell_domains();
    assert_give_fails(&wanted, ONEIB_ERROR_INPUT, "is damaged: line 1");
    look_fails(ONEIB_ERROR_INPUT, "is damaged: line 1");
    tree_remove("/run/oneib/vfs");
    look();
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
}

static void a_damaged_table_lets_nothing_be_released(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_released released;
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, 42, -1);
    give_key(42, 1);
    tree_write("vf=nonsense", "/run/oneib/vfs");
    stop_engine();
    const struct oneib_vfs_options options = {0};
    oneib_vfs_open(&options, &vfs, &err);
    tell_domains();
    assert_int_equal(try_to_release(&request, &released, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    request = request_of(ONEIB_REQUEST_RELEASE_VF, 42, 0);
    request.vf = tree_vf_pci(&hca, 0);
    assert_int_equal(try_to_release(&request, &released, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void a_table_that_is_lost_or_damaged_while_the_service_runs_is_written_again(void **state)
{
    (void)state;
    give_key(42, 1);
    tree_write("vf=nonsense", "/run/oneib/vfs");
    look();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    tree_remove("/run/oneib/vfs");
    look();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    tree_remove("/run/oneib");
    look();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    give_key(43, 1);
    assert_int_equal(count_records(), 2);
}

static void a_table_that_cannot_be_written_again_is_told_of(void **state)
{
    (void)state;
    give_key(42, 1);
    tree_remove("/run/oneib/vfs");
    tree_set_mode(0555, "/run/oneib");
    look_fails(ONEIB_ERROR_SYSTEM, "/run/oneib");
    tree_set_mode(0755, "/run/oneib");
    look();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

/* A moment after it was found to be right, in the same second. */
static void a_table_that_is_damaged_between_two_looks_is_written_again(void **state)
{
    (void)state;
    give_key(42, 1);
    look();
    tree_write("x", "/run/oneib/vfs");
    look();
    assert_int_equal(count_records(), 1);
}

static void a_nic_has_one_vf(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    give_key(42, 1);
    struct oneib_vf_record second = record_of(42, 1);
    second.vf = tree_vf_pci(&hca, 1);
    assert_int_equal(oneib_vfs_put(vfs, &second, &err), -1);
    assert_int_equal(count_records(), 1);
}

/* As after a restart: what the disk has was never seen. */
static void a_table_that_is_as_it_should_be_is_not_written_again(void **state)
{
    (void)state;
    struct stat before, after;
    char *path = tree_path("/run/oneib/vfs");
    give_key(42, 1);
    restart_engine();
    assert_int_equal(stat(path, &before), 0);
    look();
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    free(path);
}

/* ---- not to be written ----------------------------------------------------------------------- */

static void keep_from_writing(void)
{
    tree_set_mode(0555, "/run/oneib");
}

static void let_write(void)
{
    tree_set_mode(0755, "/run/oneib");
}

static void nothing_is_opened_that_could_not_be_recorded(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    keep_from_writing();
    assert_give_fails(&wanted, ONEIB_ERROR_SYSTEM, "VM 42 NIC 1: ");
    assert_int_equal(open_index(&hca, 0, 1), 0);
    assert_int_equal(vfs->table.count, 0);
    let_write();
    give(&wanted, &record);
    assert_int_equal(record.index, 0);
}

static void a_nic_that_cannot_be_recorded_any_more_is_closed(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    give_key(42, 1);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    keep_from_writing();
    assert_give_fails(&wanted, ONEIB_ERROR_SYSTEM, "VM 42 NIC 1 (0000:81:00.1): ");
    assert_closed(&hca, 0);
    let_write();
    settle();
    assert_int_equal(count_records(), 1);
    give(&wanted, &record);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
}

static void what_was_prepared_and_cannot_be_recorded_as_open_is_closed_and_released(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 30000;
    const oneib_vfs_ticket ticket = begin(&wanted);
    keep_from_writing();
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_int_equal(open_index(&hca, 0, 1), 0);
    let_write();
    settle();
    assert_nothing_is_left();
}

static void a_release_closes_although_it_cannot_be_recorded_and_is_gone_on_with(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    struct oneib_released released;
    const struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, 42, -1);
    give_key(42, 1);
    keep_from_writing();
    assert_int_equal(try_to_release(&request, &released, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "VM 42 NIC 1 (0000:81:00.1): ");
    assert_closed(&hca, 0);
    assert_true(has_guid(0)); /* by its record it has */
    /* Nothing opens it again meanwhile. */
    oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err);
    assert_closed(&hca, 0);
    let_write();
    settle();
    assert_nothing_is_left();
}

/* Nothing of it is open, and still whoever waits would be told of a success that a kill undoes. */
static void a_release_of_what_is_closed_that_cannot_be_recorded_fails_at_once(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_released released;
    const struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, 42, -1);
    give_key(42, 1);
    drop_grant(42, 1);
    tell_grants(true);
    sm_let_guids_go(false);
    keep_from_writing();
    assert_int_equal(try_to_release(&request, &released, &err), -1);
    let_write();
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "/run/oneib");
}

/* Within two seconds: the subnet manager has its own pace. */
static void assert_a_step_fails_for_the_table(void)
{
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    for (int i = 0; i < 200; i++, sleep_ms(10))
        if (oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err) < 0) {
            assert_is_about(&err, ONEIB_ERROR_SYSTEM, "/run/oneib");
            return;
        }
    fail_msg("nothing is told");
}

static void a_release_whose_closing_or_end_cannot_be_recorded_is_told_of(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_released released;
    const struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, 42, -1);
    give_key(42, 1);
    sm_let_guids_go(false);
    set_mode_of_entry(0, 0, 0444);
    assert_int_equal(try_to_release(&request, &released, &err), -1);
    set_mode_of_entry(0, 0, 0644);
    keep_from_writing();
    assert_a_step_fails_for_the_table();
    assert_closed(&hca, 0);
    let_write();
    look();
    assert_int_equal(record_of(42, 1).pkey, 0);
    keep_from_writing();
    sm_let_guids_go(true);
    assert_a_step_fails_for_the_table();
    let_write();
    settle();
    assert_nothing_is_left();
}

static void a_domains_end_closes_although_it_cannot_be_recorded(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    const struct oneib_pci vf = give_key(42, 1).vf;
    tell_of_domain(42, true, &vf);
    keep_from_writing();
    tell_of_no_domains();
    assert_closed(&hca, 0);
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err), -1);
    assert_closed(&hca, 0);
    let_write();
    oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
}

static void a_vf_that_somebody_else_took_is_given_up_although_that_cannot_be_recorded(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    const struct oneib_pci vf = tree_vf_pci(&hca, 0);
    wanted.pkey_wait_ms = 30000;
    const oneib_vfs_ticket ticket = begin(&wanted);
    keep_from_writing();
    tell_of_domain(43, true, &vf);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_closed(&hca, 0);
    let_write();
    settle();
    assert_nothing_is_left();
}

/* ---- one service ----------------------------------------------------------------------------- */

static void a_second_service_is_refused_while_the_first_one_lives(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs *second;
    const struct oneib_vfs_options options = {0};
    assert_int_equal(oneib_vfs_open(&options, &second, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "another oneib-node is at work on this host");
    assert_null(second);
    stop_engine();
    assert_int_equal(oneib_vfs_open(&options, &second, &err), 0);
    oneib_vfs_close(second);
    start_engine();
}

static void whoever_removes_the_directory_lets_no_second_service_in(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs *second;
    const struct oneib_vfs_options options = {0};
    tree_remove("/run/oneib");
    look();
    assert_int_equal(oneib_vfs_open(&options, &second, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "another oneib-node is at work on this host");
}

static void a_lock_that_is_made_anew_takes_the_old_ones_place(void **state)
{
    (void)state;
    const int old = vfs->lock;
    tree_remove("/run/oneib");
    look();
    assert_true(vfs->lock >= 0 && vfs->lock != old);
    assert_int_equal(fcntl(old, F_GETFD), -1);
}

static void a_directory_that_somebody_else_may_write_to_is_told_of(void **state)
{
    (void)state;
    tree_remove("/run/oneib");
    tree_make_directory("/run/oneib");
    tree_set_mode(0777, "/run/oneib");
    look_fails(ONEIB_ERROR_REFUSED, "/run/oneib");
}

static void a_service_that_was_killed_keeps_nobody_out(void **state)
{
    (void)state;
    int status;
    stop_engine();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        start_engine();
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    start_engine();
}

static void what_is_recorded_outlives_the_service(void **state)
{
    (void)state;
    struct oneib_vf_record before = give_key(42, 1);
    restart_engine();
    const struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.closed + changes.opened + changes.reapplied, 0);
    const struct oneib_vf_table *table = oneib_vfs_table(vfs);
    assert_int_equal(table->count, 1);
    assert_int_equal(table->items[0].stage, ONEIB_VF_OPEN);
    assert_int_equal(oneib_pci_compare(&table->items[0].vf, &before.vf), 0);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_damaged_table_hands_out_nothing_until_it_is_mended),
        IN_SCENE(a_damaged_table_lets_nothing_be_released),
        IN_SCENE(a_table_that_is_lost_or_damaged_while_the_service_runs_is_written_again),
        IN_SCENE(a_table_that_cannot_be_written_again_is_told_of),
        IN_SCENE(a_table_that_is_damaged_between_two_looks_is_written_again),
        IN_SCENE(a_nic_has_one_vf),
        IN_SCENE(a_table_that_is_as_it_should_be_is_not_written_again),
        IN_SCENE(nothing_is_opened_that_could_not_be_recorded),
        IN_SCENE(a_nic_that_cannot_be_recorded_any_more_is_closed),
        IN_SCENE(what_was_prepared_and_cannot_be_recorded_as_open_is_closed_and_released),
        IN_SCENE(a_release_closes_although_it_cannot_be_recorded_and_is_gone_on_with),
        IN_SCENE(a_release_of_what_is_closed_that_cannot_be_recorded_fails_at_once),
        IN_SCENE(a_release_whose_closing_or_end_cannot_be_recorded_is_told_of),
        IN_SCENE(a_domains_end_closes_although_it_cannot_be_recorded),
        IN_SCENE(a_vf_that_somebody_else_took_is_given_up_although_that_cannot_be_recorded),
        IN_SCENE(a_second_service_is_refused_while_the_first_one_lives),
        IN_SCENE(whoever_removes_the_directory_lets_no_second_service_in),
        IN_SCENE(a_lock_that_is_made_anew_takes_the_old_ones_place),
        IN_SCENE(a_directory_that_somebody_else_may_write_to_is_told_of),
        IN_SCENE(a_service_that_was_killed_keeps_nobody_out),
        IN_SCENE(what_is_recorded_outlives_the_service),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
