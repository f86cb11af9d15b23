// SPDX-License-Identifier: Apache-2.0
#include "base/command.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>

#define QUOTED_MAX 200 /* bytes of output in an error */

struct child {
    const char *name;
    pid_t pid;
    int exit_fd; /* a pidfd: readable when the child has ended */
    int output_fd;
    char *output;
    size_t size, length;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A program of its own process group, with no signal blocked or ignored that this process blocks or
 * ignores. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    return error;
}

static int set_files(posix_spawn_file_actions_t *files, int output)
{
    int error = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(files, output, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(files, output, STDERR_FILENO);
    return error;
}

static int spawn(const char *const *argv, int output, pid_t *pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    char *const *arguments;
    memcpy(&arguments, &argv, sizeof(arguments)); /* posix_spawn does not change them */

    int error = posix_spawnattr_init(&attributes);
    if (error)
        return error;
    error = posix_spawn_file_actions_init(&files);
    if (!error) {
        error = set_attributes(&attributes);
        if (!error)
            error = set_files(&files, output);
        if (!error)
            error = posix_spawnp(pid, argv[0], &files, &attributes, arguments, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    return error;
}

static void read_output(struct child *child)
{
    char dropped[512];
    for (;;) {
        size_t room = child->size - 1 - child->length;
        char *to = room ? child->output + child->length : dropped;
        ssize_t got = read(child->output_fd, to, room ? room : sizeof(dropped));
        if (got <= 0)
            break;
        if (room)
            child->length += (size_t)got;
    }
    child->output[child->length] = '\0';
}

/* Returns false when the time is over. The child's end counts, not its output's: a grandchild may
 * keep that open. */
static bool wait_for_end(struct child *child, int64_t deadline_ms)
{
    for (;;) {
        int64_t left = deadline_ms - now_ms();
        struct pollfd files[] = {{.fd = child->exit_fd, .events = POLLIN},
                                 {.fd = child->output_fd, .events = POLLIN}};
        if (left <= 0)
            return false;
        if (poll(files, 2, (int)left) < 0)
            continue;
        read_output(child);
        if (files[0].revents)
            return true;
        if (files[1].revents & POLLHUP) /* nothing more to read: wait for the end alone */
            poll(files, 1, 10);
    }
}

static int fail_with_output(const struct child *child, struct oneib_error *err, const char *what,
                            int number)
{
    oneib_autotext struct oneib_text quoted = {0};
    size_t length = child->length;
    while (length > 0 && child->output[length - 1] == '\n')
        child->output[--length] = '\0';
    oneib_text_append_escaped(&quoted, child->output, QUOTED_MAX);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s %s %d%s%s%s", child->name, what, number,
                      quoted.length ? ": \"" : "", quoted.length ? quoted.data : "",
                      quoted.length ? "\"" : "");
}

static int reap(struct child *child, bool ended, uint32_t timeout_ms, struct oneib_error *err)
{
    int status = 0;
    if (!ended)
        kill(-child->pid, SIGKILL);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    read_output(child);
    if (!ended)
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "%s did not end within %u ms and was killed",
                          child->name, timeout_ms);
    if (WIFSIGNALED(status))
        return fail_with_output(child, err, "was ended by signal", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return fail_with_output(child, err, "failed with exit status", WEXITSTATUS(status));
    return 0;
}

int oneib_command_run(const char *const *argv, uint32_t timeout_ms, char *output, size_t size,
                      struct oneib_error *err)
{
    int64_t deadline_ms = now_ms() + timeout_ms;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return oneib_fail_errno(err, errno, "running %s", argv[0]);
    oneib_autoclose int output_fd = ends[0];
    struct child child = {.name = argv[0], .output_fd = output_fd, .output = output, .size = size};
    output[0] = '\0';
    fcntl(output_fd, F_SETFL, O_NONBLOCK);
    int error = spawn(argv, ends[1], &child.pid);
    close(ends[1]);
    if (error)
        return oneib_fail_errno(err, error, "running %s", argv[0]);

    oneib_autoclose int exit_fd = pidfd_open(child.pid, 0);
    child.exit_fd = exit_fd;
    if (exit_fd < 0) {
        error = errno;
        kill(-child.pid, SIGKILL);
        waitpid(child.pid, NULL, 0);
        return oneib_fail_errno(err, error, "watching %s", argv[0]);
    }
    return reap(&child, wait_for_end(&child, deadline_ms), timeout_ms, err);
}
