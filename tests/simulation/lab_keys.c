// SPDX-License-Identifier: Apache-2.0
/* Where no daemon runs, what it would do about P_Keys. */
#include "lab_internal.h"
#include "sync/sync.h"
#include <stdio.h>

/* As a turn of the daemon's does: what was given may be what somebody else waits for. */
static int give_all(const struct oneib_config *config, struct oneib_sm *sm, struct oneib_one *one,
                    struct oneib_error *err)
{
    const struct oneib_snapshot_options options = {0};
    for (unsigned round = 0; round < 3; round++) {
        struct oneib_snapshot snapshot;
        struct oneib_key_changes changes = {0};
        if (oneib_snapshot_make(config, sm, one, NULL, &options, &snapshot, err) < 0)
            return -1;
        int outcome = 0;
        const bool due = oneib_keys_are_due(&snapshot);
        if (oneib_apply_refuses(&snapshot, false))
            outcome = oneib_fail(err, ONEIB_ERROR_REFUSED, "the file is somebody else's");
        else if (due)
            outcome = oneib_allocate(one, config->one.vn_mad, &snapshot, &changes, err);
        oneib_key_changes_clear(&changes);
        oneib_snapshot_clear(&snapshot);
        if (outcome < 0 || !due)
            return outcome;
    }
    return 0;
}

static struct oneib_one *open_one(struct lab *lab, struct oneib_error *err)
{
    const struct oneib_credentials credentials = {.endpoint = lab->control_endpoint,
                                                  .session = lab->session};
    return oneib_one_open(&credentials, 20000, err);
}

static int give_keys(struct lab *lab, bool as_writer, struct oneib_error *err)
{
    struct oneib_config config;
    const char *path = lab_config_path(lab);
    if (!path || oneib_config_load(path, &config, err) < 0)
        return -1;
    int outcome = 0;
    if (as_writer || config.one.writer) {
        struct oneib_one *one = open_one(lab, err);
        struct oneib_sm *sm = oneib_sm_open(&config, err);
        outcome = one && sm ? give_all(&config, sm, one, err) : -1;
        oneib_sm_close(sm);
        oneib_one_close(one);
    }
    oneib_config_clear(&config);
    return outcome;
}

int lab_give_keys(struct lab *lab, struct oneib_error *err)
{
    return give_keys(lab, true, err);
}

void lab_let_keys_wait(struct lab *lab)
{
    lab->keys_wait = true;
}

static int swap_entries(struct oneib_one *one, uint32_t a, uint32_t b, oneib_pkey keys[2],
                        struct oneib_error *err)
{
    struct oneib_kept_ledger kept = {0};
    struct oneib_ledger next = {0};
    int outcome = oneib_ledger_read(one, false, &kept, err);
    if (outcome == 0)
        oneib_ledger_copy(&kept.ledger, &next);
    for (size_t i = 0; outcome == 0 && i < next.network_count; i++) {
        const uint32_t id = next.networks[i].network_id;
        const struct oneib_ledger_network *other =
            id == a || id == b ? oneib_ledger_network(&kept.ledger, id == a ? b : a) : NULL;
        if (other)
            keys[id == b] = next.networks[i].pkey = other->pkey;
    }
    if (outcome == 0)
        outcome = oneib_ledger_write(one, &kept, &next, err);
    oneib_ledger_clear(&next);
    oneib_kept_ledger_clear(&kept);
    return outcome;
}

int lab_swap_keys(struct lab *lab, uint32_t a, uint32_t b, struct oneib_error *err)
{
    struct oneib_one *one = open_one(lab, err);
    oneib_pkey keys[2] = {0};
    int outcome = one ? swap_entries(one, a, b, keys, err) : -1;
    oneib_one_close(one);
    for (size_t i = 0; outcome == 0 && i < 2; i++) {
        char vlan_id[32];
        snprintf(vlan_id, sizeof vlan_id, "VLAN_ID=%u", keys[i]);
        outcome = lab_network_update(lab, i == 0 ? a : b, vlan_id, err);
    }
    return outcome;
}

int lab_ledger_read(struct lab *lab, struct oneib_ledger *ledger, struct oneib_error *err)
{
    struct oneib_kept_ledger kept = {0};
    struct oneib_one *one = open_one(lab, err);
    const int outcome = one ? oneib_ledger_read(one, false, &kept, err) : -1;
    oneib_one_close(one);
    *ledger = kept.ledger;
    kept.ledger = (struct oneib_ledger){0};
    oneib_kept_ledger_clear(&kept);
    return outcome;
}

int lab_ledger_key(struct lab *lab, uint32_t network, unsigned *pkey, struct oneib_error *err)
{
    struct oneib_kept_ledger kept = {0};
    struct oneib_one *one = open_one(lab, err);
    const int outcome = one ? oneib_ledger_read(one, false, &kept, err) : -1;
    const struct oneib_ledger_network *entry =
        outcome == 0 ? oneib_ledger_network(&kept.ledger, network) : NULL;
    *pkey = entry ? entry->pkey : 0;
    oneib_kept_ledger_clear(&kept);
    oneib_one_close(one);
    return outcome;
}

void lab_play_daemon(struct lab *lab)
{
    struct oneib_error ignored;
    if (!lab->keys_wait && !lab->keys_are_given && !lab->is_faulty && lab->standin &&
        lab_child_pid(lab, "oneibd") == 0)
        lab->keys_are_given = give_keys(lab, false, &ignored) == 0;
}
