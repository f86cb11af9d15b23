// SPDX-License-Identifier: Apache-2.0
#include "../base/scratch.h"
#include "sync/lock.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* Another process that has the lock of in_scratch("partitions.conf"), until it is killed. */
static pid_t start_holder(void)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct oneib_error err;
        int lock;
        if (oneib_sync_lock(in_scratch("partitions.conf"), 0, &lock, &err) < 0 ||
            write(ready[1], "x", 1) != 1)
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

static void a_folder_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct oneib_error err;
    int lock;
    assert_int_equal(oneib_sync_lock(in_scratch("missing/partitions.conf"), 0, &lock, &err), -1);
    assert_non_null(strstr(err.text, "missing/.partitions.conf.lock"));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_lock_that_is_free_is_taken_and_given_back),
        CASE(whoever_has_it_is_named),
        CASE(it_ends_with_the_process_that_has_it),
        CASE(nobody_else_may_open_it),
        CASE(a_link_in_its_place_is_not_followed),
        CASE(a_folder_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
