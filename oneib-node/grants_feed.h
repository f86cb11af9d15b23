// SPDX-License-Identifier: Apache-2.0
/*
 * The service's end of what oneibd says: which daemons it knows (root's file), which of them it
 * believes, the list that it follows, how old that is, and what it reports. The network belongs to
 * an unprivileged child, oneib-grants, started by the supervisor; root's part checks every
 * signature itself, and has no sockets of the internet. docs/design/grants.md.
 *
 *   oneibd == CURVE ==> oneib-grants (user oneib-node) -- SOCK_SEQPACKET --> oneib-node (root)
 *
 * Believed is the daemon that has the subnet manager to which the `sm_lid` of this host's active
 * port points (sysfs); where no daemon says that it has it, the writer. When another one comes to
 * be believed, its list is followed from its first LIFE on; the old list stays until then, and is
 * not fresh.
 */
#ifndef ONEIB_ONEIB_NODE_GRANTS_FEED_H
#define ONEIB_ONEIB_NODE_GRANTS_FEED_H

#include "base/error.h"
#include "grants/daemons.h"
#include "grants/grants_message.h"
#include "hca/hca.h"
#include "oneib-node/supervisor.h"
#include <stdbool.h>
#include <stdint.h>

struct oneib_grant_feed;

struct oneib_grant_feed_options {
    const char *program; /* NULL: oneib-grants, where it was installed or built */
    const char *user;    /* whom it becomes in a privileged run; NULL: ONEIB_DOMAINS_USER */
};

/* Reads ONEIB_DAEMONS_FILE and the node's key (makes it), writes the public half where the probe
 * finds it, starts the child. Without daemons the feed is there, and has no list. */
int oneib_grant_feed_open(const struct oneib_grant_feed_options *options,
                          struct oneib_grant_feed **feed, struct oneib_error *err);
void oneib_grant_feed_close(struct oneib_grant_feed *feed); /* NULL is fine */

/* To be polled for POLLIN; milliseconds until oneib_grant_feed_take() is due without. */
int oneib_grant_feed_fd(const struct oneib_grant_feed *feed);
uint32_t oneib_grant_feed_due_ms(const struct oneib_grant_feed *feed);

/* Sends the report that is due, takes what has arrived, sends challenges, starts the child again.
 * Never waits. *changed: oneib_grant_feed_list() or its freshness is another than before: the
 * caller follows it before the next call, whose report says so. -1: the supervisor is lost, and
 * nobody else can start the child: end, and be started again. */
int oneib_grant_feed_take(struct oneib_grant_feed *feed, const struct oneib_vf_table *table,
                          bool table_known, bool *changed, struct oneib_error *err);
/* This host's own InfiniBand ports: reports name them, and of more than ONEIB_HOST_PORTS_MAX the
 * first that are read. */
void oneib_grant_feed_set_ports(struct oneib_grant_feed *feed, const struct oneib_hcas *hcas);
/* Reports name it from now on: oneib_vfs_unseen(). */
void oneib_grant_feed_set_unseen(struct oneib_grant_feed *feed, size_t unseen);
/* The list that is followed; NULL: none. *fresh: it may be opened by. */
const struct oneib_grant_list *oneib_grant_feed_list(const struct oneib_grant_feed *feed,
                                                     bool *fresh);
/* A list has been followed: a report is due at once. A table that has changed is seen. */
void oneib_grant_feed_report(struct oneib_grant_feed *feed);
/* Somebody asks for a NIC without a grant: the believed daemon is told, once in 500 ms for a NIC.
 */
void oneib_grant_feed_want(struct oneib_grant_feed *feed, const struct oneib_want_message *want);
/* Why nothing is granted, for callers and the log: no daemons known, none connected, none believed,
 * the list is old; code NONE when all is well. */
void oneib_grant_feed_why(const struct oneib_grant_feed *feed, struct oneib_error *why);
/* The first that is announced while none is known is kept; later ones are REFUSED unless `by_root`
 * or some of those that are known and no other, and so is any where the file of them cannot be
 * read. */
int oneib_grant_feed_announce(struct oneib_grant_feed *feed, const struct oneib_daemons *daemons,
                              bool by_root, struct oneib_error *err);

#endif
