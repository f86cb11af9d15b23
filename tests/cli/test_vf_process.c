// SPDX-License-Identifier: Apache-2.0
/* What oneib-vf leaves behind of what it inherits, and how it ends when its caller is gone. */
#include "base/clock.h"
#include "hca/reservations.h"
#include "hca/tree.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define DEADLINE_MS 20000
#define INHERITED 9

static const struct tree_hca mlx4 = {.driver = ONEIB_HCA_MLX4, .vfs = 2, .pkeys = 7};

static int reset(void **state)
{
    tree_reset(state);
    tree_write("node = { pkey_wait = 60000; guid_wait = 1000; };", "/etc/oneib/oneib.conf");
    tree_add_hca(&mlx4);
    return 0;
}

/* A caller that leaves everything as it must not be. */
static void spoil(int inherited)
{
    sigset_t all;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    umask(0);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number <= SIGRTMAX; number++)
        signal(number, SIG_IGN);
    setrlimit(RLIMIT_CORE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    if (dup2(inherited, INHERITED) < 0 || chdir(tree_root()) < 0)
        _exit(126);
}

/* Its end of the pipe at *listener is all that says when the program has closed what it got. */
static pid_t start_assign(int *listener)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int nowhere = open("/dev/null", O_RDWR);
        spoil(ends[1]);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execl(ONEIB_VF_BINARY, "oneib-vf", "assign", "--vm", "42", "--nic", "1", "--pkey", "0x0005",
              "--defer-guid", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *listener = ends[0];
    return child;
}

static void pause_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static bool table_tells(const char *what)
{
    char line[512];
    if (!tree_exists("/run/oneib/vfs"))
        return false;
    tree_read(line, sizeof line, "/run/oneib/vfs");
    return strstr(line, what) != NULL;
}

/* It waits for its key, which never comes. */
static pid_t start_and_wait_until_it_prepares(int *listener)
{
    const pid_t child = start_assign(listener);
    const double end = oneib_now_ms() + DEADLINE_MS;
    while (!table_tells("stage=preparing") && oneib_now_ms() < end)
        pause_a_moment();
    assert_true(table_tells("stage=preparing"));
    return child;
}

static int status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void end(pid_t child, int listener)
{
    kill(child, SIGKILL);
    status_of(child);
    close(listener);
}

static void assert_proc_tells(pid_t child, const char *file, const char *what)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)child, file);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    if (!strstr(text, what))
        fail_msg("%s does not tell of \"%s\": %s", path, what, text);
}

static void nothing_of_the_callers_process_stays(void **state)
{
    (void)state;
    int listener;
    const pid_t child = start_and_wait_until_it_prepares(&listener);
    assert_proc_tells(child, "status", "\nUmask:\t0022\n");
    assert_proc_tells(child, "status", "\nNoNewPrivs:\t1\n");
    assert_proc_tells(child, "status", "\nSigBlk:\t0000000000000000\n");
    /* SIGPIPE, 13, SIGTSTP, SIGTTIN and SIGTTOU, 20 to 22, by its own will. */
    assert_proc_tells(child, "status", "\nSigIgn:\t0000000000381000\n");
    assert_proc_tells(child, "limits", "\nMax core file size        0                    0 ");
    end(child, listener);
}

static void descriptors_are_closed(void **state)
{
    (void)state;
    char byte;
    int listener;
    const pid_t child = start_and_wait_until_it_prepares(&listener);
    assert_int_equal(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(read(listener, &byte, 1), 0);
    end(child, listener);
}

static void its_memory_is_nobody_elses(void **state)
{
    (void)state;
    int listener;
    char path[64], target[512];
    const pid_t child = start_and_wait_until_it_prepares(&listener);
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)child);
    assert_int_equal(readlink(path, target, sizeof target), -1);
    assert_int_equal(errno, EACCES);
    end(child, listener);
}

static void standard_files_that_are_missing_are_opened(void **state)
{
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        execl(ONEIB_VF_BINARY, "oneib-vf", "assign", "--vm", "42", "--nic", "1", "--no-pkey",
              "--defer-guid", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(status_of(child), 0);
    /* Nothing was printed into it. */
    assert_true(table_tells("stage=closed"));
    assert_false(table_tells("oneib-vf"));
}

static void assert_undone_by(int number)
{
    char entry[16];
    int listener;
    struct stat status;
    const pid_t child = start_and_wait_until_it_prepares(&listener);
    const double begin = oneib_now_ms();
    kill(child, number);
    assert_int_equal(status_of(child), 3);
    assert_true(oneib_now_ms() - begin < DEADLINE_MS);
    close(listener);

    char *table = tree_path("/run/oneib/vfs");
    assert_int_equal(stat(table, &status), 0);
    free(table);
    assert_int_equal(status.st_size, 0);
    tree_get_vf_pkey(&mlx4, 0, 1, 0, entry, sizeof entry);
    assert_string_equal(entry, "0");
}

static void a_signal_to_end_undoes_what_was_begun(void **state)
{
    assert_undone_by(SIGTERM);
    reset(state);
    assert_undone_by(SIGINT);
    reset(state);
    assert_undone_by(SIGHUP);
}

/* One that is stopped would keep its locks for as long as the caller likes. */
static void a_terminal_cannot_stop_it(void **state)
{
    (void)state;
    int listener, status;
    const pid_t child = start_and_wait_until_it_prepares(&listener);
    kill(child, SIGTSTP);
    kill(child, SIGTTIN);
    kill(child, SIGTTOU);
    pause_a_moment();
    assert_int_equal(waitpid(child, &status, WUNTRACED | WNOHANG), 0);
    end(child, listener);
}

/* It does not outlive the test, whatever fails. */
static pid_t start_quietly(const char *const *words)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        char *const *argv;
        memcpy(&argv, &words, sizeof argv);
        execv(ONEIB_VF_BINARY, argv);
        _exit(127);
    }
    return child;
}

