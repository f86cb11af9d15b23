// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger: what oneib must remember and no tenant may write. It lives in one document of oned's
 * (one.document.*, type ONEIB_LEDGER_TYPE, owner oneadmin, rights of owner and group alone), and
 * the one writer of a site (one.writer) replaces it whole. A network has the key that stands here,
 * whatever its VLAN_ID says. Pure; opennebula/ledger_document.h reads and writes it.
 *
 * The document's template, each vector once per entry:
 *
 *   VERSION = "1"  SERIAL = "17"  NEXT = "0x0104"  MTU = "4096"  RATE = "40"
 *   NETWORK = [ ID = "7", PKEY = "0x0101", OWNER = "12", SINCE = "1795223384", SL = "1" ]
 *   RESTING = [ PKEY = "0x0102", NETWORK = "9", OWNER = "12", SINCE = "1795223390" ]
 *   HOST    = [ ID = "3", KEY = "<64 hexadecimal digits>", SERIAL = "12", SINCE = "1795223390" ]
 *   HOST_PORT = [ HOST = "3", GUID = "0x0002c90300a1b2c3", NAME = "mlx4_0:1", DRIVER = "mlx4",
 *                 VFS = "16", STATE = "absent", ACCEPTED = "YES", SWITCH = "0x0002c90300d4e5f6",
 *                 PORT = "7", SINCE = "..." ]
 *   FORGOTTEN = [ ID = "5", SERIAL = "7", SINCE = "1795223390" ]
 *   DAEMON  = [ ADDRESS = "tcp://10.0.0.1:9678", CURVE = "<64>", SIGN = "<64>", SINCE = "..." ]
 *   FENCE   = [ HOST = "3", WISH = "closed", ASKED = "2", SINCE = "..." ]
 *   FENCED_PORT = [ HOST = "3", GUID = "0x0002c90300a1b2c3", SWITCH = "0x0002c90300d4e5f6",
 *                   PORT = "7", STATE = "down", ANSWER = "2", SINCE = "..." ]
 */
#ifndef ONEIB_CLUSTER_LEDGER_H
#define ONEIB_CLUSTER_LEDGER_H

#include "base/error.h"
#include "base/text.h"
#include "cluster/cloud.h"
#include "ib/guid.h"
#include "ib/pkey.h"
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
    uint8_t sl;     /* service level, 1-15; 0: it has none, and so opensm's default */
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
    uint64_t keys_serial; /* of the host's IB_KEYS: one with a lower serial is an old one */
    int64_t since;
};

/* A host that an operator has forgotten (`oneib host forget`): it holds no P_Key, and is not accepted
 * with others, but by its name alone. */
struct oneib_ledger_forgotten {
    uint32_t host_id;
    uint64_t keys_serial; /* as of a host: it goes on when the host is accepted again */
    int64_t since;
};

#define ONEIB_HOST_PORTS_MAX 64 /* InfiniBand ports of one host's adapters that are remembered */

enum oneib_ledger_port_state {
    ONEIB_LEDGER_PORT_PRESENT,
    ONEIB_LEDGER_PORT_ABSENT,  /* the host's oneib-node reports other ports, and not this one */
    ONEIB_LEDGER_PORT_RENEWED, /* an operator has accepted the host, or the port, since: device and
                                  driver are recorded as its oneib-node reports them next */
};

/* A port that belongs to a host, whatever any host's probe says: the host's oneib-node was the first
 * to report it, by the key that the ledger has of it, or an operator accepted it. Until the host is
 * forgotten, or it is accepted as another host's (docs/design/desired.md). */
struct oneib_ledger_port {
    oneib_guid guid; /* port GUID */
    uint32_t host_id;
    struct oneib_hca_port
        hca; /* without its rate. Device, port number and driver: as the host's oneib-node reported them first;
                VFs: last; device "": not reported yet */
    enum oneib_ledger_port_state state;
    bool is_accepted;       /* by `oneib host accept --port`; else by oneib-node's word alone */
    oneib_guid switch_guid; /* node GUID of the switch that it was seen at last; 0: never seen */
    uint8_t switch_port;    /* 0 likewise */
    int64_t since;
};

/* A daemon, as nodes and the front-end's remotes are to know it. */
struct oneib_ledger_daemon {
    char address[ONEIB_ADDRESS_SIZE];
    uint8_t curve[ONEIB_PUBLIC_KEY_SIZE], sign[ONEIB_PUBLIC_KEY_SIZE];
    int64_t since;
};

/* What is wished of a host's ports (docs/design/fence.md). */
enum oneib_fence_wish {
    ONEIB_FENCE_CLOSED, /* disabled at their switches */
    ONEIB_FENCE_LIFT,   /* enabled again, once the host's node has reported an empty table */
    ONEIB_FENCE_FORCED, /* enabled again: somebody has made sure that nothing runs there */
};

