// SPDX-License-Identifier: Apache-2.0
#include "../../skip.h"
#include "../../valgrind.h"
#include "../base/scratch.h"
#include "base/file.h"
#include "sync/lock.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#define NOBODY 65534

static int sync_lock(int *lock, struct oneib_error *err)
{
    return oneib_sync_lock(in_scratch("partitions.conf"), 0, lock, err);
}

static int daemon_lock(int *lock, struct oneib_error *err)
{
    return oneib_daemon_lock(in_scratch("partitions.conf"), lock, err);
}

/* Another process that has a lock of in_scratch("partitions.conf"), until it is killed. */
static pid_t start_holder_of(int (*take)(int *lock, struct oneib_error *err))
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct oneib_error err;
        int lock;
        if (take(&lock, &err) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static pid_t start_holder(void)
{
    return start_holder_of(sync_lock);
}

static void end_holder(pid_t holder)
{
    kill(holder, SIGKILL);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
}

static void a_lock_that_is_free_is_taken_and_given_back(void **state)
{
    (void)state;
    struct oneib_error err;
    int lock;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(oneib_sync_lock(in_scratch("partitions.conf"), 0, &lock, &err), 0);
        oneib_sync_unlock(lock);
    }
    const pid_t holder = start_holder();
    end_holder(holder);
}

