// SPDX-License-Identifier: Apache-2.0
/*
 * The desired state: from the cloud, the operator's static partitions and the policy to the
 * partitions, with a member status on every attachment and a finding for everything that cannot be
 * had. Pure, deterministic: the same input in any order gives the same bytes.
 * docs/design/desired.md tells the rules and why.
 */
#ifndef ONEIB_CLUSTER_DESIRED_H
#define ONEIB_CLUSTER_DESIRED_H

#include "base/error.h"
#include "base/finding.h"
#include "cluster/cloud.h"
#include "cluster/ledger.h"
#include "partitions/partition.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The operator's decisions, from the configuration. */
struct oneib_policy {
    uint16_t site;
    oneib_pkey pkey_first, pkey_last; /* range that new keys are taken from: first is not above
                                         last, and both may be a network's */
    uint32_t resting_max;   /* of a tenant's keys; with as many the tenant gets no new one */
    uint32_t owned_max;     /* keys that a tenant's networks have at most; 0: no limit */
    uint32_t per_owner_max; /* of a tenant's keys on one port, unless they run there; 0: no limit */
    bool default_ipoib;
    const oneib_guid *default_full_members; /* borrowed */
    size_t default_full_count;
    uint8_t mtu;       /* IB code for networks that say none; 0: the site's, by the ledger */
    uint8_t rate;      /* likewise */
    uint8_t rate_max;  /* the largest IB code of a rate that the subnet manager knows; 0: any */
    double hold_share; /* see oneib_removals_hold() */
    uint32_t hold_minimum;
    const struct oneib_qos_class *classes; /* borrowed; of the configuration */
    size_t class_count;                    /* 0: no network gets a service level */
    const char *default_class; /* borrowed: of networks without IB_CLASS; NULL: they have none */
    bool only_range; /* the subnet manager takes no key but pkey_first to pkey_last, and GUIDs alone
                      */
    bool no_limited; /* ... would make full members of limited ones: they get nothing */
    const char *vn_mad; /* borrowed: the driver whose networks are InfiniBand, for fixes; NULL:
                           "infiniband" */
};

struct oneib_desired_input {
    const struct oneib_cloud *cloud;   /* sorted, its ports settled (port_owner.h) */
    const struct oneib_ledger *ledger; /* never NULL: who has which key */
    bool keys_stay; /* the ledger is not to be relied on: no key is given or taken by it */
    const struct oneib_policy *policy;
    const struct oneib_partition_table *static_partitions; /* NULL: none */
    const struct oneib_subnet
        *subnet; /* NULL: not known; used for PartitionCap, MTU, rate, MulticastFDBCap */
    const struct oneib_partition_table
        *in_force; /* NULL: not known; used for attachments of unknown state, for those whose
                      network another driver serves now, for keys that must not be given out
                      again, and for the kind of adapter of a cluster with members on both */
};

enum oneib_member_status {
    ONEIB_MEMBER_STATUS_ABSENT, /* the VM is on no host: nothing to be a member with */
    ONEIB_MEMBER_STATUS_MEMBER,
    ONEIB_MEMBER_STATUS_NO_NETWORK,   /* the network is gone, or is not InfiniBand any more */
    ONEIB_MEMBER_STATUS_NO_LEASE,     /* the network does not know of the VM: the NIC is forged */
    ONEIB_MEMBER_STATUS_NO_KEY,       /* the network has no usable key (yet) */
    ONEIB_MEMBER_STATUS_KEY_CONFLICT, /* another network, or a static partition, has the key */
    /* As the findings of that name say it. */
    ONEIB_MEMBER_STATUS_HCA_MISSING,
    ONEIB_MEMBER_STATUS_HCA_AMBIGUOUS,
    ONEIB_MEMBER_STATUS_HCA_UNSUPPORTED,
    ONEIB_MEMBER_STATUS_PHYDEV_INVALID,
    ONEIB_MEMBER_STATUS_PORT_REFUSED, /* the host's port must not serve it; a finding says why */
    ONEIB_MEMBER_STATUS_PORT_FULL,    /* the port's P_Key table has no room */
    ONEIB_MEMBER_STATUS_OWNER_LIMIT, /* ... holds as many keys of that owner's networks as it may */
    ONEIB_MEMBER_STATUS_GIVES_WAY, /* a user has made it limited, and others on its port are full */
    ONEIB_MEMBER_STATUS_UNKNOWN_STATE, /* a state number not known: keeps what is in force, here
                                        * nothing
                                        */
    ONEIB_MEMBER_STATUS_START_FAILED,  /* it could be one, and its start there has failed */
    ONEIB_MEMBER_STATUS_FENCED,   /* its host is fenced: whatever runs there is nobody's member */
    ONEIB_MEMBER_STATUS_SWITCHED, /* another driver serves the network now: keeps what is in force,
                               here nothing */
};

