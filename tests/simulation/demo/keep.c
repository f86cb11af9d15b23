// SPDX-License-Identifier: Apache-2.0
/*
 * The cloud stays up: a second terminal sources DIRECTORY/env, which puts DIRECTORY/bin on its
 * PATH, and types oneib, vm-standin and on-host. oneib runs there, on the subnet manager's host of
 * the simulated fabric; the other two are asked of this process by its socket in the lab's
 * directory.
 */
#include "../lab_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>

#include "stage.h"

#define SOCKET "call"
#define REQUEST_MAX 65536
#define REQUEST_MS 5000
#define ARGUMENTS_MAX 64
/* A program that was killed has kept its place on the fabric, which has ten. */
#define RECLAIM_MS 3000

/* ---- what a second terminal needs ------------------------------------------------------------ */

/* For a shell: 'it'\''s'. */
static void append_quoted(struct oneib_text *text, const char *string)
{
    oneib_text_append(text, "'");
    for (; *string; string++)
        if (*string == '\'')
            oneib_text_append(text, "'\\''");
        else
            oneib_text_append_bytes(text, string, 1);
    oneib_text_append(text, "'");
}

static int write_file(const char *directory, const char *name, mode_t mode,
                      const struct oneib_text *text, struct oneib_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return oneib_file_replace(path, text->data, text->length, mode, NULL, NULL, err);
}

static void append_setting(struct oneib_text *text, const char *name, const char *value)
{
    oneib_text_printf(text, "%s=", name);
    append_quoted(text, value);
    oneib_text_append(text, " \\\n    ");
}

/* Files that oneib is given are the caller's, though it runs elsewhere. */
static const char from_here[] = "last=\n"
                                "for word; do\n"
                                "    shift\n"
                                "    case $last in\n"
                                "    --config | --trust | keys)\n"
                                "        case $word in [!/-]*) word=$PWD/$word ;; esac\n"
                                "        ;;\n"
                                "    *)\n"
                                "        case $word in\n"
                                "        --config=[!/]* | --trust=[!/]*)"
                                " word=${word%%=*}=$PWD/${word#*=} ;;\n"
                                "        esac\n"
                                "        ;;\n"
                                "    esac\n"
                                "    [ \"$word\" = --json ] || last=$word\n"
                                "    set -- \"$@\" \"$word\"\n"
                                "done\n";

/* In the lab's directory, where what umad2sim writes while it runs belongs. */
static int write_oneib(struct demo_stage *stage, const char *directory, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    const char *config = lab_config_path(stage->lab);
    if (!config)
        return -1;
    oneib_text_append(&text, "#!/bin/sh\n"
                             "# oneib as on the host of the demo's subnet manager; hca is about a "
                             "KVM host: here the first.\n");
    oneib_text_append(&text, from_here);
    oneib_text_printf(&text,
                      "case ${1-} in\n"
                      "hca)\n"
                      "    echo 'On host %s; for another: on-host H3 oneib hca' >&2\n"
                      "    exec on-host %s oneib \"$@\"\n"
                      "    ;;\n"
                      "esac\n"
                      "cd ",
                      demo_host_name(stage, 0), demo_host_name(stage, 0));
    append_quoted(&text, lab_directory(stage->lab));
    oneib_text_append(&text, " || exit 3\n");
    oneib_text_printf(&text, /* umad2sim would try to reach it for hours */
                      "grep -q '@%s:ctl@*$' /proc/net/unix || {\n"
                      "    echo 'oneib: the simulated fabric (ibsim) has ended: end the demo, and "
                      "start it again' >&2\n"
                      "    exit 3\n"
                      "}\n"
                      "exec env ",
                      lab_socket_name(stage->lab));
    append_setting(&text, "LD_PRELOAD", DEMO_UMAD2SIM);
    append_setting(&text, "SIM_HOST", LAB_SM_HCA);
    append_setting(&text, "IBSIM_SOCKNAME", lab_socket_name(stage->lab));
    append_setting(&text, "no_proxy", "127.0.0.1");
    append_setting(&text, "ASAN_OPTIONS", "verify_asan_link_order=0:replace_intrin=0");
    append_quoted(&text, ONEIB_BINARY);
    oneib_text_append(&text, " --config ");
    append_quoted(&text, config);
    oneib_text_append(&text, " \"$@\"\n");
    return write_file(directory, "bin/oneib", 0755, &text, err);
}

