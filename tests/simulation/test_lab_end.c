// SPDX-License-Identifier: Apache-2.0
/* What is left of a lab whose process ends without closing it: nothing. */
#include "lab_internal.h"
#include "lab_node.h"
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define END_MS 10000u

static struct oneib_error err;

/* A lab in another process: its directories. */
struct other {
    pid_t pid;
    char directory[64], memory[64]; /* memory "": all is in the directory */
};

static void die(const char *text)
{
    fprintf(stderr, "%s\n", text);
    _exit(EXIT_FAILURE);
}

/* With programs of ours, programs of the node user's, and whatever they make. */
static struct lab *open_whole_lab(void)
{
    struct lab_options options = {.leaves = 1, .hosts_per_leaf = 2};
    struct lab_node_options nodes = LAB_NODES_DEFAULTS;
    struct lab *lab = lab_open(&options, &err);
    if (!lab || lab_fabric_start(lab, &err) < 0 || lab_opensm_start(lab, &LAB_SM, &err) < 0 ||
        lab_standin_start(lab, NULL, &err) < 0 || lab_nodes_start(lab, &nodes, &err) < 0)
        die(err.text);
    return lab;
}

static void tell(const struct lab *lab, int out)
{
    struct other other = {.pid = getpid()};
    char link[128];
    snprintf(other.directory, sizeof other.directory, "%s", lab->directory);
    snprintf(link, sizeof link, "%s/" LAB_NODES, lab->directory);
    (void)!readlink(link, other.memory, sizeof other.memory - 1);
    if (write(out, &other, sizeof other) != (ssize_t)sizeof other)
        die("telling of a lab");
}

/* nohup, and a shell's "&", make programs ignore some. */
static void give_back_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        signal(ends[i], SIG_DFL);
}

static struct other start_other(struct lab *(*open)(void))
{
    struct other other;
    int in[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        give_back_signals();
        tell(open(), in[1]);
        for (;;)
            pause();
    }
    close(in[1]);
    assert_int_equal(read(in[0], &other, sizeof other), sizeof other);
    close(in[0]);
    assert_int_equal(other.pid, child);
    assert_int_equal(access(other.directory, F_OK), 0);
    return other;
}

static bool is_in(const char *directory, const char *path)
{
    const size_t length = strlen(directory);
    return length > 0 && strncmp(path, directory, length) == 0 && strchr("/ ", path[length]);
}

/* Programs of a lab are in one of its directories. The kernel adds " (deleted)" for one that is
 * gone.
 */
static unsigned count_programs(const struct other *other)
{
    unsigned count = 0;
    DIR *processes = opendir("/proc");
    assert_non_null(processes);
    for (struct dirent *entry; (entry = readdir(processes));) {
        char path[300], place[256] = "";
        snprintf(path, sizeof path, "/proc/%s/cwd", entry->d_name);
        const ssize_t length = readlink(path, place, sizeof place - 2);
        if (length > 0)
            place[length] = ' ';
        count += is_in(other->directory, place) || is_in(other->memory, place);
    }
    closedir(processes);
    return count;
}

/* This process is the parent of all that is left of another one. */
static bool has_no_child(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return waitpid(-1, NULL, WNOHANG) < 0;
}

static void await_gone(const struct other *other)
{
    for (unsigned waited = 0;; waited += 10) {
        const bool directory = access(other->directory, F_OK) == 0;
        const bool memory = *other->memory && access(other->memory, F_OK) == 0;
        const bool process = !has_no_child();
        if (!directory && !memory && !process)
            return;
        if (waited > END_MS)
            fail_msg("left of %s:%s%s%s", other->directory, directory ? " its directory" : "",
                     memory ? " its memory" : "", process ? " processes" : "");
        lab_sleep_ms(10);
    }
}

static void end_other(const struct other *other, int signal)
{
    int status;
    assert_int_equal(kill(other->pid, signal), 0);
    assert_int_equal(waitpid(other->pid, &status, 0), other->pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

static void a_signal_that_ends_a_lab_leaves_nothing_of_it(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGKILL};
    (void)state;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const struct other other = start_other(open_whole_lab);
        /* ibsim, opensm and both stand-ins, and what runs on nodes. */
        assert_true(count_programs(&other) >= 4);
        end_other(&other, signals[i]);
        await_gone(&other);
    }
}

/* A terminal's Ctrl-C is for all processes of its group. */
static void a_signal_for_the_whole_group_leaves_nothing(void **state)
{
    (void)state;
    const struct other other = start_other(open_whole_lab);
    signal(SIGINT, SIG_IGN);
    assert_int_equal(kill(0, SIGINT), 0);
    signal(SIGINT, SIG_DFL);
    assert_int_equal(waitpid(other.pid, NULL, 0), other.pid);
    await_gone(&other);
}

#define LATE_FILES 20000u

