// SPDX-License-Identifier: Apache-2.0
/*
 * The steps of oneib_desired_compute(), in the order in which they run, and what they hand to each
 * other. Only desired*.c include this.
 *
 *   desired_static_partitions.c   the operator's: what they take and what they must not be
 *   desired_driver_changed.c   networks that another driver serves now: which are kept for NICs' sake
 *   desired_keys.c       entitlement of networks by the ledger
 *   pkey_choice.c        what is to change in the ledger, and in the copies that networks have
 *   desired_classes.c    service levels, for the ledger and for the copies that networks have
 *   desired_statics.c    static members
 *   desired_ports.c      host ports, and which port an attachment uses: bindings
 *   desired_fenced.c     hosts that are fenced: nobody there is a member
 *   desired_refused.c    what the subnet manager is not to be given
 *   desired_states.c     what stands against a binding: unknown state, adapters of two kinds
 *   desired_tables.c     P_Key tables of ports: who gets a line, room
 *   desired_ipoib.c      MTU, rate, multicast groups
 *   desired.c            partitions, clusters, member statuses
 */
#ifndef ONEIB_CLUSTER_DESIRED_INTERNAL_H
#define ONEIB_CLUSTER_DESIRED_INTERNAL_H

#include "base/error.h"
#include "base/text.h"
#include "cluster/desired.h"
#include "cluster/names.h"
#include "cluster/port_index.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_NO_INDEX UINT32_MAX
#define ONEIB_KEY_TEXT_SIZE 8 /* "0x7fff" and a NUL */

/* What a network may use. One for each of cloud->networks, at the same index. */
struct oneib_entitlement {
    uint32_t cluster; /* index of the network whose partition it uses; ONEIB_NO_INDEX: of none */
    oneib_pkey pkey;  /* the one key that its attachments may have; 0: none */
    uint8_t member_status; /* enum oneib_member_status: MEMBER when there is a key, else why there
                              is none */
    uint8_t membership;    /* the widest that its attachments may have */
    uint8_t given;         /* ... by operators' words alone */
};

/* One port of one host. */
struct oneib_port_owner {
    oneib_guid guid;
    uint32_t host_id;
    bool refused; /* must not serve anybody; a finding says why */
};

/* One attachment on one host: two of them while it migrates. */
struct oneib_binding {
    oneib_guid port;   /* GUID of the physical port; 0: it has none */
    oneib_guid member; /* whose P_Key table gets the key: the port's own, or the VF's */
    uint32_t attachment;
    uint32_t network; /* index of its own network; ONEIB_NO_INDEX: none that counts for it */
    uint32_t host_id;
    oneib_pkey pkey; /* what it is entitled to */
    uint8_t
        membership; /* the widest that it may have; of a member, in the end, what its port has */
    uint8_t member_status; /* enum oneib_member_status */
    bool is_source;        /* the host that a migration leaves */
    bool is_virtual;       /* the VF is a port with a table of its own */
    bool is_proven;        /* so the ledger says, and not IB_HCA alone */
    bool is_self_limited;  /* limited by what users can write, where operators give full */
};

/* A member of a cluster's partition, or a static member that may become one. */
struct oneib_line {
    oneib_guid guid;
    uint32_t cluster;
    oneib_pkey pkey;
    uint8_t membership;
};

/* A static partition and a GUID that it lists. */
struct oneib_static_guid {
    oneib_guid guid;
    uint32_t partition;
};

struct oneib_static_use {
    bool keys[ONEIB_PKEY_COUNT];
    uint32_t on_every_port;   /* partitions that list ALL or ALL_CAS */
    bool first_on_every_port; /* one of them has indx0 */
    struct oneib_static_guid
        *guids; /* owned; by GUID; partitions that list it and not every port */
    size_t guid_count, guid_capacity;
};

