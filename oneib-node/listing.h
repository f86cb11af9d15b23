// SPDX-License-Identifier: Apache-2.0
/*
 * What a LIST tells: the service's records and domains as they were at one moment, whatever happens
 * while they are read. There is one such copy for each kind of callers, and those who read together
 * share it; who asks while others still read waits for them.
 */
#ifndef ONEIB_NODE_LISTING_H
#define ONEIB_NODE_LISTING_H

#include "host/vf_record.h"
#include "oneib-node/grants_feed.h"
#include "service/service_message.h"
#include "vf/domain_list.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_listing {
    size_t readers;
    uint64_t moment; /* of what is in it, see oneib_requests_moved() */
    size_t record_count;
    struct oneib_vf_record records[ONEIB_VF_RECORDS_MAX];
    struct oneib_domain_list domains;
    struct oneib_grant_list grants;
    struct oneib_follows follows;
    struct oneib_error stale; /* why nothing new is opened; code NONE: it is */
};

/* While nobody reads it. */
void oneib_listing_take(struct oneib_listing *listing, const struct oneib_vf_table *table,
                        const struct oneib_domain_list *domains);
/* unseen: oneib_vfs_unseen(). */
void oneib_listing_take_grants(struct oneib_listing *listing, const struct oneib_grant_feed *feed,
                               size_t unseen);
/* Answer number `at`, from 0; the last one is END. */
struct oneib_answer oneib_listing_answer(const struct oneib_listing *listing, size_t at);

bool oneib_listing_is_last(const struct oneib_listing *listing, size_t at);

#endif
