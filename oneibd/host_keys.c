// SPDX-License-Identifier: Apache-2.0
#include "oneibd/host_keys.h"
#include "base/array.h"
#include "base/log.h"
#include "base/order.h"
#include "grants/seal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void clear_entry(struct oneib_host_keys_entry *entry)
{
    free(entry->keys);
    free(entry->seen);
    *entry = (struct oneib_host_keys_entry){0};
}

static size_t place_of(const struct oneib_host_keys *known, uint32_t host_id)
{
    return ONEIB_LOWER_BOUND(i, known->count, known->items[i].host_id < host_id);
}

static struct oneib_host_keys_entry *find(const struct oneib_host_keys *known, uint32_t host_id)
{
    const size_t place = place_of(known, host_id);
    return place < known->count && known->items[place].host_id == host_id ? &known->items[place]
                                                                          : NULL;
}

static struct oneib_host_keys_entry *add(struct oneib_host_keys *known, uint32_t host_id,
                                         struct oneib_error *err)
{
    const size_t place = place_of(known, host_id);
    if (oneib_reserve(&known->items, &known->capacity, known->count + 1, sizeof *known->items,
                      err) < 0)
        return NULL;
    memmove(known->items + place + 1, known->items + place,
            (known->count++ - place) * sizeof *known->items);
    known->items[place] = (struct oneib_host_keys_entry){.host_id = host_id};
    return &known->items[place];
}

static void drop(struct oneib_host_keys *known, struct oneib_host_keys_entry *entry)
{
    const size_t place = (size_t)(entry - known->items);
    clear_entry(entry);
    memmove(entry, entry + 1, (--known->count - place) * sizeof *entry);
}

/* ---- lists of keys --------------------------------------------------------------------------- */

static int replace(oneib_pkey **keys, size_t *count, const oneib_pkey *with, size_t with_count,
                   struct oneib_error *err)
{
    oneib_pkey *copy = malloc((with_count + 1) * sizeof *copy);
    if (!copy)
        return oneib_fail_memory(err);
    if (with_count > 0)
        memcpy(copy, with, with_count * sizeof *copy);
    free(*keys);
    *keys = copy;
    *count = with_count;
    return 0;
}

static bool is_same(const oneib_pkey *a, size_t a_count, const oneib_pkey *b, size_t b_count)
{
    return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * sizeof *a) == 0);
}

/* Both are ascending. */
static int merge(oneib_pkey **keys, size_t *count, const oneib_pkey *more, size_t more_count,
                 struct oneib_error *err)
{
    oneib_pkey *merged = malloc((*count + more_count + 1) * sizeof *merged);
    size_t i = 0, j = 0, all = 0;
    if (!merged)
        return oneib_fail_memory(err);
    while (i < *count || j < more_count) {
        const bool first = j == more_count || (i < *count && (*keys)[i] <= more[j]);
        const oneib_pkey pkey = first ? (*keys)[i++] : more[j++];
        if (all == 0 || merged[all - 1] != pkey)
            merged[all++] = pkey;
    }
    free(*keys);
    *keys = merged;
    *count = all;
    return 0;
}

/* ---- what is believed ------------------------------------------------------------------------ */

static bool is_sealed(const struct oneib_host_keys_trust *trust, const struct oneib_host *host)
{
    if (host->keys_invalid || !host->keys_seal[0])
        return false;
    if (oneib_keys_are_sealed(trust->sign, host->id, host->keys, host->key_count, host->keys_seal))
        return true;
    for (size_t i = 0; trust->ledger && i < trust->ledger->daemon_count; i++)
        if (oneib_keys_are_sealed(trust->ledger->daemons[i].sign, host->id, host->keys,
                                  host->key_count, host->keys_seal))
            return true;
    return false;
}

static bool is_pinned(const struct oneib_host_keys_trust *trust, uint32_t host_id)
{
    return trust->ledger && oneib_ledger_host(trust->ledger, host_id);
}

static int note_seen(struct oneib_host_keys_entry *entry, const struct oneib_host *host,
                     bool sealed, struct oneib_error *err)
{
    entry->seen_sealed = sealed;
    memcpy(entry->seen_seal, host->keys_seal, sizeof entry->seen_seal);
    return replace(&entry->seen, &entry->seen_count, host->keys, host->key_count, err);
}

static bool was_seen(const struct oneib_host_keys_entry *entry, const struct oneib_host *host)
{
    return strcmp(entry->seen_seal, host->keys_seal) == 0 &&
           is_same(entry->seen, entry->seen_count, host->keys, host->key_count);
}

