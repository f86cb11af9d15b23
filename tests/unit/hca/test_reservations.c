// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "hca/place.h"
#include "hca/reservations.h"
#include "tree.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define VFS 63
#define CALLERS 200
#define WAIT_MS 60000
#define SOON_MS 50

#define LINE(function, vm)                                                                         \
    "vf=0000:81:00." function " device=mlx4_0 index=1 port=1 vm=" vm                               \
    " nic=0 network=0 site=0 pkey=0x0005 membership=full stage=open guid=set owner=0:0 domain=no since=0"

static struct oneib_vf_record sample(unsigned index, uint32_t vm_id)
{
    return (struct oneib_vf_record){
        .vf = {.bus = 0x81, .slot = (uint8_t)(index / 8), .function = index % 8},
        .device = "mlx4_0",
        .index = (uint16_t)index,
        .port = 1,
        .vm_id = vm_id,
    };
}

static int take_table(struct oneib_vf_table *table)
{
    int lock;
    struct oneib_error err = {0};
    if (oneib_reservations_lock(WAIT_MS, table, &lock, &err) < 0)
        fail_msg("%s", err.text);
    return lock;
}

static void write_table(const struct oneib_vf_table *table)
{
    struct oneib_error err = {0};
    if (oneib_reservations_write(table, &err) < 0)
        fail_msg("%s", err.text);
}

static struct oneib_vf_table read_table(void)
{
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    if (oneib_reservations_read(&table, &err) < 0)
        fail_msg("%s", err.text);
    return table;
}

static void put_record(unsigned index, uint32_t vm_id)
{
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    const struct oneib_vf_record record = sample(index, vm_id);
    const int lock = take_table(&table);
    assert_int_equal(oneib_vf_table_add(&table, &record, &err), 0);
    write_table(&table);
    oneib_vf_table_clear(&table);
    oneib_reservations_unlock(lock);
}

