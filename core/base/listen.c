// SPDX-License-Identifier: Apache-2.0
#include "base/listen.h"
#include "base/cleanup.h"
#include "base/number.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BACKLOG 128 /* a burst of clients that wait to be accepted */

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } socket;
    socklen_t length;
};

static bool parse_v4(const char *host, uint16_t port, struct address *address)
{
    address->socket.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    address->length = sizeof address->socket.v4;
    return inet_pton(AF_INET, host, &address->socket.v4.sin_addr) == 1;
}

static bool parse_v6(const char *host, uint16_t port, struct address *address)
{
    address->socket.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    address->length = sizeof address->socket.v6;
    return inet_pton(AF_INET6, host, &address->socket.v6.sin6_addr) == 1;
}

static bool parse_address(const char *text, struct address *address)
{
    char host[INET6_ADDRSTRLEN + 2];
    uint64_t port;
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || (size_t)(colon - text) >= sizeof host ||
        !oneib_parse_decimal(colon + 1, UINT16_MAX, &port))
        return false;
    const size_t length = (size_t)(colon - text);
    memcpy(host, text, length);
    host[length] = '\0';
    if (host[0] != '[')
        return parse_v4(host, (uint16_t)port, address);
    if (host[length - 1] != ']')
        return false;
    host[length - 1] = '\0';
    return parse_v6(host + 1, (uint16_t)port, address);
}

static int bind_and_listen(int fd, const struct address *address)
{
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address->socket.any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, &address->socket.any, address->length) < 0)
        return -1;
    return listen(fd, BACKLOG);
}

int oneib_listen(const char *text, const char *key, uint16_t *port, struct oneib_error *err)
{
    struct address address;
    if (!parse_address(text, &address))
        return oneib_fail(err, ONEIB_ERROR_CONFIG,
                          "%s: \"%s\" is not an address in numbers with a port: "
                          "127.0.0.1:9677, or [::1]:9677",
                          key, text);

    oneib_autoclose int fd =
        socket(address.socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind_and_listen(fd, &address) < 0)
        return oneib_fail_errno(err, errno, "%s: listening on %s", key, text);
    if (getsockname(fd, &address.socket.any, &address.length) < 0)
        return oneib_fail_errno(err, errno, "%s: asking for the port of %s", key, text);
    *port = ntohs(address.socket.any.sa_family == AF_INET6 ? address.socket.v6.sin6_port
                                                           : address.socket.v4.sin_port);
    return oneib_steal_fd(&fd);
}

static int connect_within(const struct addrinfo *address, int timeout_ms)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    oneib_autoclose int fd =
        socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    struct pollfd done = {.fd = fd, .events = POLLOUT};
    if (poll(&done, 1, timeout_ms) != 1)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0 ? errno : failure;
}

int oneib_try_connect(const char *text, int timeout_ms, struct oneib_error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char host[256];
    const char *colon = strrchr(text, ':');
    const bool is_v6 = text[0] == '[';
    snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - text) - 2 * is_v6 : 0, text + is_v6);
    const int unknown = getaddrinfo(host, colon ? colon + 1 : NULL, &hints, &found);
    if (unknown != 0)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s: %s", text, gai_strerror(unknown));
    const int failure = connect_within(found, timeout_ms);
    freeaddrinfo(found);
    return failure == 0 ? 0 : oneib_fail_errno(err, failure, "connecting to %s", text);
}