/* A host that was fenced (`oneib fence`). */
struct oneib_ledger_fence {
    uint32_t host_id;
    uint32_t asked; /* how often somebody has asked: each answer repeats it */
    enum oneib_fence_wish wish;
    int64_t since;
};

/* What the daemon beside the master subnet manager has seen of a port. */
enum oneib_fence_state {
    ONEIB_FENCE_ASKED,   /* nothing yet */
    ONEIB_FENCE_DOWN,    /* its switch's port is disabled */
    ONEIB_FENCE_GONE,    /* it is not on the fabric, and nobody knows where it would be linked */
    ONEIB_FENCE_UP,      /* its switch's port was told to be disabled, and is not */
    ONEIB_FENCE_SILENT,  /* its switch's port does not answer, or is not found */
    ONEIB_FENCE_SHARED,  /* another host reports it too: nobody can say whose it is */
    ONEIB_FENCE_DOUBLED, /* it is seen at two places of the fabric */
    ONEIB_FENCE_BARRED, /* a port that others depend on: a subnet manager's, a static member, a full
                           member of the default partition */
    ONEIB_FENCE_UNPROVEN, /* its probe alone names it, which anybody may have said: its node has not
                           */
};

/* A port of a fenced host: one that is its own by the ledger, or that its probe named. */
struct oneib_ledger_fenced_port {
    uint32_t host_id;
    oneib_guid guid;        /* port GUID */
    oneib_guid switch_guid; /* node GUID of the switch that it was found at; 0: not found yet */
    uint8_t switch_port;    /* 0 likewise */
    enum oneib_fence_state state;
    uint32_t answer; /* fence.asked when it was looked at last */
    int64_t since;   /* of the state */
};

struct oneib_ledger {
    uint64_t serial;   /* one more with each writing */
    oneib_pkey next;   /* where in the ring the next key is looked for first; 0: pkeys.first */
    uint8_t mtu, rate; /* IB codes: what the ports of this fabric had in common when that was
                          measured first; 0: not measured yet */
    struct oneib_ledger_network *networks; /* owned; by network id; no id and no key twice */
    size_t network_count, network_capacity;
    struct oneib_ledger_resting *resting; /* owned; by key; none of a network's */
    size_t resting_count, resting_capacity;
    struct oneib_ledger_host *hosts; /* owned; by host id */
    size_t host_count, host_capacity;
    struct oneib_ledger_forgotten *forgotten; /* owned; by host id; none of the hosts above */
    size_t forgotten_count, forgotten_capacity;
    struct oneib_ledger_port *ports; /* owned; by GUID, each once; of hosts that are there */
    size_t port_count, port_capacity;
    struct oneib_ledger_daemon *daemons; /* owned; by address */
    size_t daemon_count, daemon_capacity;
    struct oneib_ledger_fence *fences; /* owned; by host id */
    size_t fence_count, fence_capacity;
    struct oneib_ledger_fenced_port *fenced_ports; /* owned; by host id, GUID; of fenced hosts */
    size_t fenced_port_count, fenced_port_capacity;
};

/* NULL when absent. Valid until the ledger changes. */
const struct oneib_ledger_network *oneib_ledger_network(const struct oneib_ledger *ledger,
                                                        uint32_t network_id);
const struct oneib_ledger_network *oneib_ledger_holder(const struct oneib_ledger *ledger,
                                                       oneib_pkey pkey);
const struct oneib_ledger_resting *oneib_ledger_resting(const struct oneib_ledger *ledger,
                                                        oneib_pkey pkey);
struct oneib_ledger_host *oneib_ledger_host(const struct oneib_ledger *ledger, uint32_t host_id);
struct oneib_ledger_forgotten *oneib_ledger_forgotten(const struct oneib_ledger *ledger,
                                                      uint32_t host_id);
/* Whether its probe reports a key of its oneib-node, no operator has accepted one, and none has
 * forgotten the host. */
bool oneib_ledger_awaits_acceptance(const struct oneib_ledger *ledger,
                                    const struct oneib_host *host);

/* Gives the key to the network; the one that it had rests. REFUSED: another network has the key, or
 * it rests. */
int oneib_ledger_give(struct oneib_ledger *ledger, const struct oneib_ledger_network *entry,
                      struct oneib_error *err);
/* Gives a service level (1-15; 0: none) to a network that has a key. REFUSED: it has none, or there
 * is no such level. */
int oneib_ledger_set_sl(struct oneib_ledger *ledger, uint32_t network_id, uint8_t sl,
                        struct oneib_error *err);
/* The network is gone: its key rests. Nothing when it has none. */
void oneib_ledger_rest(struct oneib_ledger *ledger, uint32_t network_id, int64_t now);
/* As it stands in a document. REFUSED: the key is a network's, or rests already. */
int oneib_ledger_add_resting(struct oneib_ledger *ledger, const struct oneib_ledger_resting *entry,
                             struct oneib_error *err);
