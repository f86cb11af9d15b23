// SPDX-License-Identifier: Apache-2.0
/* What is to change about keys: the ledger first, then what networks show of it. */
#include "cluster/names.h"
#include "sync/classes.h"
#include "sync/sync.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

void oneib_key_changes_clear(struct oneib_key_changes *changes)
{
    oneib_id_set_clear(&changes->networks);
    *changes = (struct oneib_key_changes){0};
}

static size_t unused_to_confirm(const struct oneib_snapshot *snapshot)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->desired.unused_count; i++)
        count += !oneib_id_set_has(&snapshot->there, snapshot->desired.unused[i].network_id);
    return count;
}

static size_t requests_to_meet(const struct oneib_desired *desired)
{
    size_t count = 0;
    for (size_t i = 0; i < desired->request_count; i++)
        count += desired->requests[i].pkey != 0;
    return count;
}

/* What a network shows of what it has. */
struct showing {
    const char *attribute, *what;
    enum oneib_finding_id finding; /* that it could not be written */
};

static const struct showing key_showing = {"VLAN_ID", "P_Key", ONEIB_FINDING_PKEY_NOT_WRITTEN};
static const struct showing level_showing = {"IB_SL", "service level",
                                             ONEIB_FINDING_SL_NOT_WRITTEN};

static bool is_noted(const struct oneib_findings *findings, enum oneib_finding_id id,
                     uint32_t network_id)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct oneib_finding *finding = &findings->items[i];
        if (finding->subject == ONEIB_SUBJECT_NETWORK && finding->subject_id == network_id &&
            strcmp(finding->code, oneib_finding_code(id)) == 0)
            return true;
    }
    return false;
}

static size_t keys_to_show(const struct oneib_snapshot *snapshot)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->desired.copy_count; i++)
        count += !is_noted(&snapshot->findings, key_showing.finding,
                           snapshot->desired.copies[i].network_id);
    return count;
}

static size_t levels_to_show(const struct oneib_snapshot *snapshot)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->desired.sl_copy_count; i++)
        count += !is_noted(&snapshot->findings, level_showing.finding,
                           snapshot->desired.sl_copies[i].network_id);
    return count;
}

/* What was measured goes in with the first key, or as soon as there are some. */
static bool site_is_due(const struct oneib_snapshot *snapshot)
{
    const struct oneib_ledger *ledger = &snapshot->kept.ledger;
    return !snapshot->ledger_lost && ledger->network_count > 0 &&
           ((ledger->mtu == 0 && snapshot->desired.mtu != 0) ||
            (ledger->rate == 0 && snapshot->desired.rate != 0));
}

bool oneib_keys_are_due(const struct oneib_snapshot *snapshot)
{
    return requests_to_meet(&snapshot->desired) > 0 || keys_to_show(snapshot) > 0 ||
           snapshot->desired.idle_count > 0 || snapshot->desired.sl_request_count > 0 ||
           levels_to_show(snapshot) > 0 || unused_to_confirm(snapshot) > 0;
}

bool oneib_ledger_is_due(const struct oneib_snapshot *snapshot)
{
    return oneib_keys_are_due(snapshot) || site_is_due(snapshot);
}

static int give_keys(const struct oneib_desired *desired, int64_t now, struct oneib_ledger *next,
                     struct oneib_key_changes *changes, struct oneib_error *err)
{
    for (size_t i = 0; i < desired->request_count; i++) {
        const struct oneib_key_request *request = &desired->requests[i];
        const struct oneib_ledger_network entry = {.network_id = request->network_id,
                                                   .pkey = request->pkey,
                                                   .owner = request->owner,
                                                   .since = now,
                                                   .sl = request->sl};
        if (request->pkey == 0)
            continue; /* desired->findings says why */
        changes->rested += oneib_ledger_network(next, entry.network_id) != NULL;
        if (oneib_ledger_give(next, &entry, err) < 0)
            return -1;
        changes->given++;
    }
    next->next = desired->next;
    next->mtu = desired->mtu;
    next->rate = desired->rate;
    return 0;
}

