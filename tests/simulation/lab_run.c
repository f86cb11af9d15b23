// SPDX-License-Identifier: Apache-2.0
/* Child processes: started in the lab's directory, as if on an HCA of the fabric, ended by their
 * own pids. */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lab_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static size_t count_strings(const char *const *strings)
{
    size_t count = 0;
    while (strings && strings[count])
        count++;
    return count;
}

/* NAME=VALUE texts; owned. */
struct environment {
    char **items;
    size_t count, capacity;
};

static void environment_clear(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        free(environment->items[i]);
    free(environment->items);
}

static void environment_append(struct environment *environment, char *item)
{
    ONEIB_APPEND(environment->items, environment->count, environment->capacity, item);
}

/* Replaces an earlier one of that name. */
static void environment_set(struct environment *environment, const char *item)
{
    size_t name = strcspn(item, "=") + 1;
    char *copy = oneib_strdup(item);
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->items[i], item, name) == 0) {
            free(environment->items[i]);
            environment->items[i] = copy;
            return;
        }
    }
    environment_append(environment, copy);
}

static void environment_set_pair(struct environment *environment, const char *name,
                                 const char *value)
{
    oneib_autofree char *item = oneib_asprintf("%s=%s", name, value);
    environment_set(environment, item);
}

static void environment_enter_fabric(struct environment *environment, const char *hca,
                                     const char *socket_name)
{
    /* A sanitised program must accept that the simulator's library is loaded before the
     * sanitiser's, and that it copies whole buffers out of shorter ones of its own. */
    const char *asan = getenv("ASAN_OPTIONS");
    oneib_autofree char *relaxed = oneib_asprintf("%s%sverify_asan_link_order=0:replace_intrin=0",
                                                  asan ? asan : "", asan ? ":" : "");
    environment_set_pair(environment, "LD_PRELOAD", LAB_UMAD2SIM);
    environment_set_pair(environment, "SIM_HOST", hca);
    environment_set_pair(environment, "IBSIM_SOCKNAME", socket_name);
    environment_set_pair(environment, "ASAN_OPTIONS", relaxed);
}

/* ld.so takes blanks and colons for the end of a path, and the build may be anywhere: the library
 * gets a link in the lab's directory. It comes first, or the simulator's would be asked before it.
 */
char *lab_preload(struct lab *lab, const char *library, struct oneib_error *err)
{
    const char *link = lab_path(lab, strrchr(library, '/') + 1);
    if (symlink(library, link) < 0 && errno != EEXIST) {
        oneib_fail_errno(err, errno, "making %s", link);
        return NULL;
    }
    return oneib_asprintf("LD_PRELOAD=%s:%s", link, LAB_UMAD2SIM);
}

static void environment_copy(struct environment *environment)
{
    for (char **item = environ; *item; item++) {
        environment_append(environment, oneib_strdup(*item));
    }
}

/* Ours, without what would put a program on a fabric that it is not meant for. */
static void environment_make(const struct lab *lab, const struct lab_program *program,
                             struct environment *environment)
{
    environment_copy(environment);
    environment_set(environment, "PATH=" LAB_PATH);
    environment_set(environment, "LD_PRELOAD=");
    environment_set_pair(environment, "IBSIM_SOCKNAME", lab->socket_name);
    if (program->hca)
        environment_enter_fabric(environment, program->hca, lab->socket_name);
    for (size_t i = 0; i < count_strings(program->environment); i++)
        environment_set(environment, program->environment[i]);
    environment_append(environment, NULL);
}

/* Copies of the arguments, as exec wants them. */
static void copy_arguments(const char *const *argv, struct environment *copy)
{
    for (size_t i = 0; i < count_strings(argv); i++) {
        environment_append(copy, oneib_strdup(argv[i]));
    }
    environment_append(copy, NULL);
}

static const char *environment_get(const struct environment *environment, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < environment->count && environment->items[i]; i++)
        if (strncmp(environment->items[i], name, length) == 0 &&
            environment->items[i][length] == '=')
            return environment->items[i] + length + 1;
    return "";
}

/* ---- in the child ---------------------------------------------------------------------------- */

/* What a child is to become. */
struct start {
    const char *directory;
    const struct lab_program *program;
    const char *path;
    char *const *argv, *const *environment;
    pid_t parent;
    int log;
    int failure; /* where the child writes the errno of what it could not do */
};

static void give_up(const struct start *start)
{
    const int errnum = errno;
    (void)!write(start->failure, &errnum, sizeof errnum);
    _exit(127);
}