static bool entry_reads(const char *what)
{
    char entry[16];
    tree_get_vf_pkey(&mlx4, 0, 1, 0, entry, sizeof entry);
    return strcmp(entry, what) == 0;
}

static void await_entry(const char *what)
{
    const double end = oneib_now_ms() + DEADLINE_MS;
    while (!entry_reads(what) && oneib_now_ms() < end)
        pause_a_moment();
    assert_true(entry_reads(what));
}

/* The key goes while the VF's lock is somebody's, who lets go of it a moment later; no event comes
 * again, and the next look without one is a minute away. */
static void the_watch_looks_again_at_what_somebody_had(void **state)
{
    (void)state;
    static const char *const assign[] = {"oneib-vf", "assign", "--vm",   "42",           "--nic",
                                         "1",        "--pkey", "0x0005", "--defer-guid", NULL};
    static const char *const watch[] = {"oneib-vf", "watch", NULL};
    struct oneib_error err;
    const struct oneib_pci vf = tree_vf_pci(&mlx4, 0);
    int lock;
    tree_write("node = { watch = 60000; };", "/etc/oneib/oneib.conf");
    tree_set_pkey(&mlx4, 1, 3, 0x8005);
    assert_int_equal(status_of(start_quietly(assign)), 0);
    assert_int_equal(oneib_vf_lock(&vf, 1000, &lock, &err), 0);
    const pid_t child = start_quietly(watch);
    /* It has begun to look once it has closed another VF. */
    char entry[16] = "none";
    const double end = oneib_now_ms() + DEADLINE_MS;
    for (; strcmp(entry, "0") != 0 && oneib_now_ms() < end; pause_a_moment())
        tree_get_vf_pkey(&mlx4, 1, 1, mlx4.pkeys - 1, entry, sizeof entry);
    tree_set_pkey(&mlx4, 1, 3, 0x8006);
    assert_true(entry_reads("3"));
    oneib_vf_unlock(lock);
    await_entry("0");
    kill(child, SIGTERM);
    assert_int_equal(status_of(child), 0);
}

/* What a service waits for before libvirt may start. */
static void one_look_closes_what_was_never_closed(void **state)
{
    (void)state;
    static const char *const look[] = {"oneib-vf", "watch", "--once", NULL};
    char entry[16];
    tree_set_vf_pkey(&mlx4, 1, 1, 2, "none");
    assert_int_equal(status_of(start_quietly(look)), 0);
    tree_get_vf_pkey(&mlx4, 1, 1, 2, entry, sizeof entry);
    assert_string_equal(entry, "0");
}

/* Whatever oneadmin says. */
static void a_vf_of_the_host_is_not_closed(void **state)
{
    (void)state;
    const struct oneib_pci pci = tree_vf_pci(&mlx4, 1);
    char entry[16], vf[ONEIB_PCI_TEXT_SIZE], config[96];
    oneib_pci_format(&pci, vf);
    snprintf(config, sizeof config, "node = { host_vfs = [ \"%s\" ]; };", vf);
    tree_write(config, "/etc/oneib/oneib.conf");
    tree_set_vf_pkey(&mlx4, 1, 1, 0, "4");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        execl(ONEIB_VF_BINARY, "oneib-vf", "release", "--vm", "42", "--vf", vf, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(status_of(child), 3);
    tree_get_vf_pkey(&mlx4, 1, 1, 0, entry, sizeof entry);
    assert_string_equal(entry, "4");
}

#define ON_NODE(test) cmocka_unit_test_setup(test, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODE(nothing_of_the_callers_process_stays),
        ON_NODE(descriptors_are_closed),
        ON_NODE(its_memory_is_nobody_elses),
        ON_NODE(standard_files_that_are_missing_are_opened),
        ON_NODE(a_signal_to_end_undoes_what_was_begun),
        ON_NODE(a_terminal_cannot_stop_it),
        ON_NODE(the_watch_looks_again_at_what_somebody_had),
        ON_NODE(one_look_closes_what_was_never_closed),
        ON_NODE(a_vf_of_the_host_is_not_closed),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
