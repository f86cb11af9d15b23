// SPDX-License-Identifier: Apache-2.0
/*
 * Bounds the time of a libmicrohttpd connection from accept, or from the last answer, to the next
 * answer. MHD_OPTION_CONNECTION_TIMEOUT bounds only the time without a byte, so a client that sends
 * one now and then would keep its place. For a server without a thread of its own: all calls come
 * from the thread that runs it.
 */
#ifndef ONEIB_HTTP_CONNECTION_DEADLINE_H
#define ONEIB_HTTP_CONNECTION_DEADLINE_H

#include <microhttpd.h>

/* Zeroed: no connection. It is to outlive the server. */
struct oneib_connections {
    struct oneib_connection *first;
};

/* For MHD_OPTION_NOTIFY_CONNECTION; context: the struct oneib_connections. */
void oneib_connection_notified(void *context, struct MHD_Connection *connection, void **socket,
                               enum MHD_ConnectionNotificationCode code);
/* The answer was sent: the time begins anew. For MHD_OPTION_NOTIFY_COMPLETED. */
void oneib_connection_answered(struct MHD_Connection *connection);
/* Ends connections that have waited for longer than that. */
void oneib_connections_enforce(const struct oneib_connections *connections, double limit_ms);

#endif