static int write_caller(const char *directory, const char *name, const char *socket,
                        struct oneib_error *err)
{
    char file[64];
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "#!/bin/sh\n");
    oneib_text_append(&text, from_here);
    oneib_text_append(&text, "exec ");
    append_quoted(&text, DEMO_CALL_BINARY);
    oneib_text_append(&text, " ");
    append_quoted(&text, socket);
    oneib_text_printf(&text, " %s \"$@\"\n", name);
    snprintf(file, sizeof file, "bin/%s", name);
    return write_file(directory, file, 0755, &text, err);
}

static int write_env(const char *directory, struct oneib_error *err)
{
    char bin[PATH_MAX];
    oneib_autotext struct oneib_text text = {0};
    snprintf(bin, sizeof bin, "%s/bin", directory);
    oneib_text_append(&text, "# For a second terminal, while share/demo/run --keep runs.\nPATH=");
    append_quoted(&text, bin);
    oneib_text_append(&text, ":$PATH\nexport PATH\n");
    return write_file(directory, "env", 0644, &text, err);
}

static const char *const files[] = {"env", "bin/oneib", "bin/vm-standin", "bin/on-host", "bin"};

static void remove_files(const char *directory)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[i]);
        remove(path);
    }
}

/* The last one says that all is there. */
static int write_files(struct demo_stage *stage, const char *directory, const char *socket,
                       struct oneib_error *err)
{
    char bin[PATH_MAX];
    snprintf(bin, sizeof bin, "%s/bin", directory);
    if (mkdir(bin, 0755) < 0 && errno != EEXIST)
        return oneib_fail_errno(err, errno, "making %s", bin);
    return write_oneib(stage, directory, err) < 0 ||
                   write_caller(directory, "vm-standin", socket, err) < 0 ||
                   write_caller(directory, "on-host", socket, err) < 0 ||
                   write_env(directory, err) < 0
               ? -1
               : 0;
}

/* ---- its calls ------------------------------------------------------------------------------- */

static int open_socket(const char *path, struct oneib_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    oneib_autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const mode_t mask = umask(0177);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const bool is_bound =
        fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    const int why = errno;
    umask(mask);
    if (!is_bound || listen(fd, 8) < 0)
        return oneib_fail_errno(err, is_bound ? errno : why, "making the socket %s", path);
    const int opened = fd;
    fd = -1;
    return opened;
}

/* Until its end: then NUL terminated. false: too late, too long, or not in arguments. */
static bool receive(int fd, char *request, size_t *length)
{
    const double end_ms = oneib_now_ms() + REQUEST_MS;
    for (*length = 0; *length < REQUEST_MAX;) {
        struct pollfd watched = {.fd = fd, .events = POLLIN};
        const double left_ms = end_ms - oneib_now_ms();
        if (left_ms <= 0 || poll(&watched, 1, (int)left_ms + 1) <= 0)
            return false;
        const ssize_t read = recv(fd, request + *length, REQUEST_MAX - *length, 0);
        if (read == 0)
            return *length > 0 && request[*length - 1] == '\0';
        if (read < 0)
            return false;
        *length += (size_t)read;
    }
    return false;
}

static bool split(char *request, size_t length, char **argv)
{
    size_t count = 0;
    for (size_t at = 0; at < length; at += strlen(request + at) + 1) {
        if (count == ARGUMENTS_MAX)
            return false;
        argv[count++] = request + at;
    }
    argv[count] = NULL;
    return true;
}

static void send_text(int fd, const struct oneib_text *text)
{
    for (size_t at = 0; at < text->length;) {
        const ssize_t sent = send(fd, text->data + at, text->length - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        at += (size_t)sent;
    }
}

static void reply(int fd, int status, const struct oneib_text *out, const struct oneib_text *error)
{
    const struct timeval patience = {.tv_sec = REQUEST_MS / 1000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    oneib_autotext struct oneib_text head = {0};
    oneib_text_printf(&head, "%d %zu %zu\n", status, out->length, error->length);
    send_text(fd, &head);
    send_text(fd, out);
    send_text(fd, error);
}

static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/* -1: a tenant reached another. Whatever else does not work is the caller's to see. */
static int take_call(struct demo_stage *stage, int listening, struct oneib_error *err)
{
    static char request[REQUEST_MAX];
    char *argv[ARGUMENTS_MAX + 1];
    size_t length;
    oneib_autotext struct oneib_text out = {0}, error = {0};
    oneib_autoclose int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || !is_ours(fd) || !receive(fd, request, &length) || !split(request, length, argv))
        return 0;
    stage->last_wrong = 0;
    const int status = demo_command(stage, argv, &out, &error, err);
    if (stage->violations > 0)
        oneib_text_printf(&error, "%s\nThe demo ends: this must never happen.\n",
                          stage->first_wrong);
    else if (status < 0)
        oneib_text_printf(&error,
                          "%s\n"
                          "The cloud stays up; 'oneib show NETWORK', 'oneib hosts' and 'oneib "
                          "check' say more.\n",
                          err->text);
    else if (stage->last_wrong > 0)
        oneib_text_printf(&error, "Not as it should be: %s\n", stage->first_wrong);
    demo_tell_rest(stage);
    reply(fd, status < 0 ? 1 : status, &out, &error);
    return stage->violations > 0 ? oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%s", stage->first_wrong)
                                 : 0;
}

/* ---- until its end --------------------------------------------------------------------------- */

static int watch_signals(struct oneib_error *err)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    const int fd = sigprocmask(SIG_BLOCK, &ends, NULL) == 0
                       ? signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK)
                       : -1;
    return fd < 0 ? oneib_fail_errno(err, errno, "watching for signals") : fd;
}

