// SPDX-License-Identifier: Apache-2.0
/*
 * What happens between two steps: the service is killed there, or the fabric changes. A step is
 * what others can see: a write to a file, or a new file in the place of an old one. Both are
 * counted here, in front of the C library's.
 */
#include "scene.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long kill_after = -1; /* steps; -1: never */
/* Once, when a VF was mapped to another index than 0, or to 0. */
static void (*on_open)(void), (*on_close)(void);

static void count_step(void)
{
    if (kill_after >= 0 && kill_after-- == 0)
        raise(SIGKILL);
}

/* Entry 0 of a VF's map. */
static bool is_map(int fd)
{
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    return strstr(path, "/pkey_idx/0") != NULL;
}

static void tell_of_map(int fd, const char *value)
{
    void (**const hook)(void) = value[0] == '0' ? &on_close : &on_open;
    void (*const tell)(void) = *hook;
    if (!tell || !is_map(fd))
        return;
    *hook = NULL;
    tell();
}

ssize_t write(int fd, const void *data, size_t length)
{
    const ssize_t written = syscall(SYS_write, fd, data, length);
    count_step();
    tell_of_map(fd, data);
    return written;
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    const int result = (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, 0);
    count_step();
    return result;
}

/* A disk that fails once a new file has its place, before that is safe. */
static bool fails_in_place;

int fsync(int fd)
{
    struct stat status;
    if (fails_in_place && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

/* ---- killed ---------------------------------------------------------------------------------- */

/* Both keys are in the table. */
static int open_steps(void **state)
{
    open_scene(state);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    return 0;
}

static void give_key(oneib_pkey pkey, bool defer)
{
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, pkey);
    wanted.pkey_wait_ms = wanted.guid_wait_ms = 20000;
    defer_guid(&wanted, defer);
    give(&wanted, &record);
}

/* Runs it in a child that is killed after so many steps. Returns whether it came to its end. */
static bool run_killed_after(long steps, void (*deed)(void))
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kill_after = steps;
        deed();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return WIFEXITED(status);
}

/* Whatever was left, the next call goes on from there. */
static void assert_goes_on(long steps)
{
    assert_isolated(&hca);
    restart_engine();
    if (steps % 3 == 1) {
        look();
        assert_isolated(&hca);
    }
    if (steps % 3 != 2) {
        give_key(KEY, false);
        assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
        assert_int_equal(open_index(&hca, record_of(42, 1).index, 1), KEY_INDEX);
        assert_int_equal(count_records(), 1);
        assert_isolated(&hca);
    }
    release(42, -1);
    assert_nothing_is_left();
}

static void survive_every_step_of(void (*before)(void), void (*deed)(void))
{
    long steps = 0;
    for (bool ended = false; !ended; steps++) {
        before();
        ended = run_killed_after(steps, deed);
        assert_goes_on(steps);
    }
    assert_true(steps > 3);
}

static void leave_entries_unassigned(void)
{
    tree_set_vf_pkey(&hca, 0, 1, 1, "none");
    tree_set_vf_pkey(&hca, 0, 1, 6, "none");
}

static void give_open(void)
{
    give_key(KEY, false);
}

static void give_deferred(void)
{
    give_key(KEY, true);
}

static void change_key(void)
{
    give_key(OTHER_KEY, false);
}

static void wait_for_no_key(void)
{
    struct oneib_error err;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, 9);
    wanted.pkey_wait_ms = 25;
    try_to_give(&wanted, &record, &err);
    settle();
}

static void give_up(void)
{
    struct wanted wanted = wanted_of(42, 1, 9);
    wanted.pkey_wait_ms = 20000;
    oneib_vfs_forget(vfs, begin(&wanted));
    settle();
}

static void release_it(void)
{
    release(42, 1);
}

/* All of what a domain's end does. */
static void end_domain(void)
{
    tell_of_no_domains();
}

static void give_to_domain(void)
{
    give_key(KEY, false);
    const struct oneib_pci vf = record_of(42, 1).vf;
    tell_of_domain(42, true, &vf);
}

static void attach_again(void)
{
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.request.flags |= ONEIB_HAVE_ATTACH;
    want_vf(&wanted, tree_vf_pci(&hca, 2));
    give(&wanted, &record);
}

static void look_once(void)
{
    look();
}

/* As after a reset of the adapter. */
static void give_and_lose(void)
{
    give_key(KEY, false);
    const unsigned vf = record_of(42, 1).index;
    tree_set_vf_pkey(&hca, vf, 1, 0, "0");
    tree_set_vf_pkey(&hca, vf, 1, 1, "none");
    tree_write("0", "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/%u", vf + 1);
}

static void an_assignment_may_be_killed_at_any_step(void **state)
{
    (void)state;
    survive_every_step_of(leave_entries_unassigned, give_open);
}

static void a_change_of_key_may_be_killed_at_any_step(void **state)
{
    (void)state;
    survive_every_step_of(give_open, change_key);
}

static void the_end_of_a_migration_may_be_killed_at_any_step(void **state)
{
    (void)state;
    survive_every_step_of(give_deferred, give_open);
}

static void undoing_may_be_killed_at_any_step(void **state)
{
    (void)state;
    survive_every_step_of(leave_entries_unassigned, wait_for_no_key);
}

static void a_release_may_be_killed_at_any_step(void **state)
{
    (void)state;
    survive_every_step_of(give_open, release_it);
}

