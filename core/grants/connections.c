// SPDX-License-Identifier: Apache-2.0
/*
 * A descriptor belongs to libzmq, which may close it at any moment, and its number may then be another
 * file's. So a duplicate is shut down, after its peer's address was compared with the connection's.
 * libzmq reports the end of a connection before it closes the descriptor: an event that is read late
 * is corrected by the next one.
 */
#include "grants/connections.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <zmq.h>

#define ENDPOINT "inproc://oneib-connections"
#define WATCHED (ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED)

struct peer_address {
    struct sockaddr_storage address;
    socklen_t length;
};

struct connection {
    bool is_open;
    struct peer_address peer;
    double heard_ms; /* when the last message came; at first: when it was accepted */
    bool has_key;
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
};

struct oneib_connections {
    void *socket, *monitor;
    double silence_ms;
    struct connection *items; /* by descriptor */
    size_t count, capacity;
    double looked_ms; /* the last search for silent connections */
    uint64_t ended;
};

static struct connection *find(const struct oneib_connections *connections, int fd)
{
    return fd >= 0 && (size_t)fd < connections->count && connections->items[fd].is_open
               ? &connections->items[fd]
               : NULL;
}

static bool read_peer(int fd, struct peer_address *peer)
{
    *peer = (struct peer_address){.length = sizeof peer->address};
    return getpeername(fd, (struct sockaddr *)&peer->address, &peer->length) == 0;
}

static void add(struct oneib_connections *connections, int fd)
{
    struct connection added = {.is_open = true, .heard_ms = oneib_now_ms()};
    while (fd >= 0 && connections->count <= (size_t)fd)
        ONEIB_APPEND(connections->items, connections->count, connections->capacity,
                     (struct connection){0});
    if (fd < 0)
        return;
    added.is_open = read_peer(fd, &added.peer);
    connections->items[fd] = added;
}

static void end(struct oneib_connections *connections, struct connection *connection)
{
    struct peer_address peer;
    oneib_autoclose int copy = fcntl((int)(connection - connections->items), F_DUPFD_CLOEXEC, 0);
    if (copy >= 0 && read_peer(copy, &peer) && peer.length == connection->peer.length &&
        memcmp(&peer.address, &connection->peer.address, peer.length) == 0) {
        shutdown(copy, SHUT_RDWR);
        connections->ended++;
    }
    connection->is_open = false;
}

/* One event of libzmq: its type (16 bits) and the descriptor (32 bits), then the endpoint. */
static bool take_event(struct oneib_connections *connections)
{
    uint8_t frame[8];
    char endpoint[8];
    uint16_t event;
    int32_t fd;
    const int length = zmq_recv(connections->monitor, frame, sizeof frame, ZMQ_DONTWAIT);
    if (length < (int)(sizeof event + sizeof fd))
        return false;
    memcpy(&event, frame, sizeof event);
    memcpy(&fd, frame + sizeof event, sizeof fd);
    zmq_recv(connections->monitor, endpoint, sizeof endpoint,
             ZMQ_DONTWAIT); /* not used, may be cut */
    struct connection *known = find(connections, fd);
    if (event == ZMQ_EVENT_ACCEPTED)
        add(connections, fd);
    else if (known)
        known->is_open = false;
    return true;
}

static void end_silent(struct oneib_connections *connections)
{
    const double now = oneib_now_ms();
    if (now - connections->looked_ms < connections->silence_ms / 10)
        return;
    connections->looked_ms = now;
    for (size_t i = 0; i < connections->count; i++)
        if (connections->items[i].is_open &&
            now - connections->items[i].heard_ms >= connections->silence_ms)
            end(connections, &connections->items[i]);
}

void oneib_connections_follow(struct oneib_connections *connections)
{
    while (take_event(connections))
        ;
    end_silent(connections);
}

/* When the key has too many connections: the one without a message for longest, other than this. */
static struct connection *excess_of(const struct oneib_connections *connections,
                                    const struct connection *connection)
{
    size_t count = 1;
    struct connection *oldest = NULL;
    for (size_t i = 0; i < connections->count; i++) {
        struct connection *other = &connections->items[i];
        if (other == connection || !other->is_open || !other->has_key ||
            memcmp(other->key, connection->key, sizeof other->key) != 0)
            continue;
        count++;
        if (!oldest || other->heard_ms < oldest->heard_ms)
            oldest = other;
    }
    return count > ONEIB_CONNECTIONS_OF_KEY ? oldest : NULL;
}

void oneib_connections_heard(struct oneib_connections *connections, int fd,
                             const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    struct connection *connection = find(connections, fd);
    if (!connection)
        return;
    connection->heard_ms = oneib_now_ms();
    if (connection->has_key)
        return;
    connection->has_key = true;
    memcpy(connection->key, key, sizeof connection->key);
    struct connection *excess = excess_of(connections, connection);
    if (excess)
        end(connections, excess);
}

uint64_t oneib_connections_ended(const struct oneib_connections *connections)
{
    return connections->ended;
}

void *oneib_connections_socket(const struct oneib_connections *connections)
{
    return connections->monitor;
}

/* No limit on events, and none that delay the end of the context. */
static bool watch(struct oneib_connections *connections, void *context)
{
    const int none = 0;
    connections->monitor = zmq_socket(context, ZMQ_PAIR);
    return connections->monitor &&
           zmq_socket_monitor(connections->socket, ENDPOINT, WATCHED) == 0 &&
           zmq_setsockopt(connections->monitor, ZMQ_LINGER, &none, sizeof none) == 0 &&
           zmq_setsockopt(connections->monitor, ZMQ_RCVHWM, &none, sizeof none) == 0 &&
           zmq_connect(connections->monitor, ENDPOINT) == 0;
}

int oneib_connections_open(void *context, void *socket, double silence_ms,
                           struct oneib_connections **connections, struct oneib_error *err)
{
    struct oneib_connections *opened = oneib_alloc(1, sizeof *opened);
    opened->socket = socket;
    opened->silence_ms = silence_ms > 0 ? silence_ms : ONEIB_CONNECTION_SILENCE_MS;
    if (watch(opened, context)) {
        *connections = opened;
        return 0;
    }
    const int error = zmq_errno();
    oneib_connections_close(opened);
    *connections = NULL;
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "preparing to watch the connections of nodes: %s",
                      zmq_strerror(error));
}

void oneib_connections_close(struct oneib_connections *connections)
{
    if (!connections)
        return;
    zmq_socket_monitor(connections->socket, NULL, 0);
    if (connections->monitor)
        zmq_close(connections->monitor);
    free(connections->items);
    free(connections);
}
