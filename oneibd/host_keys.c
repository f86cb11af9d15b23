// SPDX-License-Identifier: Apache-2.0
#include "oneibd/host_keys.h"
#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
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

static struct oneib_host_keys_entry *add(struct oneib_host_keys *known, uint32_t host_id)
{
    const size_t place = place_of(known, host_id);
    ONEIB_INSERT(known->items, known->count, known->capacity, place);
    known->items[place] = (struct oneib_host_keys_entry){.host_id = host_id};
    return &known->items[place];
}

static void drop(struct oneib_host_keys *known, struct oneib_host_keys_entry *entry)
{
    clear_entry(entry);
    ONEIB_REMOVE(known->items, known->count, (size_t)(entry - known->items));
}

/* ---- lists of keys --------------------------------------------------------------------------- */

static void replace(oneib_pkey **keys, size_t *count, const oneib_pkey *with, size_t with_count)
{
    oneib_pkey *copy = oneib_alloc(with_count + 1, sizeof *copy);
    if (with_count > 0)
        memcpy(copy, with, with_count * sizeof *copy);
    free(*keys);
    *keys = copy;
    *count = with_count;
}

static bool is_same(const oneib_pkey *a, size_t a_count, const oneib_pkey *b, size_t b_count)
{
    return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * sizeof *a) == 0);
}

/* Both are ascending. */
static void merge(oneib_pkey **keys, size_t *count, const oneib_pkey *more, size_t more_count)
{
    oneib_pkey *merged = oneib_alloc(*count + more_count + 1, sizeof *merged);
    size_t i = 0, j = 0, all = 0;
    while (i < *count || j < more_count) {
        const bool first = j == more_count || (i < *count && (*keys)[i] <= more[j]);
        const oneib_pkey pkey = first ? (*keys)[i++] : more[j++];
        if (all == 0 || merged[all - 1] != pkey)
            merged[all++] = pkey;
    }
    free(*keys);
    *keys = merged;
    *count = all;
}

/* ---- what is believed ------------------------------------------------------------------------ */

enum seal { SEAL_NONE, SEAL_OLD, SEAL_VALID };

static bool is_signed(const struct oneib_host_keys_trust *trust, const struct oneib_host *host,
                      uint64_t *serial)
{
    if (host->keys_invalid || !host->keys_seal[0])
        return false;
    if (oneib_keys_are_sealed(trust->sign, host->id, host->keys, host->key_count, host->keys_seal,
                              serial))
        return true;
    for (size_t i = 0; trust->ledger && i < trust->ledger->daemon_count; i++)
        if (oneib_keys_are_sealed(trust->ledger->daemons[i].sign, host->id, host->keys,
                                  host->key_count, host->keys_seal, serial))
            return true;
    return false;
}

/* NULL: the ledger knows nothing of the host. */
static uint64_t *serial_in(const struct oneib_ledger *ledger, uint32_t host_id)
{
    struct oneib_ledger_host *host = oneib_ledger_host(ledger, host_id);
    struct oneib_ledger_forgotten *forgotten = oneib_ledger_forgotten(ledger, host_id);
    return host ? &host->keys_serial : forgotten ? &forgotten->keys_serial : NULL;
}

/* What is remembered of the host, or stands in the ledger. entry may be NULL. */
static uint64_t lowest_serial(const struct oneib_ledger *ledger,
                              const struct oneib_host_keys_entry *entry, uint32_t host_id)
{
    const uint64_t *stands = ledger ? serial_in(ledger, host_id) : NULL;
    const uint64_t known = stands ? *stands : 0;
    return entry && entry->serial > known ? entry->serial : known;
}

/* entry: NULL: nothing is remembered. */
static enum seal check_seal(const struct oneib_host_keys_trust *trust,
                            const struct oneib_host_keys_entry *entry,
                            const struct oneib_host *host, uint64_t *serial)
{
    if (!is_signed(trust, host, serial))
        return SEAL_NONE;
    if (*serial >= lowest_serial(trust->ledger, entry, host->id))
        return SEAL_VALID;
    oneib_log(ONEIB_LOG_WARNING,
              "host %" PRIu32 ": IB_KEYS has serial %" PRIu64 ", and oneibd has written %" PRIu64
              ": an old value was written again, probably by a forged monitoring message; ignored",
              host->id, *serial, lowest_serial(trust->ledger, entry, host->id));
    return SEAL_OLD;
}

static bool is_pinned(const struct oneib_host_keys_trust *trust, uint32_t host_id)
{
    return trust->ledger && oneib_ledger_host(trust->ledger, host_id);
}

static bool is_forgotten(const struct oneib_host_keys_trust *trust, uint32_t host_id)
{
    return trust->ledger && oneib_ledger_forgotten(trust->ledger, host_id);
}

static void note_seen(struct oneib_host_keys_entry *entry, const struct oneib_host *host,
                      bool sealed)
{
    entry->seen_sealed = sealed;
    memcpy(entry->seen_seal, host->keys_seal, sizeof entry->seen_seal);
    replace(&entry->seen, &entry->seen_count, host->keys, host->key_count);
}

static bool was_seen(const struct oneib_host_keys_entry *entry, const struct oneib_host *host)
{
    return strcmp(entry->seen_seal, host->keys_seal) == 0 &&
           is_same(entry->seen, entry->seen_count, host->keys, host->key_count);
}

