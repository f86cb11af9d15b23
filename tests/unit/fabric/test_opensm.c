// SPDX-License-Identifier: Apache-2.0
/*
 * Finding and signalling opensm. A stand-in plays opensm: this program itself, copied under a name
 * and run with
 * "--stand-in", which reports each SIGHUP on its standard output.
 */
#include "fabric/opensm_process.h"

#include "../../skip.h"
#include "../base/scratch.h"
#include "base/file.h"
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define WAIT_MS 10000
#define NOBODY 65534

/* ---- the stand-in ---------------------------------------------------------------------------- */

static void report_sighup(int signal_number)
{
    (void)signal_number;
    ssize_t ignored = write(STDOUT_FILENO, "H", 1);
    (void)ignored;
}

/* mode: "plain"; "renamed": its comm is not opensm; "ignore" and "default": so it treats SIGHUP. */
static int stand_in(const char *mode)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (strcmp(mode, "renamed") == 0)
        prctl(PR_SET_NAME, "worker");
    if (strcmp(mode, "ignore") == 0)
        signal(SIGHUP, SIG_IGN);
    else if (strcmp(mode, "default") == 0)
        signal(SIGHUP, SIG_DFL);
    else
        signal(SIGHUP, report_sighup);
    if (write(STDOUT_FILENO, "R", 1) != 1)
        return 1;
    for (;;)
        pause();
}

struct process {
    pid_t pid;
    int reports;
};

static struct process running;

static char next_report(const struct process *process)
{
    struct pollfd file = {.fd = process->reports, .events = POLLIN};
    char report = 0;
    if (poll(&file, 1, WAIT_MS) != 1 || read(process->reports, &report, 1) != 1)
        return 0;
    return report;
}

static void copy_myself(const char *path)
{
    char *data;
    size_t length;
    struct oneib_error err = {0};
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(size > 0);
    self[size] = '\0';
    assert_int_equal(oneib_file_read(self, (size_t)1 << 30, &data, &length, &err), 0);
    assert_int_equal(oneib_file_replace(path, data, length, 0755, NULL, NULL, &err), 0);
    free(data);
}

static void start(const char *name, const char *mode)
{
    const char *path = in_scratch(name);
    int ends[2];
    copy_myself(path);
    assert_int_equal(pipe(ends), 0);
    running.pid = fork();
    if (running.pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(path, name, "--stand-in", mode, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    running.reports = ends[0];
    assert_int_equal(next_report(&running), 'R');
}

static void end(void)
{
    if (running.pid <= 0)
        return;
    kill(running.pid, SIGKILL);
    waitpid(running.pid, NULL, 0);
    close(running.reports);
    running.pid = 0;
}

static int end_and_remove(void **state)
{
    end();
    return remove_scratch(state);
}

/* ---- configurations -------------------------------------------------------------------------- */

static char pid_file[PATH_MAX];
static char unit[] = "opensm-test.service";

static struct oneib_config by_pid_file(const char *content)
{
    struct oneib_error err = {0};
    snprintf(pid_file, sizeof pid_file, "%s", in_scratch("opensm.pid"));
    if (content)
        assert_int_equal(
            oneib_file_replace(pid_file, content, strlen(content), 0644, NULL, NULL, &err), 0);
    struct oneib_config config = {0};
    config.opensm.method = ONEIB_RELOAD_PID_FILE;
    config.opensm.pid_file = pid_file;
    return config;
}

static struct oneib_config by_running_pid(void)
{
    char content[32];
    snprintf(content, sizeof content, "%d\n", running.pid);
    return by_pid_file(content);
}

/* systemctl is a script that answers so; `exit` ends it. */
static struct oneib_config by_systemd(const char *script)
{
    struct oneib_error err = {0};
    char text[512], path[PATH_MAX + 32];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    assert_int_equal(
        oneib_file_replace(in_scratch("systemctl"), text, strlen(text), 0755, NULL, NULL, &err), 0);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", scratch);
    setenv("PATH", path, 1);
    struct oneib_config config = {0};
    config.opensm.method = ONEIB_RELOAD_SYSTEMD;
    config.opensm.unit = unit;
    return config;
}

static struct oneib_config by_command(char **command, uint32_t timeout_ms)
{
    struct oneib_config config = {0};
    config.opensm.method = ONEIB_RELOAD_COMMAND;
    config.opensm.reload_command = command;
    config.opensm.apply_timeout_ms = timeout_ms;
    return config;
}

static void assert_refused(const struct oneib_config *config, enum oneib_error_code code,
                           const char *part)
{
    struct oneib_error err = {0};
    assert_int_equal(oneib_opensm_reload(config, &err), -1);
    if (err.code != code || !strstr(err.text, part))
        fail_msg("%s: %s", oneib_error_code_name(err.code), err.text);
}

/* ---- pid file -------------------------------------------------------------------------------- */

static void opensm_of_the_pid_file_gets_sighup(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    pid_t pid = 0;
    start("opensm", "plain");
    struct oneib_config config = by_running_pid();
    assert_int_equal(oneib_opensm_find(&config, &pid, &err), 0);
    assert_int_equal(pid, running.pid);
    assert_int_equal(oneib_opensm_reload(&config, &err), 0);
    assert_int_equal(next_report(&running), 'H');
}

static void an_executable_named_opensm_is_enough(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    start("opensm", "renamed");
    struct oneib_config config = by_running_pid();
    assert_int_equal(oneib_opensm_reload(&config, &err), 0);
    assert_int_equal(next_report(&running), 'H');
}

static void an_opensm_that_was_upgraded_under_way_is_still_opensm(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    start("opensm", "renamed");
    assert_int_equal(unlink(in_scratch("opensm")), 0);
    struct oneib_config config = by_running_pid();
    assert_int_equal(oneib_opensm_reload(&config, &err), 0);
    assert_int_equal(next_report(&running), 'H');
}

static void a_missing_pid_file_says_that_opensm_may_not_run(void **state)
{
    (void)state;
    struct oneib_config config = by_pid_file(NULL);
    assert_refused(&config, ONEIB_ERROR_NOT_FOUND, "opensm is not running");
}

static void a_stale_pid_file_is_told_from_a_missing_one(void **state)
{
    (void)state;
    start("opensm", "plain");
    struct oneib_config config = by_running_pid();
    end();
    assert_refused(&config, ONEIB_ERROR_NOT_FOUND, "there is no process");
}

static void a_dead_child_that_nobody_waited_for_is_not_running(void **state)
{
    (void)state;
    siginfo_t info;
    start("opensm", "plain");
    struct oneib_config config = by_running_pid();
    kill(running.pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)running.pid, &info, WEXITED | WNOWAIT), 0);
    assert_refused(&config, ONEIB_ERROR_NOT_FOUND, "there is no process");
}

