// SPDX-License-Identifier: Apache-2.0
/* The domains that libvirt has, each as it was when it was read last. */
#ifndef ONEIB_ONEIB_NODE_ONEIB_DOMAINS_DOMAIN_TABLE_H
#define ONEIB_ONEIB_NODE_ONEIB_DOMAINS_DOMAIN_TABLE_H

#include "base/error.h"
#include "oneib-node/oneib-domains/libvirt_events.h"
#include <stdbool.h>
#include <stddef.h>

struct oneib_domain_table {
    struct oneib_domain_state *items; /* owned */
    size_t count, capacity;
    int ends; /* epoll: the domains' processes, readable when one has ended; borrowed */
};

/* Reads all of them, in the place of what was there. -1: libvirt. */
int oneib_domain_table_fill(virConnectPtr libvirt, struct oneib_domain_table *table,
                            struct oneib_error *err);
/* Reads one again: it may be new, or gone. *changed is set when it is another than before, and left
 * alone otherwise. */
void oneib_domain_table_update(virConnectPtr libvirt, const unsigned char uuid[VIR_UUID_BUFLEN],
                               struct oneib_domain_table *table, bool *changed);
/* Looks for the processes of domains that run with devices, which libvirt has noted in the
 * directory, and which of them have ended. *changed as above. */
void oneib_domain_table_follow(struct oneib_domain_table *table, const char *directory,
                               bool *changed);
/* How many libvirt says to be active. */
size_t oneib_domain_table_running(const struct oneib_domain_table *table);
/* Leaves `ends` what it is. */
void oneib_domain_table_clear(struct oneib_domain_table *table);

/* Nothing in any domain could not be read, and it is not more than fits. */
bool oneib_domain_table_is_sound(const struct oneib_domain_table *table);
/* Tells all of it to the socket: a list, or why there is none. -1: nobody listens. */
int oneib_domain_table_tell(const struct oneib_domain_table *table, int socket,
                            struct oneib_error *err);

#endif