/* One virtual cluster: a network with a partition of its own, and the reservations that share it.
 */
struct oneib_cluster {
    uint32_t network_id;
    oneib_pkey pkey;                  /* 0: none in force */
    enum oneib_membership membership; /* the widest that its attachments may have */
    size_t *attachments; /* owned; indices into cloud->attachments, by (VM, NIC); of all phases */
    size_t attachment_count, attachment_capacity;
    size_t members;    /* member status MEMBER */
    size_t vms, hosts; /* distinct, of those members */
    size_t refused;    /* neither MEMBER nor ABSENT: NICs of VMs on a host that get nothing there */
    size_t refused_vms; /* distinct, of those */
};

/* One NIC on one host: two while it migrates. */
struct oneib_desired_binding {
    oneib_guid port; /* GUID of the host's port; 0: there is none */
    oneib_guid
        member; /* whose P_Key table gets the key: the port's own, or the VF's; 0: nobody's */
    uint32_t attachment; /* index into cloud->attachments */
    uint32_t host_id;
    oneib_pkey pkey;       /* what it is entitled to; 0: nothing */
    uint8_t membership;    /* of a member: as in the table, where others may have narrowed it */
    uint8_t member_status; /* enum oneib_member_status; of the host that it leaves too */
    bool is_source;        /* the host that a migration leaves */
    bool is_proven;        /* the host has the port by the ledger, and not by IB_HCA alone */
};

/* A network that is to have this key in the ledger. */
struct oneib_key_request {
    uint32_t network_id;
    uint32_t owner;  /* its uid */
    oneib_pkey pkey; /* from the ring, or, of an operator's network, what its VLAN_ID wishes; 0:
                        there is none for it, a finding says why */
    uint8_t sl;      /* of its class; 0: it has none */
};

/* A network that has its key in the ledger, and is to have this service level there. */
struct oneib_sl_request {
    uint32_t network_id;
    uint8_t sl;
};

/* A network whose IB_SL is to show this service level; 0: none. */
struct oneib_sl_copy {
    uint32_t network_id;
    uint8_t sl;
};

/* A network whose VLAN_ID is to show this key, which it has in the ledger. */
struct oneib_key_copy {
    uint32_t network_id;
    oneib_pkey pkey;
};

/* An entry of the ledger that nobody needs: its key is to rest. */
struct oneib_unused_key {
    uint32_t network_id;
    bool is_sharer; /* it has its parent's partition now; else it is not in the cloud, which only
                       oned itself can confirm */
};

/* A reservation that shares its parent's partition. */
struct oneib_sharer {
    uint32_t network_id;
    uint32_t cluster_id; /* the parent's network id */
};

/* How many more keys the P_Key table of a port takes; 0 also for a port that must get none. */
struct oneib_port_room {
    oneib_guid port_guid;
    uint16_t room;
};

/* Why the removal of a member is held: what no answer tells. */
enum oneib_hold_reason {
    ONEIB_HOLD_NONE, /* it is not: something says that the member has ended */
    ONEIB_HOLD_NETWORK_MISSING,
    ONEIB_HOLD_NETWORK_UNREADABLE,
    ONEIB_HOLD_KEY_MISSING,  /* the ledger has none of its network */
    ONEIB_HOLD_PORT_MISSING, /* a NIC is on a host that reports no port for it */
};

/* A member that stays in force by the removal hold alone. */
struct oneib_held_removal {
    oneib_guid member;
    uint32_t host_id; /* whose port it is; ONEIB_NO_ID: a VF's own, or not known */
    oneib_pkey pkey;
    enum oneib_hold_reason reason;
};

