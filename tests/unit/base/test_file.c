// SPDX-License-Identifier: Apache-2.0
#include "../../skip.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "scratch.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char old_text[] = "old partitions\n";
static const char new_text[] = "new partitions, which are longer\n";

static int replace_text(const char *path, const char *text, struct oneib_error *err)
{
    return oneib_file_replace(path, text, strlen(text), 0644, NULL, NULL, err);
}

static void replace_good(const char *path, const char *text)
{
    struct oneib_error err = {0};
    if (replace_text(path, text, &err) < 0)
        fail_msg("%s", err.text);
}

static void remove_entries(void)
{
    remove_tree(scratch);
    assert_int_equal(mkdir(scratch, 0755), 0);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void a_file_is_read_whole(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 4094, 4095, 4096, 4097, 8192, 100000, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        oneib_autofree char *written = malloc(sizes[i] + 1);
        assert_non_null(written);
        for (size_t j = 0; j < sizes[i]; j++)
            written[j] = (char)(j * 31 % 256);
        put_file(in_scratch("f"), written, sizes[i]);

        struct oneib_error err;
        oneib_autofree char *data = NULL;
        size_t length = 0;
        assert_int_equal(oneib_file_read(in_scratch("f"), 1000000, &data, &length, &err), 0);
        assert_int_equal(length, sizes[i]);
        assert_memory_equal(data, written, length);
        assert_int_equal(data[length], '\0');
    }
}

