// SPDX-License-Identifier: Apache-2.0
/*
 * By which key the service of each host is believed: the one that the ledger has, as an operator
 * accepted it. What the host's probe reports (IB_NODE_KEY) is a finding and nothing else, for
 * monitoring is not authenticated: of a host without a key in the ledger that it waits to be
 * accepted, else that it is another one, or another host's. A key that two hosts have in the ledger
 * belongs to neither. Pure.
 */
#ifndef ONEIB_ONEIBD_IDENTITY_H
#define ONEIB_ONEIBD_IDENTITY_H

#include "base/finding.h"
#include "cluster/cloud.h"
#include "cluster/ledger.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_identity {
    uint32_t host_id;
    bool is_contested; /* another host's probe reports its key: a clone of it may connect */
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    oneib_guid ports[ONEIB_HOST_PORTS_MAX]; /* the host's by the ledger, by GUID; but for those that
                                               are absent. A clone has others. */
    size_t port_count;
};

struct oneib_identities {
    struct oneib_identity *items; /* owned; by host id; no key twice */
    size_t count, capacity;
};

/* *identities need not be set before. cloud: sorted. is_lost: the ledger cannot be read now, and
 * `ledger` is as it was read last: no host can be accepted. Adds node-key-waiting, node-key-changed and
 * node-key-twice to *findings. */
void oneib_identities_find(const struct oneib_cloud *cloud, const struct oneib_ledger *ledger,
                           bool is_lost, struct oneib_identities *identities,
                           struct oneib_findings *findings);
bool oneib_identities_equal(const struct oneib_identities *a, const struct oneib_identities *b);
void oneib_identities_clear(struct oneib_identities *identities);

#endif
