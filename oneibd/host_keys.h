// SPDX-License-Identifier: Apache-2.0
/*
 * IB_KEYS, as far as it can be believed. Host attributes come by host.update and by monitoring,
 * which is not authenticated: so oneibd signs what it writes (IB_KEYS_SEAL), and remembers it. What
 * is not signed by a daemon that the ledger knows changes nothing, and is written over. So does what
 * is signed with a lower serial than is remembered or stands in the ledger: an old value that was
 * written again. When nothing is remembered, as after a start, it is then not known what the host
 * may hold. Of a host that is not pinned yet it counts as it stands: it was sent nothing. One that an
 * operator has forgotten holds nothing, whatever it says. Pure, but for the signatures.
 */
#ifndef ONEIB_ONEIBD_HOST_KEYS_H
#define ONEIB_ONEIBD_HOST_KEYS_H

#include "cluster/cloud.h"
#include "cluster/ledger.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_host_keys_entry {
    uint32_t host_id;
    bool is_pinned, is_forgotten;
    oneib_pkey *keys; /* owned; what the host may hold */
    size_t count;
    uint64_t serial;  /* highest that was believed or written */
    oneib_pkey *seen; /* owned; what oned had last, and its seal, which was looked at */
    size_t seen_count;
    char seen_seal[ONEIB_KEYS_SEAL_TEXT_SIZE];
    bool seen_sealed; /* it was right */
};

/* Zeroed: nothing is remembered. */
struct oneib_host_keys {
    struct oneib_host_keys_entry *items; /* owned; by host id */
    size_t count, capacity;
};

/* Whose word counts. */
struct oneib_host_keys_trust {
    const struct oneib_ledger *ledger; /* its daemons' signatures; which hosts are pinned. NULL: it
                                          cannot be read, and only what is remembered counts */
    const uint8_t *sign;               /* this daemon's own public key */
    bool is_writer; /* else what another daemon has taken out is out: that one is the writer */
};

/* Puts in the place of what oned says of the host what is believed: keys, keys_invalid and
 * keys_stale. Nothing for one that was settled since it was read, unless it is pinned no more, or was
 * forgotten. */
void oneib_host_keys_settle(struct oneib_host_keys *known,
                            const struct oneib_host_keys_trust *trust, struct oneib_host *host);
/* The same for all hosts. What is remembered of a host that is neither there nor pinned is
 * forgotten. */
void oneib_host_keys_settle_all(struct oneib_host_keys *known,
                                const struct oneib_host_keys_trust *trust,
                                struct oneib_cloud *cloud);
/* The serial of what is written next of the host. */
uint64_t oneib_host_keys_next_serial(const struct oneib_host_keys *known,
                                     const struct oneib_ledger *ledger, uint32_t host_id);
/* Raises the serials of the ledger's hosts, and of those that were forgotten, to those that are remembered; whether one was lower. */
bool oneib_host_keys_note_serials(const struct oneib_host_keys *known, struct oneib_ledger *ledger);
/* oned has this now, signed by us: as `host` says. */
void oneib_host_keys_wrote(struct oneib_host_keys *known, const struct oneib_host_keys_trust *trust,
                           struct oneib_host *host);
void oneib_host_keys_clear(struct oneib_host_keys *known);

#endif