static void assert_both_are_noted(void)
{
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
    assert_int_equal(record_of(42, 2).stage, ONEIB_VF_RELEASING);
}

/* Killed after the first, the next service goes on with all. */
static void before_the_first_of_a_vms_vfs_is_closed_all_are_noted(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted second = wanted_of(42, 2, KEY);
    give_key(KEY, false);
    give(&second, &record);
    on_close = assert_both_are_noted;
    assert_int_equal(release(42, -1), 2);
    assert_null(on_close);
}

static void a_repair_may_be_killed_at_any_step(void **state)
{
    (void)state;
    survive_every_step_of(give_and_lose, look_once);
}

static void giving_up_may_be_killed_at_any_step(void **state)
{
    (void)state;
    survive_every_step_of(leave_entries_unassigned, give_up);
}

static void another_vf_for_a_nic_may_be_killed_at_any_step(void **state)
{
    (void)state;
    survive_every_step_of(give_open, attach_again);
}

/* Killed or not: the next one to know the domains sees that it has ended. */
static void the_end_of_a_domain_may_be_killed_at_any_step(void **state)
{
    (void)state;
    bool ended = false;
    for (long steps = 0; !ended; steps++) {
        give_to_domain();
        assert_true(record_of(42, 1).in_domain);
        ended = run_killed_after(steps, end_domain);
        assert_isolated(&hca);
        domains.count = 0;
        restart_engine();
        assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
        assert_closed(&hca, record_of(42, 1).index);
        release(42, -1);
        assert_nothing_is_left();
    }
}

/* Else a record would be on the disk, and nobody here would know of it. */
static void a_table_that_is_in_its_place_holds_although_its_writing_failed(void **state)
{
    (void)state;
    fails_in_place = true;
    give_key(KEY, false);
    fails_in_place = false;
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    assert_int_equal(vfs->table.count, 1);
}

/* ---- the fabric changes ---------------------------------------------------------------------- */

static void move_key(void)
{
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | OTHER_KEY);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | KEY);
}

static void take_key_away(void)
{
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | OTHER_KEY);
}

static void make_full_member(void)
{
    tree_set_pkey(&hca, 1, 0, 0xffff);
}

static void take_without_effect(void)
{
    tree_set_vf_pkey(&hca, 0, 1, 0, "0");
}

static void a_key_that_moves_while_the_vf_is_opened_is_followed(void **state)
{
    (void)state;
    on_open = move_key;
    give_key(KEY, false);
    assert_null(on_open);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
    assert_isolated(&hca);
}

static void assert_closed_when(void (*change)(void), enum oneib_error_code code, const char *words)
{
    const struct wanted wanted = wanted_of(42, 1, KEY);
    on_open = change;
    assert_give_fails(&wanted, code, words);
    assert_null(on_open);
    assert_closed(&hca, 0);
}

static void a_key_that_goes_while_the_vf_is_opened_closes_it(void **state)
{
    (void)state;
    assert_closed_when(take_key_away, ONEIB_ERROR_TIMEOUT, "P_Key 0x0005");
    assert_nothing_is_left();
}

static void spoil_entry(void)
{
    tree_write("nonsense", "/sys/class/infiniband/mlx4_0/ports/1/pkeys/%d", KEY_INDEX);
}

static void an_entry_that_cannot_be_read_again_after_the_opening_closes_the_vf(void **state)
{
    (void)state;
    assert_closed_when(spoil_entry, ONEIB_ERROR_INPUT, "pkeys/3");
}

static void a_port_that_becomes_a_full_member_while_the_vf_is_opened_closes_it(void **state)
{
    (void)state;
    assert_closed_when(make_full_member, ONEIB_ERROR_REFUSED, "full member");
    assert_nothing_is_left();
}

static void a_write_that_is_taken_without_effect_is_a_failure(void **state)
{
    (void)state;
    assert_closed_when(take_without_effect, ONEIB_ERROR_PROTOCOL, "without effect");
    assert_nothing_is_left();
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_steps, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(an_assignment_may_be_killed_at_any_step),
        IN_SCENE(a_change_of_key_may_be_killed_at_any_step),
        IN_SCENE(the_end_of_a_migration_may_be_killed_at_any_step),
        IN_SCENE(undoing_may_be_killed_at_any_step),
        IN_SCENE(a_release_may_be_killed_at_any_step),
        IN_SCENE(before_the_first_of_a_vms_vfs_is_closed_all_are_noted),
        IN_SCENE(a_repair_may_be_killed_at_any_step),
        IN_SCENE(giving_up_may_be_killed_at_any_step),
        IN_SCENE(another_vf_for_a_nic_may_be_killed_at_any_step),
        IN_SCENE(the_end_of_a_domain_may_be_killed_at_any_step),
        IN_SCENE(a_table_that_is_in_its_place_holds_although_its_writing_failed),
        IN_SCENE(a_key_that_moves_while_the_vf_is_opened_is_followed),
        IN_SCENE(a_key_that_goes_while_the_vf_is_opened_closes_it),
        IN_SCENE(an_entry_that_cannot_be_read_again_after_the_opening_closes_the_vf),
        IN_SCENE(a_port_that_becomes_a_full_member_while_the_vf_is_opened_closes_it),
        IN_SCENE(a_write_that_is_taken_without_effect_is_a_failure),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
