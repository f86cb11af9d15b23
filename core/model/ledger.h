// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger: what oneib must remember and no tenant may write. It lives in one document of oned's
 * (one.document.*, type ONEIB_LEDGER_TYPE, owner oneadmin, rights of owner and group alone), and
 * the one writer of a site (one.writer) replaces it whole. A network has the key that stands here,
 * whatever its VLAN_ID says. Pure; one/ledger.h reads and writes it.
 *
 * The document's template, each vector once per entry:
 *
 *   VERSION = "1"  SERIAL = "17"  NEXT = "0x0104"
 *   NETWORK = [ ID = "7", PKEY = "0x0101", OWNER = "12", SINCE = "1795223384" ]
 *   RESTING = [ PKEY = "0x0102", NETWORK = "9", OWNER = "12", SINCE = "1795223390" ]
 *   HOST    = [ ID = "3", KEY = "<64 hexadecimal digits>", SINCE = "1795223390" ]
 *   DAEMON  = [ ADDRESS = "tcp://10.0.0.1:9678", CURVE = "<64>", SIGN = "<64>", SINCE = "..." ]
 */
#ifndef ONEIB_MODEL_LEDGER_H
#define ONEIB_MODEL_LEDGER_H

#include "base/error.h"
#include "base/text.h"
#include "model/pkey.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_LEDGER_TYPE 6231    /* of documents; OneFlow's are 100 and 101 */
#define ONEIB_LEDGER_NAME "oneib" /* the document's NAME */
#define ONEIB_PUBLIC_KEY_SIZE 32  /* bytes: Curve25519 and Ed25519 (libsodium) alike */
#define ONEIB_ADDRESS_SIZE 128    /* "tcp://HOST:PORT" and its 0 */

struct oneib_ledger_network {
    uint32_t network_id;
    oneib_pkey pkey;
    uint32_t owner; /* the network's uid when it got the key */
    int64_t since;  /* Unix seconds, here and below */
};

/* A key that was a network's. It is nobody's, and not given out again until no host may hold it
 * any more. */
struct oneib_ledger_resting {
    oneib_pkey pkey;
    uint32_t network_id; /* whose it was; ONEIB_NO_ID: that is not known any more */
    uint32_t owner;
    int64_t since;
};

/* The key that a host's service was first heard with; another one is refused. */
struct oneib_ledger_host {
    uint32_t host_id;
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    int64_t since;
};

/* A daemon, as nodes and the front-end's remotes are to know it. */
struct oneib_ledger_daemon {
    char address[ONEIB_ADDRESS_SIZE];
    uint8_t curve[ONEIB_PUBLIC_KEY_SIZE], sign[ONEIB_PUBLIC_KEY_SIZE];
    int64_t since;
};

struct oneib_ledger {
    uint64_t serial; /* one more with each writing */
    oneib_pkey next; /* where in the ring the next key is looked for first; 0: pkeys.first */
    struct oneib_ledger_network *networks; /* owned; by network id; no id and no key twice */
    size_t network_count, network_capacity;
    struct oneib_ledger_resting *resting; /* owned; by key; none of a network's */
    size_t resting_count, resting_capacity;
    struct oneib_ledger_host *hosts; /* owned; by host id */
    size_t host_count, host_capacity;
    struct oneib_ledger_daemon *daemons; /* owned; by address */
    size_t daemon_count, daemon_capacity;
};

/* NULL when absent. Valid until the ledger changes. */
const struct oneib_ledger_network *oneib_ledger_network(const struct oneib_ledger *ledger,
                                                        uint32_t network_id);
const struct oneib_ledger_network *oneib_ledger_holder(const struct oneib_ledger *ledger,
                                                       oneib_pkey pkey);
const struct oneib_ledger_resting *oneib_ledger_resting(const struct oneib_ledger *ledger,
                                                        oneib_pkey pkey);
struct oneib_ledger_host *oneib_ledger_host(const struct oneib_ledger *ledger, uint32_t host_id);

/* Gives the key to the network; the one that it had rests. REFUSED: another network has the key, or
 * it rests. */
int oneib_ledger_give(struct oneib_ledger *ledger, const struct oneib_ledger_network *entry,
                      struct oneib_error *err);
/* The network is gone: its key rests. Nothing when it has none. */
int oneib_ledger_rest(struct oneib_ledger *ledger, uint32_t network_id, int64_t now,
                      struct oneib_error *err);
/* As it stands in a document. REFUSED: the key is a network's, or rests already. */
int oneib_ledger_add_resting(struct oneib_ledger *ledger, const struct oneib_ledger_resting *entry,
                             struct oneib_error *err);
/* No host holds it any more: it may be given again. */
void oneib_ledger_free_key(struct oneib_ledger *ledger, oneib_pkey pkey);
/* Pins, or replaces, a host's key; removes it. */
int oneib_ledger_pin(struct oneib_ledger *ledger, const struct oneib_ledger_host *host,
                     struct oneib_error *err);
void oneib_ledger_unpin(struct oneib_ledger *ledger, uint32_t host_id);
/* Adds a daemon, or replaces what is known of that address, or of one of those keys. */
int oneib_ledger_set_daemon(struct oneib_ledger *ledger, const struct oneib_ledger_daemon *daemon,
                            struct oneib_error *err);
void oneib_ledger_remove_daemon(struct oneib_ledger *ledger, const char *address);

int oneib_ledger_copy(const struct oneib_ledger *from, struct oneib_ledger *to,
                      struct oneib_error *err);
bool oneib_ledger_equal(const struct oneib_ledger *a, const struct oneib_ledger *b);
void oneib_ledger_clear(struct oneib_ledger *ledger);

/* Appends the template, as above, in canonical order. */
void oneib_ledger_render(const struct oneib_ledger *ledger, struct oneib_text *text);

#endif
