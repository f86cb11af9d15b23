// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/child.h"
#include "base/clock.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define RESTART_FIRST_MS 200
#define RESTART_LAST_MS 5000

static int listen_to(const struct oneib_child *child, int socket, struct oneib_error *err)
{
    struct epoll_event readable = {.events = EPOLLIN};
    if (epoll_ctl(child->poll_fd, EPOLL_CTL_ADD, socket, &readable) < 0)
        return oneib_fail_errno(err, errno, "listening to %s", child->supervisor.name);
    return 0;
}

int oneib_child_open(const struct oneib_supervisor_options *options, uint32_t silence_ms,
                     struct oneib_child *child, struct oneib_error *err)
{
    child->silence_ms = silence_ms;
    child->restart_ms = RESTART_FIRST_MS;
    if (oneib_supervisor_start(options, &child->supervisor, err) < 0)
        return -1;
    child->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (child->poll_fd < 0)
        return oneib_fail_errno(err, errno, "listening to %s", options->name);
    return listen_to(child, child->supervisor.control, err);
}

void oneib_child_close(struct oneib_child *child)
{
    oneib_supervisor_end(&child->supervisor);
    if (child->socket >= 0)
        close(child->socket);
    if (child->poll_fd >= 0)
        close(child->poll_fd);
    *child = ONEIB_CHILD_NONE;
}

/* More than net.core.wmem_max only where we may. */
static void make_room(int socket, int bytes)
{
    if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

int oneib_child_start(struct oneib_child *child, int room, struct oneib_error *err)
{
    int ends[2];
    oneib_child_heard(child);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return oneib_fail_errno(err, errno, "making a socket for %s", child->supervisor.name);
    child->socket = ends[0];
    for (int i = 0; room > 0 && i < 2; i++)
        make_room(ends[i], room);
    int status = listen_to(child, ends[0], err);
    if (status == 0)
        status = oneib_supervisor_order(&child->supervisor, ends[1], err);
    close(ends[1]);
    return status;
}

void oneib_child_start_later(struct oneib_child *child)
{
    if (child->socket >= 0)
        close(child->socket);
    child->socket = -1;
    child->due = oneib_now_ms() + child->restart_ms;
    child->restart_ms *= 2;
    if (child->restart_ms > RESTART_LAST_MS)
        child->restart_ms = RESTART_LAST_MS;
}

bool oneib_child_is_due(const struct oneib_child *child)
{
    return oneib_now_ms() >= child->due;
}

void oneib_child_heard(struct oneib_child *child)
{
    child->due = oneib_now_ms() + child->silence_ms;
}

void oneib_child_is_well(struct oneib_child *child)
{
    child->restart_ms = RESTART_FIRST_MS;
}

int oneib_child_check_supervisor(const struct oneib_child *child, struct oneib_error *err)
{
    char nothing;
    const ssize_t length = recv(child->supervisor.control, &nothing, sizeof nothing, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                      "the supervisor of %s has ended, and nothing else can start that",
                      child->supervisor.name);
}
