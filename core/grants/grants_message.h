// SPDX-License-Identifier: Apache-2.0
/*
 * What oneibd and the services of nodes say to each other: one message a ZeroMQ frame, version
 * first, numbers big endian, every byte that a kind does not use 0. Strict: a message of another
 * version, kind or length, with anything in it that is not allowed, or in another order than is
 * said here, is refused whole. Pure; fuzzed.
 *
 * From oneibd, signed (grants/seal.h), and for one node alone, which `node` names:
 *   LIST       the node's whole list of grants.
 *   LIFE       the answer to a challenge: which list is the current one.
 * From the node, not signed (CURVE says who it is):
 *   REPORT     the node's whole table, its ports, and which list it follows. After each change,
 *              after each LIST, and at least every ONEIB_REPORT_MS.
 *   CHALLENGE  a fresh random number, every ONEIB_CHALLENGE_MS.
 *   WANT       somebody on the node wants a VF for this NIC, and there is no grant.
 */
#ifndef ONEIB_GRANTS_GRANTS_MESSAGE_H
#define ONEIB_GRANTS_GRANTS_MESSAGE_H

#include "base/error.h"
#include "cluster/grant.h"
#include "cluster/ledger.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_GRANTS_VERSION 4
#define ONEIB_GRANTS_MESSAGE_MAX (128u * 1024) /* bytes, signature included */
#define ONEIB_NONCE_SIZE 16
#define ONEIB_CHALLENGE_MS 2000
#define ONEIB_REPORT_MS 5000
/* A node opens only by a list that a LIFE of at most this age names, counted from when its
 * challenge was made. */
#define ONEIB_LIST_AGE_MS 10000
/* ... and only while the daemon's own snapshot of oned is not older than this. */
#define ONEIB_SNAPSHOT_AGE_MS 60000
/* A node that does not report so long after a list was sent is silent: its entries stay, nothing is
 * added at its ports. */
#define ONEIB_SILENCE_MS 1000

enum oneib_grants_kind {
    ONEIB_GRANTS_LIST = 1,
    ONEIB_GRANTS_LIFE,
    ONEIB_GRANTS_REPORT = 16,
    ONEIB_GRANTS_CHALLENGE,
    ONEIB_GRANTS_WANT,
};

/* Names a list. A daemon has another instance, random and never 0, each time that it starts;
 * serials of one instance begin at 1 and grow, for each node by itself. {0, 0}: none. */
struct oneib_list_name {
    uint64_t instance, serial;
};

/* Which daemon a node believes: docs/design/grants.md. */
struct oneib_daemon_role {
    bool is_writer;  /* one.writer */
    bool has_sm;     /* a subnet manager on its host is master on the fabric port `sm_lid` */
    uint16_t sm_lid; /* 0 unless has_sm */
    uint32_t snapshot_age_ms; /* since it last heard all it needs of oned */
};

struct oneib_list_message {
    uint8_t node[ONEIB_PUBLIC_KEY_SIZE];
    struct oneib_list_name name;
    struct oneib_daemon_role role;
    struct oneib_grant_list grants;
};

struct oneib_life_message {
    uint8_t node[ONEIB_PUBLIC_KEY_SIZE];
    uint8_t nonce[ONEIB_NONCE_SIZE];
    struct oneib_list_name
        name; /* of the current list; {instance, 0}: it has none for this node yet
               */
    struct oneib_daemon_role role;
};

struct oneib_report_message {
    struct oneib_list_name follows; /* of this daemon's lists; {0, 0}: none */
    bool believes;                  /* this daemon is the one that the node believes */
    uint8_t boot[ONEIB_NONCE_SIZE]; /* the kernel's boot id */
    bool complete;                  /* the table is known, and all of it is here */
    size_t port_count;              /* 0: not known, or none */
    struct oneib_hca_port
        ports[ONEIB_HOST_PORTS_MAX]; /* of its own adapters, InfiniBand, by GUID; without rates */
    uint16_t unseen; /* VFs of mlx5 that are open and whose own ports the node cannot read */
    size_t count;
    struct oneib_vf_record records[ONEIB_GRANTS_MAX]; /* by VF */
};

struct oneib_challenge_message {
    uint8_t nonce[ONEIB_NONCE_SIZE];
};

struct oneib_want_message {
    uint32_t vm_id;
    uint32_t network_id;
    uint8_t nic_id;
};
bool oneib_want_equal(const struct oneib_want_message *a, const struct oneib_want_message *b);

struct oneib_grants_message {
    enum oneib_grants_kind kind;
    union {
        struct oneib_list_message list;
        struct oneib_life_message life;
        struct oneib_report_message report;
        struct oneib_challenge_message challenge;
        struct oneib_want_message want;
    };
};

/* The message's bytes without a signature; returns their number, at most
 * ONEIB_GRANTS_MESSAGE_MAX - ONEIB_SEAL_SIZE. It must be one that oneib_grants_unpack() takes. */
size_t oneib_grants_pack(const struct oneib_grants_message *message,
                         uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX]);
/* INPUT says what is wrong with it. Everything is checked: kinds, booleans, names, keys, orders,
 * enumerations, trailing bytes. On failure *message is undefined. Never crashes (tests/fuzz). */
int oneib_grants_unpack(const void *bytes, size_t length, struct oneib_grants_message *message,
                        struct oneib_error *err);
/* Whether the kind is one that oneibd says, and signs. */
bool oneib_grants_is_from_daemon(enum oneib_grants_kind kind);

#endif