static void another_program_under_that_pid_is_named_and_left_alone(void **state)
{
    (void)state;
    start("impostor", "plain");
    struct oneib_config config = by_running_pid();
    assert_refused(&config, ONEIB_ERROR_REFUSED, "\"impostor\"");
    struct pollfd file = {.fd = running.reports, .events = POLLIN};
    assert_int_equal(poll(&file, 1, 100), 0);
}

static void a_pid_file_holds_one_number_and_nothing_else(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",      "\n",        "abc\n",    "0\n",  "-1\n",
                                        "12 ",   " 12\n",     "12\n13\n", "0x12", "012\n",
                                        "+12\n", "4194305\n", "12\n\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct oneib_config config = by_pid_file(wrong[i]);
        assert_refused(&config, ONEIB_ERROR_INPUT, "one process id on one line");
    }
}

static void an_endless_pid_file_is_not_read(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char content[4096];
    memset(content, '1', sizeof content - 1);
    content[sizeof content - 1] = '\0';
    struct oneib_config config = by_pid_file(content);
    assert_int_equal(oneib_opensm_reload(&config, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
}

static void an_opensm_that_ignores_sighup_is_refused(void **state)
{
    (void)state;
    start("opensm", "ignore");
    struct oneib_config config = by_running_pid();
    assert_refused(&config, ONEIB_ERROR_REFUSED, "nohup");
}

static void an_opensm_that_sighup_would_kill_is_spared(void **state)
{
    (void)state;
    start("opensm", "default");
    struct oneib_config config = by_running_pid();
    assert_refused(&config, ONEIB_ERROR_REFUSED, "still starting");
    assert_int_equal(kill(running.pid, 0), 0);
}

/* Only root can become somebody without privileges; capability: one of CAP_*, or -1. */
static void become_nobody(int capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
    if (capability >= 0)
        sets[CAP_TO_INDEX(capability)].permitted = sets[CAP_TO_INDEX(capability)].effective =
            CAP_TO_MASK(capability);
    if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) < 0 || syscall(SYS_capset, &header, sets) < 0)
        _exit(2);
}

/* /proc as with the mount option hidepid=2, for this process alone. */
static void hide_others(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, "hidepid=2") < 0)
        _exit(SKIPPED);
}

/* A child that has become somebody else tries to reload: the exit status is 0 when that succeeded,
 * or failed with this code and this word; 77: it could not become that. */