static int give_levels(const struct oneib_desired *desired, struct oneib_ledger *next,
                       struct oneib_error *err)
{
    for (size_t i = 0; i < desired->sl_request_count; i++)
        if (oneib_ledger_set_sl(next, desired->sl_requests[i].network_id,
                                desired->sl_requests[i].sl, err) < 0)
            return -1;
    return 0;
}

/* A pool can lack a network that is there: who asks for that one alone is told. */
static int is_gone(struct oneib_one *one, uint32_t network_id, bool *gone, struct oneib_error *err)
{
    struct oneib_error failure;
    char *xml = NULL;
    size_t length;
    *gone = oneib_one_network(one, network_id, &xml, &length, &failure) < 0;
    free(xml);
    if (!*gone || failure.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = failure;
    return -1;
}

static int rest_keys(struct oneib_one *one, struct oneib_snapshot *snapshot, int64_t now,
                     struct oneib_ledger *next, struct oneib_key_changes *changes,
                     struct oneib_error *err)
{
    for (size_t i = 0; i < snapshot->desired.unused_count; i++) {
        const struct oneib_unused_key *unused = &snapshot->desired.unused[i];
        bool gone = unused->is_sharer;
        if (oneib_id_set_has(&snapshot->there, unused->network_id))
            continue;
        if (!gone && is_gone(one, unused->network_id, &gone, err) < 0)
            return -1;
        if (gone)
            oneib_ledger_rest(next, unused->network_id, now);
        else
            oneib_id_set_add(&snapshot->there, unused->network_id);
        changes->rested += gone;
    }
    oneib_id_set_sort(&snapshot->there);
    return 0;
}

static void free_keys(const struct oneib_desired *desired, struct oneib_ledger *next,
                      struct oneib_key_changes *changes)
{
    for (size_t i = 0; i < desired->idle_count; i++)
        oneib_ledger_free_key(next, desired->idle[i]);
    changes->freed += desired->idle_count;
}

static int make_next(struct oneib_one *one, struct oneib_snapshot *snapshot,
                     struct oneib_ledger *next, struct oneib_key_changes *changes,
                     struct oneib_error *err)
{
    const int64_t now = (int64_t)time(NULL);
    free_keys(&snapshot->desired, next, changes);
    if (give_keys(&snapshot->desired, now, next, changes, err) < 0 ||
        give_levels(&snapshot->desired, next, err) < 0)
        return -1;
    return rest_keys(one, snapshot, now, next, changes, err);
}

static int write_ledger(struct oneib_one *one, struct oneib_snapshot *snapshot,
                        struct oneib_key_changes *changes, struct oneib_error *err)
{
    oneib_autoledger struct oneib_ledger next;
    oneib_ledger_copy(&snapshot->kept.ledger, &next);
    if (make_next(one, snapshot, &next, changes, err) < 0)
        return -1;
    return oneib_ledger_equal(&next, &snapshot->kept.ledger)
               ? 0
               : oneib_ledger_write(one, &snapshot->kept, &next, err);
}

/* Only what failed of one network alone is noted, and the others go on. Once for a network, until it
 * is read again, which is therefore not asked for: a daemon keeps its snapshot. */
static int take_failure(struct oneib_snapshot *snapshot, const struct showing *showing,
                        uint32_t network_id, struct oneib_error *failure, struct oneib_error *err)
{
    const struct oneib_shown shown = oneib_network_id_shown(&snapshot->cloud, network_id);
    if (oneib_one_error_is_general(failure->code)) {
        *err = *failure;
        return oneib_wrap(err, "writing the %s of %s", showing->what, shown.text);
    }
    oneib_findings_note(&snapshot->findings, showing->finding,
                        "%s of %s does not show what it has, and could not be written: %s",
                        showing->attribute, shown.text, failure->text);
    oneib_findings_attribute(&snapshot->findings, snapshot->findings.count - 1,
                             ONEIB_SUBJECT_NETWORK, network_id);
    return 0;
}

/* What somebody has written since the snapshot was made is looked at first: it may be a wish. */
static bool is_as_seen(const struct oneib_snapshot *snapshot, uint32_t network_id,
                       enum oneib_key_state state, oneib_pkey pkey)
{
    const struct oneib_network *network = oneib_cloud_network(&snapshot->cloud, network_id);
    return network && network->key_state == state &&
           (state != ONEIB_KEY_VALID || network->pkey == pkey);
}

static int copy_key(struct oneib_one *one, const struct oneib_snapshot *snapshot,
                    uint32_t network_id, oneib_pkey wanted, struct oneib_error *err)
{
    enum oneib_key_state state = ONEIB_KEY_MISSING;
    oneib_pkey pkey = 0;
    if (oneib_one_network_key(one, network_id, &state, &pkey, err) < 0)
        return -1;
    if (!is_as_seen(snapshot, network_id, state, pkey) ||
        (state == ONEIB_KEY_VALID && pkey == wanted))
        return 0;
    return oneib_one_set_pkey(one, network_id, wanted, err);
}

static int show_key(struct oneib_one *one, struct oneib_snapshot *snapshot, uint32_t network_id,
                    oneib_pkey pkey, struct oneib_key_changes *changes, struct oneib_error *err)
{
    struct oneib_error failure;
    if (pkey == 0 || is_noted(&snapshot->findings, key_showing.finding, network_id))
        return 0;
    if (copy_key(one, snapshot, network_id, pkey, &failure) < 0)
        return take_failure(snapshot, &key_showing, network_id, &failure, err);
    oneib_id_set_add(&changes->networks, network_id);
    return 0;
}

/* oned may accept an update and keep the old value: restricted attributes are put back silently. */
static int check_level(struct oneib_one *one, const struct oneib_sl_copy *copy, const char *vn_mad,
                       struct oneib_error *err)
{
    uint8_t shown;
    if (oneib_shown_level(one, copy->network_id, vn_mad, &shown, err) < 0)
        return -1;
    if (shown == copy->sl)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "oned accepted IB_SL=\"%u\" and did not keep it: may oneib's user change "
                      "restricted attributes?",
                      copy->sl);
}

