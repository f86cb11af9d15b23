// SPDX-License-Identifier: Apache-2.0
/*
 * What nodes have reported, and which lists they were sent: an entry for each host
 * whose service's key is believed (identity.h). Pure; times are oneib_now_ms()'s, given.
 */
#ifndef ONEIB_ONEIBD_NODES_H
#define ONEIB_ONEIBD_NODES_H

#include "cluster/grants.h"
#include "grants/grants_message.h"
#include "oneibd/identity.h"
#include "oneibd/pkey_last_use.h"
#include "oneibd/sent_nics.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A node that was heard, and then not for so long, is silent: a report of its may be late. */
#define ONEIB_NODE_SILENT_MS (ONEIB_REPORT_MS + 2500)
/* Two machines that report by turns with one key, as a clone of a host's disk does: the node is as
 * good as silent for so long after the second one. A host that has been started anew is not heard
 * for longer than that before. */
#define ONEIB_NODE_DOUBLED_MS (2 * ONEIB_NODE_SILENT_MS)
/* How often one host may have VMs looked at, whatever its node asks for. */
#define ONEIB_NODE_WANTS_A_SECOND 16
/* So many lists that a node has not said to follow are remembered by themselves. */
#define ONEIB_NODE_OWED 16

/* A list that was sent, and when. */
struct oneib_node_owed {
    uint64_t serial;
    double at;
};

struct oneib_node {
    struct oneib_identity identity;
    struct oneib_grant_list *sent; /* owned; what it was sent last, as long as its items are; NULL:
                                      nothing yet */
    uint64_t serial;               /* of that list; 0: none */
    struct oneib_node_owed owed[ONEIB_NODE_OWED]; /* oldest first: lists that it has not said to
                                                     follow */
    size_t owed_count;
    double begun_at;                /* since when it is known */
    double heard_at;                /* < 0: never */
    uint8_t boot[ONEIB_NONCE_SIZE]; /* of the machine that reported last */
    /* That machine reported while the key was not contested, or reports a port that is the host's by
     * the ledger, or the host has none there. */
    bool is_known_machine;
    double doubled_at;     /* another one had just been heard then; < 0: never */
    uint64_t follows;      /* serial of the list of ours that it follows; 0: none */
    bool believes;         /* that this daemon is the one */
    uint64_t question;     /* put last (oneib_node_question()); 0: none */
    uint64_t answer_from;  /* serial of the list with which it was put; 0: not sent yet */
    bool has_reported_all; /* once at least */
    bool table_known;
    struct oneib_vf_record *records; /* owned; its table */
    size_t record_count;
    struct oneib_hca_port *ports; /* owned; of its adapters, by GUID, as it reported last; NULL:
                                     none */
    size_t port_count;
    double ports_noted_at; /* when they were last changed in the ledger; < 0: never */
    uint16_t
        unread_virtual_ports; /* as it reported last: VFs of mlx5 whose own ports it cannot read */
    enum oneib_node_state seen; /* its state when it was read last (oneib_nodes_read()) */
    double wants_since;         /* it has had VMs looked at so often since then */
    unsigned wants;
    struct oneib_sent_nics sent_nics;
    struct oneib_pkey_last_uses pkey_last_uses; /* the writer's, while it believes another daemon */
};

/* What has become known since the last oneib_nodes_read(). */
enum oneib_nodes_news {
    ONEIB_NODES_NOTHING,
    ONEIB_NODES_LATER, /* to be read some time */
    ONEIB_NODES_NOW,   /* a change waits for it */
};

struct oneib_nodes {
    uint64_t instance;        /* of this daemon's lists */
    uint64_t serial;          /* of the list that was made last, of whichever node */
    struct oneib_node *items; /* by host id */
    size_t count, capacity;
    bool awaited;               /* some entry of a port, or a GUID, waits for what nodes say */
    enum oneib_nodes_news news; /* of the reports */
    struct oneib_node_snapshot *snapshots;
    size_t snapshot_capacity;
    struct oneib_nic_name *sent_nics; /* of all snapshots */
    size_t sent_nic_capacity;
};