static void assert_lock_refused(enum oneib_error_code code, const char *why)
{
    int lock;
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    assert_int_equal(oneib_reservations_lock(SOON_MS, &table, &lock, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not tell of \"%s\"", err.text, why);
    assert_int_equal(table.count, 0);
}

/* ---- the table
 * ------------------------------------------------------------------------- */

static void without_a_file_nothing_is_given(void **state)
{
    (void)state;
    struct oneib_vf_table table = read_table();
    assert_int_equal(table.count, 0);
    assert_false(tree_exists("/run/oneib"));
    oneib_vf_table_clear(&table);
}

static void what_is_written_is_read_by_the_next_one(void **state)
{
    (void)state;
    put_record(3, 42);
    put_record(1, 43);
    struct oneib_vf_table table = read_table();
    assert_int_equal(table.count, 2);
    assert_int_equal(table.items[0].vm_id, 43);
    assert_int_equal(table.items[1].vm_id, 42);
    oneib_vf_table_clear(&table);
}

static void an_emptied_table_is_an_empty_file(void **state)
{
    (void)state;
    struct oneib_vf_table table;
    put_record(3, 42);
    const int lock = take_table(&table);
    oneib_vf_table_clear(&table);
    write_table(&table);
    oneib_reservations_unlock(lock);
    table = read_table();
    assert_int_equal(table.count, 0);
    assert_true(tree_exists("/run/oneib/vfs"));
}

static mode_t mode_of(const char *name)
{
    struct stat status;
    char *path = tree_path("/run/oneib%s", name);
    assert_int_equal(stat(path, &status), 0);
    free(path);
    return status.st_mode & 07777;
}

static void everybody_may_read_the_table_and_nobody_the_locks(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_vf_record record = sample(1, 42);
    int lock;
    const mode_t before = umask(0077);
    put_record(1, 42);
    assert_int_equal(oneib_vf_lock(&record.vf, SOON_MS, &lock, &err), 0);
    oneib_vf_unlock(lock);
    umask(before);
    assert_int_equal(mode_of(""), 0755);
    assert_int_equal(mode_of("/vfs"), 0644);
    assert_int_equal(mode_of("/vfs.lock"), 0600);
    assert_int_equal(mode_of("/vf-0000:81:00.1.lock"), 0600);
}

static void a_damaged_table_hands_nothing_out_and_names_the_line(void **state)
{
    (void)state;
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    tree_write(LINE("1", "1") "\n" LINE("2", "two"), "/run/oneib/vfs");
    assert_int_equal(oneib_reservations_read(&table, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    char wanted[512];
    snprintf(wanted, sizeof wanted,
             "%s/run/oneib/vfs is damaged: line 2: \"vm=\" is missing, misplaced or wrong: no "
             "virtual function is handed out until root has mended that line",
             tree_root());
    assert_non_null(strstr(err.text, wanted));

    assert_lock_refused(ONEIB_ERROR_INPUT, "line 2");
    tree_remove("/run/oneib/vfs");
    put_record(1, 42); /* the lock was given back */
}

static void a_table_that_is_no_file_is_refused(void **state)
{
    (void)state;
    tree_make_folder("/run/oneib/vfs");
    assert_lock_refused(ONEIB_ERROR_INPUT, "not a regular file");
}

static void a_table_that_could_not_be_read_again_is_not_written(void **state)
{
    (void)state;
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    put_record(1, 42);
    const int lock = take_table(&table);
    table.items[0].stage = ONEIB_VF_OPEN;
    table.items[0].pkey = 0;
    assert_int_equal(oneib_reservations_write(&table, &err), -1);
    assert_non_null(strstr(err.text, "not written"));
    oneib_vf_table_clear(&table);
    oneib_reservations_unlock(lock);

    table = read_table();
    assert_int_equal(table.count, 1);
    assert_int_equal(table.items[0].stage, ONEIB_VF_PREPARING);
    oneib_vf_table_clear(&table);
}

static void a_run_that_was_killed_while_it_wrote_is_of_no_consequence(void **state)
{
    (void)state;
    put_record(1, 42);
    tree_write("vf=0000:81", "/run/oneib/.vfs.oneib-abc123");
    put_record(2, 43);
    struct oneib_vf_table table = read_table();
    assert_int_equal(table.count, 2);
    assert_false(tree_exists("/run/oneib/.vfs.oneib-abc123"));
    oneib_vf_table_clear(&table);
}

/* ---- locks
 * ------------------------------------------------------------------------- */

static int lock_vf(unsigned index, uint32_t timeout_ms, struct oneib_error *err)
{
    int lock;
    const struct oneib_vf_record record = sample(index, 0);
    return oneib_vf_lock(&record.vf, timeout_ms, &lock, err) < 0 ? -1 : lock;
}

static void waiting_for_a_lock_ends_and_names_who_has_it(void **state)
{
    (void)state;
    char wanted[128];
    struct oneib_error err = {0};
    const int lock = lock_vf(1, SOON_MS, &err);
    assert_true(lock >= 0);
    const double begin = oneib_now_ms();
    assert_int_equal(lock_vf(1, SOON_MS, &err), -1);
    assert_true(oneib_now_ms() - begin >= SOON_MS);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    snprintf(wanted, sizeof wanted,
             "process %d has had the lock /run/oneib/vf-0000:81:00.1.lock for 50 ms",
             (int)getpid());
    assert_non_null(strstr(err.text, wanted));
    oneib_vf_unlock(lock);
    const int again = lock_vf(1, 0, &err);
    assert_true(again >= 0);
    oneib_vf_unlock(again);
}

static void the_locks_of_two_vfs_and_the_table_are_independent(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_table table;
    const int first = lock_vf(1, 0, &err), second = lock_vf(2, 0, &err);
    assert_true(first >= 0 && second >= 0);
    const int lock = take_table(&table);
    oneib_vf_table_clear(&table);
    oneib_reservations_unlock(lock);
    oneib_vf_unlock(first);
    oneib_vf_unlock(second);
}

/* A child that waits for its end; *to_child is closed to let it go. */
static pid_t start_holder(int *to_child)
{
    int ready[2], end[2];
    char byte = 0;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(end, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct oneib_error err;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(end[1]);
        const int lock = lock_vf(1, WAIT_MS, &err);
        if (lock < 0 || write(ready[1], &byte, 1) != 1)
            _exit(1);
        _exit(read(end[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ready[1]);
    close(end[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *to_child = end[1];
    return child;
}

static void a_lock_ends_with_its_process_however_that_ends(void **state)
{
    (void)state;
    int to_child;
    char wanted[64];
    struct oneib_error err = {0};
    const pid_t child = start_holder(&to_child);
    snprintf(wanted, sizeof wanted, "process %d has", (int)child);
    assert_int_equal(lock_vf(1, 0, &err), -1);
    assert_non_null(strstr(err.text, wanted));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(to_child);
    const int lock = lock_vf(1, 0, &err);
    assert_true(lock >= 0);
    oneib_vf_unlock(lock);
}

static void a_lock_that_is_a_link_is_not_followed(void **state)
{
    (void)state;
    tree_write("precious", "/run/precious");
    tree_make_folder("/run/oneib");
    tree_link("/run/precious", "/run/oneib/vfs.lock");
    assert_lock_refused(ONEIB_ERROR_SYSTEM, "vfs.lock");
    char text[32];
    tree_read(text, sizeof text, "/run/precious");
    assert_string_equal(text, "precious");
}

static void a_lock_that_is_no_file_is_refused(void **state)
{
    (void)state;
    tree_make_folder("/run/oneib");
    char *path = tree_path("/run/oneib/vfs.lock");
    assert_int_equal(mkfifo(path, 0600), 0);
    free(path);
    assert_lock_refused(ONEIB_ERROR_REFUSED, "regular file");
}

static void a_lock_that_others_may_open_is_refused(void **state)
{
    (void)state;
    put_record(1, 42);
    tree_set_mode(0644, "/run/oneib/vfs.lock");
    assert_lock_refused(ONEIB_ERROR_REFUSED, "with mode 0600");
}

static void a_folder_that_others_may_write_is_refused(void **state)
{
    (void)state;
    put_record(1, 42);
    tree_set_mode(0775, "/run/oneib");
    assert_lock_refused(ONEIB_ERROR_REFUSED, "writable for nobody else");
}

static void a_folder_that_is_a_link_is_refused(void **state)
{
    (void)state;
    tree_make_folder("/run/elsewhere");
    tree_link("/run/elsewhere", "/run/oneib");
    assert_lock_refused(ONEIB_ERROR_SYSTEM, "/run/oneib");
    assert_false(tree_exists("/run/elsewhere/vfs.lock"));
}

static void a_folder_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    tree_remove("/run");
    assert_lock_refused(ONEIB_ERROR_SYSTEM, "making the folder");
}

/* ---- two hundred at once
 * ------------------------------------------------------------------------- */

enum { GOT_ONE = 0, GOT_NONE = 1, FAILED = 2 };

/* What oneib-vf does under the table's lock: the first VF that nobody has. */
static int reserve_one(uint32_t vm_id)
{
    int lock, result = GOT_NONE;
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    if (oneib_reservations_lock(WAIT_MS, &table, &lock, &err) < 0)
        return FAILED;
    for (unsigned index = 0; index < VFS && result == GOT_NONE; index++) {
        const struct oneib_vf_record record = sample(index, vm_id);
        if (oneib_vf_table_of_vf(&table, &record.vf))
            continue;
        result = oneib_vf_table_add(&table, &record, &err) == 0 &&
                         oneib_reservations_write(&table, &err) == 0
                     ? GOT_ONE
                     : FAILED;
    }
    oneib_vf_table_clear(&table);
    oneib_reservations_unlock(lock);
    return result;
}

/* All begin when `gate` has no writer any more. */
static pid_t start_caller(const int *gate, uint32_t vm_id)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(gate[1]);
    _exit(read(gate[0], &byte, 1) == 0 ? reserve_one(vm_id) : FAILED);
}

static void two_hundred_at_once_get_each_vf_once(void **state)
{
    (void)state;
    int gate[2], status;
    unsigned outcomes[3] = {0};
    pid_t callers[CALLERS];
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    for (uint32_t i = 0; i < CALLERS; i++)
        callers[i] = start_caller(gate, i);
    close(gate[0]);
    close(gate[1]);
    for (uint32_t i = 0; i < CALLERS; i++) {
        assert_int_equal(waitpid(callers[i], &status, 0), callers[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 3);
        outcomes[WEXITSTATUS(status)]++;
    }
    assert_int_equal(outcomes[FAILED], 0);
    assert_int_equal(outcomes[GOT_ONE], VFS);
    assert_int_equal(outcomes[GOT_NONE], CALLERS - VFS);

    /* Reading proves that no VF and no NIC is there twice. */
    struct oneib_vf_table table = read_table();
    assert_int_equal(table.count, VFS);
    for (unsigned index = 0; index < VFS; index++)
        assert_int_equal(table.items[index].index, index);
    oneib_vf_table_clear(&table);
}

static void readers_see_a_whole_table_while_it_is_written(void **state)
{
    (void)state;
    const pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (uint32_t i = 0; i < VFS; i++)
            if (reserve_one(i) != GOT_ONE)
                _exit(1);
        _exit(0);
    }
    int status;
    for (size_t least = 0; waitpid(writer, &status, WNOHANG) == 0;) {
        struct oneib_vf_table table = read_table();
        assert_true(table.count >= least);
        least = table.count;
        oneib_vf_table_clear(&table);
    }
    assert_int_equal(status, 0);
}

/* ---- owners
 * ------------------------------------------------------------------------- */

static void a_process_owns_its_record_while_it_lives(void **state)
{
    (void)state;
    struct oneib_vf_record record = sample(1, 42);
    assert_false(oneib_vf_record_has_owner(&record));
    oneib_vf_record_own(&record);
    assert_int_equal(record.owner, getpid());
    assert_true(record.owner_start > 0);
    assert_true(oneib_vf_record_has_owner(&record));
}

static void a_pid_that_was_given_out_again_owns_nothing(void **state)
{
    (void)state;
    struct oneib_vf_record record = sample(1, 42);
    oneib_vf_record_own(&record);
    record.owner_start--;
    assert_false(oneib_vf_record_has_owner(&record));
}

static void a_dead_process_owns_nothing_even_before_it_is_waited_for(void **state)
{
    (void)state;
    struct oneib_vf_record record = sample(1, 42);
    siginfo_t ended;
    int to_parent[2];
    assert_int_equal(pipe2(to_parent, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        oneib_vf_record_own(&record);
        _exit(write(to_parent[1], &record, sizeof record) == sizeof record ? 0 : 1);
    }
    assert_int_equal(read(to_parent[0], &record, sizeof record), sizeof record);
    close(to_parent[0]);
    close(to_parent[1]);
    assert_int_equal(record.owner, child);
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_false(oneib_vf_record_has_owner(&record));
    waitpid(child, NULL, 0);
    assert_false(oneib_vf_record_has_owner(&record));
}

static void the_name_of_an_owner_does_not_mislead(void **state)
{
    (void)state;
    struct oneib_vf_record record = sample(1, 42), again = record;
    char name[16];
    prctl(PR_GET_NAME, name);
    oneib_vf_record_own(&record);
    prctl(PR_SET_NAME, ") Z 1 1 (x y)");
    oneib_vf_record_own(&again);
    assert_true(oneib_vf_record_has_owner(&record));
    prctl(PR_SET_NAME, name);
    assert_true(again.owner_start == record.owner_start);
}

static void time_goes_on_since_boot(void **state)
{
    (void)state;
    const int64_t before = oneib_seconds_since_boot();
    assert_true(before > 0);
    assert_true(oneib_seconds_since_boot() >= before);
}

#define ON_TREE(test) cmocka_unit_test_setup(test, tree_reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_TREE(without_a_file_nothing_is_given),
        ON_TREE(what_is_written_is_read_by_the_next_one),
        ON_TREE(an_emptied_table_is_an_empty_file),
        ON_TREE(everybody_may_read_the_table_and_nobody_the_locks),
        ON_TREE(a_damaged_table_hands_nothing_out_and_names_the_line),
        ON_TREE(a_table_that_is_no_file_is_refused),
        ON_TREE(a_table_that_could_not_be_read_again_is_not_written),
        ON_TREE(a_run_that_was_killed_while_it_wrote_is_of_no_consequence),
        ON_TREE(waiting_for_a_lock_ends_and_names_who_has_it),
        ON_TREE(the_locks_of_two_vfs_and_the_table_are_independent),
        ON_TREE(a_lock_ends_with_its_process_however_that_ends),
        ON_TREE(a_lock_that_is_a_link_is_not_followed),
        ON_TREE(a_lock_that_is_no_file_is_refused),
        ON_TREE(a_lock_that_others_may_open_is_refused),
        ON_TREE(a_folder_that_others_may_write_is_refused),
        ON_TREE(a_folder_that_is_a_link_is_refused),
        ON_TREE(a_folder_that_cannot_be_made_is_named),
        ON_TREE(two_hundred_at_once_get_each_vf_once),
        ON_TREE(readers_see_a_whole_table_while_it_is_written),
        cmocka_unit_test(a_process_owns_its_record_while_it_lives),
        cmocka_unit_test(a_pid_that_was_given_out_again_owns_nothing),
        cmocka_unit_test(a_dead_process_owns_nothing_even_before_it_is_waited_for),
        cmocka_unit_test(the_name_of_an_owner_does_not_mislead),
        cmocka_unit_test(time_goes_on_since_boot),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
