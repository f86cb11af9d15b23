// SPDX-License-Identifier: Apache-2.0
#include "hca/reservations.h"
#include "tree.h"
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

#define LINE(function, vm)                                                                         \
    "vf=0000:81:00." function " device=mlx4_0 index=1 port=1 vm=" vm                               \
    " nic=0 network=0 site=0 pkey=0x0005 membership=full stage=open guid=set domain=no since=0"

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
    struct oneib_vf_table table = read_table();
    struct oneib_error err = {0};
    const struct oneib_vf_record record = sample(index, vm_id);
    assert_int_equal(oneib_vf_table_add(&table, &record, &err), 0);
    write_table(&table);
    oneib_vf_table_clear(&table);
}

static void assert_is_about(const struct oneib_error *err, enum oneib_error_code code,
                            const char *why)
{
    assert_int_equal(err->code, code);
    if (!strstr(err->text, why))
        fail_msg("\"%s\" does not tell of \"%s\"", err->text, why);
}

static void assert_reading_refused(enum oneib_error_code code, const char *why)
{
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    assert_int_equal(oneib_reservations_read(&table, &err), -1);
    assert_is_about(&err, code, why);
    assert_int_equal(table.count, 0);
}

static void assert_lock_refused(enum oneib_error_code code, const char *why)
{
    int lock;
    struct oneib_error err = {0};
    assert_int_equal(oneib_reservations_own(&lock, &err), -1);
    assert_is_about(&err, code, why);
}

static void assert_writing_refused(enum oneib_error_code code, const char *why)
{
    const struct oneib_vf_table table = {0};
    struct oneib_error err = {0};
    assert_int_equal(oneib_reservations_write(&table, &err), -1);
    assert_is_about(&err, code, why);
}

static int own(void)
{
    int lock;
    struct oneib_error err = {0};
    if (oneib_reservations_own(&lock, &err) < 0)
        fail_msg("%s", err.text);
    return lock;
}

/* ---- the table ------------------------------------------------------------------------------- */

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
    struct oneib_vf_table table = {0};
    put_record(3, 42);
    write_table(&table);
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

static void everybody_may_read_the_table_and_nobody_the_lock(void **state)
{
    (void)state;
    const mode_t before = umask(0077);
    put_record(1, 42);
    close(own());
    umask(before);
    assert_int_equal(mode_of(""), 0755);
    assert_int_equal(mode_of("/vfs"), 0644);
    assert_int_equal(mode_of("/vfs.lock"), 0600);
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
             "virtual function is handed out until root has corrected that line",
             tree_root());
    assert_non_null(strstr(err.text, wanted));

    tree_remove("/run/oneib/vfs");
    put_record(1, 42);
}

static void a_table_that_is_no_file_is_refused(void **state)
{
    (void)state;
    tree_make_directory("/run/oneib/vfs");
    assert_reading_refused(ONEIB_ERROR_INPUT, "not a regular file");
}

