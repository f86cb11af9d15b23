// SPDX-License-Identifier: Apache-2.0
/*
 * oneibd's end: a ZeroMQ ROUTER with CURVE, which hears nodes whose public keys it was told and
 * nobody else (ZAP). Knows who sent what by the key that CURVE has proved, never by what a message
 * says. One key holds few connections (grants/connections.h). Nothing waits. One thread uses it.
 */
#ifndef ONEIB_GRANTS_SERVER_H
#define ONEIB_GRANTS_SERVER_H

#include "base/error.h"
#include "grants/grants_message.h"
#include "grants/seal.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_grants_server;

struct oneib_grants_server_options {
    const char *listen; /* daemon.grants: "tcp://ADDRESS:PORT", ADDRESS may be '*' */
    const struct oneib_curve_pair *curve;
    const struct oneib_sign_pair *sign;
    double silence_ms;    /* 0: ONEIB_CONNECTION_SILENCE_MS (grants/connections.h) */
    double handshakes_ms; /* in which a key has 20 handshakes at most; 0: 10 s */
};

int oneib_grants_server_open(const struct oneib_grants_server_options *options,
                             struct oneib_grants_server **server, struct oneib_error *err);
void oneib_grants_server_close(struct oneib_grants_server *server); /* NULL is fine */

/* Who may connect from now on: pinned keys, and those that are seen for the first time. A key that
 * is not among them any more is heard no longer, connected or not. Copied. */
void oneib_grants_server_admit(struct oneib_grants_server *server,
                               const uint8_t (*keys)[ONEIB_PUBLIC_KEY_SIZE], size_t count);

/*
 * The next message of an admitted node: 1; 0: none now. What cannot be unpacked, or what a node may
 * not say, is counted and dropped; so is what a node says beyond 100 messages a second, without
 * being looked at. *message is borrowed until the next call.
 */
int oneib_grants_server_next(struct oneib_grants_server *server,
                             uint8_t node[ONEIB_PUBLIC_KEY_SIZE],
                             const struct oneib_grants_message **message, struct oneib_error *err);
/* Packs, signs and sends to that node. Not connected, or its queue is full: nothing is sent, and
 * *sent is false. A LIST or LIFE is addressed to `node` here: message's own `node` is filled in. */
int oneib_grants_server_send(struct oneib_grants_server *server,
                             const uint8_t node[ONEIB_PUBLIC_KEY_SIZE],
                             struct oneib_grants_message *message, bool *sent,
                             struct oneib_error *err);

/* To be polled for POLLIN, always the same: readable while there may be something to take, which is
 * so until oneib_grants_server_next() has returned 0. */
int oneib_grants_server_fd(const struct oneib_grants_server *server);

/* Since the server was opened. */
struct oneib_grants_counts {
    uint64_t refused_keys; /* handshakes with a key, and messages by one, that is not admitted */
    uint64_t malformed;    /* messages that were dropped */
    uint64_t flooding;     /* likewise, and handshakes of an admitted key */
    uint64_t ended;        /* connections that were one too many of their key, or silent */
};
const struct oneib_grants_counts *oneib_grants_server_counts(struct oneib_grants_server *server);

#endif
