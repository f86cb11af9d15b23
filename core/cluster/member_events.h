// SPDX-License-Identifier: Apache-2.0
/*
 * News of members: who was added, removed or refused by a reconciliation, why, and whether the
 * ports bear it out. For the daemon's log, which is an audit trail, and for `oneib sync`.
 *
 * Three steps: compare two member lists, and the file in force with the partitions that replace it
 * (member_events.c); ask what the ports hold (member_events_prove.c); say it
 * (member_events_text.c), within bounds (member_events_share.c). Pure.
 */
#ifndef ONEIB_CLUSTER_MEMBER_EVENTS_H
#define ONEIB_CLUSTER_MEMBER_EVENTS_H

#include "base/text.h"
#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "cluster/member_list.h"
#include "partitions/partition.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oneib_member_event_kind { /* in the order in which they are said */
                               ONEIB_MEMBER_EVENT_REMOVED,
                               ONEIB_MEMBER_EVENT_CHANGED, /* the membership */
                               ONEIB_MEMBER_EVENT_ADDED,
                               ONEIB_MEMBER_EVENT_ARRIVED, /* an addition that was waited for is in force */
                               ONEIB_MEMBER_EVENT_GONE, /* a removal that was waited for is so no more: in force,
                                              or the proof says what else */
                               ONEIB_MEMBER_EVENT_REFUSED,
                               ONEIB_MEMBER_EVENT_NOT_REFUSED, /* any more, and no member either */
};
#define ONEIB_MEMBER_EVENT_KINDS (ONEIB_MEMBER_EVENT_NOT_REFUSED + 1)

/* What the documents say of why; no more than that is known. */
enum oneib_member_event_reason {
    ONEIB_BECAUSE_UNKNOWN,       /* only the partitions file tells of it */
    ONEIB_BECAUSE_VM_CAME,       /* state: the VM was on no host before */
    ONEIB_BECAUSE_VM_THERE,      /* state: nobody knows what was before */
    ONEIB_BECAUSE_VM_ENDED,      /* oned has no such VM any more */
    ONEIB_BECAUSE_VM_STOPPED,    /* state: the VM is on no host any more */
    ONEIB_BECAUSE_ATTACHED,      /* the NIC is new to a VM that was there */
    ONEIB_BECAUSE_DETACHED,      /* the VM is there, and has no such NIC any more */
    ONEIB_BECAUSE_MIGRATION,     /* other_host: where it comes from, or has gone */
    ONEIB_BECAUSE_KEY,           /* other_pkey: what its network's key was, or is */
    ONEIB_BECAUSE_NETWORK,       /* other_network: of which the NIC was, or is */
    ONEIB_BECAUSE_PORT,          /* other_guid: the port that it had, or has */
    ONEIB_BECAUSE_MEMBER_STATUS, /* member status: why it is, or was, refused */
    ONEIB_BECAUSE_NARROWING,     /* the membership of network, NIC or others on the port changed */
};

/* What the ports say of it. */
enum oneib_member_event_proof {
    ONEIB_PROOF_NONE, /* nothing to prove, or nothing that could: a refusal, or members without a
                         GUID */
    ONEIB_PROOF_IN_FORCE,  /* the port holds the key, or has it no more */
    ONEIB_PROOF_AWAITED,   /* not yet */
    ONEIB_PROOF_ABSENT,    /* the port is off the fabric */
    ONEIB_PROOF_MUTE,      /* the port did not answer */
    ONEIB_PROOF_UNSEEN,    /* a virtual port: the fabric's reading does not show it */
    ONEIB_PROOF_WITH_VM,   /* removed: its virtual port is that of the host where the VM is now */
    ONEIB_PROOF_OTHERS,    /* removed, and the port keeps the key for other members */
    ONEIB_PROOF_HELD_BACK, /* removed, and kept in force by the removal hold */
};