/* Zeroed but for `instance`: no node. */

/* Those that are believed now (by host id). What is known of a host whose key is another than
 * before is forgotten, and so is a host that is not among them. */
void oneib_nodes_believe(struct oneib_nodes *nodes, const struct oneib_identities *identities,
                         double now);
/* NULL: no such host is believed. Valid until oneib_nodes_believe(). */
struct oneib_node *oneib_nodes_of_host(const struct oneib_nodes *nodes, uint32_t host_id);
struct oneib_node *oneib_nodes_of_key(const struct oneib_nodes *nodes,
                                      const uint8_t key[ONEIB_PUBLIC_KEY_SIZE]);

/* These are its grants from now on (by VM and NIC; at most ONEIB_GRANTS_MAX). *changed: another
 * list than the one before, the first, or one with which a question is put: node->sent is to be
 * sent as node->serial. */
void oneib_nodes_list(struct oneib_nodes *nodes, struct oneib_node *node,
                      const struct oneib_grant *grants, size_t count, double now, bool *changed);
/* Whether it may be sent a list now. While removals are held (`held`), a node that was sent nothing
 * yet has to report first what it has: otherwise what is to be held for it is not known, and a list
 * without that would close it. */
bool oneib_node_may_be_sent(const struct oneib_node *node, size_t held);
/* It has reported. */
void oneib_nodes_hear(struct oneib_nodes *nodes, struct oneib_node *node,
                      const struct oneib_report_message *report, double now);

/* Whether it may have another VM looked at; counts it. */
bool oneib_node_may_want(struct oneib_node *node, double now);
enum oneib_node_state oneib_node_state(const struct oneib_node *node, double now);
/* Another host's probe reports its key, and this machine was not heard before that: it may be a
 * clone. It is AWAITED at best: it is granted what the host is, and nothing that it says it has not
 * counts. */
bool oneib_node_is_in_doubt(const struct oneib_node *node);
/* The ports that are its adapters' by its own word now; none, when it has not reported for so long
 * that it may be off, and an adapter of its in another host. By GUID; *count: how many. */
const struct oneib_hca_port *oneib_node_ports(const struct oneib_node *node, double now,
                                              size_t *count);
/* No VF on it is in use: it follows the list that it was sent last, has reported its whole table,
 * and that has nothing but functions that are closed, in no domain, and being given back. Their
 * GUIDs the SM lets go only when the port is up. */
bool oneib_node_has_nothing(const struct oneib_node *node, double now);
/* What it has, it is to say anew, by a report that follows a list which is made from now on: one
 * that was under way, or that was its last, is no answer. question: which one, not 0; what was
 * asked already is not asked again. 0: nothing is asked. */
void oneib_node_question(struct oneib_node *node, uint64_t question);
/* It has reported since. */
bool oneib_node_has_answered(const struct oneib_node *node, uint64_t question);
/* Two machines have its key. */
bool oneib_node_is_doubled(const struct oneib_node *node, double now);
/* Since when nothing was heard of it, at most since it is known. */
double oneib_node_unheard_ms(const struct oneib_node *node, double now);
/* All nodes' snapshots, borrowed until the next call of anything above; what was news is none any
 * more. */
void oneib_nodes_read(struct oneib_nodes *nodes, double now,
                      const struct oneib_node_snapshot **snapshots);
/* The same without what they were sent; what was news stays so. To be freed; its records are borrowed
 * likewise. */
struct oneib_node_snapshot *oneib_nodes_list_reports(const struct oneib_nodes *nodes, double now);
/* Whether something is news, by reports or because time has passed. */
enum oneib_nodes_news oneib_nodes_news(const struct oneib_nodes *nodes, double now);
/* Milliseconds until time alone makes something news; `otherwise`: nothing before that. */
double oneib_nodes_wait(const struct oneib_nodes *nodes, double now, double otherwise);
/* How many of them have never reported. */
size_t oneib_nodes_unheard(const struct oneib_nodes *nodes);
void oneib_nodes_clear(struct oneib_nodes *nodes);

#endif
