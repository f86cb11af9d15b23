// SPDX-License-Identifier: Apache-2.0
/* The public key of a host's oneib-node, by a channel that is authenticated: oneadmin's SSH to the
 * host. What monitoring reports of it (IB_NODE_KEY) any machine may have sent. */
#ifndef ONEIB_GRANTS_NODE_KEY_H
#define ONEIB_GRANTS_NODE_KEY_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "cluster/ledger.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One host's key. */
struct oneib_node_key {
    const struct oneib_host *host; /* borrowed; has a name */
    bool has_key;                  /* else: err */
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    struct oneib_error err; /* UNREACHABLE or TIMEOUT: no SSH; NOT_FOUND: the host has no key */
};

/* Reads ONEIB_NODE_PUBLIC_FILE on each host: of up to 16 hosts at a time, 30 seconds each at most. */
void oneib_node_keys_fetch(struct oneib_node_key *all, size_t count);

#endif
