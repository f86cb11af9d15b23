// SPDX-License-Identifier: Apache-2.0
/*
 * Which host owns a port. Pure. docs/design/desired.md ("Which port") has the rules and the reasons.
 *
 * A port is the host's that the ledger names (HOST_PORT): its oneib-node reported the port over its
 * own connection, or an operator accepted it. IB_HCA comes by monitoring, which anybody may send in
 * any host's name: it opens a question and answers none. It adds nothing to a port that belongs to
 * another host, and takes nothing from a host whose ports the ledger knows.
 */
#ifndef ONEIB_CLUSTER_PORT_OWNER_H
#define ONEIB_CLUSTER_PORT_OWNER_H

#include "base/finding.h"
#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "cluster/ledger.h"
#include "partitions/subnet.h"

/* What decides. All borrowed. */
struct oneib_port_evidence {
    const struct oneib_ledger *ledger; /* never NULL */
    const struct oneib_policy *policy; /* NULL: no full members of the default partition, no site */
    const struct oneib_subnet *subnet; /* NULL: not known */
    const struct oneib_partition_table
        *static_partitions; /* the operator's file; NULL: none. It counts for new claims of nodes
                               alone: a KVM host's port may be listed there, too */
};

/*
 * Leaves in `ports` of each host of the sorted cloud those that are its own; what IB_HCA names stays
 * in `probed`. Of a host with ports in the ledger these are the ledger's, with the device and driver
 * that are recorded there. Of any other they are those of its IB_HCA that no other host owns or names, unproven.
 * port-conflict for each port that IB_HCA names and that is, or may be, another host's. May be
 * called again when the evidence has changed.
 */
void oneib_cloud_settle_ports(struct oneib_cloud *cloud, const struct oneib_port_evidence *evidence,
                              struct oneib_findings *findings);

enum oneib_port_claim {
    ONEIB_PORT_CLAIM_VALID,
    ONEIB_PORT_CLAIM_NO_ADAPTERS, /* the GUID is one that oneib gives to VFs, 0 or all ones */
    ONEIB_PORT_CLAIM_RESERVED,    /* a static member, a full member of the default partition, the
                                     master subnet manager's port, or no channel adapter's */
    ONEIB_PORT_CLAIM_LISTED,      /* the operator's static partitions list it */
    ONEIB_PORT_CLAIM_SIBLING,     /* the fabric shows another port of the same adapter, which is
                                     another host's by the ledger: *other */
};

/* Whether a host's oneib-node may be the first to have the port: the ledger has no owner of it. */
enum oneib_port_claim oneib_port_claim_check(const struct oneib_cloud *cloud,
                                             const struct oneib_port_evidence *evidence,
                                             uint32_t host_id, oneib_guid guid, uint32_t *other);

/* Whether an operator's network lists the port in IB_STATIC_GUIDS. */
bool oneib_is_static_member(const struct oneib_cloud *cloud, oneib_guid guid);
/* Whether the operator's static partitions (NULL: none) list the port by its GUID. */
bool oneib_is_listed(const struct oneib_partition_table *static_partitions, oneib_guid guid);
/* Whether a port that the ledger has as a host's no longer counts as one: an operator's network lists
 * it, and no operator has accepted it. The port of an adapter whose VFs have P_Key tables of their own
 * stays the host's: what they have does not touch the port's. */
bool oneib_port_is_taken_back(const struct oneib_cloud *cloud,
                              const struct oneib_ledger_port *known);

#endif
