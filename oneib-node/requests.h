// SPDX-License-Identifier: Apache-2.0
/* What one connection asks, and what it is answered. Nothing here sends, receives or waits. */
#ifndef ONEIB_NODE_REQUESTS_H
#define ONEIB_NODE_REQUESTS_H

#include "oneib-node/grants_feed.h"
#include "oneib-node/listing.h"
#include "vf/vfs.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum oneib_peer_state {
    ONEIB_PEER_HEARING, /* its next request is awaited */
    ONEIB_PEER_HELD,    /* its request is, until it can be answered */
    ONEIB_PEER_WAITING, /* for what it has asked for */
    ONEIB_PEER_SAYING,  /* it is being answered */
};

/* A request that its next WAIT is for. */
struct oneib_asked {
    oneib_vfs_ticket ticket; /* 0: nothing is under way */
    bool is_have;
    uint8_t nic_id; /* of a HAVE, as vm_id */
    uint32_t vm_id;
};

struct oneib_peer {
    int fd;           /* -1: nobody */
    bool may_change;  /* else LIST only */
    struct ucred who; /* for the log */
    double deadline;  /* oneib_now_ms() of the end of its patience with it; HUGE_VAL: none */
    enum oneib_peer_state state;
    struct oneib_request request; /* HELD */
    double held_until;            /* likewise: so long is a grant waited for; oneib_now_ms() */
    struct oneib_asked asked[ONEIB_SERVICE_ASKED_MAX];
    size_t asked_count;
    /* SAYING: the one answer, or number `at` of many. */
    enum { ONEIB_SAYING_ONE, ONEIB_SAYING_RESULTS, ONEIB_SAYING_LIST } what;
    struct oneib_answer answer;
    size_t at;
};

struct oneib_requests {
    struct oneib_vfs *vfs;
    const struct oneib_domain_list *domains;
    struct oneib_grant_feed *feed;
    uint32_t grant_wait_ms; /* node.pkey_wait: so long may a grant take */
    double hold_until;      /* oneib_now_ms(): so long may the first list of domains take */
    uint64_t moment;        /* another number means that something may have changed */
    struct oneib_listing listing_of_all, listing_of_read;
};

/* Something may have changed: of the engine, or of the domains. */
void oneib_requests_moved(struct oneib_requests *requests);

/* Answers the request, which was checked, or begins what will be answered: `state` says which. */
void oneib_requests_take(struct oneib_requests *requests, struct oneib_peer *peer,
                         const struct oneib_request *request);
/* A peer that is HELD or WAITING: can it be answered by now? */
void oneib_requests_go_on(struct oneib_requests *requests, struct oneib_peer *peer);
/* Of one that is HELD: when oneib_requests_go_on() is due, whatever happens; HUGE_VAL: never. */
double oneib_requests_due(const struct oneib_requests *requests, const struct oneib_peer *peer);
/* Of one that is SAYING: its next answer. */
struct oneib_answer oneib_requests_answer(struct oneib_requests *requests,
                                          const struct oneib_peer *peer);
/* That answer is sent; after the last one the peer is HEARING. */
void oneib_requests_answered(struct oneib_requests *requests, struct oneib_peer *peer);
/* It has gone, or is sent away: what it waited for is given up. */
void oneib_requests_forget(struct oneib_requests *requests, struct oneib_peer *peer);

#endif