/* In a directory that it can write: umad2sim does. */
static bool become_node_user(void)
{
    return chdir(LAB_NODES) == 0 &&
           (geteuid() != 0 ||
            (setgroups(0, NULL) == 0 && setgid(LAB_NODE_USER) == 0 && setuid(LAB_NODE_USER) == 0));
}

static void become(const struct start *start)
{
    const struct lab_program *program = start->program;
    if (chdir(start->directory) < 0 || (program->as_node_user && !become_node_user()))
        give_up(start);
    /* Only now: a change of the user forgets it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != start->parent)
        _exit(127);
    int in = program->in >= 0 ? program->in : open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(in, STDIN_FILENO);
    dup2(program->out >= 0 ? program->out : start->log, STDOUT_FILENO);
    dup2(program->error >= 0 ? program->error : start->log, STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    execve(start->path, start->argv, start->environment);
    give_up(start);
}

/* ---- in this process ------------------------------------------------------------------------- */

static void add_child(struct lab *lab, const struct lab_program *program, pid_t pid)
{
    char *copy = oneib_strdup(program->name);
    ONEIB_APPEND(
        lab->children, lab->child_count, lab->child_capacity,
        (struct lab_child){.name = copy, .pid = pid, .was = pid, .on_fabric = program->hca});
}

static int open_log(const struct lab *lab, const struct lab_program *program,
                    struct oneib_error *err)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.log", lab->directory, program->name);
    const int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return log < 0 ? oneib_fail_errno(err, errno, "writing %s", path) : log;
}

/* Until it has become its program, which closes the pipe. */
static int await_exec(const struct start *start, pid_t child, int failure, struct oneib_error *err)
{
    int errnum = 0;
    if (read(failure, &errnum, sizeof errnum) != (ssize_t)sizeof errnum)
        return 0;
    waitpid(child, NULL, 0);
    return oneib_fail_errno(err, errnum, "starting %s%s", start->path,
                            start->program->as_node_user && geteuid() == 0 ? " as nobody" : "");
}

static int fork_child(struct lab *lab, struct start *start, pid_t *pid, struct oneib_error *err)
{
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) < 0)
        return oneib_fail_errno(err, errno, "starting %s", start->path);
    start->failure = failure[1];
    start->parent = getpid();
    const pid_t child = fork();
    const int errnum = errno;
    if (child == 0)
        become(start);
    close(failure[1]);
    int result = child < 0 ? oneib_fail_errno(err, errnum, "starting %s", start->path)
                           : await_exec(start, child, failure[0], err);
    close(failure[0]);
    if (result < 0)
        return -1;
    *pid = child;
    add_child(lab, start->program, child);
    return 0;
}

static int start_found(struct lab *lab, const struct lab_program *program,
                       const struct environment *arguments, const struct environment *environment,
                       pid_t *pid, struct oneib_error *err)
{
    char path[PATH_MAX];
    oneib_autoclose int log = -1;
    if (lab_find_program(arguments->items[0], environment_get(environment, "PATH"), path, err) < 0)
        return -1;
    if ((program->out < 0 || program->error < 0) && (log = open_log(lab, program, err)) < 0)
        return -1;
    struct start start = {.directory = lab->directory,
                          .program = program,
                          .path = path,
                          .argv = arguments->items,
                          .environment = environment->items,
                          .log = log};
    return fork_child(lab, &start, pid, err);
}

/* By itself, or under strace. */
static bool runs_oneibd(const char *const *argv)
{
    for (size_t i = 0; argv[i]; i++)
        if (strcmp(argv[i], LAB_ONEIBD) == 0)
            return true;
    return false;
}

int lab_start(struct lab *lab, const struct lab_program *program, pid_t *pid,
              struct oneib_error *err)
{
    struct environment environment = {0}, arguments = {0};
    if (runs_oneibd(program->argv) && lab_accept_waiting(lab, err) < 0)
        return -1;
    environment_make(lab, program, &environment);
    copy_arguments(program->argv, &arguments);
    const int result = start_found(lab, program, &arguments, &environment, pid, err);
    environment_clear(&environment);
    environment_clear(&arguments);
    return result;
}

static struct lab_child *find_child(struct lab *lab, pid_t pid)
{
    for (size_t i = lab->child_count; pid > 0 && i-- > 0;)
        if (lab->children[i].pid == pid)
            return &lab->children[i];
    return NULL;
}

