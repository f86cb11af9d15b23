// SPDX-License-Identifier: Apache-2.0
/* Running OpenNebula's own action: scripts of the test's stand for it. */
#include "../base/scratch.h"
#include "base/clock.h"
#include "vmm/upstream.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define MEGABYTE ((size_t)1 << 20)

static struct oneib_error err;

static const char *script(const char *commands)
{
    char text[4096];
    const char *path = in_scratch("action");
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", commands);
    put_text(path, text);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static int run(const char *path, char *const *arguments, const char *input, size_t length,
               int *status)
{
    const struct oneib_upstream upstream = {path, arguments, input, length, NULL};
    err = (struct oneib_error){0};
    return oneib_upstream_run(&upstream, NULL, 0, status, &err);
}

/* The exit status of a script without arguments. */
static int status_of(const char *commands, const char *input, size_t length)
{
    char *const none[] = {NULL};
    int status = -1;
    if (run(script(commands), none, input, length, &status) < 0)
        fail_msg("%s", err.text);
    return status;
}

static int status_of_quiet(const char *commands)
{
    return status_of(commands, "", 0);
}

static void wait_for_file(const char *path)
{
    while (access(path, F_OK) < 0)
        usleep(1000);
}

/* ---- what it gets ---------------------------------------------------------------------------- */

static void it_gets_the_arguments_and_its_own_path(void **state)
{
    (void)state;
    char first[] = "one 'quoted'", second[] = "", third[] = "$HOME";
    char *const arguments[] = {first, second, third, NULL};
    char commands[PATH_MAX * 2], expected[PATH_MAX];
    int status;
    snprintf(commands, sizeof commands, "printf '<%%s>' \"$0\" \"$@\" > '%s'", in_scratch("out"));
    assert_int_equal(run(script(commands), arguments, "", 0, &status), 0);
    snprintf(expected, sizeof expected, "<%s><one 'quoted'><><$HOME>", in_scratch("action"));
    assert_file_is(in_scratch("out"), expected);
}

static void it_gets_the_input_byte_for_byte(void **state)
{
    (void)state;
    char commands[PATH_MAX];
    snprintf(commands, sizeof commands, "cat > '%s'", in_scratch("input"));
    assert_int_equal(status_of(commands, "a\\b\n\nc", 6), 0);
    assert_file_is(in_scratch("input"), "a\\b\n\nc");
}

static void another_input_takes_the_place_of_oneds(void **state)
{
    (void)state;
    char commands[PATH_MAX];
    char *const none[] = {NULL};
    snprintf(commands, sizeof commands, "cat > '%s'", in_scratch("input"));
    const struct oneib_upstream upstream = {script(commands), none, "oned's", 6, NULL};
    int status;
    assert_int_equal(oneib_upstream_run(&upstream, "ours", 4, &status, &err), 0);
    assert_file_is(in_scratch("input"), "ours");
    assert_int_equal(oneib_upstream_run(&upstream, "", 0, &status, &err), 0);
    assert_file_is(in_scratch("input"), "");
}

/* A pipe would be full, and then broken. */
static void a_script_that_does_not_read_is_no_matter(void **state)
{
    (void)state;
    char *input = calloc(1, 8 * MEGABYTE);
    assert_int_equal(status_of("exit 0", input, 8 * MEGABYTE), 0);
    assert_int_equal(status_of("head -c 1 > /dev/null; exit 4", input, 8 * MEGABYTE), 4);
    free(input);
}

static void what_it_writes_goes_where_this_process_writes(void **state)
{
    (void)state;
    const int before = dup(STDOUT_FILENO);
    const int file = open(in_scratch("out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    const int status = status_of_quiet("echo 5dec61fb");
    dup2(before, STDOUT_FILENO);
    close(before);
    close(file);
    assert_int_equal(status, 0);
    assert_file_is(in_scratch("out"), "5dec61fb\n");
}

/* ---- how it ends ----------------------------------------------------------------------------- */

static void its_exit_status_is_passed_on(void **state)
{
    (void)state;
    assert_int_equal(status_of_quiet("exit 0"), 0);
    assert_int_equal(status_of_quiet("exit 255"), 255);
    assert_int_equal(status_of_quiet("kill -KILL $$"), 128 + SIGKILL);
}

static void one_that_is_not_there_is_explained(void **state)
{
    (void)state;
    char *const none[] = {NULL};
    const char *paths[] = {"/nonexistent/deploy", scratch, in_scratch("plain")};
    put_text(in_scratch("plain"), "#!/bin/sh\n");
    for (size_t i = 0; i < 3; i++) {
        const struct oneib_upstream upstream = {paths[i], none, "", 0, NULL};
        int status = -7;
        err = (struct oneib_error){0};
        assert_int_equal(oneib_upstream_check(&upstream, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
        assert_contains(err.text, paths[i]);
        assert_contains(err.text, "onehost sync");
        assert_int_equal(run(paths[i], none, "", 0, &status), -1);
        assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
        assert_int_equal(status, -7);
    }
}

static void one_that_is_no_program_is_an_error(void **state)
{
    (void)state;
    char *const none[] = {NULL};
    int status;
    put_text(in_scratch("broken"), "#!/nonexistent/shell\n");
    assert_int_equal(chmod(in_scratch("broken"), 0755), 0);
    if (run(in_scratch("broken"), none, "", 0, &status) < 0)
        assert_int_equal(err.system_errno, ENOENT);
    else
        assert_int_not_equal(status, 0); /* under valgrind, which sees it too late */
}

/* Whoever started this program may ignore SIGCHLD. */
static void its_status_is_known_where_children_are_ignored(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(status_of_quiet("exit 6"), 6);
    signal(SIGCHLD, SIG_DFL);
}

static void another_childs_end_is_not_its_end(void **state)
{
    (void)state;
    const pid_t other = fork();
    if (other == 0) {
        usleep(50000);
        _exit(0);
    }
    assert_int_equal(status_of_quiet("sleep 0.2; exit 5"), 5);
    assert_int_equal(waitpid(other, NULL, 0), other);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* Sends this process a signal as soon as the script is ready. */
static pid_t send_when_ready(int signal)
{
    const pid_t target = getpid(), sender = fork();
    if (sender == 0) {
        wait_for_file(in_scratch("ready"));
        kill(target, signal);
        _exit(0);
    }
    return sender;
}

static int status_when_signalled(const char *commands, int signal)
{
    unlink(in_scratch("ready"));
    const pid_t sender = send_when_ready(signal);
    const int status = status_of_quiet(commands);
    assert_int_equal(waitpid(sender, NULL, 0), sender);
    return status;
}

static void a_signal_is_passed_on_and_the_end_is_waited_for(void **state)
{
    (void)state;
    const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < 3; i++) {
        char commands[PATH_MAX];
        snprintf(commands, sizeof commands,
                 "trap 'sleep 0.1; exit 9' TERM INT HUP\n: > '%s'\nwhile :; do sleep 0.02; done",
                 in_scratch("ready"));
        assert_int_equal(status_when_signalled(commands, signals[i]), 9);
    }
}

static void a_script_that_a_signal_ends_says_so(void **state)
{
    (void)state;
    char commands[PATH_MAX];
    snprintf(commands, sizeof commands, ": > '%s'\nwhile :; do sleep 0.02; done",
             in_scratch("ready"));
    assert_int_equal(status_when_signalled(commands, SIGTERM), 128 + SIGTERM);
}

/* What it waits for gets it too: virsh, which the script would leave behind. */
static void what_the_script_has_started_gets_the_signal(void **state)
{
    (void)state;
    char commands[PATH_MAX];
    const double began = oneib_now_ms();
    snprintf(commands, sizeof commands, "trap 'exit 8' TERM\nsh -c \": > '%s'; exec sleep 60\"",
             in_scratch("ready"));
    assert_int_equal(status_when_signalled(commands, SIGTERM), 8);
    assert_true(oneib_now_ms() - began < 30000);
}

static void it_is_not_begun_for_a_caller_that_is_gone(void **state)
{
    (void)state;
    static const volatile sig_atomic_t gone = 1;
    char *const arguments[] = {NULL};
    char commands[PATH_MAX];
    int status;
    unlink(in_scratch("begun"));
    snprintf(commands, sizeof commands, ": > '%s'", in_scratch("begun"));
    const struct oneib_upstream upstream = {script(commands), arguments, "", 0, &gone};
    assert_int_equal(oneib_upstream_run(&upstream, NULL, 0, &status, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_int_equal(access(in_scratch("begun"), F_OK), -1);
}

/* One signal may come while the other is being passed on. */
static void a_signal_that_comes_last_does_not_end_this_process(void **state)
{
    (void)state;
    char commands[PATH_MAX];
    snprintf(commands, sizeof commands, "kill -TERM %d; kill -HUP %d; trap '' TERM HUP; exit 3",
             (int)getpid(), (int)getpid());
    for (int i = 0; i < 20; i++) {
        const int status = status_of_quiet(commands);
        assert_true(status == 3 || status == 128 + SIGTERM || status == 128 + SIGHUP);
    }
}

static void signals_are_as_before_afterwards(void **state)
{
    (void)state;
    sigset_t mask;
    status_of_quiet("exit 0");
    sigprocmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGTERM) || sigismember(&mask, SIGCHLD));
}

/* A program that ignores SIGPIPE for itself; and what is blocked here is not blocked there. */
static void the_script_has_signals_as_usual(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(status_of_quiet("kill -PIPE $$; exit 1"), 128 + SIGPIPE);
    signal(SIGPIPE, SIG_DFL);
    assert_int_equal(status_of_quiet("kill -TERM $$; exit 1"), 128 + SIGTERM);
}

/* What is ignored stays ignored in scripts too, and whoever starts tests in the background, or
 * below nohup, ignores some. */
static void hear_signals(void)
{
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

int main(void)
{
    hear_signals();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gets_the_arguments_and_its_own_path),
        cmocka_unit_test(it_gets_the_input_byte_for_byte),
        cmocka_unit_test(another_input_takes_the_place_of_oneds),
        cmocka_unit_test(a_script_that_does_not_read_is_no_matter),
        cmocka_unit_test(what_it_writes_goes_where_this_process_writes),
        cmocka_unit_test(its_exit_status_is_passed_on),
        cmocka_unit_test(one_that_is_not_there_is_explained),
        cmocka_unit_test(one_that_is_no_program_is_an_error),
        cmocka_unit_test(its_status_is_known_where_children_are_ignored),
        cmocka_unit_test(another_childs_end_is_not_its_end),
        cmocka_unit_test(a_signal_is_passed_on_and_the_end_is_waited_for),
        cmocka_unit_test(a_script_that_a_signal_ends_says_so),
        cmocka_unit_test(what_the_script_has_started_gets_the_signal),
        cmocka_unit_test(a_signal_that_comes_last_does_not_end_this_process),
        cmocka_unit_test(it_is_not_begun_for_a_caller_that_is_gone),
        cmocka_unit_test(signals_are_as_before_afterwards),
        cmocka_unit_test(the_script_has_signals_as_usual),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
