// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/file_lock.h"
#include "scratch.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SOON_MS 50
#define LATE_MS 20000

static struct oneib_error err;

static int lock_it(uint32_t timeout_ms)
{
    int lock = -1;
    err = (struct oneib_error){0};
    return oneib_file_lock(in_scratch("lock"), timeout_ms, &lock, &err) < 0 ? -1 : lock;
}

static int open_it(void)
{
    int fd = -1;
    assert_int_equal(
        oneib_file_lock_open(AT_FDCWD, in_scratch("lock"), in_scratch("lock"), &fd, &err), 0);
    return fd;
}

static struct oneib_file_lock_holder wait_for(int fd, enum oneib_file_lock_kind kind)
{
    struct oneib_file_lock_holder holder = {0};
    assert_int_equal(oneib_file_lock_wait(fd, "lock", kind, 0, &holder, &err), 0);
    return holder;
}

/* A child with the lock, until it is killed, or for `ms`. */
static pid_t start_holder(enum oneib_file_lock_kind kind, unsigned ms)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!wait_for(open_it(), kind).is_this || write(ready[1], &byte, 1) != 1)
            _exit(1);
        usleep(ms * 1000);
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void end_holder(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_free_lock_is_taken_and_given_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const int lock = lock_it(0);
        assert_true(lock >= 0);
        close(lock);
    }
}

static void nobody_else_may_open_it(void **state)
{
    (void)state;
    struct stat status;
    const mode_t mask = umask(0);
    const int lock = lock_it(0);
    umask(mask);
    assert_true(lock >= 0);
    assert_int_equal(fstat(lock, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(fcntl(lock, F_GETFD), FD_CLOEXEC);
    close(lock);
}

static void waiting_ends_and_names_who_has_it(void **state)
{
    (void)state;
    char wanted[128];
    const pid_t holder = start_holder(ONEIB_FILE_LOCK_OF_DESCRIPTOR, LATE_MS);
    const double begin = oneib_now_ms();
    assert_int_equal(lock_it(SOON_MS), -1);
    assert_true(oneib_now_ms() - begin >= SOON_MS);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    snprintf(wanted, sizeof wanted, "process %d has had the lock", (int)holder);
    assert_contains(err.text, wanted);
    assert_contains(err.text, "/lock for 50 ms");
    end_holder(holder);
}

static void it_ends_with_the_process_that_has_it(void **state)
{
    (void)state;
    static const enum oneib_file_lock_kind kinds[] = {ONEIB_FILE_LOCK_OF_DESCRIPTOR,
                                                      ONEIB_FILE_LOCK_OF_PROCESS};
    for (size_t i = 0; i < 2; i++) {
        const pid_t child = start_holder(kinds[i], LATE_MS);
        const int fd = open_it();
        const struct oneib_file_lock_holder holder = wait_for(fd, kinds[i]);
        assert_false(holder.is_this);
        assert_int_equal(holder.process, child);
        end_holder(child);
        assert_true(wait_for(fd, kinds[i]).is_this);
        close(fd);
    }
}

static void whoever_waits_gets_it_when_it_is_free(void **state)
{
    (void)state;
    const pid_t child = start_holder(ONEIB_FILE_LOCK_OF_DESCRIPTOR, SOON_MS);
    const int lock = lock_it(LATE_MS);
    assert_true(lock >= 0);
    close(lock);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_lock_of_a_process_writes_nothing(void **state)
{
    (void)state;
    const int fd = open_it();
    assert_true(wait_for(fd, ONEIB_FILE_LOCK_OF_PROCESS).is_this);
    assert_file_is(in_scratch("lock"), "");
    close(fd);
}

static void what_another_file_holds_is_not_written_over(void **state)
{
    (void)state;
    put_text(in_scratch("precious"), "precious\n");
    assert_int_equal(link(in_scratch("precious"), in_scratch("lock")), 0);
    int lock = lock_it(0);
    assert_true(lock >= 0);
    close(lock);
    assert_file_is(in_scratch("precious"), "precious\n");

    assert_int_equal(unlink(in_scratch("lock")), 0);
    put_text(in_scratch("lock"), "longer than any number of a process\n");
    lock = lock_it(0);
    assert_true(lock >= 0);
    close(lock);
    assert_file_is(in_scratch("lock"), "longer than any number of a process\n");
}

static void a_holder_that_cannot_be_read_is_not_known(void **state)
{
    (void)state;
    static const char *const notes[] = {"", "12", "x\n", "-1\n", "99999999999\n"};
    const int fd = open_it(), other = open_it();
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        assert_true(wait_for(fd, ONEIB_FILE_LOCK_OF_DESCRIPTOR).is_this);
        put_text(in_scratch("lock"), notes[i]);
        const struct oneib_file_lock_holder holder = wait_for(other, ONEIB_FILE_LOCK_OF_DESCRIPTOR);
        assert_false(holder.is_this);
        assert_int_equal(holder.process, 0);
    }
    close(fd);
    close(other);
}

static void what_is_in_its_place_is_not_used(void **state)
{
    (void)state;
    put_text(in_scratch("precious"), "precious\n");
    assert_int_equal(symlink(in_scratch("precious"), in_scratch("lock")), 0);
    assert_int_equal(lock_it(0), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_file_is(in_scratch("precious"), "precious\n");

    assert_int_equal(unlink(in_scratch("lock")), 0);
    assert_int_equal(mkfifo(in_scratch("lock"), 0600), 0);
    assert_int_equal(lock_it(0), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_contains(err.text, "/lock is not a regular file: remove it");
}

static void a_directory_that_is_not_there_is_named(void **state)
{
    (void)state;
    int lock;
    assert_int_equal(oneib_file_lock(in_scratch("missing/lock"), 0, &lock, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_contains(err.text, "missing/lock");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)
    const struct CMUnitTest tests[] = {
        TEST(a_free_lock_is_taken_and_given_back),
        TEST(nobody_else_may_open_it),
        TEST(waiting_ends_and_names_who_has_it),
        TEST(it_ends_with_the_process_that_has_it),
        TEST(whoever_waits_gets_it_when_it_is_free),
        TEST(a_lock_of_a_process_writes_nothing),
        TEST(what_another_file_holds_is_not_written_over),
        TEST(a_holder_that_cannot_be_read_is_not_known),
        TEST(what_is_in_its_place_is_not_used),
        TEST(a_directory_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
