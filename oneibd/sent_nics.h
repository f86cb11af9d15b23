// SPDX-License-Identifier: Apache-2.0
/*
 * Which NICs a node was sent: what it reports of other NICs keeps their GUIDs from no other host. A
 * daemon that has just started does not know what the one before has sent, so of the first table of
 * a node all NICs count for a while. Pure; times are oneib_now_ms()'s, given.
 */
#ifndef ONEIB_ONEIBD_SENT_NICS_H
#define ONEIB_ONEIBD_SENT_NICS_H

#include "cluster/grants.h"
#include <stddef.h>

/* How long NICs count that the daemon before may have sent: a node that follows a list without them has
 * given them back long before. */
#define ONEIB_SENT_BEFORE_MS 60000.0

struct oneib_sent_nics_nic {
    struct oneib_nic_name nic;
    double until; /* 0: as long as the node has not reported without it */
};

/* Of one node; zeroed: none. */
struct oneib_sent_nics {
    struct oneib_sent_nics_nic *items; /* owned; by NIC, each once */
    size_t count, capacity;
};

/* The first table of the node's that this daemon has heard. */
void oneib_sent_nics_before(struct oneib_sent_nics *known, const struct oneib_vf_record *records,
                            size_t count, double now);
/* It is sent this list. */
void oneib_sent_nics_send(struct oneib_sent_nics *known, const struct oneib_grant *grants,
                          size_t count);
/* It follows the list that it was sent last, and this is its whole table: what is in neither is
 * forgotten. */
void oneib_sent_nics_report(struct oneib_sent_nics *known, const struct oneib_grant_list *sent,
                            const struct oneib_vf_record *records, size_t count);
/* What counts now; *nics has room for known->count. Returns how many they are. */
size_t oneib_sent_nics_list(const struct oneib_sent_nics *known, double now,
                            struct oneib_nic_name *nics);
void oneib_sent_nics_clear(struct oneib_sent_nics *known);

#endif
