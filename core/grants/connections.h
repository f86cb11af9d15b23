// SPDX-License-Identifier: Apache-2.0
/*
 * The connections of one listening socket of libzmq, so that one key holds few of them. libzmq
 * closes none by itself, and takes no order to: its own descriptor of a connection is shut
 * down, which ends it. One thread uses it.
 */
#ifndef ONEIB_GRANTS_CONNECTIONS_H
#define ONEIB_GRANTS_CONNECTIONS_H

#include "base/error.h"
#include "grants/seal.h"
#include <stddef.h>
#include <stdint.h>

/* A node has one, and for a moment another one when it connects anew. */
#define ONEIB_CONNECTIONS_OF_KEY 4
/* A node says something every 2 s on each of its connections. */
#define ONEIB_CONNECTION_SILENCE_MS 60000

struct oneib_connections;

/* Before the socket is bound. silence_ms: 0 means ONEIB_CONNECTION_SILENCE_MS. */
int oneib_connections_open(void *context, void *socket, double silence_ms,
                           struct oneib_connections **connections, struct oneib_error *err);
/* Before the socket is closed; NULL is fine. */
void oneib_connections_close(struct oneib_connections *connections);

/* The socket of libzmq that has news of them: to be polled. */
void *oneib_connections_socket(const struct oneib_connections *connections);
/* Takes the news, and ends those on which no admitted node has been heard for so long. */
void oneib_connections_follow(struct oneib_connections *connections);
/* A message of that key came on the connection with that descriptor (ZMQ_SRCFD). When the key has
 * more than ONEIB_CONNECTIONS_OF_KEY, the one on which it was heard longest ago is ended. */
void oneib_connections_heard(struct oneib_connections *connections, int fd,
                             const uint8_t key[ONEIB_PUBLIC_KEY_SIZE]);
/* How many have been ended. */
uint64_t oneib_connections_ended(const struct oneib_connections *connections);

#endif
