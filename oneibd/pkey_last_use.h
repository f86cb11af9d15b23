// SPDX-License-Identifier: Apache-2.0
/*
 * The writer takes a key out of a host's IB_KEYS when the host can hold it no more. A node that
 * believes another daemon follows that one's lists: what it has closed it may open again by one
 * that the writer does not know of. Such a list is of a snapshot of oned that is a minute old at
 * most, and is opened by for ten seconds: so a key stays for as long as that after the writer has
 * known of no use for it. Pure; times are oneib_now_ms()'s, given.
 */
#ifndef ONEIB_ONEIBD_PKEY_LAST_USE_H
#define ONEIB_ONEIBD_PKEY_LAST_USE_H

#include "grants/grants_message.h"
#include "ib/pkey.h"
#include <stddef.h>

#define ONEIB_KEY_DOUBT_MS (ONEIB_SNAPSHOT_AGE_MS + ONEIB_LIST_AGE_MS)

struct oneib_pkey_last_use {
    oneib_pkey pkey;
    double since; /* no use is known for it */
};

/* Of one host; zeroed: none. */
struct oneib_pkey_last_uses {
    struct oneib_pkey_last_use *items; /* owned; by key */
    size_t count, capacity;
};

/* written: what IB_KEYS names. keys: what the host may hold by what is known, *count of them. Adds
 * of what is written and not known what may still be another daemon's. Both are ascending, each key
 * once, before and after. */
void oneib_pkey_last_uses_keep(struct oneib_pkey_last_uses *uses, const oneib_pkey *written,
                               size_t written_count, double now, oneib_pkey keys[ONEIB_PKEY_COUNT],
                               size_t *count);
void oneib_pkey_last_uses_clear(struct oneib_pkey_last_uses *uses);

#endif
