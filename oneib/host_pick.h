// SPDX-License-Identifier: Apache-2.0
/* One host of OpenNebula's, by name or id, with the ledger: for verbs that decide about a host. */
#ifndef ONEIB_ONEIB_HOST_PICK_H
#define ONEIB_ONEIB_HOST_PICK_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "oneib/open.h"
#include "opennebula/ledger_document.h"
#include <stdint.h>

struct oneib_host_pick {
    struct oneib_cloud cloud; /* its hosts alone */
    struct oneib_kept_ledger kept;
    uint32_t host_id;
    const struct oneib_host *host; /* NULL: oned does not have it any more */
};

/* All hosts, sorted. What is odd about them oneibd says. */
int oneib_read_hosts(const struct oneib_session *session, struct oneib_cloud *cloud,
                     struct oneib_error *err);
/* *pick is zeroed before. Reads all hosts and the ledger: a ledger that cannot be believed is an
 * error. The session's oned is open. */
int oneib_host_pick_read(const struct oneib_session *session, struct oneib_host_pick *pick,
                         struct oneib_error *err);
/* The ledger again. */
int oneib_host_pick_read_ledger(const struct oneib_session *session, struct oneib_host_pick *pick,
                                struct oneib_error *err);
/* By its name, or its id: of one that is gone, and that the ledger knows, there is only the id.
 * NOT_FOUND. */
int oneib_host_pick_find(struct oneib_host_pick *pick, const char *word, struct oneib_error *err);
void oneib_host_pick_clear(struct oneib_host_pick *pick);

#endif
