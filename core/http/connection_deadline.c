// SPDX-License-Identifier: Apache-2.0
#include "http/connection_deadline.h"
#include "base/clock.h"
#include "base/memory.h"
#include <stdlib.h>
#include <sys/socket.h>

struct oneib_connection {
    struct oneib_connection *next, **before;
    MHD_socket fd;
    double since_ms;
};

static void add(struct oneib_connections *connections, struct MHD_Connection *connection,
                void **socket)
{
    struct oneib_connection *entry = oneib_alloc(1, sizeof *entry);
    *entry = (struct oneib_connection){
        .next = connections->first,
        .before = &connections->first,
        .fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
        .since_ms = oneib_now_ms(),
    };
    if (entry->next)
        entry->next->before = &entry->next;
    connections->first = *socket = entry;
}

static void drop(struct oneib_connection *entry)
{
    *entry->before = entry->next;
    if (entry->next)
        entry->next->before = entry->before;
    free(entry);
}

void oneib_connection_notified(void *context, struct MHD_Connection *connection, void **socket,
                               enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        add(context, connection, socket);
    else
        drop(*socket);
}

void oneib_connection_answered(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct oneib_connection *entry = info->socket_context;
    entry->since_ms = oneib_now_ms();
}

/* libmicrohttpd finds the socket at its end, and closes it. */
void oneib_connections_enforce(const struct oneib_connections *connections, double limit_ms)
{
    const double now = oneib_now_ms();
    for (const struct oneib_connection *entry = connections->first; entry; entry = entry->next)
        if (now - entry->since_ms > limit_ms)
            shutdown(entry->fd, SHUT_RDWR);
}
