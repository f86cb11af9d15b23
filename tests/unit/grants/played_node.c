// SPDX-License-Identifier: Apache-2.0
#include "played_node.h"
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

static void require(bool held, const char *what)
{
    if (held)
        return;
    fprintf(stderr, "a played node: %s\n", what);
    abort();
}

struct oneib_curve_pair played_curve_pair(void)
{
    struct oneib_curve_pair pair = {0};
    require(sodium_init() >= 0 && crypto_box_keypair(pair.public, pair.secret) == 0, "its pair");
    return pair;
}

struct oneib_sign_pair played_sign_pair(void)
{
    struct oneib_sign_pair pair = {0};
    require(sodium_init() >= 0 && crypto_sign_keypair(pair.public, pair.secret) == 0, "its pair");
    return pair;
}

#define SOCKETS_MAX 8192 /* libzmq's own limit is 1,023 */

/* One for all of them: each has threads of its own. */
static void *shared_context;
static size_t context_users;

static void *use_context(void)
{
    if (context_users++ == 0) {
        shared_context = zmq_ctx_new();
        require(zmq_ctx_set(shared_context, ZMQ_MAX_SOCKETS, SOCKETS_MAX) == 0, "its context");
    }
    return shared_context;
}

static void leave_context(void)
{
    if (--context_users == 0)
        zmq_ctx_term(shared_context);
}

static void set(void *socket, int name, const void *value, size_t size)
{
    require(zmq_setsockopt(socket, name, value, size) == 0, "its socket's options");
}

static void set_keys(struct played_node *node, const uint8_t server[ONEIB_PUBLIC_KEY_SIZE])
{
    const struct oneib_curve_pair *pair = &node->pair;
    set(node->socket, ZMQ_CURVE_SERVERKEY, server, ONEIB_PUBLIC_KEY_SIZE);
    set(node->socket, ZMQ_CURVE_PUBLICKEY, pair->public, sizeof pair->public);
    set(node->socket, ZMQ_CURVE_SECRETKEY, pair->secret, sizeof pair->secret);
}

void played_node_connect_as(struct played_node *node, const char *address, const char *name,
                            const struct oneib_curve_pair *pair,
                            const uint8_t server[ONEIB_PUBLIC_KEY_SIZE])
{
    const int no_linger = 0, interval_ms = 20;
    *node = (struct played_node){.context = use_context()};
    node->socket = node->context ? zmq_socket(node->context, ZMQ_DEALER) : NULL;
    require(node->socket != NULL, "its socket");
    set(node->socket, ZMQ_LINGER, &no_linger, sizeof no_linger);
    set(node->socket, ZMQ_RECONNECT_IVL, &interval_ms, sizeof interval_ms);
    if (name)
        set(node->socket, ZMQ_ROUTING_ID, name, strlen(name));
    if (pair) {
        node->pair = *pair;
        set_keys(node, server);
    }
    require(zmq_connect(node->socket, address) == 0, "its address");
}

void played_node_connect(struct played_node *node, const char *address,
                         const struct oneib_curve_pair *pair,
                         const uint8_t server[ONEIB_PUBLIC_KEY_SIZE])
{
    played_node_connect_as(node, address, NULL, pair, server);
}

void played_node_close(struct played_node *node)
{
    if (!node->context)
        return;
    zmq_close(node->socket);
    leave_context();
    *node = (struct played_node){0};
}

bool played_node_say_bytes(struct played_node *node, const void *bytes, size_t length)
{
    return zmq_send(node->socket, bytes, length, ZMQ_DONTWAIT) >= 0;
}

bool played_node_begin_to_say(struct played_node *node, const void *bytes, size_t length)
{
    return zmq_send(node->socket, bytes, length, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0;
}

bool played_node_say(struct played_node *node, const struct oneib_grants_message *message)
{
    static uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
    return played_node_say_bytes(node, bytes, oneib_grants_pack(message, bytes));
}

size_t played_node_hear_bytes(struct played_node *node, uint8_t *bytes, int timeout_ms)
{
    set(node->socket, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    const int length = zmq_recv(node->socket, bytes, ONEIB_GRANTS_MESSAGE_MAX, 0);
    return length > 0 ? (size_t)length : 0;
}

bool played_node_hear(struct played_node *node, const uint8_t sign[ONEIB_PUBLIC_KEY_SIZE],
                      struct oneib_grants_message *message, int timeout_ms)
{
    static uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
    struct oneib_error err;
    size_t inner;
    const size_t length = played_node_hear_bytes(node, bytes, timeout_ms);
    if (length == 0)
        return false;
    require(oneib_unseal(sign, bytes, length, &inner), "a signature is wrong");
    require(oneib_grants_unpack(bytes, inner, message, &err) == 0, "a message is wrong");
    return true;
}
