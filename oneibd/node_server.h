// SPDX-License-Identifier: Apache-2.0
/*
 * What goes between oneibd and the services of nodes, in a thread of its own: a challenge is
 * answered, and a list is sent, whatever the daemon waits for (oned, ports, a lock). The thread has
 * copies of all that it sends, and hands over what nodes report; it decides nothing. All functions
 * are for the daemon's thread.
 */
#ifndef ONEIB_ONEIBD_NODE_SERVER_H
#define ONEIB_ONEIBD_NODE_SERVER_H

#include "base/error.h"
#include "grants/grants_message.h"
#include "grants/server.h"
#include "oneibd/identity.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_node_server;

/* Listens at `address` (daemon.grants) with the keys of `key_file` (daemon.key), which is made when
 * it is absent. Signals are not for its thread. NULL with err set. */
struct oneib_node_server *oneib_node_server_open(const char *address, const char *key_file,
                                                 struct oneib_error *err);
void oneib_node_server_close(struct oneib_node_server *server); /* NULL is fine */

/* Random, never 0, another one for each oneib_node_server_open(). */
uint64_t oneib_node_server_instance(const struct oneib_node_server *server);
/* Signs what a host may hold. */
void oneib_node_server_seal_keys(const struct oneib_node_server *server, uint32_t host_id,
                                 uint64_t serial, const oneib_pkey *keys, size_t count,
                                 char text[ONEIB_KEYS_SEAL_TEXT_SIZE]);
/* How nodes know this daemon: its public keys; address and `since` are empty. */
void oneib_node_server_keys(const struct oneib_node_server *server,
                            struct oneib_ledger_daemon *daemon);

/* The nodes that are admitted from now on. Lists for others, and their reports, are dropped. */
void oneib_node_server_admit(struct oneib_node_server *server,
                             const struct oneib_identities *identities);
/* The list of an admitted node from now on (copied), as `serial`, sent as soon as it is connected,
 * and again when it reports that it follows another. Nothing for a key that is not admitted. */
void oneib_node_server_send(struct oneib_node_server *server,
                            const uint8_t key[ONEIB_PUBLIC_KEY_SIZE], uint64_t serial,
                            const struct oneib_grant_list *list);
/* The role of this daemon in every LIST and LIFE; its snapshot of oned is of `read_ms`
 * (oneib_now_ms()). Until it was set for the first time challenges are not answered. */
void oneib_node_server_set_role(struct oneib_node_server *server,
                                const struct oneib_daemon_role *role, double read_ms);

/* A node's report, or its request to read a VM. */
struct oneib_node_server_item {
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    struct oneib_report_message *report; /* to be freed; it has report->count records alone; NULL:
                                            a request */
    struct oneib_want_message want;
};
/* The next that has come: of each node its last report, and at most ONEIB_POST_WANTS wants. */
#define ONEIB_POST_WANTS 8
bool oneib_node_server_take(struct oneib_node_server *server, struct oneib_node_server_item *item);
/* Of what was dropped, as it was when the thread last heard nodes. */
struct oneib_grants_counts oneib_node_server_counts(struct oneib_node_server *server);
/* Readable while there may be something to take. */
int oneib_node_server_fd(const struct oneib_node_server *server);

#endif
