// SPDX-License-Identifier: Apache-2.0
/*
 * Those who are connected: a fixed table of them, so that neither many nor slow, silent or
 * malicious ones cost anything but their own places in it, of which a user has a part. Whoever does
 * not find one is told so at once. Whoever sends nothing, does not read what is answered, or sends what is no request, loses
 * it.
 */
#ifndef ONEIB_NODE_PEERS_H
#define ONEIB_NODE_PEERS_H

#include "oneib-node/requests.h"
#include "oneib-node/sockets.h"
#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_PEERS_ALL_MAX 256
#define ONEIB_PEERS_READ_MAX 64
/* Of one user: others find a place. */
#define ONEIB_PEERS_ALL_PER_UID 240
#define ONEIB_PEERS_READ_PER_UID 8
#define ONEIB_PEERS_MAX (ONEIB_PEERS_ALL_MAX + ONEIB_PEERS_READ_MAX)
/* To send a request, from the connection or the last answer on; to read an answer. */
#define ONEIB_PEER_PATIENCE_MS 10000

struct oneib_peers {
    struct oneib_peer items[ONEIB_PEERS_MAX]; /* first those of the socket for all requests */
    struct oneib_requests *requests;
    double grumbling_since; /* the log is not theirs to fill */
    unsigned grumbles;
};

void oneib_peers_begin(struct oneib_peers *peers, struct oneib_requests *requests);
void oneib_peers_end(struct oneib_peers *peers);

/* Lets in who waits at a socket; not more at once than would keep others waiting. */
void oneib_peers_let_in(struct oneib_peers *peers, int listener, enum oneib_socket_kind kind);
/* At most ONEIB_PEERS_MAX; which[i] says whose files[i] is. Returns how many. */
size_t oneib_peers_poll(const struct oneib_peers *peers, struct pollfd *files, uint16_t *which);
/* What poll() said of one of them. */
void oneib_peers_serve(struct oneib_peers *peers, uint16_t which, short events);
/* Goes on with those who wait for something that may have happened, and parts from those whose time
 * is over. */
void oneib_peers_go_on(struct oneib_peers *peers);
/* Milliseconds until somebody's time is over; UINT32_MAX: nobody's is. */
uint32_t oneib_peers_due_ms(const struct oneib_peers *peers);

#endif