/* Where a line or its end is meant for this program: not one started in the background. */
static bool is_at_terminal(void)
{
    if (!isatty(STDIN_FILENO))
        return false;
    const pid_t foreground = tcgetpgrp(STDIN_FILENO);
    return foreground < 0 || foreground == getpgrp();
}

/* What was typed before it was asked for, and the line that ended it. */
static void drop_input(void)
{
    if (is_at_terminal())
        tcflush(STDIN_FILENO, TCIFLUSH);
}

static int wait_and_serve(struct demo_stage *stage, int listening, int signals, double end_ms,
                          struct oneib_error *err)
{
    struct pollfd watched[] = {{.fd = signals, .events = POLLIN},
                               {.fd = listening, .events = POLLIN},
                               {.fd = -1, .events = POLLIN}};
    for (double left_ms; (left_ms = end_ms - oneib_now_ms()) > 0;) {
        watched[2].fd = is_at_terminal() ? STDIN_FILENO : -1;
        const int ready = poll(watched, 3, left_ms < RECLAIM_MS ? (int)left_ms + 1 : RECLAIM_MS);
        if (ready < 0 && errno != EINTR)
            return oneib_fail_errno(err, errno, "waiting");
        if (ready > 0 && (watched[0].revents || watched[2].revents))
            return 0;
        if (ready > 0 && watched[1].revents && take_call(stage, listening, err) < 0)
            return -1;
        if (ready == 0) {
            struct oneib_error unheard;
            lab_fabric_reclaim(stage->lab);
            demo_follow_fences(stage, &unheard);
        }
    }
    return 0;
}

static void invite(struct demo_stage *stage, const char *directory, unsigned minutes)
{
    char clock[16];
    const time_t end = time(NULL) + (time_t)minutes * 60;
    struct tm local;
    strftime(clock, sizeof clock, "%H:%M", localtime_r(&end, &local));
    oneib_autotext struct oneib_text env = {0};
    oneib_text_append(&env, directory);
    oneib_text_append(&env, "/env");
    oneib_autotext struct oneib_text quoted = {0};
    append_quoted(&quoted, env.data ? env.data : "");
    demo_tell(stage,
              "\nThe cloud stays up until %s, at the latest until %s.\n"
              "In a second terminal, as the same user:\n\n"
              "    . %s\n\n"
              "    oneib list                    and all of README's \"Look around\"\n"
              "    on-host H3 oneib hca          what the administrator of a host sees\n"
              "    vm-standin start climate      oneibd follows, which is told here\n"
              "    vm-standin                    more to do in place of OpenNebula\n\n"
              "Break what you like: end any of its programs, and see what oneib says.\n\n",
              is_at_terminal() ? "Enter or Ctrl-C" : "SIGINT or SIGTERM", clock,
              quoted.data ? quoted.data : "");
}

int demo_keep(struct demo_stage *stage, const char *directory, unsigned minutes,
              struct oneib_error *err)
{
    const char *path = lab_path(stage->lab, SOCKET);
    oneib_autoclose int listening = path ? open_socket(path, err) : -1;
    if (listening < 0)
        return -1;
    oneib_autoclose int signals = watch_signals(err);
    if (signals < 0)
        return -1;
    int status = write_files(stage, directory, path, err);
    stage->group_size = 1;
    stage->animate = false;
    stage->is_kept = true;
    signal(SIGPIPE, SIG_IGN); /* of a program that somebody has ended */
    if (status == 0) {
        drop_input();
        invite(stage, directory, minutes);
        status = wait_and_serve(stage, listening, signals, oneib_now_ms() + minutes * 60e3, err);
    }
    drop_input();
    remove_files(directory);
    if (status == 0)
        demo_tell(stage, "\nThe cloud ends.\n");
    return status;
}