static int reload_as(void (*become)(void), enum oneib_error_code code, const char *word)
{
    struct oneib_config config = by_running_pid();
    assert_int_equal(chmod(scratch, 0755), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct oneib_error err = {0};
        become();
        const int result = oneib_opensm_reload(&config, &err);
        const bool as_told = code == ONEIB_ERROR_NONE
                                 ? result == 0
                                 : result < 0 && err.code == code && strstr(err.text, word);
        if (!as_told)
            fprintf(stderr, "%d: %s\n", result, err.text);
        _exit(as_told ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void nobody(void)
{
    become_nobody(-1);
}

static void nobody_with_cap_kill(void)
{
    become_nobody(CAP_KILL);
}

static void nobody_where_others_are_hidden(void)
{
    hide_others();
    become_nobody(CAP_KILL);
}

static void must_be_root(void)
{
    if (geteuid() != 0)
        skip_because("only root can become others");
}

static void without_permission_the_error_says_what_would_give_it(void **state)
{
    (void)state;
    must_be_root();
    start("opensm", "plain");
    assert_int_equal(reload_as(nobody, ONEIB_ERROR_SYSTEM, "CAP_KILL"), 0);
}

/* The executable of another user's process cannot be read. */
static void with_cap_kill_alone_opensm_gets_sighup(void **state)
{
    (void)state;
    must_be_root();
    start("opensm", "plain");
    assert_int_equal(reload_as(nobody_with_cap_kill, ONEIB_ERROR_NONE, NULL), 0);
    assert_int_equal(next_report(&running), 'H');
}

static void a_name_that_cannot_be_proved_is_not_believed(void **state)
{
    (void)state;
    must_be_root();
    start("opensm", "renamed");
    assert_int_equal(reload_as(nobody_with_cap_kill, ONEIB_ERROR_REFUSED, "cannot be read"), 0);
}

static void an_opensm_that_proc_hides_is_not_called_ended(void **state)
{
    (void)state;
    must_be_root();
    start("opensm", "plain");
    const int status = reload_as(nobody_where_others_are_hidden, ONEIB_ERROR_REFUSED, "hidepid");
    if (status == SKIPPED)
        skip_because("root may not mount here");
    assert_int_equal(status, 0);
}

/* ---- systemd --------------------------------------------------------------------------------- */

static void the_main_process_of_the_unit_gets_sighup(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char script[256];
    start("opensm", "plain");
    snprintf(script, sizeof script,
             "[ \"$*\" = 'show --property=MainPID --value -- %s' ] && echo %d", unit, running.pid);
    struct oneib_config config = by_systemd(script);
    assert_int_equal(oneib_opensm_reload(&config, &err), 0);
    assert_int_equal(next_report(&running), 'H');
}

static void a_unit_that_is_not_running_says_so(void **state)
{
    (void)state;
    struct oneib_config config = by_systemd("echo 0");
    assert_refused(&config, ONEIB_ERROR_NOT_FOUND, "opensm.unit");
    config = by_systemd("exit 0");
    assert_refused(&config, ONEIB_ERROR_NOT_FOUND, unit);
}

static void of_all_units_that_match_the_one_that_runs_gets_sighup(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char script[256];
    start("opensm", "plain");
    snprintf(script, sizeof script, "printf '0\\n\\n%d\\n\\n0\\n'", running.pid);
    struct oneib_config config = by_systemd(script);
    assert_int_equal(oneib_opensm_reload(&config, &err), 0);
    assert_int_equal(next_report(&running), 'H');
}

static void of_two_running_units_none_is_chosen(void **state)
{
    (void)state;
    struct oneib_config config = by_systemd("printf '12\\n\\n34\\n'");
    assert_refused(&config, ONEIB_ERROR_INPUT, "2 running units");
}

static void nonsense_from_systemctl_is_refused(void **state)
{
    (void)state;
    struct oneib_config config = by_systemd("echo MainPID=12");
    assert_refused(&config, ONEIB_ERROR_PROTOCOL, unit);
    config = by_systemd("yes nonsense | head -c 1000000");
    assert_refused(&config, ONEIB_ERROR_PROTOCOL, unit);
}

static void a_failing_systemctl_is_quoted(void **state)
{
    (void)state;
    struct oneib_config config = by_systemd("echo 'Failed to connect to bus' >&2; exit 1");
    assert_refused(&config, ONEIB_ERROR_UNREACHABLE, "Failed to connect to bus");
}

/* ---- command --------------------------------------------------------------------------------- */

static void the_command_is_run_without_a_shell(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char program[] = "/usr/bin/touch", name[PATH_MAX];
    snprintf(name, sizeof name, "%s", in_scratch("a; $(b) c"));
    char *command[] = {program, name, NULL};
    struct oneib_config config = by_command(command, WAIT_MS);
    assert_int_equal(oneib_opensm_reload(&config, &err), 0);
    assert_int_equal(access(name, F_OK), 0);
}

static void the_command_has_no_process_to_find(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    pid_t pid = 1;
    struct oneib_config config = by_command(NULL, WAIT_MS);
    assert_int_equal(oneib_opensm_find(&config, &pid, &err), 0);
    assert_int_equal(pid, 0);
    assert_refused(&config, ONEIB_ERROR_CONFIG, "opensm.reload_command");
}

static void a_failing_command_is_an_error_with_its_words(void **state)
{
    (void)state;
    char shell[] = "/bin/sh", flag[] = "-c",
         script[] = "printf 'no\\033[1m such SM\\n' >&2; exit 7";
    char *command[] = {shell, flag, script, NULL};
    struct oneib_config config = by_command(command, WAIT_MS);
    assert_refused(&config, ONEIB_ERROR_UNREACHABLE, "exit status 7: \"no\\x1b[1m such SM\"");
}

static void a_command_that_a_signal_ends_is_an_error(void **state)
{
    (void)state;
    char shell[] = "/bin/sh", flag[] = "-c", script[] = "kill -9 $$";
    char *command[] = {shell, flag, script, NULL};
    struct oneib_config config = by_command(command, WAIT_MS);
    assert_refused(&config, ONEIB_ERROR_UNREACHABLE, "signal 9");
}

static void a_command_that_hangs_is_killed(void **state)
{
    (void)state;
    char program[] = "/bin/sleep", seconds[] = "60";
    char *command[] = {program, seconds, NULL};
    struct oneib_config config = by_command(command, 100);
    assert_refused(&config, ONEIB_ERROR_TIMEOUT, "was killed");
}

static void a_command_that_leaves_something_running_has_ended(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char shell[] = "/bin/sh", flag[] = "-c", script[] = "sleep 3 & exit 0";
    char *command[] = {shell, flag, script, NULL};
    struct oneib_config config = by_command(command, 2000);
    assert_int_equal(oneib_opensm_reload(&config, &err), 0);
}

static void a_command_that_is_not_there_is_named(void **state)
{
    (void)state;
    char program[] = "/nonexistent/reload";
    char *command[] = {program, NULL};
    struct oneib_config config = by_command(command, WAIT_MS);
    assert_refused(&config, ONEIB_ERROR_SYSTEM, program);
}

static void a_command_may_write_more_than_is_kept(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char shell[] = "/bin/sh", flag[] = "-c", script[] = "yes | head -c 1000000";
    char *command[] = {shell, flag, script, NULL};
    struct oneib_config config = by_command(command, WAIT_MS);
    assert_int_equal(oneib_opensm_reload(&config, &err), 0);
}

#define with_scratch(test) cmocka_unit_test_setup_teardown(test, make_scratch, end_and_remove)

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--stand-in") == 0)
        return stand_in(argv[2]);
    if (pidfd_open(getpid(), 0) < 0) { /* valgrind of Debian 12 does not know it */
        print_message("There is no pidfd_open() here: nothing of this can be tested.\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        with_scratch(opensm_of_the_pid_file_gets_sighup),
        with_scratch(an_executable_named_opensm_is_enough),
        with_scratch(an_opensm_that_was_upgraded_under_way_is_still_opensm),
        with_scratch(a_missing_pid_file_says_that_opensm_may_not_run),
        with_scratch(a_stale_pid_file_is_told_from_a_missing_one),
        with_scratch(a_dead_child_that_nobody_waited_for_is_not_running),
        with_scratch(another_program_under_that_pid_is_named_and_left_alone),
        with_scratch(a_pid_file_holds_one_number_and_nothing_else),
        with_scratch(an_endless_pid_file_is_not_read),
        with_scratch(an_opensm_that_ignores_sighup_is_refused),
        with_scratch(an_opensm_that_sighup_would_kill_is_spared),
        with_scratch(without_permission_the_error_says_what_would_give_it),
        with_scratch(with_cap_kill_alone_opensm_gets_sighup),
        with_scratch(a_name_that_cannot_be_proved_is_not_believed),
        with_scratch(an_opensm_that_proc_hides_is_not_called_ended),
        with_scratch(the_main_process_of_the_unit_gets_sighup),
        with_scratch(a_unit_that_is_not_running_says_so),
        with_scratch(of_all_units_that_match_the_one_that_runs_gets_sighup),
        with_scratch(of_two_running_units_none_is_chosen),
        with_scratch(nonsense_from_systemctl_is_refused),
        with_scratch(a_failing_systemctl_is_quoted),
        with_scratch(the_command_is_run_without_a_shell),
        with_scratch(the_command_has_no_process_to_find),
        with_scratch(a_failing_command_is_an_error_with_its_words),
        with_scratch(a_command_that_a_signal_ends_is_an_error),
        with_scratch(a_command_that_hangs_is_killed),
        with_scratch(a_command_that_leaves_something_running_has_ended),
        with_scratch(a_command_that_is_not_there_is_named),
        with_scratch(a_command_may_write_more_than_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
