// SPDX-License-Identifier: Apache-2.0
/*
 * What oneib-node and oneib-grants say to each other: one message a packet of a SOCK_SEQPACKET
 * socket, in host byte order. Both are of one build. Nothing here waits.
 *
 * oneib-grants has the node's connections to oneibd, and nothing else: it passes frames on and
 * knows nothing of what is in them. It is a user's without privileges, may be killed, hang or lie;
 * whoever receives a frame from it checks the signature.
 *
 * To oneib-grants:
 *   SETUP         first, and once: the node's pair and the daemons. Others: another oneib-grants.
 *   SEND          a frame for one daemon. It is lost while that is not connected, and when more of
 *                 them wait than ONEIB_RELAY_QUEUE.
 * From it:
 *   FRAME         a frame of one daemon. So many wait at most; the newer ones are lost.
 *   CONNECTED     both have proved their keys to each other. What was sent before is lost.
 *   DISCONNECTED  they are no longer connected, or could not be, with the reason. It goes on
 * trying. Told at each change of the reason. ALIVE         nothing else was said for
 * ONEIB_RELAY_PAUSE_MS: it does not hang. FAILED        it cannot work, with the reason, and ends.
 */
#ifndef ONEIB_ONEIB_NODE_ONEIB_GRANTS_RELAY_MESSAGE_H
#define ONEIB_ONEIB_NODE_ONEIB_GRANTS_RELAY_MESSAGE_H

#include "base/error.h"
#include "grants/daemons.h"
#include "grants/grants_message.h"
#include "grants/seal.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_RELAY_PAUSE_MS 4000
#define ONEIB_RELAY_QUEUE 16 /* frames, for each daemon and way */
#define ONEIB_RELAY_TEXT 512 /* bytes of a reason, its 0 included; a longer one is cut */

enum oneib_relay_kind {
    ONEIB_RELAY_SETUP = 1,
    ONEIB_RELAY_SEND,
    ONEIB_RELAY_FRAME = 16,
    ONEIB_RELAY_CONNECTED,
    ONEIB_RELAY_DISCONNECTED,
    ONEIB_RELAY_ALIVE,
    ONEIB_RELAY_FAILED,
};

/* SETUP's bytes. Addresses end with a 0; what is beyond `count` is 0. */
struct oneib_relay_setup {
    struct oneib_curve_pair pair;
    uint32_t count;
    struct oneib_relay_peer {
        char address[ONEIB_ADDRESS_SIZE];
        uint8_t curve[ONEIB_PUBLIC_KEY_SIZE];
    } peers[ONEIB_DAEMONS_MAX];
};

struct oneib_relay_packet {
    enum oneib_relay_kind kind;
    size_t daemon; /* SEND, FRAME, CONNECTED, DISCONNECTED: index of SETUP's; else 0 */
    size_t length;
    union {
        uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX]; /* SEND, FRAME: `length` of them, at least 1 */
        struct oneib_relay_setup setup;
        char text[ONEIB_RELAY_TEXT]; /* DISCONNECTED, FAILED: one line that acts on nothing; ends
                                        with a 0 */
    };
};

/* Bytes that may wait in the socket each way: whole frames. */
#define ONEIB_RELAY_ROOM (4 * (int)ONEIB_GRANTS_MESSAGE_MAX)

/* *sent is false when the other's queue is full: nothing is sent then. -1: it has ended. */
int oneib_relay_send_setup(int socket, const struct oneib_curve_pair *pair,
                           const struct oneib_daemons *daemons, struct oneib_error *err);
int oneib_relay_send_frame(int socket, enum oneib_relay_kind kind, size_t daemon, const void *bytes,
                           size_t length, bool *sent, struct oneib_error *err);
/* CONNECTED, ALIVE: text is NULL. */
int oneib_relay_send_news(int socket, enum oneib_relay_kind kind, size_t daemon, const char *text,
                          bool *sent, struct oneib_error *err);

/* The next packet of the other: 1; 0: none now. -1: UNREACHABLE: it has ended; PROTOCOL: it has
 * said what cannot be believed: not of its kinds, or with anything in it that is not allowed. Which
 * kinds may follow each other, and how many daemons there are, is the receiver's to know. */
int oneib_relay_take_order(int socket, struct oneib_relay_packet *packet, struct oneib_error *err);
int oneib_relay_take_news(int socket, struct oneib_relay_packet *packet, struct oneib_error *err);

#endif