/* Nothing is remembered. Monitoring can write an attribute, and cannot remove one. */
static int meet(struct oneib_host_keys *known, const struct oneib_host_keys_trust *trust,
                struct oneib_host *host, struct oneib_error *err)
{
    const bool sealed = is_sealed(trust, host);
    const bool pinned = is_pinned(trust, host->id);
    host->keys_stale = !sealed && host->keys_written;
    if (host->keys_invalid || !trust->ledger)
        return 0;
    if (!sealed && pinned && host->keys_written) {
        host->keys_invalid = true;
        return 0;
    }
    struct oneib_host_keys_entry *entry = add(known, host->id, err);
    if (!entry)
        return -1;
    entry->is_pinned = pinned;
    host->keys_settled = true;
    return replace(&entry->keys, &entry->count, host->keys, host->key_count, err) < 0
               ? -1
               : note_seen(entry, host, sealed, err);
}

static int believe_news(struct oneib_host_keys_entry *entry,
                        const struct oneib_host_keys_trust *trust, const struct oneib_host *host,
                        bool sealed, struct oneib_error *err)
{
    if (sealed)
        return trust->is_writer
                   ? merge(&entry->keys, &entry->count, host->keys, host->key_count, err)
                   : replace(&entry->keys, &entry->count, host->keys, host->key_count, err);
    oneib_log(ONEIB_LOG_WARNING,
              "host %" PRIu32 ": IB_KEYS is not what oneibd has written, and counts for nothing: "
              "somebody may forge what its probe reports",
              host->id);
    return 0;
}

/* What is in oned is compared with what is remembered. */
static int compare(struct oneib_host_keys_entry *entry, const struct oneib_host_keys_trust *trust,
                   struct oneib_host *host, struct oneib_error *err)
{
    if (!was_seen(entry, host)) {
        const bool sealed = is_sealed(trust, host);
        if (believe_news(entry, trust, host, sealed, err) < 0 ||
            note_seen(entry, host, sealed, err) < 0)
            return -1;
    }
    host->keys_stale = host->keys_invalid ||
                       !is_same(entry->keys, entry->count, host->keys, host->key_count) ||
                       (host->keys_written && !entry->seen_sealed);
    host->keys_invalid = false;
    host->keys_settled = true;
    return replace(&host->keys, &host->key_count, entry->keys, entry->count, err);
}

int oneib_host_keys_settle(struct oneib_host_keys *known, const struct oneib_host_keys_trust *trust,
                           struct oneib_host *host, struct oneib_error *err)
{
    struct oneib_host_keys_entry *entry = find(known, host->id);
    if (entry && trust->ledger && entry->is_pinned && !is_pinned(trust, host->id)) {
        drop(known, entry); /* oneib host forget */
        entry = NULL;
        host->keys_settled = false;
    }
    if (entry)
        entry->is_pinned |= is_pinned(trust, host->id);
    if (host->keys_settled)
        return 0;
    if (!entry)
        return meet(known, trust, host, err);
    return compare(entry, trust, host, err);
}

int oneib_host_keys_settle_all(struct oneib_host_keys *known,
                               const struct oneib_host_keys_trust *trust, struct oneib_cloud *cloud,
                               struct oneib_error *err)
{
    for (size_t i = known->count; trust->ledger && i-- > 0;)
        if (!oneib_cloud_host(cloud, known->items[i].host_id) &&
            !is_pinned(trust, known->items[i].host_id))
            drop(known, &known->items[i]);
    for (size_t i = 0; i < cloud->host_count; i++)
        if (oneib_host_keys_settle(known, trust, &cloud->hosts[i], err) < 0)
            return -1;
    return 0;
}

int oneib_host_keys_wrote(struct oneib_host_keys *known, const struct oneib_host_keys_trust *trust,
                          struct oneib_host *host, struct oneib_error *err)
{
    struct oneib_host_keys_entry *entry = find(known, host->id);
    if (!entry)
        entry = add(known, host->id, err);
    if (!entry)
        return -1;
    entry->is_pinned |= is_pinned(trust, host->id);
    host->keys_invalid = host->keys_stale = false;
    host->keys_written = host->keys_settled = true;
    return replace(&entry->keys, &entry->count, host->keys, host->key_count, err) < 0
               ? -1
               : note_seen(entry, host, true, err);
}

void oneib_host_keys_clear(struct oneib_host_keys *known)
{
    for (size_t i = 0; i < known->count; i++)
        clear_entry(&known->items[i]);
    free(known->items);
    *known = (struct oneib_host_keys){0};
}