pid_t lab_child_pid(const struct lab *lab, const char *name)
{
    for (size_t i = lab->child_count; i-- > 0;)
        if (lab->children[i].pid > 0 && strcmp(lab->children[i].name, name) == 0)
            return lab->children[i].pid;
    return 0;
}

bool lab_wait(struct lab *lab, pid_t pid, unsigned timeout_ms, int *status)
{
    struct lab_child *child = find_child(lab, pid);
    long end = lab_clock_ms() + timeout_ms;
    unsigned pause = 1;
    while (child) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended != 0) {
            child->pid = 0;
            child->status = ended > 0 ? *status : 0;
            /* One that ended well has given its place back itself. */
            if (ended > 0 && *status != 0 && child->on_fabric && !lab->closing)
                lab_fabric_reclaim(lab);
            return true;
        }
        if (lab_clock_ms() >= end)
            return false;
        lab_sleep_ms(pause);
        pause = pause < 10 ? pause * 2 : 10;
    }
    return true;
}

bool lab_is_running(struct lab *lab, pid_t pid)
{
    int status;
    return find_child(lab, pid) && !lab_wait(lab, pid, 0, &status);
}

char *lab_how_it_ended(const struct lab *lab, pid_t pid)
{
    char *how = NULL;
    const struct lab_child *child = NULL;
    for (size_t i = lab->child_count; !child && i-- > 0;)
        if (lab->children[i].was == pid)
            child = &lab->children[i];
    if (!child || child->pid > 0)
        return oneib_strdup("still running");
    return asprintf(&how, "ended %s %d", WIFSIGNALED(child->status) ? "by signal" : "with status",
                    WIFSIGNALED(child->status) ? WTERMSIG(child->status)
                                               : WEXITSTATUS(child->status)) < 0
               ? NULL
               : how;
}

int lab_end(struct lab *lab, pid_t pid, int signal_number, unsigned timeout_ms,
            struct oneib_error *err)
{
    int status;
    if (!lab_is_running(lab, pid))
        return 0;
    if (kill(pid, signal_number) < 0)
        return oneib_fail_errno(err, errno, "ending process %d", pid);
    if (lab_wait(lab, pid, timeout_ms, &status))
        return 0;
    kill(pid, SIGKILL);
    lab_wait(lab, pid, 5000, &status);
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "ending process %d: it did not end within %u ms of signal %d", pid,
                      timeout_ms, signal_number);
}

/* The last started first: programs before opensm, opensm before the fabric. */
void lab_kill_children(struct lab *lab)
{
    int status;
    for (size_t i = lab->child_count; i-- > 0;) {
        pid_t pid = lab->children[i].pid;
        if (pid > 0 && !lab_wait(lab, pid, 0, &status)) {
            kill(pid, SIGKILL);
            lab_wait(lab, pid, 5000, &status);
        }
    }
}

int lab_spawn(struct lab *lab, const char *name, const char *hca, const char *const *argv,
              pid_t *pid, struct oneib_error *err)
{
    struct lab_program program = {
        .name = name, .hca = hca, .argv = argv, .in = -1, .out = -1, .error = -1};
    return lab_start(lab, &program, pid, err);
}

void lab_output_clear(struct lab_output *output)
{
    free(output->out);
    free(output->error);
    *output = (struct lab_output){0};
}

/* One of the two pipes. */
struct stream {
    int fd; /* -1: at its end */
    struct oneib_text text;
};

static void take_from(struct stream *stream)
{
    char buffer[65536];
    ssize_t length = read(stream->fd, buffer, sizeof buffer);
    if (length < 0 && errno == EINTR)
        return;
    if (length <= 0) {
        close(stream->fd);
        stream->fd = -1;
        return;
    }
    size_t room = LAB_OUTPUT_MAX - stream->text.length;
    oneib_text_append_bytes(&stream->text, buffer, (size_t)length < room ? (size_t)length : room);
}

/* Reads both until both are closed, or the time is over: false. */
static bool drain(struct stream *streams, long end)
{
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        struct pollfd watched[2] = {{.fd = streams[0].fd, .events = POLLIN},
                                    {.fd = streams[1].fd, .events = POLLIN}};
        long left = end - lab_clock_ms();
        if (left <= 0)
            return false;
        if (poll(watched, 2, (int)left) < 0 && errno != EINTR)
            return false;
        for (int i = 0; i < 2; i++)
            if (watched[i].fd >= 0 && watched[i].revents)
                take_from(&streams[i]);
    }
    return true;
}

