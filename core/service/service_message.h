// SPDX-License-Identifier: Apache-2.0
/*
 * What oneib-node and its callers say to each other, over a SOCK_SEQPACKET socket of the same
 * machine: one message a packet, of fixed size, in host byte order, every byte that a kind does not
 * use 0. Both sides are of one build: a message of another version, size or kind, or with anything
 * in it that is not allowed, is refused whole. Pure.
 *
 * A connection sends requests one after the other, each after the last answer has ended:
 *
 *   HAVE        a NIC's VF, reserved and closed, on its way to what oneibd has granted. Answered
 *               with RECORD once there is a grant, or FAILED when there is none in node.pkey_wait:
 *               the request is no claim, it says only what is waited for.
 *   RELEASE     the VFs of a VM, or of one of its NICs: closed at once. Answered at once: RELEASED,
 *               or FAILED.
 *   RELEASE_VF  one VF, of this VM or of nobody. Likewise.
 *   WAIT        for all that this connection has asked for. Answered when that has ended: a RECORD
 *               for each HAVE that is done and one FAILED for each request that has failed, in the
 *               order in which they were asked, then END.
 *   LIST        what the service knows. Answered by a RECORD for each VF, a DOMAIN for each VF that
 *               a domain names and for each domain that names none, a GRANT for each grant of the
 *               list that is followed, FOLLOWS, then END.
 *   ANNOUNCE    oneibd's addresses and keys (oneib_grant_feed_announce()). Answered at once: END,
 * or FAILED when others are believed already.
 *
 * A connection that is closed before its WAIT has ended gives up: a VF that its NIC did not have
 * before is closed and free again, one that it had stays its own, closed.
 */
#ifndef ONEIB_SERVICE_SERVICE_MESSAGE_H
#define ONEIB_SERVICE_SERVICE_MESSAGE_H

#include "base/error.h"
#include "cluster/grant.h"
#include "grants/daemons.h"
#include "host/vf_record.h"
#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Below oneib_node_root() (hca/place.h). OpenNebula's group: everything; all others: LIST. */
#define ONEIB_SERVICE_SOCKET "/run/oneib/node.sock"
#define ONEIB_SERVICE_READ_SOCKET "/run/oneib/node-read.sock"

#define ONEIB_MESSAGE_MAGIC 0x314e424fu /* "OBN1" in the bytes of a little endian machine */
#define ONEIB_MESSAGE_TEXT 512          /* bytes of an error's text, its 0 included */
#define ONEIB_MESSAGE_NAME 64           /* of a domain's name; a longer one is cut */

enum oneib_request_kind {
    ONEIB_REQUEST_HAVE = 1,
    ONEIB_REQUEST_RELEASE,
    ONEIB_REQUEST_RELEASE_VF,
    ONEIB_REQUEST_WAIT,
    ONEIB_REQUEST_LIST,
    ONEIB_REQUEST_ANNOUNCE,
};

/* Flags of a request. */
#define ONEIB_HAVE_DEFER_GUID 0x0004u /* the same GUID may still be another host's port's */
/* The NIC is being attached: what it has and no domain names is of an attach that failed, and is
 * released first. */
#define ONEIB_HAVE_ATTACH 0x0008u
/* Of RELEASE. The VM has lost the NIC: closed even while a running domain names the VF, see
 * vf/vfs.h. */
#define ONEIB_RELEASE_NIC_GONE 0x0010u
/* Of ANNOUNCE, by root alone: these daemons are believed from now on, whoever was before. */
#define ONEIB_ANNOUNCE_TRUSTED 0x0020u

/* A connection has at most so many requests that its next WAIT is for; one more is refused. */
#define ONEIB_SERVICE_ASKED_MAX 64