static void whoever_has_it_is_named(void **state)
{
    (void)state;
    struct oneib_error err;
    int lock;
    const pid_t holder = start_holder();
    assert_int_equal(oneib_sync_lock(in_scratch("partitions.conf"), 50, &lock, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    char named[32];
    snprintf(named, sizeof named, "process %d", (int)holder);
    assert_non_null(strstr(err.text, named));
    end_holder(holder);
}

static void it_ends_with_the_process_that_has_it(void **state)
{
    (void)state;
    struct oneib_error err;
    int lock;
    end_holder(start_holder());
    assert_int_equal(oneib_sync_lock(in_scratch("partitions.conf"), 0, &lock, &err), 0);
    oneib_sync_unlock(lock);
}

static void nobody_else_may_open_it(void **state)
{
    (void)state;
    struct oneib_error err;
    struct stat status;
    int lock;
    assert_int_equal(oneib_sync_lock(in_scratch("partitions.conf"), 0, &lock, &err), 0);
    assert_int_equal(stat(in_scratch(".partitions.conf.lock"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    oneib_sync_unlock(lock);
}

static void a_link_in_its_place_is_not_followed(void **state)
{
    (void)state;
    struct oneib_error err;
    int lock;
    assert_int_equal(symlink(in_scratch("elsewhere"), in_scratch(".partitions.conf.lock")), 0);
    assert_int_equal(oneib_sync_lock(in_scratch("partitions.conf"), 0, &lock, &err), -1);
    assert_int_equal(err.system_errno, ELOOP);
    assert_int_equal(access(in_scratch("elsewhere"), F_OK), -1);
}

static void a_directory_that_is_not_there_is_named_with_who_makes_it(void **state)
{
    (void)state;
    struct oneib_error err;
    int lock;
    assert_int_equal(oneib_sync_lock(in_scratch("missing/partitions.conf"), 0, &lock, &err), -1);
    assert_non_null(strstr(err.text, "/missing, where opensm.partitions is to be"));
    assert_non_null(strstr(err.text, "'install.sh --sm' makes /var/lib/oneib"));
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
}

/* Whether another process may take the daemon's lock. */
static bool another_may_be_the_daemon(void)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct oneib_error err;
        int lock;
        _exit(daemon_lock(&lock, &err) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void a_second_daemon_is_refused_at_once(void **state)
{
    (void)state;
    struct oneib_error err;
    int lock;
    const pid_t holder = start_holder_of(daemon_lock);
    assert_int_equal(daemon_lock(&lock, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    char named[32];
    snprintf(named, sizeof named, "process %d", (int)holder);
    assert_non_null(strstr(err.text, named));
    end_holder(holder);
    assert_int_equal(daemon_lock(&lock, &err), 0);
    oneib_sync_unlock(lock);
}

static void a_daemon_stays_the_only_one_while_it_locks_and_unlocks_its_writes(void **state)
{
    (void)state;
    struct oneib_error err;
    int keeper, lock;
    assert_int_equal(daemon_lock(&keeper, &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sync_lock(&lock, &err), 0);
        oneib_sync_unlock(lock);
        assert_false(another_may_be_the_daemon());
    }
    oneib_sync_unlock(keeper);
    assert_true(another_may_be_the_daemon());
}

static void the_command_may_write_while_a_daemon_lives(void **state)
{
    (void)state;
    struct oneib_error err;
    int lock;
    const pid_t holder = start_holder_of(daemon_lock);
    assert_int_equal(sync_lock(&lock, &err), 0);
    oneib_sync_unlock(lock);
    end_holder(holder);
}

static void a_lock_that_root_makes_is_the_directories_owners(void **state)
{
    (void)state;
    struct oneib_error err;
    struct stat status;
    int lock;
    if (geteuid() != 0)
        skip_because("only root can give files away");
    assert_int_equal(chown(scratch, NOBODY, NOBODY), 0);
    assert_int_equal(sync_lock(&lock, &err), 0);
    oneib_sync_unlock(lock);
    assert_int_equal(stat(in_scratch(".partitions.conf.lock"), &status), 0);
    assert_int_equal(status.st_uid, NOBODY);
    assert_int_equal(status.st_mode & 07777, 0600);
}

/* What the operator's `oneib sync --force` leaves, before oneibd has ever run. */
static void what_root_has_written_first_the_daemons_user_can_replace(void **state)
{
    (void)state;
    struct oneib_error err;
    int lock, status;
    if (geteuid() != 0)
        skip_because("only root can become another user");
    assert_int_equal(chown(scratch, NOBODY, NOBODY), 0);
    assert_int_equal(sync_lock(&lock, &err), 0);
    assert_int_equal(
        oneib_file_replace(in_scratch("partitions.conf"), "root", 4, 0644, NULL, NULL, &err), 0);
    oneib_sync_unlock(lock);

    const pid_t child = fork();
    if (child == 0)
        _exit(setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || daemon_lock(&lock, &err) < 0 ||
              sync_lock(&lock, &err) < 0 ||
              oneib_file_replace(in_scratch("partitions.conf"), "oneib", 5, 0644, NULL, NULL,
                                 &err) < 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_link_to_a_file_of_roots_gives_nothing_away(void **state)
{
    (void)state;
    struct oneib_error err;
    struct stat status;
    int lock;
    if (geteuid() != 0)
        skip_because("only root can give files away");
    FILE *file = fopen(in_scratch("roots"), "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(chown(scratch, NOBODY, NOBODY), 0);
    assert_int_equal(link(in_scratch("roots"), in_scratch(".partitions.conf.lock")), 0);
    assert_int_equal(sync_lock(&lock, &err), 0);
    oneib_sync_unlock(lock);
    assert_int_equal(stat(in_scratch("roots"), &status), 0);
    assert_int_equal(status.st_uid, 0);
}

static void the_daemon_is_called_and_nobody_else(void **state)
{
    (void)state;
    struct oneib_error err;
    int process = -1, status;
    const char *partitions = in_scratch("partitions.conf");
    if (on_valgrind())
        skip_because("valgrind does not know pidfd_open");
    assert_int_equal(oneib_daemon_call(partitions, &process, &err), 0);
    assert_int_equal(process, 0); /* there never was one */

    const pid_t daemon = start_holder_of(daemon_lock), other = start_holder();
    assert_int_equal(oneib_daemon_call(partitions, &process, &err), 0);
    assert_int_equal(process, daemon);
    assert_int_equal(waitpid(daemon, &status, 0), daemon);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
    assert_int_equal(waitpid(other, &status, WNOHANG), 0);
    end_holder(other);

    assert_int_equal(oneib_daemon_call(partitions, &process, &err), 0);
    assert_int_equal(process, 0); /* its file is there still */
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_daemon_is_called_and_nobody_else),
        CASE(a_lock_that_is_free_is_taken_and_given_back),
        CASE(whoever_has_it_is_named),
        CASE(it_ends_with_the_process_that_has_it),
        CASE(nobody_else_may_open_it),
        CASE(a_link_in_its_place_is_not_followed),
        CASE(a_directory_that_is_not_there_is_named_with_who_makes_it),
        CASE(a_second_daemon_is_refused_at_once),
        CASE(a_daemon_stays_the_only_one_while_it_locks_and_unlocks_its_writes),
        CASE(the_command_may_write_while_a_daemon_lives),
        CASE(a_lock_that_root_makes_is_the_directories_owners),
        CASE(what_root_has_written_first_the_daemons_user_can_replace),
        CASE(a_link_to_a_file_of_roots_gives_nothing_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
