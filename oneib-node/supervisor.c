// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/supervisor.h"
#include "base/cleanup.h"
#include "oneib-node/become.h"
#include "oneib-node/internet.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define CONTROL (STDERR_FILENO + 1) /* the supervisor's end */
#define END_WAIT_MS 1000

/* What an order is, beside the socket that comes with it. */
static const char start_order = 'S';

/* ---- the program ----------------------------------------------------------------------------- */

/* systemd tells all of a service's processes to end, and a terminal all of its own: these end when
 * oneib-node does. */
static void set_signals(void)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1};
    sigset_t none;
    for (int number = 1; number <= SIGRTMAX; number++)
        signal(number, SIG_DFL);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Dies with the supervisor, whatever ends that. */
static int die_with(pid_t supervisor, struct oneib_error *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return oneib_fail_errno(err, errno, "tying it to its supervisor");
    if (getppid() != supervisor)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "the supervisor has ended");
    return 0;
}

/* Returns on failure only. The socket is standard input already. */
static void become_program(const struct oneib_supervisor_options *options, pid_t supervisor,
                           struct oneib_error *err)
{
    const char *given = options->argument ? options->argument : "";
    char program[PATH_MAX], argument[PATH_MAX];
    char path[] = "PATH=/usr/bin:/bin", home[] = "HOME=/";
    char *const environment[] = {path, home, NULL};
    char *const arguments[] = {program, options->argument ? argument : NULL, NULL};
    if (strlen(options->program) >= sizeof program || strlen(given) >= sizeof argument) {
        oneib_fail(err, ONEIB_ERROR_INPUT, "its path or its argument is too long");
        return;
    }
    strcpy(program, options->program);
    strcpy(argument, given);
    set_signals();
    if (die_with(supervisor, err) < 0)
        return;
    execve(program, arguments, environment);
    oneib_fail_errno(err, errno, "running %s", program);
}

__attribute__((noreturn)) static void run_program(const struct oneib_supervisor_options *options,
                                                  pid_t supervisor, int socket)
{
    struct oneib_error err;
    if (dup2(socket, STDIN_FILENO) < 0 || close_range(STDERR_FILENO + 1, UINT_MAX, 0) < 0)
        _exit(1);
    become_program(options, supervisor, &err);
    options->tell_failure(STDIN_FILENO, &err);
    _exit(1);
}

/* 0: it could not be started, which has been told. */
static pid_t start_program(const struct oneib_supervisor_options *options, int socket)
{
    const pid_t supervisor = getpid();
    const pid_t child = fork();
    struct oneib_error err;
    if (child == 0)
        run_program(options, supervisor, socket);
    if (child > 0)
        return child;
    oneib_fail_errno(&err, errno, "starting a process for %s", options->name);
    options->tell_failure(socket, &err);
    return 0;
}

static void end_program(pid_t child)
{
    if (child == 0)
        return;
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ---- the supervisor -------------------------------------------------------------------------- */

static int take_descriptor(struct msghdr *message)
{
    int socket;
    const struct cmsghdr *part = CMSG_FIRSTHDR(message);
    if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
        part->cmsg_len != CMSG_LEN(sizeof socket))
        return -1;
    memcpy(&socket, CMSG_DATA(part), sizeof socket);
    return socket;
}

/* The socket that comes with the next order; -1: no more orders come. */
static int wait_for_order(void)
{
    char order;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr alignment;
    } control;
    struct iovec part = {.iov_base = &order, .iov_len = sizeof order};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t length;
    do
        length = recvmsg(CONTROL, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    return length == sizeof order && order == start_order ? take_descriptor(&message) : -1;
}

__attribute__((noreturn)) static void supervise(const struct oneib_supervisor_options *options)
{
    pid_t child = 0;
    for (int socket; (socket = wait_for_order()) >= 0; close(socket)) {
        end_program(child);
        child = start_program(options, socket);
    }
    end_program(child);
    _exit(0);
}

