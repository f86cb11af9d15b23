// SPDX-License-Identifier: Apache-2.0
/*
 * The connections of one listening socket of libzmq, to limit those of one key. libzmq closes no
 * connection by itself and has no call for it: shutting down its descriptor ends the connection.
 * For one thread.
 */
#ifndef ONEIB_GRANTS_CONNECTIONS_H
#define ONEIB_GRANTS_CONNECTIONS_H

#include "base/error.h"
#include "grants/seal.h"
#include <stddef.h>
#include <stdint.h>

/* A node has one, and briefly two when it reconnects. */
#define ONEIB_CONNECTIONS_OF_KEY 4
/* A node sends a message every 2 s on each of its connections. */
#define ONEIB_CONNECTION_SILENCE_MS 60000

struct oneib_connections;

/* Call it before the socket is bound. silence_ms: 0 means ONEIB_CONNECTION_SILENCE_MS. */
int oneib_connections_open(void *context, void *socket, double silence_ms,
                           struct oneib_connections **connections, struct oneib_error *err);
/* Call it before the socket is closed. NULL: does nothing. */
void oneib_connections_close(struct oneib_connections *connections);

/* A socket of libzmq, to be polled: it has events of the connections. */
void *oneib_connections_socket(const struct oneib_connections *connections);
/* Takes the events, and ends connections without a message of an admitted node for silence_ms. */
void oneib_connections_follow(struct oneib_connections *connections);
/* Notes a message of this key on the connection with this descriptor (ZMQ_SRCFD). When the key has more
 * than ONEIB_CONNECTIONS_OF_KEY, the one without a message for longest is ended. */
void oneib_connections_heard(struct oneib_connections *connections, int fd,
                             const uint8_t key[ONEIB_PUBLIC_KEY_SIZE]);
/* The number of connections ended here. */
uint64_t oneib_connections_ended(const struct oneib_connections *connections);

#endif
