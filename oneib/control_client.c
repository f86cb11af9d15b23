// SPDX-License-Identifier: Apache-2.0
#include "oneib/control_client.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "command/control_message.h"
#include <errno.h>
#include <libgen.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Longer than the daemon's own limit, so that the daemon's error is shown. */
#define PATIENCE_S 90

/* Returns the socket. -1 with *no_server: no process listens there, and *err is not set. */
static int connect_to(const char *path, bool *no_server, struct oneib_error *err)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *no_server = true;
    if (strlen(path) >= sizeof address.sun_path)
        return -1; /* no socket can have this path */
    memcpy(address.sun_path, path, strlen(path) + 1);
    oneib_autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *no_server = false;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0)
        return oneib_fail_errno(err, errno, "asking oneibd: making a socket");
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return oneib_steal_fd(&fd);
    *no_server = errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR;
    return *no_server ? -1 : oneib_fail_errno(err, errno, "asking oneibd at %s", path);
}

static int check_server(int fd, const char *path, struct oneib_error *err)
{
    oneib_autofree char *copy = oneib_strdup(path);
    const char *directory = dirname(copy);
    struct stat found;
    struct ucred server;
    socklen_t size = sizeof server;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &size) < 0 || stat(directory, &found) < 0)
        return oneib_fail_errno(err, errno, "asking oneibd at %s", path);
    if (server.uid == 0 || server.uid == geteuid() || server.uid == found.st_uid)
        return 0;
    return oneib_fail(
        err, ONEIB_ERROR_REFUSED,
        "user %u listens at %s, whose directory is user %u's: that is not oneibd; see "
        "daemon.control, or use --no-daemon",
        (unsigned)server.uid, path, (unsigned)found.st_uid);
}

static int receive(int fd, void *bytes, size_t length)
{
    for (size_t got = 0; got < length;) {
        const ssize_t more = recv(fd, (char *)bytes + got, length - got, 0);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0) {
            errno = more == 0 ? ECONNRESET : errno;
            return -1;
        }
        got += (size_t)more;
    }
    return 0;
}

static int receive_text(int fd, size_t length, struct oneib_text *text)
{
    if (length == 0)
        return 0;
    oneib_autofree char *bytes = oneib_alloc(length, 1);
    if (receive(fd, bytes, length) < 0)
        return -1;
    oneib_text_append_bytes(text, bytes, length);
    return 0;
}

/* The daemon may refuse before the request is sent whole: a failure to send is ignored, the answer has
 * the reason. */
static int exchange(int fd, const struct oneib_control_request *request,
                    struct oneib_control_head *head, struct oneib_error *err)
{
    uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE], answer[ONEIB_CONTROL_HEAD_SIZE];
    oneib_control_request_encode(request, bytes);
    (void)!send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
    if (receive(fd, answer, sizeof answer) < 0)
        return oneib_fail_errno(
            err, errno, "oneibd does not answer: see its log, or stop it and use --no-daemon");
    return oneib_control_head_decode(answer, head, err);
}

static int receive_texts(int fd, const struct oneib_control_head *head,
                         struct oneib_command_answer *answer, struct oneib_error *failure,
                         struct oneib_error *err)
{
    char said[sizeof failure->text] = "";
    if (receive_text(fd, head->out_length, &answer->out) < 0 ||
        receive_text(fd, head->err_length, &answer->err) < 0 ||
        receive_text(fd, head->end_length, &answer->end) < 0 ||
        receive(fd, said, head->failure_length) < 0)
        return oneib_fail_errno(err, errno, "oneibd's answer ends early: see its log");
    *failure = (struct oneib_error){.code = head->code};
    memcpy(failure->text, said, sizeof failure->text - 1);
    return 0;
}

enum oneib_control_outcome oneib_control_ask(const struct oneib_config *config,
                                             const struct oneib_command_request *request,
                                             struct oneib_command_answer *answer,
                                             enum oneib_exit *outcome, struct oneib_error *err)
{
    const char *path = config->daemon.control;
    const struct oneib_control_request asked = {oneib_control_partitions(config), *request};
    struct oneib_control_head head;
    struct oneib_error failure;
    bool no_server;
    if (strcmp(path, "none") == 0)
        return ONEIB_CONTROL_NO_DAEMON;
    oneib_autoclose int fd = connect_to(path, &no_server, err);
    if (fd < 0)
        return no_server ? ONEIB_CONTROL_NO_DAEMON : ONEIB_CONTROL_FAILED;
    if (check_server(fd, path, err) < 0 || exchange(fd, &asked, &head, err) < 0 ||
        receive_texts(fd, &head, answer, &failure, err) < 0)
        return ONEIB_CONTROL_FAILED;
    if (head.outcome == ONEIB_EXIT_REFUSED)
        return ONEIB_CONTROL_NO_DAEMON;
    *outcome = head.outcome;
    if (head.code != ONEIB_ERROR_NONE)
        *err = failure;
    return ONEIB_CONTROL_ANSWERED;
}