/* Standard error stays; nothing else that oneib-node has open or is told is the supervisor's. */
static int leave_all_behind(int control, struct oneib_error *err)
{
    sigset_t all;
    sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
        return oneib_fail_errno(err, errno, "blocking signals");
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return oneib_fail_errno(err, errno, "leaving standard output");
    if ((control != CONTROL && dup2(control, CONTROL) < 0) ||
        close_range(CONTROL + 1, UINT_MAX, 0) < 0)
        return oneib_fail_errno(err, errno, "closing descriptors");
    if (chdir("/") < 0)
        return oneib_fail_errno(err, errno, "changing to the directory /");
    return 0;
}

/* How it went is told to oneib-node, which waits for that. */
__attribute__((noreturn)) static void run_supervisor(const struct oneib_supervisor_options *options,
                                                     const struct oneib_user *user, pid_t parent,
                                                     int control)
{
    struct oneib_error err = {0};
    const bool is_ready = leave_all_behind(control, &err) == 0 &&
                          oneib_become(user, parent, &err) == 0 &&
                          (!options->without_internet || oneib_forbid_internet(&err) == 0);
    if (send(CONTROL, &err, sizeof err, MSG_NOSIGNAL) < 0 || !is_ready)
        _exit(1);
    supervise(options);
}

/* ---- oneib-node ------------------------------------------------------------------------------ */

static int hear_whether_ready(int control, struct oneib_error *err)
{
    struct oneib_error heard;
    ssize_t length;
    do
        length = recv(control, &heard, sizeof heard, 0);
    while (length < 0 && errno == EINTR);
    if (length != sizeof heard)
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "it has ended before it was ready");
    if (heard.code == ONEIB_ERROR_NONE)
        return 0;
    *err = heard;
    return -1;
}

static int start(const struct oneib_supervisor_options *options, const struct oneib_user *user,
                 struct oneib_supervisor *supervisor, struct oneib_error *err)
{
    int ends[2];
    const pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return oneib_fail_errno(err, errno, "making a socket for it");
    supervisor->pid = fork();
    if (supervisor->pid == 0)
        run_supervisor(options, user, parent, ends[1]);
    const int error = errno;
    close(ends[1]);
    supervisor->control = ends[0];
    if (supervisor->pid > 0)
        return hear_whether_ready(supervisor->control, err);
    return oneib_fail_errno(err, error, "making a process for it");
}

int oneib_supervisor_start(const struct oneib_supervisor_options *options,
                           struct oneib_supervisor *supervisor, struct oneib_error *err)
{
    struct oneib_user user;
    *supervisor = (struct oneib_supervisor){.pid = -1, .control = -1, .name = options->name};
    if (oneib_user_find(options->user, options->name, &user, err) < 0)
        return -1;
    if (start(options, &user, supervisor, err) == 0)
        return 0;
    oneib_supervisor_end(supervisor);
    return oneib_wrap(err, "starting the supervisor of %s", options->name);
}

int oneib_supervisor_order(const struct oneib_supervisor *supervisor, int socket,
                           struct oneib_error *err)
{
    char order = start_order;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr alignment;
    } control = {{0}};
    struct iovec part = {.iov_base = &order, .iov_len = sizeof order};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *right = CMSG_FIRSTHDR(&message);
    right->cmsg_level = SOL_SOCKET;
    right->cmsg_type = SCM_RIGHTS;
    right->cmsg_len = CMSG_LEN(sizeof socket);
    memcpy(CMSG_DATA(right), &socket, sizeof socket);
    if (sendmsg(supervisor->control, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return oneib_fail_errno(err, errno, "having %s started", supervisor->name);
    return 0;
}

/* Not for good: a process that the kernel holds (a disk that hangs) goes when it can. */
void oneib_supervisor_end(struct oneib_supervisor *supervisor)
{
    if (supervisor->control >= 0)
        close(supervisor->control);
    if (supervisor->pid > 0) {
        oneib_autoclose int end = pidfd_open(supervisor->pid, 0);
        struct pollfd file = {.fd = end, .events = POLLIN};
        if (end >= 0)
            poll(&file, 1, END_WAIT_MS);
        waitpid(supervisor->pid, NULL, end < 0 ? 0 : WNOHANG);
    }
    *supervisor = (struct oneib_supervisor){.pid = -1, .control = -1};
}