/* A program that is slow to die: it writes on for a while when its parent has gone. */
static void write_on(const char *directory, pid_t parent)
{
    char path[96];
    while (getppid() == parent)
        lab_sleep_ms(1);
    for (unsigned i = 0; i < LATE_FILES; i++) {
        snprintf(path, sizeof path, "%s/late-%u", directory, i);
        const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0)
            close(fd);
    }
    _exit(0);
}

static struct lab *open_with_a_late_writer(void)
{
    struct lab *lab = open_whole_lab();
    char link[128], memory[64] = "";
    snprintf(link, sizeof link, "%s/" LAB_NODES, lab->directory);
    if (readlink(link, memory, sizeof memory - 1) < 0)
        die("a lab without memory");
    const pid_t parent = getpid(), writer = fork();
    if (writer < 0)
        die("starting a writer");
    if (writer == 0) {
        close(lab->lock);
        write_on(memory, parent);
    }
    return lab;
}

static void what_a_dying_program_still_writes_goes_too(void **state)
{
    (void)state;
    const struct other other = start_other(open_with_a_late_writer);
    end_other(&other, SIGKILL);
    await_gone(&other);
}

static struct lab *open_without_keeper(void)
{
    struct lab *lab = open_whole_lab();
    if (kill(lab->keeper, SIGKILL) < 0 || waitpid(lab->keeper, NULL, 0) < 0)
        die("ending the keeper");
    return lab;
}

static struct lab *must_open(void)
{
    struct lab_options options = {.leaves = 1, .hosts_per_leaf = 1};
    struct lab *lab = lab_open(&options, &err);
    if (!lab)
        fail_msg("%s", err.text);
    return lab;
}

static void what_a_killed_keeper_left_goes_when_the_next_lab_is_opened(void **state)
{
    (void)state;
    struct other other = start_other(open_without_keeper);
    end_other(&other, SIGKILL);
    lab_sleep_ms(200);
    assert_int_equal(access(other.directory, F_OK), 0);
    lab_close(must_open());
    await_gone(&other);
}

static void a_lab_that_is_open_stays_when_another_is_opened(void **state)
{
    (void)state;
    struct other other = start_other(open_without_keeper);
    lab_close(must_open());
    assert_int_equal(access(other.directory, F_OK), 0);
    if (*other.memory)
        assert_int_equal(access(other.memory, F_OK), 0);
    end_other(&other, SIGKILL);
    lab_close(must_open());
    await_gone(&other);
}

static void a_directory_that_is_kept_stays(void **state)
{
    (void)state;
    struct lab_options options = {.leaves = 1, .hosts_per_leaf = 1, .keep = true};
    struct lab *lab = lab_open(&options, &err);
    assert_non_null(lab);
    char *directory = strdup(lab_directory(lab));
    lab_close(lab);
    lab_close(must_open());
    assert_int_equal(rmdir(directory), 0);
    free(directory);
}

/* It has a share of all that is open. */
static void a_copy_of_the_process_does_not_hinder_closing(void **state)
{
    (void)state;
    struct lab *lab = must_open();
    char *directory = strdup(lab_directory(lab));
    const pid_t keeper = lab->keeper, copy = fork();
    assert_true(copy >= 0);
    if (copy == 0)
        for (;;)
            pause();
    lab_close(lab);
    assert_int_equal(access(directory, F_OK), -1);
    assert_int_equal(kill(keeper, 0), -1);
    assert_int_equal(kill(copy, SIGKILL), 0);
    assert_int_equal(waitpid(copy, NULL, 0), copy);
    free(directory);
}

/* Other tests open labs meanwhile, and remove what they find abandoned. */
static bool have_a_parent_of_our_own(char *parent)
{
    return mkdtemp(parent) && chmod(parent, 0755) == 0 && setenv("TMPDIR", parent, 1) == 0;
}

int main(void)
{
    char parent[] = "/tmp/lab-end-XXXXXX";
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    /* The signal for a whole group is for nobody else's. */
    if (setpgid(0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
        !have_a_parent_of_our_own(parent))
        return EXIT_FAILURE;
    /* A shell makes what it starts with "&" ignore it. */
    signal(SIGINT, SIG_DFL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_that_ends_a_lab_leaves_nothing_of_it),
        cmocka_unit_test(a_signal_for_the_whole_group_leaves_nothing),
        cmocka_unit_test(what_a_dying_program_still_writes_goes_too),
        cmocka_unit_test(what_a_killed_keeper_left_goes_when_the_next_lab_is_opened),
        cmocka_unit_test(a_lab_that_is_open_stays_when_another_is_opened),
        cmocka_unit_test(a_directory_that_is_kept_stays),
        cmocka_unit_test(a_copy_of_the_process_does_not_hinder_closing),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(parent) < 0 ? EXIT_FAILURE : failed;
}
