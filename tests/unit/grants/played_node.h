// SPDX-License-Identifier: Apache-2.0
/* A node's end of the connection as a test plays it: it says whatever bytes it is given. */
#ifndef ONEIB_TESTS_PLAYED_NODE_H
#define ONEIB_TESTS_PLAYED_NODE_H

#include "grants/grants_message.h"
#include "grants/seal.h"
#include <stdbool.h>
#include <stddef.h>

struct played_node {
    void *context, *socket;
    struct oneib_curve_pair pair;
};

/* New pairs, random; a failure ends the test program. */
struct oneib_curve_pair played_curve_pair(void);
struct oneib_sign_pair played_sign_pair(void);

/* Connects to `address` as the node that has the pair, and takes `server` for the daemon's key. */
void played_node_connect(struct played_node *node, const char *address,
                         const struct oneib_curve_pair *pair,
                         const uint8_t server[ONEIB_PUBLIC_KEY_SIZE]);
/* The same, calling itself by `name` (a routing id); without CURVE when `pair` is NULL. */
void played_node_connect_as(struct played_node *node, const char *address, const char *name,
                            const struct oneib_curve_pair *pair,
                            const uint8_t server[ONEIB_PUBLIC_KEY_SIZE]);
void played_node_close(struct played_node *node);

/* False when it would wait. */
bool played_node_say_bytes(struct played_node *node, const void *bytes, size_t length);
bool played_node_say(struct played_node *node, const struct oneib_grants_message *message);
/* A frame of a message that is not at its end. */
bool played_node_begin_to_say(struct played_node *node, const void *bytes, size_t length);
/* The next frame's length, into bytes[ONEIB_GRANTS_MESSAGE_MAX]; 0: none within so many
 * milliseconds. */
size_t played_node_hear_bytes(struct played_node *node, uint8_t *bytes, int timeout_ms);
/* The same, its signature checked, and unpacked: a failure ends the test program. */
bool played_node_hear(struct played_node *node, const uint8_t sign[ONEIB_PUBLIC_KEY_SIZE],
                      struct oneib_grants_message *message, int timeout_ms);

#endif
