// SPDX-License-Identifier: Apache-2.0
#include "service/connection.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "hca/place.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#define START "'systemctl start oneib-node.socket' starts it, 'install.sh --node' installs it"
#define RESTART "'systemctl restart oneib-node.service' gives it its callers' version"

/* ---- where it is ----------------------------------------------------------------------------- */

/* The address has room for 107 bytes: a longer path goes by its directory, which is then open for
 * as long as the address is needed. */
static int find_socket(const char *path, struct sockaddr_un *address, int *directory,
                       struct oneib_error *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *directory = -1;
    char name[PATH_MAX];
    if (oneib_node_path(name, sizeof name, err, "%s", path) < 0)
        return -1;
    if (strlen(name) < sizeof address->sun_path) {
        strcpy(address->sun_path, name);
        return 0;
    }
    char *slash = strrchr(name, '/');
    *slash = '\0';
    *directory = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", *directory,
             slash + 1);
    return 0;
}

/* Where the queue of those who want to connect is full, connect() waits. */
static void limit_waiting(int fd, double deadline)
{
    const double left = deadline - oneib_now_ms();
    const long ms = left > 1 ? (long)left : 1;
    const struct timeval time = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

static int connect_to(const struct sockaddr_un *address, double deadline)
{
    oneib_autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    for (;;) {
        limit_waiting(fd, deadline);
        if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
            break;
        if (errno != EINTR)
            return -1;
    }
    return oneib_steal_fd(&fd);
}

static enum oneib_connection_outcome refused(const char *path, int error, struct oneib_error *err)
{
    if (error == EACCES || error == EPERM) {
        oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                   "oneib-node cannot be called: this user may not connect to %s%s, which is "
                   "for OpenNebula's group",
                   oneib_node_root(), path);
        return ONEIB_CONNECTION_DENIED;
    }
    oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
               "oneib-node cannot be called: connecting to %s%s: %s: " START, oneib_node_root(),
               path, strerror(error));
    return error == ENOENT || error == ENOTDIR ? ONEIB_CONNECTION_ABSENT : ONEIB_CONNECTION_LOST;
}

enum oneib_connection_outcome oneib_connection_open(const char *socket, double deadline, int *fd,
                                                    struct oneib_error *err)
{
    struct sockaddr_un address;
    oneib_autoclose int directory = -1;
    *fd = -1;
    if (find_socket(socket, &address, &directory, err) < 0)
        return ONEIB_CONNECTION_FAILED;
    *fd = connect_to(&address, deadline);
    return *fd >= 0 ? ONEIB_CONNECTION_FINE : refused(socket, errno, err);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static enum oneib_connection_outcome lost(const char *how, struct oneib_error *err)
{
    oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
               "oneib-node has closed the connection without an answer%s%s: its log "
               "('journalctl -u oneib-node') says why",
               how ? ": " : "", how ? how : "");
    return ONEIB_CONNECTION_LOST;
}

/* FINE: something has arrived, or there is room; or the other end is gone, which is then seen. */
static enum oneib_connection_outcome await(int fd, short what, double deadline,
                                           struct oneib_error *err)
{
    for (;;) {
        struct pollfd file = {.fd = fd, .events = what};
        const double left = deadline - oneib_now_ms();
        const int ready = poll(&file, 1, left > 0 ? (left < INT_MAX ? (int)left + 1 : INT_MAX) : 0);
        if (ready > 0)
            return ONEIB_CONNECTION_FINE;
        if (ready < 0 && errno != EINTR) {
            oneib_fail_errno(err, errno, "waiting for oneib-node");
            return ONEIB_CONNECTION_FAILED;
        }
        if (ready == 0 && left <= 0)
            break;
    }
    oneib_fail(err, ONEIB_ERROR_TIMEOUT,
               "oneib-node does not answer: its log ('journalctl -u oneib-node') may say why");
    return ONEIB_CONNECTION_FAILED;
}

static bool is_to_be_tried_again(int error)
{
    return error == EINTR || error == EAGAIN;
}

enum oneib_connection_outcome oneib_connection_send(int fd, const struct oneib_request *request,
                                                    double deadline, struct oneib_error *err)
{
    struct oneib_request packed;
    oneib_request_pack(request, &packed);
    for (;;) {
        if (send(fd, &packed, sizeof packed, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
            return ONEIB_CONNECTION_FINE;
        if (!is_to_be_tried_again(errno))
            return lost(strerror(errno), err);
        const enum oneib_connection_outcome outcome = await(fd, POLLOUT, deadline, err);
        if (outcome != ONEIB_CONNECTION_FINE)
            return outcome;
    }
}

/* Of one byte more, so that what is too long is seen to be. */
static ssize_t receive_bytes(int fd, char bytes[sizeof(struct oneib_answer) + 1])
{
    ssize_t length = recv(fd, bytes, sizeof(struct oneib_answer) + 1, MSG_DONTWAIT);
    /* The other end went without reading what was sent: its last words are still there. */
    if (length < 0 && errno == ECONNRESET)
        length = recv(fd, bytes, sizeof(struct oneib_answer) + 1, MSG_DONTWAIT);
    return length;
}

static enum oneib_connection_outcome take(const char *bytes, size_t length,
                                          struct oneib_answer *answer, struct oneib_error *err)
{
    struct oneib_error why;
    if (oneib_answer_check(bytes, length, answer, &why) == 0)
        return ONEIB_CONNECTION_FINE;
    oneib_fail(err, ONEIB_ERROR_PROTOCOL, "oneib-node's answer cannot be understood: %s; " RESTART,
               why.text);
    return ONEIB_CONNECTION_FAILED;
}

enum oneib_connection_outcome oneib_connection_receive(int fd, struct oneib_answer *answer,
                                                       double deadline, struct oneib_error *err)
{
    char bytes[sizeof *answer + 1];
    for (;;) {
        const ssize_t length = receive_bytes(fd, bytes);
        if (length > 0)
            return take(bytes, (size_t)length, answer, err);
        if (length == 0 || !is_to_be_tried_again(errno))
            return lost(length == 0 ? NULL : strerror(errno), err);
        const enum oneib_connection_outcome outcome = await(fd, POLLIN, deadline, err);
        if (outcome != ONEIB_CONNECTION_FINE)
            return outcome;
    }
}