static void a_file_above_the_limit_is_refused(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char *data = NULL;
    size_t length = 0;
    put_text(in_scratch("f"), "12345");
    assert_int_equal(oneib_file_read(in_scratch("f"), 4, &data, &length, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_contains(err.text, in_scratch("f"));
    assert_int_equal(oneib_file_read(in_scratch("f"), 5, &data, &length, &err), 0);
    free(data);
    assert_int_equal(oneib_file_read(in_scratch("f"), SIZE_MAX, &data, &length, &err), 0);
    free(data);
}

static void a_missing_file_is_not_found(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char *data = NULL;
    size_t length = 0;
    assert_int_equal(oneib_file_read(in_scratch("none"), 4, &data, &length, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_contains(err.text, in_scratch("none"));
}

static void a_pipe_is_read_to_its_end(void **state)
{
    (void)state;
    struct oneib_error err;
    char *data;
    size_t length;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    assert_int_equal(oneib_stream_read(ends[0], "the words", 3, &data, &length, &err), 0);
    assert_int_equal(length, 3);
    assert_string_equal(data, "abc");
    free(data);
    close(ends[0]);
}

static void a_pipe_that_gives_too_much_is_named(void **state)
{
    (void)state;
    struct oneib_error err;
    char *data;
    size_t length;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abcd", 4), 4);
    assert_int_equal(oneib_stream_read(ends[0], "the words", 3, &data, &length, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_string_equal(err.text, "the words is larger than the 3 bytes allowed");
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(oneib_stream_read(-1, "the words", 3, &data, &length, &err), -1);
    assert_int_equal(err.system_errno, EBADF);
}

static void only_regular_files_are_read(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char *data = NULL;
    size_t length = 0;
    assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);
    const char *const paths[] = {in_scratch("fifo"), scratch, "/dev/null"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal(oneib_file_read(paths[i], 100, &data, &length, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
        assert_contains(err.text, "not a regular file");
    }
}

static void files_of_the_kernel_without_a_size_are_read(void **state)
{
    (void)state;
    struct oneib_error err;
    oneib_autofree char *data = NULL;
    size_t length = 0;
    assert_int_equal(oneib_file_read("/proc/self/status", 65536, &data, &length, &err), 0);
    assert_contains(data, "Name:");
}

/* ---- replacing ------------------------------------------------------------------------------- */

static void a_file_is_created_and_replaced(void **state)
{
    (void)state;
    remove_entries();
    const char *path = in_scratch("p.conf");
    replace_good(path, old_text);
    assert_file_is(path, old_text);
    replace_good(path, new_text);
    assert_file_is(path, new_text);
    replace_good(path, "");
    assert_file_is(path, "");
    assert_int_equal(count_entries(scratch), 1);
}

static void bytes_of_any_kind_and_number_arrive(void **state)
{
    (void)state;
    size_t length = 3000000;
    oneib_autofree char *data = malloc(length);
    oneib_autofree char *found = NULL;
    assert_non_null(data);
    for (size_t i = 0; i < length; i++)
        data[i] = (char)(i * 7919 % 256);

    struct oneib_error err;
    size_t found_length = 0;
    assert_int_equal(oneib_file_replace(in_scratch("big"), data, length, 0600, NULL, NULL, &err),
                     0);
    assert_int_equal(oneib_file_read(in_scratch("big"), length, &found, &found_length, &err), 0);
    assert_int_equal(found_length, length);
    assert_memory_equal(found, data, length);
}

static void the_mode_is_the_one_asked_for(void **state)
{
    (void)state;
    const mode_t modes[] = {0600, 0640, 0644, 0664, 0666, 0444};
    const mode_t masks[] = {0, 022, 077, 0777};
    const char *path = in_scratch("mode");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        for (size_t j = 0; j < sizeof masks / sizeof masks[0]; j++) {
            struct oneib_error err;
            struct stat status;
            mode_t before = umask(masks[j]);
            int result = oneib_file_replace(path, "x", 1, modes[i], NULL, NULL, &err);
            umask(before);
            assert_int_equal(result, 0);
            assert_int_equal(stat(path, &status), 0);
            assert_int_equal(status.st_mode & 07777, modes[i]);
        }
}

static void owner_and_group_are_kept(void **state)
{
    (void)state;
    struct stat status;
    const char *path = in_scratch("owned");
    put_text(path, old_text);
    if (chown(path, 65534, 65533) < 0) {
        skip_because("only root can give files away");
    }
    replace_good(path, new_text);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_uid, 65534);
    assert_int_equal(status.st_gid, 65533);
}

static void names_in_the_current_directory_work(void **state)
{
    (void)state;
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(scratch), 0);
    replace_good("plain", new_text);
    replace_good("./dotted", new_text);
    assert_int_equal(chdir(before), 0);
    assert_file_is(in_scratch("plain"), new_text);
    assert_file_is(in_scratch("dotted"), new_text);
}

/* ---- symbolic links -------------------------------------------------------------------------- */

static void assert_is_link(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void the_target_of_a_link_is_replaced(void **state)
{
    (void)state;
    remove_entries();
    assert_int_equal(mkdir(in_scratch("real"), 0755), 0);
    assert_int_equal(mkdir(in_scratch("etc"), 0755), 0);
    put_text(in_scratch("real/p.conf"), old_text);
    assert_int_equal(symlink("../real/p.conf", in_scratch("etc/relative")), 0);
    assert_int_equal(symlink(in_scratch("etc/relative"), in_scratch("absolute")), 0);

    replace_good(in_scratch("absolute"), new_text);
    assert_file_is(in_scratch("real/p.conf"), new_text);
    assert_is_link(in_scratch("absolute"));
    assert_is_link(in_scratch("etc/relative"));
    assert_int_equal(count_entries(in_scratch("real")), 1);
    assert_int_equal(count_entries(in_scratch("etc")), 1);
}

static void the_missing_target_of_a_link_is_created(void **state)
{
    (void)state;
    remove_entries();
    assert_int_equal(mkdir(in_scratch("real"), 0755), 0);
    assert_int_equal(symlink("real/p.conf", in_scratch("link")), 0);
    replace_good(in_scratch("link"), new_text);
    assert_file_is(in_scratch("real/p.conf"), new_text);
    assert_is_link(in_scratch("link"));
}

static void a_circle_of_links_is_an_error(void **state)
{
    (void)state;
    remove_entries();
    struct oneib_error err = {0};
    assert_int_equal(symlink("b", in_scratch("a")), 0);
    assert_int_equal(symlink("a", in_scratch("b")), 0);
    assert_int_equal(replace_text(in_scratch("a"), new_text, &err), -1);
    assert_int_equal(err.system_errno, ELOOP);
    assert_int_equal(count_entries(scratch), 2);
}

/* ---- refusing -------------------------------------------------------------------------------- */

struct seen {
    char text[256];
    size_t length;
    int entries;
    int result;
};

static int look(const char *data, size_t length, void *context, struct oneib_error *err)
{
    struct seen *seen = context;
    seen->length = length;
    snprintf(seen->text, sizeof seen->text, "%s", data);
    seen->entries = count_entries(scratch);
    return seen->result < 0 ? oneib_fail(err, ONEIB_ERROR_REFUSED, "not this one") : 0;
}

static void the_check_sees_what_was_written_before_it_is_in_place(void **state)
{
    (void)state;
    remove_entries();
    struct seen seen = {0};
    struct oneib_error err;
    put_text(in_scratch("p.conf"), old_text);
    assert_int_equal(oneib_file_replace(in_scratch("p.conf"), new_text, strlen(new_text), 0644,
                                        look, &seen, &err),
                     0);
    assert_string_equal(seen.text, new_text);
    assert_int_equal(seen.length, strlen(new_text));
    assert_int_equal(seen.entries, 2);
    assert_file_is(in_scratch("p.conf"), new_text);
}

static void a_check_that_refuses_keeps_the_old_file(void **state)
{
    (void)state;
    remove_entries();
    struct seen seen = {.result = -1};
    struct oneib_error err = {0};
    put_text(in_scratch("p.conf"), old_text);
    assert_int_equal(oneib_file_replace(in_scratch("p.conf"), new_text, strlen(new_text), 0644,
                                        look, &seen, &err),
                     -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_contains(err.text, "not this one");
    assert_file_is(in_scratch("p.conf"), old_text);
    assert_int_equal(count_entries(scratch), 1);
}

static void what_is_no_regular_file_is_not_replaced(void **state)
{
    (void)state;
    remove_entries();
    struct oneib_error err = {0};
    assert_int_equal(mkdir(in_scratch("directory"), 0755), 0);
    assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);
    assert_int_equal(replace_text(in_scratch("directory"), new_text, &err), -1);
    assert_contains(err.text, "not a regular file");
    assert_int_equal(replace_text(in_scratch("fifo"), new_text, &err), -1);
    assert_contains(err.text, "not a regular file");
    assert_int_equal(replace_text(in_scratch("directory/"), new_text, &err), -1);
    assert_int_equal(replace_text(in_scratch("directory/.."), new_text, &err), -1);
    assert_int_equal(replace_text("", new_text, &err), -1);
    assert_int_equal(count_entries(scratch), 2);
}

static void a_directory_that_is_none_is_an_error(void **state)
{
    (void)state;
    remove_entries();
    struct oneib_error err = {0};
    put_text(in_scratch("file"), old_text);
    assert_int_equal(replace_text(in_scratch("file/p.conf"), new_text, &err), -1);
    assert_int_equal(err.system_errno, ENOTDIR);
    assert_contains(err.text, in_scratch("file/p.conf"));
    assert_int_equal(replace_text(in_scratch("none/p.conf"), new_text, &err), -1);
    assert_int_equal(err.system_errno, ENOENT);
    assert_file_is(in_scratch("file"), old_text);
}

static void a_name_too_long_for_a_temporary_file_is_an_error(void **state)
{
    (void)state;
    remove_entries();
    char name[NAME_MAX + 2];
    struct oneib_error err = {0};
    for (size_t length = NAME_MAX - 20; length <= NAME_MAX + 1; length++) {
        memset(name, 'n', length);
        name[length] = '\0';
        if (replace_text(in_scratch(name), new_text, &err) == 0)
            assert_true(length + strlen("..oneib-XXXXXX") <= NAME_MAX);
        else
            assert_int_equal(err.system_errno, ENAMETOOLONG);
    }
}

/* ---- faults, tried in children: cmocka's own assertions must not run there ------------------- */

enum result { GOOD = 0, WRONG = 1, CANNOT = 77 };

/* Runs `attempt` in a child. Returns its result; a child that crashed is WRONG. */
static int in_child(enum result (*attempt)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(attempt());

    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
}

static bool fails_with(const char *path, int errnum)
{
    struct oneib_error err = {0};
    if (replace_text(path, new_text, &err) == 0) {
        fprintf(stderr, "%s was replaced\n", path);
        return false;
    }
    if (err.system_errno != errnum)
        fprintf(stderr, "expected %s: %s\n", strerror(errnum), err.text);
    return err.system_errno == errnum;
}

static enum result try_as_nobody(void)
{
    const struct passwd *nobody = getpwnam("nobody");
    if (geteuid() == 0 && (!nobody || setgroups(0, NULL) < 0 || setgid(nobody->pw_gid) < 0 ||
                           setuid(nobody->pw_uid) < 0))
        return CANNOT;
    return fails_with(in_scratch("p.conf"), EACCES) ? GOOD : WRONG;
}

static void an_unwritable_directory_keeps_the_old_file(void **state)
{
    (void)state;
    remove_entries();
    put_text(in_scratch("p.conf"), old_text);
    assert_int_equal(chmod(scratch, 0555), 0);
    int result = in_child(try_as_nobody);
    assert_int_equal(chmod(scratch, 0755), 0);
    if (result == CANNOT) {
        skip_because("cannot become the user nobody");
    }
    assert_int_equal(result, GOOD);
    assert_file_is(in_scratch("p.conf"), old_text);
    assert_int_equal(count_entries(scratch), 1);
}

static bool holds_one_of(const char *path, const char *text, const char *other)
{
    struct oneib_error err;
    oneib_autofree char *data = NULL;
    size_t length = 0;
    return oneib_file_read(path, 65536, &data, &length, &err) == 0 && length == strlen(data) &&
           (strcmp(data, text) == 0 || strcmp(data, other) == 0);
}

static bool holds_exactly(const char *path, const char *text)
{
    return holds_one_of(path, text, text);
}

/* Fills the file system that path is on. */
static bool fill_disk(const char *path)
{
    static const char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    while (write(fd, block, sizeof block) > 0)
        ;
    bool full = errno == ENOSPC;
    close(fd);
    return full;
}

static int entries_of_scratch(void)
{
    int count = -2;
    DIR *entries = opendir(scratch);
    while (entries && readdir(entries))
        count++;
    if (entries)
        closedir(entries);
    return count;
}

static bool write_proc(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

/* A mount namespace of our own; who is not root becomes root of a user namespace first. */
static bool unshare_mounts(void)
{
    char users[32], groups[32];
    if (geteuid() == 0)
        return unshare(CLONE_NEWNS) == 0;
    snprintf(users, sizeof users, "0 %u 1", geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           write_proc("/proc/self/setgroups", "deny") && write_proc("/proc/self/uid_map", users) &&
           write_proc("/proc/self/gid_map", groups);
}

static enum result try_full_disk(void)
{
    struct oneib_error err;
    if (!unshare_mounts() || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("oneib-test", scratch, "tmpfs", 0, "size=64k") < 0)
        return CANNOT;

    if (replace_text(in_scratch("p.conf"), old_text, &err) < 0 || !fill_disk(in_scratch("filler")))
        return WRONG;
    if (!fails_with(in_scratch("p.conf"), ENOSPC) ||
        !holds_exactly(in_scratch("p.conf"), old_text) || entries_of_scratch() != 2)
        return WRONG;

    unlink(in_scratch("filler"));
    return replace_text(in_scratch("p.conf"), new_text, &err) == 0 &&
                   holds_exactly(in_scratch("p.conf"), new_text)
               ? GOOD
               : WRONG;
}

static void a_full_disk_keeps_the_old_file(void **state)
{
    (void)state;
    remove_entries();
    int result = in_child(try_full_disk);
    if (result == CANNOT) {
        skip_because("cannot mount a small file system of its own");
    }
    assert_int_equal(result, GOOD);
}

static enum result try_file_size_limit(void)
{
    const struct rlimit limit = {.rlim_cur = 8, .rlim_max = 8};
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return CANNOT;
    return fails_with(in_scratch("p.conf"), EFBIG) ? GOOD : WRONG;
}

/* The write is cut after 8 bytes: a part of the new file is there when the failure comes. */
static void a_write_that_fails_half_way_keeps_the_old_file(void **state)
{
    (void)state;
    remove_entries();
    put_text(in_scratch("p.conf"), old_text);
    assert_int_equal(in_child(try_file_size_limit), GOOD);
    assert_file_is(in_scratch("p.conf"), old_text);
    assert_int_equal(count_entries(scratch), 1);
}

/* ---- left-overs ------------------------------------------------------------------------------ */

static void left_overs_are_removed_and_nothing_else(void **state)
{
    (void)state;
    remove_entries();
    static const char *const others[] = {
        ".p.conf.oneib-abc12",   ".p.conf.oneib-abc1234", "p.conf.oneib-abc123",
        ".p.conf.oneib-ABC123",  ".q.conf.oneib-abc123",  ".p.conf.swp",
        ".p.conf2.oneib-abc123",
    };
    const int kept = sizeof others / sizeof others[0];
    for (int i = 0; i < kept; i++)
        put_text(in_scratch(others[i]), "another's");
    put_text(in_scratch(".p.conf.oneib-abc123"), "half of it");
    put_text(in_scratch(".p.conf.oneib-000000"), "");
    replace_good(in_scratch("p.conf"), new_text);
    assert_int_equal(access(in_scratch(".p.conf.oneib-abc123"), F_OK), -1);
    assert_int_equal(access(in_scratch(".p.conf.oneib-000000"), F_OK), -1);
    assert_int_equal(count_entries(scratch), kept + 1);
}

static void the_temporary_file_of_a_run_at_work_is_left_alone(void **state)
{
    (void)state;
    remove_entries();
    const char *path = in_scratch(".p.conf.oneib-abc123");
    put_text(path, "being written");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    replace_good(in_scratch("p.conf"), new_text);
    assert_file_is(path, "being written");
    close(fd);
    replace_good(in_scratch("p.conf"), new_text);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_link_named_like_a_left_over_is_not_followed(void **state)
{
    (void)state;
    remove_entries();
    put_text(in_scratch("precious"), old_text);
    assert_int_equal(symlink("precious", in_scratch(".p.conf.oneib-abc123")), 0);
    replace_good(in_scratch("p.conf"), new_text);
    assert_file_is(in_scratch("precious"), old_text);
}

static enum result replace_many_times(void)
{
    struct oneib_error err = {0};
    for (int i = 0; i < 200; i++)
        if (replace_text(in_scratch("p.conf"), i % 2 ? old_text : new_text, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return WRONG;
        }
    return GOOD;
}

static void two_at_once_both_succeed_and_a_reader_sees_whole_files(void **state)
{
    (void)state;
    remove_entries();
    replace_good(in_scratch("p.conf"), old_text);
    fflush(NULL);
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(replace_many_times());
    }

    int running = 2, failed = 0, torn = 0;
    while (running > 0) {
        int status;
        if (waitpid(-1, &status, WNOHANG) > 0) {
            running--;
            failed += status != 0;
        }
        torn += !holds_one_of(in_scratch("p.conf"), old_text, new_text);
    }
    assert_int_equal(failed, 0);
    assert_int_equal(torn, 0);
    assert_int_equal(count_entries(scratch), 1);
}

/* ---- SIGKILL at every system call ------------------------------------------------------------ */

/* A child that waits, traced, to replace the file; 0 when tracing is not permitted here. */
static pid_t begin_traced_replacement(void)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct oneib_error err;
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(CANNOT);
        raise(SIGSTOP);
        _exit(replace_text(in_scratch("p.conf"), new_text, &err) == 0 ? GOOD : WRONG);
    }

    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
        return 0;
    assert_true(WIFSTOPPED(status));
    const int options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, child, NULL, options), 0);
    return child;
}

/* Lets the child run to where it next enters or leaves a system call; false when it has ended
 * instead. */
static bool run_to_next_stop(pid_t child)
{
    int status;
    do {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), GOOD);
            return false;
        }
        assert_true(WIFSTOPPED(status));
    } while (WSTOPSIG(status) != (SIGTRAP | 0x80));
    return true;
}

enum end { ENDED, KILLED, NOT_PERMITTED };

/* Kills a replacement at its n-th stop. What is killed on entering a system call does not carry it
 * out. */
static enum end replace_until_stop(int n)
{
    pid_t child = begin_traced_replacement();
    if (child == 0)
        return NOT_PERMITTED;
    for (int stop = 0; stop < n; stop++)
        if (!run_to_next_stop(child))
            return ENDED;

    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    return KILLED;
}

static void killed_at_any_system_call_the_file_is_the_old_or_the_new_one(void **state)
{
    (void)state;
    remove_entries();
    const char *path = in_scratch("p.conf");
    int kept = 0, replaced = 0, left_over = 0;
    enum end end = KILLED;

    for (int n = 1; end == KILLED; n++) {
        replace_good(path, old_text);
        assert_int_equal(count_entries(scratch), 1);

        end = replace_until_stop(n);
        if (end == NOT_PERMITTED) {
            skip_because("processes cannot be traced here");
        }
        bool is_old = holds_exactly(path, old_text);
        assert_true(is_old || holds_exactly(path, new_text));
        kept += is_old;
        replaced += !is_old;
        left_over += count_entries(scratch) > 1;

        replace_good(path, new_text);
        assert_file_is(path, new_text);
        assert_int_equal(count_entries(scratch), 1);
    }
    print_message(
        "killed at %d stops: %d times the old file, %d times the new one, %d left-overs\n",
        kept + replaced - 1, kept, replaced - 1, left_over);
    assert_true(kept > 20);
    assert_true(replaced > 2);
    assert_true(left_over > 10);
}

static void the_bytes_are_on_the_disk_before_the_rename_and_the_rename_after_it(void **state)
{
    (void)state;
    remove_entries();
    pid_t child = begin_traced_replacement();
    if (child == 0) {
        skip_because("processes cannot be traced here");
    }

    char order[64] = "";
    while (run_to_next_stop(child)) {
        struct __ptrace_syscall_info info = {0};
        assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) > 0);
        if (info.op != PTRACE_SYSCALL_INFO_ENTRY || strlen(order) > 40)
            continue;
        if (info.entry.nr == SYS_fsync)
            strcat(order, "fsync ");
        else if (info.entry.nr == SYS_renameat)
            strcat(order, "rename ");
    }
    assert_string_equal(order, "fsync rename fsync ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole),
        cmocka_unit_test(a_file_above_the_limit_is_refused),
        cmocka_unit_test(a_missing_file_is_not_found),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(a_pipe_that_gives_too_much_is_named),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(files_of_the_kernel_without_a_size_are_read),
        cmocka_unit_test(a_file_is_created_and_replaced),
        cmocka_unit_test(bytes_of_any_kind_and_number_arrive),
        cmocka_unit_test(the_mode_is_the_one_asked_for),
        cmocka_unit_test(owner_and_group_are_kept),
        cmocka_unit_test(names_in_the_current_directory_work),
        cmocka_unit_test(the_target_of_a_link_is_replaced),
        cmocka_unit_test(the_missing_target_of_a_link_is_created),
        cmocka_unit_test(a_circle_of_links_is_an_error),
        cmocka_unit_test(the_check_sees_what_was_written_before_it_is_in_place),
        cmocka_unit_test(a_check_that_refuses_keeps_the_old_file),
        cmocka_unit_test(what_is_no_regular_file_is_not_replaced),
        cmocka_unit_test(a_directory_that_is_none_is_an_error),
        cmocka_unit_test(a_name_too_long_for_a_temporary_file_is_an_error),
        cmocka_unit_test(an_unwritable_directory_keeps_the_old_file),
        cmocka_unit_test(a_full_disk_keeps_the_old_file),
        cmocka_unit_test(a_write_that_fails_half_way_keeps_the_old_file),
        cmocka_unit_test(left_overs_are_removed_and_nothing_else),
        cmocka_unit_test(the_temporary_file_of_a_run_at_work_is_left_alone),
        cmocka_unit_test(a_link_named_like_a_left_over_is_not_followed),
        cmocka_unit_test(two_at_once_both_succeed_and_a_reader_sees_whole_files),
        cmocka_unit_test(killed_at_any_system_call_the_file_is_the_old_or_the_new_one),
        cmocka_unit_test(the_bytes_are_on_the_disk_before_the_rename_and_the_rename_after_it),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