struct oneib_request {
    uint32_t magic;
    uint16_t kind;  /* enum oneib_request_kind */
    uint16_t flags; /* above */
    uint32_t vm_id;
    int32_t nic_id;                                        /* 0-255; RELEASE: -1 is all */
    uint32_t network_id;                                   /* HAVE */
    int32_t numa_node;                                     /* HAVE: wanted; -1: none */
    uint32_t daemon_count;                                 /* ANNOUNCE: at least 1 */
    struct oneib_pci vf;                                   /* RELEASE_VF */
    struct oneib_ledger_daemon daemons[ONEIB_DAEMONS_MAX]; /* ANNOUNCE: `since` is 0 */
};

enum oneib_answer_kind {
    ONEIB_ANSWER_RECORD = 1,
    ONEIB_ANSWER_RELEASED,
    ONEIB_ANSWER_DOMAIN,
    ONEIB_ANSWER_FAILED,
    ONEIB_ANSWER_END,
    ONEIB_ANSWER_GRANT,
    ONEIB_ANSWER_FOLLOWS,
};

/* What became of the VFs that a RELEASE was about. */
struct oneib_released {
    uint32_t freed;     /* they are nobody's any more */
    uint32_t lingering; /* closed, and kept until the SM has let go of their GUIDs, or until the
                           domain that names them has */
    uint32_t left;      /* untouched: a running domain of the VM's names them */
};

/* A domain of libvirt's, and one of the VFs that it names. */
struct oneib_domain_entry {
    int64_t vm_id; /* of "one-42"; -1: not OpenNebula's */
    bool running;  /* else only defined */
    bool has_vf;
    struct oneib_pci vf;
    char name[ONEIB_MESSAGE_NAME]; /* untrusted; ends with a 0 */
};

/* The list of grants that is followed. */
struct oneib_follows {
    bool has_list;
    bool fresh;      /* it may be opened by */
    uint32_t unseen; /* oneib_vfs_unseen() */
};

struct oneib_answer {
    uint32_t magic;
    uint16_t kind; /* enum oneib_answer_kind */
    uint16_t code; /* FAILED: enum oneib_error_code. END of LIST: not NONE while nobody knows which
                      domains there are; FOLLOWS: not NONE while nothing new is opened; the text
                      says why */
    struct oneib_vf_record record;    /* RECORD */
    struct oneib_released released;   /* RELEASED */
    struct oneib_domain_entry domain; /* DOMAIN */
    struct oneib_grant grant;         /* GRANT */
    struct oneib_follows follows;     /* FOLLOWS */
    char text[ONEIB_MESSAGE_TEXT];    /* FAILED, END, FOLLOWS */
};

/*
 * Whether what has arrived is a request, or an answer, that can be taken as it is. INPUT says what
 * is wrong with it. Everything is checked: kinds, flags that the kind does not have, numbers,
 * names, enumerations, bytes that must be 0, padding too. On failure the second is as it was.
 */
int oneib_request_check(const void *bytes, size_t length, struct oneib_request *request,
                        struct oneib_error *err);
int oneib_answer_check(const void *bytes, size_t length, struct oneib_answer *answer,
                       struct oneib_error *err);

/* What is sent for it: what its kind has, and every other byte 0. Nothing of a sender's memory
 * leaves it by the way. The two must not be the same. */
void oneib_request_pack(const struct oneib_request *request, struct oneib_request *packed);
void oneib_answer_pack(const struct oneib_answer *answer, struct oneib_answer *packed);

/* A request or answer of that kind, all else 0. */
struct oneib_request oneib_request_new(enum oneib_request_kind kind);
struct oneib_answer oneib_answer_new(enum oneib_answer_kind kind);

/* FAILED, END or FOLLOWS with a code and the words of an error; longer ones are cut. */
struct oneib_answer oneib_answer_with(enum oneib_answer_kind kind, const struct oneib_error *why);
/* An ANNOUNCE of these daemons, and what it announces. */
struct oneib_request oneib_request_announcing(const struct oneib_daemons *daemons);
void oneib_request_daemons(const struct oneib_request *request, struct oneib_daemons *daemons);

/* The other way: what a FAILED, an END or a FOLLOWS says. */
void oneib_answer_error(const struct oneib_answer *answer, struct oneib_error *why);

#endif