struct oneib_desired {
    struct oneib_partition_table
        table; /* default partition, the static partitions', the clusters', in canonical order */
    uint8_t *member_statuses; /* owned; enum oneib_member_status for each of cloud->attachments */
    struct oneib_desired_binding *bindings; /* owned; by attachment, a migration's source last;
                                         those of ABSENT attachments have none */
    size_t binding_count;
    struct oneib_cluster *clusters; /* by network id */
    size_t cluster_count, cluster_capacity;
    struct oneib_key_request *requests; /* by network id */
    size_t request_count, request_capacity;
    oneib_pkey next;   /* the ledger's, once the requests are met */
    uint8_t mtu, rate; /* the site's, for the ledger: what it has, or what the fabric's ports have
                          in common; 0: not known */
    struct oneib_key_copy *copies; /* by network id */
    size_t copy_count, copy_capacity;
    struct oneib_sl_request *sl_requests; /* by network id */
    size_t sl_request_count, sl_request_capacity;
    struct oneib_sl_copy *sl_copies; /* by network id */
    size_t sl_copy_count, sl_copy_capacity;
    struct oneib_unused_key *unused; /* by network id */
    size_t unused_count, unused_capacity;
    oneib_pkey *idle; /* by key: keys that rest and that nobody can hold any more */
    size_t idle_count, idle_capacity;
    size_t wishes_at_rest;        /* operators' wishes for keys that a host may hold, the static
                                     partitions' too:        met when it has answered */
    struct oneib_sharer *sharers; /* by network id */
    size_t sharer_count, sharer_capacity;
    oneib_pkey *waiting; /* static partitions' keys that are not in force yet: hosts may hold them
                            for the clusters that had them */
    size_t waiting_count, waiting_capacity;
    struct oneib_port_room
        *rooms; /* by port GUID: the ports that the clusters' members use, and refused ones */
    size_t room_count, room_capacity;
    oneib_guid *fenced; /* sorted: members that fenced hosts have lost. Their removal is meant */
    size_t fenced_count, fenced_capacity;
    struct oneib_held_removal *held; /* owned; by key and GUID */
    size_t held_count, held_capacity;
    struct oneib_findings findings;
};

/*
 * Whether the operator's partitions may be put into force beside oneib's. INPUT: a key or a name of
 * oneib's, a VF's GUID as a member, or a rate that the subnet manager does not know (rate_max: see
 * the policy); *err says what to do. oneib_desired_compute() refuses what this refuses.
 */
int oneib_static_partitions_judge(const struct oneib_partition_table *static_partitions,
                                  uint16_t site, uint8_t rate_max, struct oneib_error *err);

int oneib_desired_compute(const struct oneib_desired_input *input, struct oneib_desired *desired,
                          struct oneib_error *err);
const char *
oneib_member_status_name(enum oneib_member_status member_status); /* "member", "port-full", ... */
/* The name of the class that the network is to have, defined or not; NULL: none. Borrowed.
 * default_class: of networks that say none; NULL: they have none. */
const char *oneib_network_class(const struct oneib_cloud *cloud, const char *default_class,
                                const struct oneib_network *network);
/* Neither MEMBER nor ABSENT: a VM that is on a host gets nothing there. */
bool oneib_member_status_is_refusal(enum oneib_member_status member_status);
/* NO_NETWORK, NO_KEY or HCA_MISSING: refused for want of something that was not read. */
bool oneib_member_status_is_lack(enum oneib_member_status member_status);
/* The bindings of an attachment: the first of *count (0-2), NULL when there is none. */
const struct oneib_desired_binding *oneib_desired_bindings(const struct oneib_desired *desired,
                                                           size_t attachment, size_t *count);
/* By network id; a reservation that shares its parent's partition finds its parent's. NULL when
 * absent. */
const struct oneib_cluster *oneib_desired_cluster(const struct oneib_desired *desired,
                                                  uint32_t network_id);
void oneib_desired_clear(struct oneib_desired *desired);

/*
 * The removal hold. Of the GUID members of clusters' partitions ("one<ID>") in force that desired
 * does not list under the same name those are missing from an answer of which nothing says that they
 * have ended (enum oneib_hold_reason). When more than policy->hold_share of all members, without
 * those that have ended, and at least policy->hold_minimum, are missing at once, they are put back
 * into desired->table, and desired->held names them. A member is put back only
 * into the same partition: same name, key and indx0 in both tables, or, where the partition is
 * gone from desired altogether, when nobody in desired has its key, or waits for it (then the
 * partition stays). Isolation and other members come first: nothing is put back where the port's
 * table has no room left (desired->rooms), nor a VF's own GUID that is now in another partition,
 * and nobody comes back with a wider membership than the cluster's, nor as a limited member with
 * policy->no_limited. Additions are never held.
 * input: what *desired was computed from; input->in_force is not NULL.
 */
void oneib_removals_hold(const struct oneib_desired_input *input, struct oneib_desired *desired);
/* NULL: its removal is not held. */
const struct oneib_held_removal *oneib_held_removal(const struct oneib_desired *desired,
                                                    oneib_pkey pkey, oneib_guid member);

#endif