/* Nothing is remembered. Monitoring can write an attribute, and cannot remove one. */
static void meet(struct oneib_host_keys *known, const struct oneib_host_keys_trust *trust,
                 struct oneib_host *host)
{
    uint64_t serial = 0;
    const bool sealed = check_seal(trust, NULL, host, &serial) == SEAL_VALID;
    const bool pinned = is_pinned(trust, host->id);
    host->keys_stale = !sealed && host->keys_written;
    if (host->keys_invalid || !trust->ledger)
        return;
    if (!sealed && pinned && host->keys_written) {
        host->keys_invalid = true;
        return;
    }
    struct oneib_host_keys_entry *entry = add(known, host->id);
    entry->is_pinned = pinned;
    entry->serial = sealed ? serial : 0;
    host->keys_settled = true;
    replace(&entry->keys, &entry->count, host->keys, host->key_count);
    note_seen(entry, host, sealed);
}

static void believe_news(struct oneib_host_keys_entry *entry,
                         const struct oneib_host_keys_trust *trust, const struct oneib_host *host,
                         enum seal seal, uint64_t serial)
{
    if (seal == SEAL_OLD || (seal == SEAL_NONE && entry->is_forgotten))
        return;
    if (seal == SEAL_VALID) {
        entry->serial = serial;
        if (trust->is_writer)
            merge(&entry->keys, &entry->count, host->keys, host->key_count);
        else
            replace(&entry->keys, &entry->count, host->keys, host->key_count);
        return;
    }
    oneib_log(ONEIB_LOG_WARNING,
              "host %" PRIu32 ": IB_KEYS is not what oneibd has written, and is ignored: its "
              "monitoring messages may be forged",
              host->id);
}

/* What is in oned is compared with what is remembered. */
static void compare(struct oneib_host_keys_entry *entry, const struct oneib_host_keys_trust *trust,
                    struct oneib_host *host)
{
    if (!was_seen(entry, host)) {
        uint64_t serial;
        const enum seal seal = check_seal(trust, entry, host, &serial);
        believe_news(entry, trust, host, seal, serial);
        note_seen(entry, host, seal == SEAL_VALID);
    }
    if (entry->is_forgotten)
        replace(&entry->keys, &entry->count, NULL, 0);
    host->keys_stale = host->keys_invalid ||
                       !is_same(entry->keys, entry->count, host->keys, host->key_count) ||
                       (host->keys_written && !entry->seen_sealed);
    host->keys_invalid = false;
    host->keys_settled = true;
    replace(&host->keys, &host->key_count, entry->keys, entry->count);
}

void oneib_host_keys_settle(struct oneib_host_keys *known,
                            const struct oneib_host_keys_trust *trust, struct oneib_host *host)
{
    struct oneib_host_keys_entry *entry = find(known, host->id);
    const bool forgotten = is_forgotten(trust, host->id);
    if (forgotten) {
        if (!entry)
            entry = add(known, host->id);
        host->keys_settled &= entry->is_forgotten;
        entry->is_forgotten = true;
        entry->is_pinned = false;
    }
    if (entry && trust->ledger && (entry->is_pinned || (entry->is_forgotten && !forgotten)) &&
        !is_pinned(trust, host->id)) {
        drop(known, entry); /* an older ledger was put back */
        entry = NULL;
        host->keys_settled = false;
    }
    if (entry && is_pinned(trust, host->id)) {
        entry->is_pinned = true;
        entry->is_forgotten = false;
    }
    if (host->keys_settled)
        return;
    if (!entry) {
        meet(known, trust, host);
        return;
    }
    compare(entry, trust, host);
}

void oneib_host_keys_settle_all(struct oneib_host_keys *known,
                                const struct oneib_host_keys_trust *trust,
                                struct oneib_cloud *cloud)
{
    for (size_t i = known->count; trust->ledger && i-- > 0;)
        if (!oneib_cloud_host(cloud, known->items[i].host_id) &&
            !is_pinned(trust, known->items[i].host_id))
            drop(known, &known->items[i]);
    for (size_t i = 0; i < cloud->host_count; i++)
        oneib_host_keys_settle(known, trust, &cloud->hosts[i]);
}

uint64_t oneib_host_keys_next_serial(const struct oneib_host_keys *known,
                                     const struct oneib_ledger *ledger, uint32_t host_id)
{
    return lowest_serial(ledger, find(known, host_id), host_id) + 1;
}

bool oneib_host_keys_note_serials(const struct oneib_host_keys *known, struct oneib_ledger *ledger)
{
    bool changed = false;
    for (size_t i = 0; i < known->count; i++) {
        uint64_t *serial = serial_in(ledger, known->items[i].host_id);
        if (!serial || *serial >= known->items[i].serial)
            continue;
        *serial = known->items[i].serial;
        changed = true;
    }
    return changed;
}

void oneib_host_keys_wrote(struct oneib_host_keys *known, const struct oneib_host_keys_trust *trust,
                           struct oneib_host *host)
{
    struct oneib_host_keys_entry *entry = find(known, host->id);
    if (!entry)
        entry = add(known, host->id);
    entry->is_pinned |= is_pinned(trust, host->id);
    host->keys_invalid = host->keys_stale = false;
    host->keys_written = host->keys_settled = true;
    uint64_t serial;
    if (is_signed(trust, host, &serial))
        entry->serial = serial;
    replace(&entry->keys, &entry->count, host->keys, host->key_count);
    note_seen(entry, host, true);
}

void oneib_host_keys_clear(struct oneib_host_keys *known)
{
    for (size_t i = 0; i < known->count; i++)
        clear_entry(&known->items[i]);
    free(known->items);
    *known = (struct oneib_host_keys){0};
}
