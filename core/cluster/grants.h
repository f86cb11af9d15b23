// SPDX-License-Identifier: Apache-2.0
/*
 * From the desired state and what nodes have said to what each node is granted, and to what may be
 * put into the partitions file now. Pure. docs/design/grants.md tells the rules and why.
 *
 * Giving: the grant at the node and the key in the port's table come in either order; the node
 * opens when it has both. Taking: a list without the grant goes out; the node closes and reports
 * that it follows that list; only then the key leaves the port's entry, or the entry changes; only
 * when that was seen may the key be another network's.
 */
#ifndef ONEIB_CLUSTER_GRANTS_H
#define ONEIB_CLUSTER_GRANTS_H

#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "cluster/grant.h"
#include "cluster/ledger.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of one host's node. */
enum oneib_node_state {
    ONEIB_NODE_UNHEARD, /* it has not reported since this daemon started */
    ONEIB_NODE_FOLLOWS, /* its last report is younger than ONEIB_REPORT_MS and some, and follows the
                           list that was sent last (or no list was sent yet) */
    ONEIB_NODE_AWAITED, /* it was sent a list less than ONEIB_SILENCE_MS ago, and has not reported
                           that it follows it */
    ONEIB_NODE_SILENT,  /* it should have, and has not; or it has not reported for too long. A new
                           list does not make it AWAITED again: only a report does */
};

struct oneib_nic_name {
    uint32_t vm_id;
    uint8_t nic_id;
    bool
        is_assumed; /* of a NIC that a node was sent: its first table alone says so, for this daemon
                        has sent it nothing of it yet. Not compared */
};

/* By VM, NIC. <0, 0, >0. */
int oneib_nic_name_compare(const struct oneib_nic_name *a, const struct oneib_nic_name *b);

struct oneib_node_snapshot {
    uint32_t host_id;
    enum oneib_node_state state;
    bool table_known;                      /* `records` is its whole table */
    const struct oneib_vf_record *records; /* borrowed; what it reported last */
    size_t record_count;
    const struct oneib_grant_list *sent; /* borrowed; NULL: none yet */
    const struct oneib_nic_name *told;   /* borrowed; by NIC: those that it was sent now or before,
                                            as far as it has not reported without them since */
    size_t told_count;
};

/* What a host may hold by its IB_KEYS: every key that it was ever sent and has not given back. */
struct oneib_held_keys {
    bool known; /* else nobody knows */
    const oneib_pkey *keys;
    size_t count;
};

/* What a host counts as whose ports are all closed, whatever its node says. Nothing on it reaches the
 * fabric, so it is as if it followed an empty list and had nothing. */
struct oneib_node_snapshot oneib_node_of_fenced_host(uint32_t host_id);
bool oneib_node_is_heard(enum oneib_node_state state);
/* What it does not report, it has not; but it may follow a list of the daemon before still. */
bool oneib_node_has_told(const struct oneib_node_snapshot *snapshot);
/* Nor will it have again what it has closed: the list that it follows is this daemon's. By one of
 * the daemon before it may open a VF anew as soon as its port has the key again. */
bool oneib_node_tells_all(const struct oneib_node_snapshot *snapshot);
/* A VF that is open at its key, or not known to be closed. */
bool oneib_record_may_be_open(const struct oneib_vf_record *record);
/* Whether the node was told of the record's NIC. */
bool oneib_node_was_told(const struct oneib_node_snapshot *snapshot,
                         const struct oneib_vf_record *record);

struct oneib_host_grants {
    uint32_t host_id;
    struct oneib_grant *items; /* owned; by (VM, NIC) */
    size_t count, capacity;
};

struct oneib_grants {
    struct oneib_host_grants *hosts; /* owned; by host id; those with a grant */
    size_t host_count, host_capacity;
    oneib_guid *twice; /* owned, sorted: of VFs that are ports of their own: another host's table,
                          or the fabric, still has it, so nobody gets a P_Key by it */
    size_t twice_count, twice_capacity;
};

struct oneib_grants_input {
    const struct oneib_cloud *cloud;         /* sorted */
    const struct oneib_policy *policy;       /* the site, for GUIDs */
    const struct oneib_desired *desired;     /* after the removal hold */
    const struct oneib_node_snapshot *nodes; /* by host id */
    size_t node_count;
    const struct oneib_subnet *subnet; /* NULL: not known; for GUIDs of ports that it has */
    const struct oneib_partition_table *in_force; /* NULL: none */
};