static void take_output(struct stream *stream, char **data, size_t *length)
{
    oneib_text_append(&stream->text, "");
    if (!stream->text.data)
        stream->text.data = oneib_strdup("");
    *data = stream->text.data;
    *length = stream->text.length;
    stream->text = (struct oneib_text){0};
}

static void await_program(struct lab *lab, pid_t pid, struct stream *streams, long end,
                          struct lab_output *output)
{
    int status = 0;
    bool drained = drain(streams, end);
    long left = end - lab_clock_ms();
    if (!drained || !lab_wait(lab, pid, left > 0 ? (unsigned)left : 0, &status)) {
        output->timed_out = true;
        kill(pid, SIGKILL);
        lab_wait(lab, pid, 5000, &status);
    }
    output->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_with_pipes(struct lab *lab, struct lab_program *program, unsigned timeout_ms,
                          struct stream *streams, struct lab_output *output,
                          struct oneib_error *err)
{
    int out[2], error[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return oneib_fail_errno(err, errno, "starting %s", program->argv[0]);
    if (pipe2(error, O_CLOEXEC) < 0) {
        close(out[0]);
        close(out[1]);
        return oneib_fail_errno(err, errno, "starting %s", program->argv[0]);
    }
    program->out = out[1];
    program->error = error[1];
    pid_t pid = 0;
    int result = lab_start(lab, program, &pid, err);
    close(out[1]);
    close(error[1]);
    streams[0].fd = out[0];
    streams[1].fd = error[0];
    if (result == 0 && program->meanwhile)
        program->meanwhile();
    if (result == 0)
        await_program(lab, pid, streams, lab_clock_ms() + timeout_ms, output);
    for (int i = 0; i < 2; i++)
        if (streams[i].fd >= 0)
            close(streams[i].fd);
    return result;
}

/* A file without a name that holds the text, read from its beginning. */
static int open_input(const char *text, struct oneib_error *err)
{
    const size_t length = strlen(text);
    oneib_autoclose int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length || lseek(fd, 0, SEEK_SET) < 0)
        return oneib_fail_errno(err, errno, "preparing a program's input");
    int opened = fd;
    fd = -1;
    return opened;
}

int lab_run_program(struct lab *lab, struct lab_program *program, const char *input,
                    unsigned timeout_ms, struct lab_output *output, struct oneib_error *err)
{
    *output = (struct lab_output){0};
    oneib_autoclose int in = -1;
    if (input && (in = open_input(input, err)) < 0)
        return -1;
    program->in = in;
    struct stream streams[2] = {{.fd = -1}, {.fd = -1}};
    int result = run_with_pipes(lab, program, timeout_ms, streams, output, err);
    if (result == 0)
        take_output(&streams[0], &output->out, &output->out_length);
    if (result == 0)
        take_output(&streams[1], &output->error, &output->error_length);
    oneib_text_clear(&streams[0].text);
    oneib_text_clear(&streams[1].text);
    if (result < 0)
        lab_output_clear(output);
    return result;
}

int lab_run(struct lab *lab, const char *hca, const char *const *argv, unsigned timeout_ms,
            struct lab_output *output, struct oneib_error *err)
{
    struct lab_program program = {.name = "run", .hca = hca, .argv = argv};
    return lab_run_program(lab, &program, NULL, timeout_ms, output, err);
}

int lab_oneib(struct lab *lab, const char *const *arguments, unsigned timeout_ms,
              struct lab_output *output, struct oneib_error *err)
{
    size_t count = count_strings(arguments);
    const char *config = lab_config_path(lab);
    const char **argv = oneib_alloc(count + 4, sizeof *argv);
    if (!config) {
        free(argv);
        return -1;
    }
    lab_play_daemon(lab);
    argv[0] = LAB_ONEIB;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = arguments[i];
    argv[count + 1] = "--config";
    argv[count + 2] = config;
    int result = lab_run(lab, LAB_SM_HCA, argv, timeout_ms, output, err);
    free(argv);
    return result;
}

int lab_enter_fabric(char **argv, struct oneib_error *err)
{
    if (getenv("LAB_SOCKET_NAME"))
        return 0;
    char name[64];
    snprintf(name, sizeof name, "oneib-lab-%d", getpid());
    struct environment environment = {0};
    environment_copy(&environment);
    environment_enter_fabric(&environment, LAB_SM_HCA, name);
    environment_set_pair(&environment, "LAB_SOCKET_NAME", name);
    environment_append(&environment, NULL);
    execve("/proc/self/exe", argv, environment.items);
    oneib_fail_errno(err, errno, "starting this program again on the fabric");
    environment_clear(&environment);
    return -1;
}
