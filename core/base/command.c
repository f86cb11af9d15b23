// SPDX-License-Identifier: Apache-2.0
#include "base/command.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/memory_file.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#define QUOTED_MAX 200          /* bytes of output in an error */
#define CHUNK 4096              /* bytes of one read */
#define LEFT_OVER_MAX (1 << 20) /* what a pipe can hold: fs.pipe-max-size */
#define LOOK_MS 10              /* between two looks for its end, without a pidfd */
#define KILL_WAIT_MS 1000       /* for a killed program to be gone */

/* One of the program's outputs. */
struct stream {
    int fd; /* -1: at its end */
    struct oneib_text *text;
    size_t max, kept;
};

struct child {
    const char *name;
    pid_t pid;
    int exit_fd; /* a pidfd: readable when the child has ended; -1: there are none here */
    struct stream output, errors;
};

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

static int set_files(posix_spawn_file_actions_t *files, int input, int output, int errors)
{
    int error = posix_spawn_file_actions_adddup2(files, input, STDIN_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(files, output, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(files, errors, STDERR_FILENO);
    return error;
}

/* posix_spawn does not change what it is given. */
static char *const *unchanged(const char *const *strings)
{
    char *const *same;
    memcpy(&same, &strings, sizeof(same));
    return same;
}

static int spawn(const struct oneib_command *command, int input, int output, int errors, pid_t *pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    char *const *environment =
        command->environment ? unchanged(command->environment) : (char *const *)environ;

    int error = posix_spawnattr_init(&attributes);
    if (error)
        return error;
    error = posix_spawn_file_actions_init(&files);
    if (!error) {
        error = set_attributes(&attributes);
        if (!error)
            error = set_files(&files, input, output, errors);
        if (!error)
            error = posix_spawnp(pid, command->argv[0], &files, &attributes,
                                 unchanged(command->argv), environment);
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Returns -1 with errno set. */
static int open_input(const struct oneib_command *command)
{
    if (command->input_fd > 0)
        return fcntl(command->input_fd, F_DUPFD_CLOEXEC, 0);
    return command->input ? oneib_memory_file(command->input, command->input_length)
                          : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* The end to read from, in *reading; its like to write to in *writing. */
static int open_pipe(int *reading, int *writing)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *reading = ends[0];
    *writing = ends[1];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

static void close_stream(struct stream *stream)
{
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

/* Reads what is there, `most` bytes or a little more: somebody may write faster than this reads. */
static void read_stream(struct stream *stream, size_t most)
{
    char bytes[CHUNK];
    for (size_t done = 0; stream->fd >= 0 && done < most;) {
        ssize_t got = read(stream->fd, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            close_stream(stream);
            return;
        }
        const size_t room = stream->max - stream->kept;
        const size_t taken = (size_t)got < room ? (size_t)got : room;
        oneib_text_append_bytes(stream->text, bytes, taken);
        stream->kept += taken;
        done += (size_t)got;
    }
}

/* Asks without reaping: until then nobody else gets the process id. */
static bool has_ended(const struct child *child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child->pid;
}

/* How long poll() may wait: without a pidfd (before Linux 5.3, and under valgrind) nothing wakes it
 * when the child ends. */
static int patience(const struct child *child, double left_ms)
{
    const double most_ms = child->exit_fd < 0 ? LOOK_MS : INT32_MAX;
    return (int)oneib_sooner(left_ms + 1, most_ms); /* a part of a millisecond is one */
}

/* Returns false when the time is over. The child's end counts, not its outputs': a grandchild may
 * keep those open. */
static bool wait_for_end(struct child *child, double deadline_ms)
{
    for (;;) {
        const double left_ms = deadline_ms - oneib_now_ms();
        struct pollfd files[] = {{.fd = child->exit_fd, .events = POLLIN},
                                 {.fd = child->output.fd, .events = POLLIN},
                                 {.fd = child->errors.fd, .events = POLLIN}};
        if (left_ms <= 0)
            return false;
        poll(files, 3, patience(child, left_ms));
        read_stream(&child->output, CHUNK);
        read_stream(&child->errors, CHUNK);
        if (has_ended(child))
            return true;
    }
}

/* Returns false when it is still there: sudo's programs are root's, and not this process's to kill;
 * nor does one that waits for a disk hear of it. */
static bool kill_group(const struct child *child)
{
    const double deadline_ms = oneib_now_ms() + KILL_WAIT_MS;
    struct pollfd end = {.fd = child->exit_fd, .events = POLLIN};
    kill(-child->pid, SIGKILL);
    for (double left_ms; !has_ended(child) && (left_ms = deadline_ms - oneib_now_ms()) > 0;)
        poll(&end, 1, patience(child, left_ms));
    return has_ended(child);
}

static void wait_for_pid(pid_t pid, int *status)
{
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
}

/* Sets *err with what it wrote last, when it wrote anything. */
static int fail_with_words(struct oneib_error *err, const char *name, const char *what, int number,
                           const struct oneib_text *words)
{
    oneib_autotext struct oneib_text copy = {0}, quoted = {0};
    size_t length = words->length;
    while (length > 0 && words->data[length - 1] == '\n')
        length--;
    if (length > 0)
        oneib_text_append_bytes(&copy, words->data, length);
    oneib_text_append_escaped(&quoted, copy.data, QUOTED_MAX);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s %s %d%s%s%s", name, what, number,
                      quoted.length ? ": \"" : "", quoted.length ? quoted.data : "",
                      quoted.length ? "\"" : "");
}

static int reap(struct child *child, bool ended, uint32_t timeout_ms, int *status,
                struct oneib_error *err)
{
    int how = 0;
    const bool gone = ended || kill_group(child);
    if (gone)
        wait_for_pid(child->pid, &how);
    read_stream(&child->output, LEFT_OVER_MAX);
    read_stream(&child->errors, LEFT_OVER_MAX);
    if (!ended)
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "%s did not end within %u ms and %s",
                          child->name, timeout_ms, gone ? "was killed" : "could not be killed");
    if (WIFSIGNALED(how))
        return fail_with_words(err, child->name, "was ended by signal", WTERMSIG(how),
                               child->errors.kept ? child->errors.text : child->output.text);
    *status = WEXITSTATUS(how);
    return 0;
}

/* The child runs: `child` has its pid and streams. */
static int follow(struct child *child, uint32_t timeout_ms, double deadline_ms, int *status,
                  struct oneib_error *err)
{
    oneib_autoclose int exit_fd = pidfd_open(child->pid, 0);
    child->exit_fd = exit_fd;
    return reap(child, wait_for_end(child, deadline_ms), timeout_ms, status, err);
}

/* posix_spawn() tells that there is no such program, but not under valgrind. */
static bool is_missing(const char *program)
{
    return strchr(program, '/') && faccessat(AT_FDCWD, program, X_OK, AT_EACCESS) < 0;
}

/* Opens what the program reads and writes, and starts it. */
static int start(const struct oneib_command *command, bool one_stream, struct child *child,
                 struct oneib_error *err)
{
    oneib_autoclose int input = open_input(command), output = -1, errors = -1;
    if (is_missing(child->name) || input < 0 || open_pipe(&child->output.fd, &output) < 0 ||
        (!one_stream && open_pipe(&child->errors.fd, &errors) < 0))
        return oneib_fail_errno(err, errno, "running %s", child->name);
    const int error = spawn(command, input, output, one_stream ? output : errors, &child->pid);
    return error ? oneib_fail_errno(err, error, "running %s", child->name) : 0;
}

int oneib_command_capture(const struct oneib_command *command, struct oneib_text *output,
                          struct oneib_text *errors, int *status, struct oneib_error *err)
{
    const double deadline_ms = oneib_now_ms() + command->timeout_ms;
    struct child child = {
        .name = command->argv[0],
        .output = {.fd = -1, .text = output, .max = command->output_max},
        .errors = {.fd = -1, .text = errors, .max = command->output_max},
    };
    int result = start(command, output == errors, &child, err);
    if (result == 0)
        result = follow(&child, command->timeout_ms, deadline_ms, status, err);
    close_stream(&child.output);
    close_stream(&child.errors);
    return result;
}

int oneib_command_run(const char *const *argv, uint32_t timeout_ms, char *output, size_t size,
                      struct oneib_error *err)
{
    const struct oneib_command command = {
        .argv = argv, .timeout_ms = timeout_ms, .output_max = size - 1};
    oneib_autotext struct oneib_text words = {0};
    int status = 0;
    int result = oneib_command_capture(&command, &words, &words, &status, err);
    if (result == 0 && status != 0)
        result = fail_with_words(err, argv[0], "failed with exit status", status, &words);
    memcpy(output, words.length ? words.data : "", words.length);
    output[words.length] = '\0';
    return result;
}