/*
 * The grants of every host: one for each binding whose member status is MEMBER, of both hosts while
 * it migrates. may_set_guid: no other node that was told of that NIC reports a record of it with a
 * GUID that is not NONE or DEFERRED, nor was another host granted it before and has not reported
 * since. While
 * a VM migrates it is the host's that it leaves, until that has reported that it has nothing of the
 * NIC; then no host's, until it follows a list that says so; then the other host's. What a node was
 * sent (or, when nothing was sent yet, has open) and whose removal is held (desired->held) stays
 * granted, unless something says that this NIC has ended there. A VF that is a port of its own (mlx5) has a GUID that the subnet
 * manager lets two ports have: there a silent host that oned has given up keeps it, too, unless it
 * is fenced, and so does a port of the fabric that is none of the hosts' that may have it (`twice`,
 * and the finding guid-twice). What a node is only assumed to have been sent does not keep a GUID
 * from a NIC whose GUID is in force in its partition. More than ONEIB_GRANTS_MAX for a host: the
 * first by start of the VM, and a finding.
 */
void oneib_grants_compute(const struct oneib_grants_input *input, struct oneib_grants *grants,
                          struct oneib_findings *findings);
const struct oneib_host_grants *oneib_grants_of_host(const struct oneib_grants *grants,
                                                     uint32_t host_id); /* NULL: none */
void oneib_grants_clear(struct oneib_grants *grants);

struct oneib_gate_input {
    const struct oneib_cloud *cloud;
    const struct oneib_desired *desired;
    const struct oneib_partition_table *in_force; /* ours, by the file; NULL, or empty: none */
    const struct oneib_grants *grants;            /* as they have just been sent */
    const struct oneib_node_snapshot *nodes;      /* by host id, since then */
    size_t node_count;
    const struct oneib_ledger *ledger;        /* for its fences, and whose ports are; NULL: none */
    const struct oneib_subnet *led_elsewhere; /* the fabric, as it was read: another host's subnet
                                                 manager leads it, and in force is what the ports
                                                 hold; NULL: by the file here, or not known */
    bool hears_no_nodes; /* the program that asks (a command, not the daemon) hears no nodes: every
                            host that has VFs is UNHEARD, and no GUID of a VF is added */
};

struct oneib_gate {
    struct oneib_partition_table table; /* what may be written now */
    size_t kept;                        /* entries that wait for their node's report */
    size_t withheld; /* entries that are not added, because a node is silent or not heard yet */
};

/*
 * The partitions file that may be written now. For a port that a host reports (IB_HCA), or that no
 * host reports and the ledger says is one's:
 *  - an entry (port, key) in force and not desired stays while its node is AWAITED, and while its
 *    node, heard, reports a VF that is open (or not known to be closed) at that key on that port;
 *    it goes when the node has reported without it, or is SILENT or UNHEARD;
 *  - an entry desired and not in force is added unless the node is SILENT or UNHEARD and the host
 * has VFs (vfs_total): then nothing is added on any port of it;
 *  - nothing is added or widened at a port, or at a VF of a port, that IB_HCA alone names;
 *  - where another subnet manager leads, what a port that was read lacks is not in force, whatever
 * the file says; and an entry desired that it holds is added, ALL excepted: it is no change;
 *  - nothing is added at a port of a fenced host, whoever else reports it or lists it: what VFs are
 * open at there nobody knows;
 *  - limited to full is a taking and a giving: full comes when the node follows;
 *  - a GUID that is twice is in no partition, whatever is in force;
 *  - what stays never makes a port hold more than it has room for: additions wait then.
 * All else is as desired. Of the static partitions a port that is listed comes as any other
 * entry does, and ALL when it could come to every port whose host may hold a key, no host is fenced,
 * and all that the ledger knows are in the cloud; none to a port where what stays leaves no room.
 * The default partition is never touched.
 */
void oneib_gate_compute(const struct oneib_gate_input *input, struct oneib_gate *gate);
void oneib_gate_clear(struct oneib_gate *gate);

/*
 * The keys that a host holds, or may: of what it was sent and is about to be (grants: may be NULL),
 * and, of those that it was ever sent (before), of its reported table; ascending, each once. before
 * stays whole until the node FOLLOWS a list that this daemon has sent and its table is known, for
 * only then it can be told what it may have opened since it reported last, and may open again. A
 * key that it was never sent cannot be open there, whatever it reports. Returns how many there are.
 * For the host's attribute IB_KEYS.
 */
size_t oneib_keys_of_node(const struct oneib_node_snapshot *node,
                          const struct oneib_host_grants *grants,
                          const struct oneib_held_keys *before, oneib_pkey keys[ONEIB_PKEY_COUNT]);

#endif