struct oneib_member_event {
    enum oneib_member_event_kind kind;
    enum oneib_member_event_reason reason;
    enum oneib_member_event_proof proof;
    bool has_line;                      /* else it is one of those that are only counted */
    bool has_vm;                        /* else a member that the partitions file alone has */
    struct oneib_member_list_line line; /* without a VM: member, pkey, membership, network */
    uint8_t member_kind;                /* enum oneib_member_kind, without a VM */
    char partition[ONEIB_PARTITION_NAME_SIZE]; /* without a VM: its name in opensm's file */
    uint8_t old_membership;                    /* CHANGED */
    uint8_t member_status;                     /* BECAUSE_MEMBER_STATUS */
    uint8_t hold_reason;                       /* enum oneib_hold_reason, HELD_BACK */
    oneib_pkey other_pkey;
    uint32_t other_host, other_network;
    oneib_guid other_guid;
    int16_t state, lcm_state; /* of the VM, where the reason is its state */
};

struct oneib_member_events {
    struct oneib_member_event *items; /* owned; by kind, network, VM, NIC, host, GUID */
    size_t count, capacity;
};

struct oneib_member_events_input {
    const struct oneib_member_list
        *before; /* NULL: not known; then the file in force says who was there */
    struct oneib_member_list *after;     /* how lines stand is carried over from before */
    const struct oneib_cloud *cloud;     /* sorted; of `after` */
    const struct oneib_changes *changes; /* from the file in force to the desired partitions */
    bool refusals;                       /* without `before`: all that are refused are news */
};

/* Compares. By a merge of what is sorted: no search of one member list for a line of the other. *news is
 * not sorted yet. */
void oneib_member_events_make(const struct oneib_member_events_input *input,
                              struct oneib_member_events *news);

struct oneib_member_events_evidence {
    const struct oneib_subnet *subnet;   /* as it was read last */
    const struct oneib_cloud *cloud;     /* sorted */
    const struct oneib_desired *desired; /* with what the removal hold kept */
    bool begins;                         /* no line has its P_Key status yet: all are compared */
};

/*
 * Sets each item's proof and how the lines of the member list, `after` of the news, stand; adds ARRIVED
 * for those that were waited for and have come. leaving: removals that are waited for, held back
 * ones too, from the time before, one of each key on each port; those that are no more become GONE,
 * those of this news that are not done are added. What the file alone tells of them is left out. At
 * last the items are sorted, and those that get a line are chosen.
 */
void oneib_member_events_prove(const struct oneib_member_events_evidence *evidence,
                               struct oneib_member_list *member_list,
                               struct oneib_member_events *leaving,
                               struct oneib_member_events *news);

/* A line, without a newline: `member added: network 7 "red" 0x0100 full, VM 42 NIC 1 on host
 * "node3", port 0x...: VM came to the host (PROLOG); in force`. fresh: the ports were read in this
 * reconciliation. */
void oneib_member_events_append(const struct oneib_cloud *cloud,
                                const struct oneib_member_event *item, bool fresh,
                                struct oneib_text *text);
/* "added", "removed", "refused", ...: for JSON. */
const char *oneib_member_event_kind_name(enum oneib_member_event_kind kind);
/* "in-force", "awaited", ...; NULL for NONE. */
const char *oneib_member_event_proof_name(enum oneib_member_event_proof proof);
/* Appends only the reason, or nothing when there is none to tell. */
void oneib_member_events_append_reason(const struct oneib_cloud *cloud,
                                       const struct oneib_member_event *item,
                                       struct oneib_text *text);

/* So many lines are said of one reconciliation; the others are counted in one more. Each network
 * has the same share of them: what a network does not need is the others'. */
#define ONEIB_MEMBER_EVENT_LINES 200
/* Chooses those that get a line: has_line. news: sorted. */
void oneib_member_events_share_lines(struct oneib_member_events *news);
/* `and 3800 more: network 7 "red" 2000 added, 12 removed; network 9 ...`; what is waited for among
 * them is said. Nothing when each item has a line. */
void oneib_member_events_append_rest(const struct oneib_cloud *cloud,
                                     const struct oneib_member_events *news,
                                     struct oneib_text *text);

void oneib_member_events_add(struct oneib_member_events *news,
                             const struct oneib_member_event *item);
void oneib_member_events_clear(struct oneib_member_events *news);

#endif
