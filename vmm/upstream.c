// SPDX-License-Identifier: Apache-2.0
#include "vmm/upstream.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/memory_file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNAL_STATUS 128 /* a shell's: 128 + signal */

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP};

/* What this process did with signals before. */
struct signals {
    sigset_t mask;
    struct sigaction child;
};

int oneib_upstream_check(const struct oneib_upstream *upstream, struct oneib_error *err)
{
    struct stat file;
    if (stat(upstream->path, &file) == 0 && S_ISREG(file.st_mode) &&
        faccessat(AT_FDCWD, upstream->path, X_OK, AT_EACCESS) == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "OpenNebula's KVM driver is not on this host (%s): onehost sync",
                      upstream->path);
}

int oneib_upstream_check_caller(const struct oneib_upstream *upstream, struct oneib_error *err)
{
    if (!upstream->interrupted || !*upstream->interrupted)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "the action was told to end by a signal, as when the connection to this host "
                      "is lost or it is shutting down, before it could not be undone: do it again");
}

/* ---- signals --------------------------------------------------------------------------------- */

static void add_passed_on(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(set, passed_on[i]);
}

/* From here on they wait to be asked for. SIGCHLD may have been ignored by whoever started this
 * program, and then the kernel would keep no exit status. */
static void hold_signals(struct signals *before)
{
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t held;
    add_passed_on(&held);
    sigaddset(&held, SIGCHLD);
    sigprocmask(SIG_BLOCK, &held, &before->mask);
    sigaction(SIGCHLD, &normal, &before->child);
}

/* One that came after the action had ended was meant for it too: it must not end this process
 * before what follows. */
static void release_signals(const struct signals *before)
{
    const struct timespec now = {0};
    sigset_t late;
    add_passed_on(&late);
    while (sigtimedwait(&late, NULL, &now) > 0)
        ;
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* ---- the action ------------------------------------------------------------------------------ */

static char **make_argv(const struct oneib_upstream *upstream)
{
    size_t count = 0;
    while (upstream->arguments[count])
        count++;
    char **argv = oneib_alloc(count + 2, sizeof *argv);
    argv[0] = oneib_strdup(upstream->path);
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = upstream->arguments[i];
    return argv;
}

/* A process group of its own: a script that is ended must not leave behind what it waits for. And
 * signals as this process had them; it may ignore SIGPIPE for itself. */
static int set_attributes(posix_spawnattr_t *attributes, const sigset_t *mask)
{
    sigset_t normal;
    sigemptyset(&normal);
    sigaddset(&normal, SIGPIPE);
    int error = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = posix_spawnattr_setsigmask(attributes, mask);
    if (!error)
        error = posix_spawnattr_setsigdefault(attributes, &normal);
    return error;
}

/* Returns an errno. */
static int spawn(char *const *argv, int input, const sigset_t *mask, pid_t *pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    int error = posix_spawnattr_init(&attributes);
    if (error)
        return error;
    error = posix_spawn_file_actions_init(&files);
    if (!error) {
        error = set_attributes(&attributes, mask);
        if (!error)
            error = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
        if (!error)
            error = posix_spawn(pid, argv[0], &files, &attributes, argv, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Returns what waitpid() says of it at its end. */
static int wait_and_pass_on(pid_t pid)
{
    int how = 0;
    sigset_t held;
    add_passed_on(&held);
    sigaddset(&held, SIGCHLD);
    while (waitpid(pid, &how, WNOHANG) == 0) {
        const int signal = sigwaitinfo(&held, NULL);
        if (signal > 0 && signal != SIGCHLD)
            kill(-pid, signal);
    }
    return how;
}

static int follow(const struct oneib_upstream *upstream, char *const *argv, int input,
                  const sigset_t *mask, int *status, struct oneib_error *err)
{
    pid_t pid;
    const int error = spawn(argv, input, mask, &pid);
    if (error)
        return oneib_fail_errno(err, error, "running %s", upstream->path);
    const int how = wait_and_pass_on(pid);
    *status = WIFSIGNALED(how) ? SIGNAL_STATUS + WTERMSIG(how) : WEXITSTATUS(how);
    return 0;
}

/* One that comes before signals are held is noted, one that comes later passed on: none is lost. */
static int run(const struct oneib_upstream *upstream, char *const *argv, int input, int *status,
               struct oneib_error *err)
{
    struct signals before;
    hold_signals(&before);
    const int outcome = oneib_upstream_check_caller(upstream, err) < 0
                            ? -1
                            : follow(upstream, argv, input, &before.mask, status, err);
    release_signals(&before);
    return outcome;
}

int oneib_upstream_run(const struct oneib_upstream *upstream, const char *input,
                       size_t input_length, int *status, struct oneib_error *err)
{
    if (oneib_upstream_check(upstream, err) < 0)
        return -1;
    oneib_autoclose int file = input ? oneib_memory_file(input, input_length)
                                     : oneib_memory_file(upstream->input, upstream->input_length);
    if (file < 0)
        return oneib_fail_errno(err, errno, "preparing the input of %s", upstream->path);
    char **argv = make_argv(upstream);
    const int result = run(upstream, argv, file, status, err);
    free(argv[0]);
    free(argv);
    return result;
}