struct oneib_work {
    const struct oneib_cloud *cloud;
    const struct oneib_policy *policy;
    const struct oneib_partition_table *static_partitions; /* never NULL */
    const struct oneib_subnet *subnet;                     /* may be NULL */
    const struct oneib_partition_table *in_force;          /* may be NULL */
    const struct oneib_ledger *ledger;                     /* never NULL */
    bool keys_stay;                                        /* nothing is given, nothing taken */
    struct oneib_desired *desired;
    struct oneib_findings *findings;
    struct oneib_static_use static_use;
    bool *kept; /* of each network that another driver serves: NICs of ours keep it, see
                   desired_driver_changed.c */
    struct oneib_entitlement *entitlements;
    struct oneib_line *statics; /* by cluster and GUID, each once */
    size_t static_count, static_capacity;
    struct oneib_port_owner *ports; /* by GUID, each once */
    size_t port_count, port_capacity;
    struct oneib_binding *bindings;
    size_t binding_count, binding_capacity;
    bool *first_index;        /* of each network: its partition has indx0 */
    struct oneib_line *lines; /* by key, then GUID; each once */
    size_t line_count, line_capacity;
};

/* desired_static_partitions.c */
int oneib_static_examine(struct oneib_work *work, struct oneib_error *err);
/* How many static partitions put their key on the port. */
uint32_t oneib_static_keys_on(const struct oneib_work *work, oneib_guid guid);
/* true when one of them wants index 0 of the port's table. */
bool oneib_static_takes_index0(const struct oneib_work *work, oneib_guid guid);
/* Appends a copy of the static partition to the table. */
void oneib_static_append(struct oneib_work *work, const struct oneib_partition *partition);
/* *waits: the static partition is not in force yet, and a host may hold its key still, as some
 * network's: adds a finding, and the key to desired->waiting. */
void oneib_static_must_wait(struct oneib_work *work, const struct oneib_partition *partition,
                            bool *waits);

/* desired_driver_changed.c */
/* Fills work->kept. */
void oneib_find_switched(struct oneib_work *work);
/* Says of each network that is kept what has become of it, and the command that puts it right. */
void oneib_say_switched(struct oneib_work *work);
/* Says of an attachment that it was not there before its network was switched. */
void oneib_say_new_on_switched(struct oneib_work *work, const struct oneib_attachment *attachment);

/* desired_keys.c */
void oneib_entitle(struct oneib_work *work);
/* Says which NICs have no network, or a network that does not know of them. */
void oneib_examine_attachments(struct oneib_work *work);
/* Says which members' NICs show another key than the one that they have. */
void oneib_compare_shown_keys(struct oneib_work *work);

/* pkey_choice.c */
/* Fills desired->requests, ->next, ->copies, ->unused and ->idle. A network whose operator wishes a
 * key that it cannot have, and that has none, is KEY_CONFLICT. */
void oneib_plan_keys(struct oneib_work *work);

/* desired_classes.c, behind pkey_choice.c */
/* The network's by the ledger; 0: none. */
uint8_t oneib_service_level_of(const struct oneib_work *work, const struct oneib_network *network);
void oneib_plan_service_levels(struct oneib_work *work);

/* desired_statics.c */
void oneib_collect_statics(struct oneib_work *work);

/* desired_ports.c */
void oneib_index_ports(struct oneib_work *work);
struct oneib_port_owner *oneib_port_owner(const struct oneib_work *work, oneib_guid guid);
void oneib_make_bindings(struct oneib_work *work);

/* desired_fenced.c */
/* Takes all bindings on fenced hosts away, says which hosts are fenced, and fills desired->fenced.
 */
void oneib_judge_fenced(struct oneib_work *work);

/* desired_refused.c */
/* Whether the subnet manager takes the key: with policy->only_range not every one. */
bool oneib_key_is_taken(const struct oneib_work *work, oneib_pkey pkey);
void oneib_say_key_refused(struct oneib_work *work, const struct oneib_network *network,
                           oneib_pkey pkey);
void oneib_say_limited_refused(struct oneib_work *work, const struct oneib_network *network);
/* *refused: the static partition is not for this subnet manager; adds a finding. */
void oneib_static_is_refused(struct oneib_work *work, const struct oneib_partition *partition,
                             bool *refused);

