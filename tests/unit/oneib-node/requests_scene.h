// SPDX-License-Identifier: Apache-2.0
/* Requests of three connections, on the real engine; what oneibd grants is what a test says. */
#ifndef ONEIB_UNIT_ONEIB_NODE_REQUESTS_SCENE_H
#define ONEIB_UNIT_ONEIB_NODE_REQUESTS_SCENE_H

#include "../hca/tree.h"
#include "base/clock.h"
#include "oneib-node/requests.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct oneib_requests requests;

/* ---- in the place of oneib-node/grants_feed.c ------------------------------------------------ */

struct oneib_grant_feed {
    struct oneib_grant_list list;
    bool fresh;
    unsigned wants;
    struct oneib_want_message want;
    struct oneib_daemons announced;
    bool by_root;
};

static struct oneib_grant_feed feed;

const struct oneib_grant_list *oneib_grant_feed_list(const struct oneib_grant_feed *of, bool *fresh)
{
    *fresh = of->fresh;
    return &of->list;
}

void oneib_grant_feed_want(struct oneib_grant_feed *of, const struct oneib_want_message *want)
{
    of->wants++;
    of->want = *want;
}

void oneib_grant_feed_why(const struct oneib_grant_feed *of, struct oneib_error *why)
{
    *why = (struct oneib_error){0};
    if (!of->fresh)
        oneib_fail(why, ONEIB_ERROR_UNREACHABLE, "oneibd is asleep");
}

int oneib_grant_feed_announce(struct oneib_grant_feed *of, const struct oneib_daemons *daemons,
                              bool by_root, struct oneib_error *err)
{
    (void)err;
    of->announced = *daemons;
    of->by_root = by_root;
    return 0;
}

static inline void tell_grants(void)
{
    struct oneib_error err;
    oneib_vfs_set_grants(requests.vfs, &feed.list, feed.fresh, &err);
}

static inline void grant(uint8_t nic_id)
{
    feed.list.items[feed.list.count++] = (struct oneib_grant){
        .vm_id = 42,
        .nic_id = nic_id,
        .network_id = 7,
        .device = "mlx4_0",
        .port = 1,
        .pkey = 5,
        .guid = oneib_guid_encode(0, 42, nic_id),
        .may_set_guid = true,
    };
    feed.fresh = true;
    tell_grants();
}

/* ---- the service ----------------------------------------------------------------------------- */

static struct oneib_domain_list domains;
static struct oneib_peer peers[3];

/* The engine, with the table that is there, and a grant for each of NICs 1 to 3 of VM 42. */
static inline void open_service(const struct oneib_vfs_options *options)
{
    struct oneib_error err;
    memset(&requests, 0, sizeof requests);
    memset(peers, 0, sizeof peers);
    memset(&feed, 0, sizeof feed);
    requests.feed = &feed;
    requests.grant_wait_ms = 1000000;
    for (size_t i = 0; i < 3; i++)
        peers[i].may_change = true;
    if (oneib_vfs_open(options, &requests.vfs, &err) < 0)
        fail_msg("%s", err.text);
    domains.known = true;
    domains.count = 1;
    domains.items[0] = (struct oneib_domain_entry){.vm_id = -1, .name = "mine"};
    requests.domains = &domains;
    for (uint8_t nic_id = 1; nic_id <= 3; nic_id++)
        grant(nic_id);
}

static inline int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        oneib_requests_forget(&requests, &peers[i]);
    oneib_vfs_close(requests.vfs);
    return 0;
}

static inline void ask(struct oneib_peer *peer, enum oneib_request_kind kind)
{
    const struct oneib_request request = oneib_request_new(kind);
    oneib_requests_take(&requests, peer, &request);
}

static inline enum oneib_answer_kind next_answer(struct oneib_peer *peer)
{
    assert_int_equal(peer->state, ONEIB_PEER_SAYING);
    const struct oneib_answer answer = oneib_requests_answer(&requests, peer);
    oneib_requests_answered(&requests, peer);
    return answer.kind;
}

static inline struct oneib_request have(uint8_t nic_id, uint16_t flags)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_HAVE);
    request.vm_id = 42;
    request.nic_id = nic_id;
    request.network_id = 7;
    request.numa_node = -1;
    request.flags = flags;
    return request;
}

static inline struct oneib_request release_of(uint32_t vm_id, int32_t nic_id, uint16_t flags)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE);
    request.vm_id = vm_id;
    request.nic_id = nic_id;
    request.flags = flags;
    return request;
}

#endif