/* No host holds it any more: it may be given again. */
void oneib_ledger_free_key(struct oneib_ledger *ledger, oneib_pkey pkey);
/* Pins, or replaces, a host's key. One that was forgotten is forgotten no more. keys_serial never
 * becomes lower by either. */
void oneib_ledger_pin(struct oneib_ledger *ledger, const struct oneib_ledger_host *host);
/* The host, which may have no key here, has neither key nor ports, and is marked as forgotten. */
void oneib_ledger_forget_host(struct oneib_ledger *ledger, uint32_t host_id, int64_t now);
/* As it stands in a document. REFUSED: the host has a key here, or is forgotten already. */
int oneib_ledger_add_forgotten(struct oneib_ledger *ledger,
                               const struct oneib_ledger_forgotten *entry, struct oneib_error *err);
/* Adds a daemon, or replaces what is known of that address, or of one of those keys. */
int oneib_ledger_set_daemon(struct oneib_ledger *ledger, const struct oneib_ledger_daemon *daemon,
                            struct oneib_error *err);
void oneib_ledger_remove_daemon(struct oneib_ledger *ledger, const char *address);

/* ledger_ports.c. NULL when absent. Valid until the ledger changes. */
const struct oneib_ledger_port *oneib_ledger_port(const struct oneib_ledger *ledger,
                                                  oneib_guid guid);
size_t oneib_ledger_count_ports(const struct oneib_ledger *ledger, uint32_t host_id);
/* Adds one, or replaces what is known of it. REFUSED: it is another host's, the host has no key here or
 * ONEIB_HOST_PORTS_MAX ports already, a GUID of 0, a switch without a port. */
int oneib_ledger_set_port(struct oneib_ledger *ledger, const struct oneib_ledger_port *port,
                          struct oneib_error *err);
/* The port is no host's. */
void oneib_ledger_forget_port(struct oneib_ledger *ledger, oneib_guid guid);
void oneib_ledger_forget_ports(struct oneib_ledger *ledger, uint32_t host_id);
/* An operator has accepted the host again: the ports stay its own, but for those that are absent.
 * Device and driver of each are recorded as its oneib-node reports them next. */
void oneib_ledger_renew_ports(struct oneib_ledger *ledger, uint32_t host_id);
/* Whether its oneib-node may report it so: another driver, device or port number than the recorded
 * one is an operator's to accept. */
bool oneib_ledger_port_allows(const struct oneib_ledger_port *port,
                              const struct oneib_hca_port *reported);
/* As in the document: "absent", "renewed"; NULL: present. */
const char *oneib_ledger_port_state_name(enum oneib_ledger_port_state state);
bool oneib_ledger_port_state_parse(const char *name, enum oneib_ledger_port_state *state);
/* For oneib_ledger_render(). */
void oneib_ledger_ports_render(const struct oneib_ledger *ledger, struct oneib_text *text);

/* ledger_fences.c. NULL when absent. Valid until the ledger changes. */
struct oneib_ledger_fence *oneib_ledger_fence(const struct oneib_ledger *ledger, uint32_t host_id);
struct oneib_ledger_fenced_port *oneib_ledger_fenced_port(const struct oneib_ledger *ledger,
                                                          uint32_t host_id, oneib_guid guid);
/* Adds one, or replaces what stands there of that host, or of that port of it. REFUSED: a port of a
 * host that is not fenced, a GUID of 0, a switch without a port. */
void oneib_ledger_set_fence(struct oneib_ledger *ledger, const struct oneib_ledger_fence *fence);
int oneib_ledger_set_fenced_port(struct oneib_ledger *ledger,
                                 const struct oneib_ledger_fenced_port *port,
                                 struct oneib_error *err);
/* The host is fenced no more, and its ports are none of these. */
void oneib_ledger_lift_fence(struct oneib_ledger *ledger, uint32_t host_id);
/* As in the document: "closed", "lift", "forced"; "asked", "down", "gone", ... */
const char *oneib_fence_wish_name(enum oneib_fence_wish wish);
bool oneib_fence_wish_parse(const char *name, enum oneib_fence_wish *wish);
const char *oneib_fence_state_name(enum oneib_fence_state state);
bool oneib_fence_state_parse(const char *name, enum oneib_fence_state *state);
/* The part that says who is fenced, and where. */
bool oneib_ledger_fences_equal(const struct oneib_ledger *a, const struct oneib_ledger *b);
void oneib_ledger_fences_render(const struct oneib_ledger *ledger, struct oneib_text *text);

void oneib_ledger_copy(const struct oneib_ledger *from, struct oneib_ledger *to);
bool oneib_ledger_equal(const struct oneib_ledger *a, const struct oneib_ledger *b);
void oneib_ledger_clear(struct oneib_ledger *ledger);
#define oneib_autoledger __attribute__((cleanup(oneib_ledger_clear)))

/* Appends the template, as above, in canonical order. */
void oneib_ledger_render(const struct oneib_ledger *ledger, struct oneib_text *text);

#endif