static int set_level(struct oneib_one *one, const struct oneib_sl_copy *copy, const char *vn_mad,
                     struct oneib_error *err)
{
    return oneib_one_set_sl(one, copy->network_id, copy->sl, err) < 0
               ? -1
               : check_level(one, copy, vn_mad, err);
}

static int show_level(struct oneib_one *one, const char *vn_mad, struct oneib_snapshot *snapshot,
                      const struct oneib_sl_copy *copy, struct oneib_key_changes *changes,
                      struct oneib_error *err)
{
    struct oneib_error failure;
    if (is_noted(&snapshot->findings, level_showing.finding, copy->network_id))
        return 0;
    if (set_level(one, copy, vn_mad, &failure) < 0)
        return take_failure(snapshot, &level_showing, copy->network_id, &failure, err);
    oneib_id_set_add(&changes->networks, copy->network_id);
    return 0;
}

static int show_keys(struct oneib_one *one, struct oneib_snapshot *snapshot,
                     struct oneib_key_changes *changes, struct oneib_error *err)
{
    const struct oneib_desired *desired = &snapshot->desired;
    for (size_t i = 0; i < desired->request_count; i++)
        if (show_key(one, snapshot, desired->requests[i].network_id, desired->requests[i].pkey,
                     changes, err) < 0)
            return -1;
    for (size_t i = 0; i < desired->copy_count; i++)
        if (show_key(one, snapshot, desired->copies[i].network_id, desired->copies[i].pkey, changes,
                     err) < 0)
            return -1;
    return 0;
}

static int show_levels(struct oneib_one *one, const char *vn_mad, struct oneib_snapshot *snapshot,
                       struct oneib_key_changes *changes, struct oneib_error *err)
{
    for (size_t i = 0; i < snapshot->desired.sl_copy_count; i++)
        if (show_level(one, vn_mad, snapshot, &snapshot->desired.sl_copies[i], changes, err) < 0)
            return -1;
    return 0;
}

int oneib_allocate(struct oneib_one *one, const char *vn_mad, struct oneib_snapshot *snapshot,
                   struct oneib_key_changes *changes, struct oneib_error *err)
{
    *changes = (struct oneib_key_changes){0};
    if (write_ledger(one, snapshot, changes, err) < 0)
        return -1;
    return show_keys(one, snapshot, changes, err) < 0
               ? -1
               : show_levels(one, vn_mad, snapshot, changes, err);
}
