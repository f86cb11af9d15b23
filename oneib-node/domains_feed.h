// SPDX-License-Identifier: Apache-2.0
/*
 * What libvirt's domains are, as the program oneib-domains tells: it follows libvirt's events and
 * says everything again at every change. It is a user's without privileges, may be killed, hang or
 * lie; what it says is checked, and while it says nothing that can be believed, nobody knows the
 * domains.
 *
 * oneib-node keeps CAP_NET_ADMIN alone, and so can neither become another user nor end a process of
 * another user's. So the first thing that it starts is a supervisor, which gives up everything for
 * good and does nothing but start and end oneib-domains. They are three:
 *
 *   oneib-node (root) -- control --> supervisor -- starts, ends --> oneib-domains
 *       ^-------------------------- list of domains ----------------------------|
 *
 * All of them end when one that stands left of them does.
 */
#ifndef ONEIB_ONEIB_NODE_DOMAINS_FEED_H
#define ONEIB_ONEIB_NODE_DOMAINS_FEED_H

#include "base/error.h"
#include "vf/domain_list.h"
#include <stdbool.h>
#include <stdint.h>

#define ONEIB_DOMAINS_USER "oneib-node"
#define ONEIB_DOMAINS_SILENCE_MS 15000 /* without a word: libvirt, or oneib-domains, hangs */

struct oneib_domain_feed;

struct oneib_domain_feed_options {
    const char *uri;     /* libvirt's, config->node.libvirt */
    const char *program; /* NULL: oneib-domains, where it was installed or built */
    const char *user;    /* whom it becomes in a privileged run; NULL: ONEIB_DOMAINS_USER */
    uint32_t silence_ms; /* 0: ONEIB_DOMAINS_SILENCE_MS */
};

/*
 * Starts the supervisor, and oneib-domains. To be called while this process has one thread and,
 * when it is root's, still CAP_SETUID and CAP_SETGID (and CAP_SETPCAP, if it has it: the bounding
 * set is given up too), after what it inherited is cleared away: standard error, and nothing else,
 * is left to those that are started. Nobody knows the domains yet; that libvirt does not answer is
 * no failure. NOT_FOUND: there is no such user. NULL in *feed on failure.
 */
int oneib_domain_feed_open(const struct oneib_domain_feed_options *options,
                           struct oneib_domain_feed **feed, struct oneib_error *err);
/* Ends all that was started. NULL is fine. */
void oneib_domain_feed_close(struct oneib_domain_feed *feed);

/* To be polled for POLLIN, always the same: oneib_domain_feed_take() is due then. */
int oneib_domain_feed_fd(const struct oneib_domain_feed *feed);
/* Milliseconds until oneib_domain_feed_take() is due although nothing has arrived. */
uint32_t oneib_domain_feed_due_ms(const struct oneib_domain_feed *feed);

/*
 * Takes what has arrived, and does what is due: what hangs is given up, what has ended is started
 * again. Never waits. *changed: oneib_domain_feed_list() is another than before, or has another
 * reason for not being known. -1: the supervisor is lost, and nobody else can start oneib-domains:
 * end, and be started again.
 */
int oneib_domain_feed_take(struct oneib_domain_feed *feed, bool *changed, struct oneib_error *err);
/* Always the same object; it changes in oneib_domain_feed_take() only. `why` says for the log and
 * for callers why the domains are not known. */
const struct oneib_domain_list *oneib_domain_feed_list(const struct oneib_domain_feed *feed);

/* Has libvirt asked anew for everything, on a new connection. The list stays what it is until the
 * answer is there. */
void oneib_domain_feed_refresh(struct oneib_domain_feed *feed);

#endif