static void a_table_that_could_not_be_read_again_is_not_written(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    put_record(1, 42);
    struct oneib_vf_table table = read_table();
    table.items[0].stage = ONEIB_VF_OPEN;
    table.items[0].pkey = 0;
    assert_int_equal(oneib_reservations_write(&table, &err), -1);
    assert_non_null(strstr(err.text, "not written"));
    oneib_vf_table_clear(&table);

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

static void readers_see_a_whole_table_while_it_is_written(void **state)
{
    (void)state;
    const pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (uint32_t i = 0; i < VFS; i++)
            put_record(i, i);
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

/* ---- its owner ------------------------------------------------------------------------------- */

static void the_table_has_one_owner_at_a_time(void **state)
{
    (void)state;
    char wanted[128];
    const int lock = own();
    snprintf(wanted, sizeof wanted,
             "another oneib-node is at work on this host: process %d has had the lock",
             (int)getpid());
    assert_lock_refused(ONEIB_ERROR_REFUSED, wanted);
    close(lock);
    close(own());
}

/* A child that waits for its end. */
static pid_t start_owner(void)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        own();
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void a_lock_ends_with_its_process_however_that_ends(void **state)
{
    (void)state;
    char wanted[64];
    const pid_t child = start_owner();
    snprintf(wanted, sizeof wanted, "process %d has", (int)child);
    assert_lock_refused(ONEIB_ERROR_REFUSED, wanted);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(own());
}

static void a_lock_that_was_removed_owns_nothing(void **state)
{
    (void)state;
    const int lock = own();
    assert_true(oneib_reservations_are_owned(lock));
    tree_remove("/run/oneib");
    assert_false(oneib_reservations_are_owned(lock));
    const int again = own();
    assert_false(oneib_reservations_are_owned(lock));
    assert_true(oneib_reservations_are_owned(again));
    close(lock);
    close(again);
}

static void a_lock_that_is_a_link_is_not_followed(void **state)
{
    (void)state;
    tree_write("precious", "/run/precious");
    tree_make_directory("/run/oneib");
    tree_link("/run/precious", "/run/oneib/vfs.lock");
    assert_lock_refused(ONEIB_ERROR_SYSTEM, "vfs.lock");
    char text[32];
    tree_read(text, sizeof text, "/run/precious");
    assert_string_equal(text, "precious");
}

static void a_lock_that_is_no_file_is_refused(void **state)
{
    (void)state;
    tree_make_directory("/run/oneib");
    char *path = tree_path("/run/oneib/vfs.lock");
    assert_int_equal(mkfifo(path, 0600), 0);
    free(path);
    assert_lock_refused(ONEIB_ERROR_REFUSED, "regular file");
}

static void a_lock_that_others_may_open_is_refused(void **state)
{
    (void)state;
    close(own());
    tree_set_mode(0644, "/run/oneib/vfs.lock");
    assert_lock_refused(ONEIB_ERROR_REFUSED, "with mode 0600");
}

static void a_directory_that_others_may_write_is_refused(void **state)
{
    (void)state;
    put_record(1, 42);
    tree_set_mode(0775, "/run/oneib");
    assert_lock_refused(ONEIB_ERROR_REFUSED, "writable by no other user");
    assert_writing_refused(ONEIB_ERROR_REFUSED, "writable by no other user");
}

static void a_directory_that_is_a_link_is_refused(void **state)
{
    (void)state;
    tree_make_directory("/run/elsewhere");
    tree_link("/run/elsewhere", "/run/oneib");
    assert_lock_refused(ONEIB_ERROR_SYSTEM, "/run/oneib");
    assert_writing_refused(ONEIB_ERROR_SYSTEM, "/run/oneib");
    assert_false(tree_exists("/run/elsewhere/vfs.lock"));
    assert_false(tree_exists("/run/elsewhere/vfs"));
}

static void a_directory_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    tree_remove("/run");
    assert_lock_refused(ONEIB_ERROR_SYSTEM, "making the directory");
    assert_writing_refused(ONEIB_ERROR_SYSTEM, "making the directory");
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
        ON_TREE(everybody_may_read_the_table_and_nobody_the_lock),
        ON_TREE(a_damaged_table_hands_nothing_out_and_names_the_line),
        ON_TREE(a_table_that_is_no_file_is_refused),
        ON_TREE(a_table_that_could_not_be_read_again_is_not_written),
        ON_TREE(a_run_that_was_killed_while_it_wrote_is_of_no_consequence),
        ON_TREE(readers_see_a_whole_table_while_it_is_written),
        ON_TREE(the_table_has_one_owner_at_a_time),
        ON_TREE(a_lock_ends_with_its_process_however_that_ends),
        ON_TREE(a_lock_that_was_removed_owns_nothing),
        ON_TREE(a_lock_that_is_a_link_is_not_followed),
        ON_TREE(a_lock_that_is_no_file_is_refused),
        ON_TREE(a_lock_that_others_may_open_is_refused),
        ON_TREE(a_directory_that_others_may_write_is_refused),
        ON_TREE(a_directory_that_is_a_link_is_refused),
        ON_TREE(a_directory_that_cannot_be_made_is_named),
        cmocka_unit_test(time_goes_on_since_boot),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