/* desired_states.c */
/* Not settled yet: what runs already has the first right to what others want, too. */
bool oneib_is_arriving(const struct oneib_work *work, const struct oneib_binding *binding);
/* Who was there first: who runs, before who arrives; then by the start of the history record, VM
 * and NIC. */
bool oneib_is_earlier(const struct oneib_work *work, const struct oneib_binding *binding,
                      const struct oneib_binding *than);
/* Attachments of unknown state or of switched networks keep what is in force, adapters of two kinds
 * are kept apart. */
void oneib_judge_bindings(struct oneib_work *work);

/* desired_tables.c */
void oneib_fill_tables(struct oneib_work *work);

/* desired_ipoib.c */
struct oneib_ipoib_limits {
    uint8_t mtu, rate;           /* what a network gets that says nothing; 0: opensm's default */
    uint8_t most_mtu, most_rate; /* that a network can ask for; 0: not known */
};
/* Fills desired->mtu and rate, too. */
void oneib_ipoib_limits(struct oneib_work *work, struct oneib_ipoib_limits *limits);
void oneib_ipoib_of_network(struct oneib_work *work, const struct oneib_ipoib_limits *limits,
                            const struct oneib_network *network, struct oneib_partition *partition);
void oneib_count_multicast(struct oneib_work *work);

/* desired_links.c */
/* Names adapters' ports that run below what they could, or are below these. */
void oneib_name_slow_ports(struct oneib_work *work, const struct oneib_ipoib_limits *limits);
/* The fastest link of an adapter's port, IB rate code; 0: not known. */
uint8_t oneib_fastest_link(const struct oneib_subnet *subnet);

/* Shared by all of them. */
/* Full only when both are. */
enum oneib_membership oneib_narrower(enum oneib_membership a, enum oneib_membership b);
/* The key that the ledger says the network has; 0: none. Of one that shares its parent's partition
 * it is of no use. */
oneib_pkey oneib_key_of(const struct oneib_work *work, const struct oneib_network *network);
/* The key that the network's document states; 0 unless it is one that a network may have. */
oneib_pkey oneib_stated_key(const struct oneib_network *network);
/*
 * The network that a reservation is from. NULL for an ordinary network, and for a reservation whose
 * parent is gone: nobody is left to share with.
 */
const struct oneib_network *oneib_parent_of(const struct oneib_work *work,
                                            const struct oneib_network *network);
bool oneib_shares_its_parents(const struct oneib_work *work, const struct oneib_network *network);
/* A user's reservation of a network that never was InfiniBand: it gets no key. */
bool oneib_is_of_another_driver(const struct oneib_work *work, const struct oneib_network *network);
/* The network whose key the NICs of one have: itself, or the parent whose partition it shares. */
const struct oneib_network *oneib_key_giver(const struct oneib_work *work,
                                            const struct oneib_network *network);
/* Not 0, not all ones, not within the range of the GUIDs that this site makes for VFs. */
bool oneib_guid_is_foreign(const struct oneib_work *work, oneib_guid guid);
/*
 * What a finding calls an object, and that the next finding is about it (finding.h): for the
 * arguments of oneib_findings_note().
 */
struct oneib_shown oneib_name_network(struct oneib_work *work, uint32_t id);
struct oneib_shown oneib_name_host(struct oneib_work *work, uint32_t id);
/* `port 0x0002c90300a1b2c3 of host "node3"`; of a port that is no host's the GUID alone. Once the
 * ports are indexed. */
struct oneib_shown oneib_name_port(struct oneib_work *work, oneib_guid guid);
/* "VM 4 NIC 0", with the network that the NIC is of. */
struct oneib_shown oneib_name_nic(struct oneib_work *work,
                                  const struct oneib_attachment *attachment);
/* Appends "VM 4 NIC 0", the next ones after ", ", and from the ninth on nothing. */
void oneib_name_attachment(struct oneib_work *work, struct oneib_text *text,
                           const struct oneib_attachment *attachment, size_t already_named);
/* Closes a list of `count` names: " and 3 more" when not all of them were named. */
void oneib_close_names(struct oneib_text *text, size_t count);

#endif
