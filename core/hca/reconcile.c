// SPDX-License-Identifier: Apache-2.0
#include "hca/assign.h"
#include "hca/assign_internal.h"
#include "hca/reservations.h"
#include "hca/vf_ways.h"

struct look {
    struct oneib_hcas hcas;
    struct oneib_vf_repairs *repairs;
    struct oneib_vf_attempts attempts;
};

static void note_failure(struct look *look, const struct oneib_error *err)
{
    oneib_vf_attempt(&look->attempts, -1, err);
    look->repairs->failed++;
}

/* One VF with a record, its lock held. */
struct one {
    struct look *look;
    struct oneib_vf_record record; /* as the table has it */
    struct oneib_vf_place place;
    struct oneib_vf_state state;
};

static int rewrite(struct one *one, const struct oneib_vf_record *after, bool *stands,
                   struct oneib_error *err)
{
    if (oneib_record_change(&one->record, after, stands, err) < 0)
        return -1;
    if (*stands)
        one->record = *after;
    return 0;
}

/* ---- closing
 * ------------------------------------------------------------------------- */

/* Returns -1. */
static int close_after_failure(const struct one *one, struct oneib_error *err)
{
    struct oneib_error unclosed = {0};
    if (oneib_vf_close(one->place.hca, one->place.vf, &unclosed) < 0)
        oneib_error_also(err, &unclosed);
    return -1;
}

static int close_vf(struct one *one, struct oneib_error *err)
{
    if (oneib_vf_close(one->place.hca, one->place.vf, err) < 0)
        return -1;
    one->look->repairs->closed += !one->state.closed;
    one->state.closed = true;
    return 0;
}

static int note_stage(struct one *one, enum oneib_vf_stage stage, bool *stands,
                      struct oneib_error *err)
{
    struct oneib_vf_record after = one->record;
    *stands = true;
    oneib_record_set_stage(&after, stage);
    return after.stage == one->record.stage ? 0 : rewrite(one, &after, stands, err);
}

static int keep_closed(struct one *one, struct oneib_error *err)
{
    bool stands;
    if (!one->state.closed && close_vf(one, err) < 0)
        return -1;
    return note_stage(one, ONEIB_VF_CLOSED, &stands, err);
}

/* ---- opening
 * ------------------------------------------------------------------------- */

/* A GUID that is deferred may be another port's: it is not this program's to set. */
static bool lacks_guid(const struct one *one)
{
    return one->record.guid != ONEIB_VF_GUID_DEFERRED &&
           !oneib_vf_was_given_guid(&one->place, &one->state, &one->record);
}

/* The SM's answer is not waited for: until it comes, the VF's port is down, or without its GUID,
 * and its map is right either way. */
static int give_guid(struct one *one, struct oneib_error *err)
{
    if (!lacks_guid(one))
        return 0;
    if (oneib_vf_set_guid(one->place.hca, one->place.vf, one->record.port,
                          oneib_vf_record_guid(&one->record), err) < 0)
        return -1;
    one->look->repairs->reapplied++;
    return 0;
}

/* A release that waits for this VF's lock has written RELEASING, and nothing may be opened for it
 * any more. */
static int open_vf(struct one *one, struct oneib_error *err)
{
    bool stands, is_open;
    if (give_guid(one, err) < 0 || oneib_record_stands(&one->record, &stands, err) < 0)
        return -1;
    if (!stands)
        return 0;
    if (oneib_vf_open_where_key_is(&one->place, &one->record, &is_open, err) < 0)
        return close_after_failure(one, err);
    if (note_stage(one, is_open ? ONEIB_VF_OPEN : ONEIB_VF_CLOSED, &stands, err) < 0)
        return close_after_failure(one, err);
    if (!stands)
        return oneib_vf_close(one->place.hca, one->place.vf, err);
    one->look->repairs->opened += is_open;
    return 0;
}

/* The SM's answer came after whoever had asked for it gave up. */
static int note_guid(struct one *one, struct oneib_error *err)
{
    struct oneib_vf_record after = one->record;
    bool stands;
    if (after.guid != ONEIB_VF_GUID_NONE || !one->state.guid_accepted)
        return 0;
    after.guid = ONEIB_VF_GUID_SET;
    return rewrite(one, &after, &stands, err);
}

/* ---- one VF with a record
 * ------------------------------------------------------------------------- */

static int keep_open(struct one *one, int32_t index, struct oneib_error *err)
{
    bool stands;
    if (lacks_guid(one) || !oneib_vf_is_open_at(&one->place, &one->state, index)) {
        if (!one->state.closed && close_vf(one, err) < 0)
            return -1;
        return open_vf(one, err);
    }
    if (note_guid(one, err) < 0)
        return -1;
    return note_stage(one, ONEIB_VF_OPEN, &stands, err);
}

/* Where the key cannot be told, or the port is not safe, the VF is closed and then the reason told.
 */
static int reconcile_key(struct one *one, struct oneib_error *err)
{
    struct oneib_error unsafe = {0};
    int32_t index = -1;
    const bool is_safe = oneib_vf_key_index(&one->place, &one->record, &index, &unsafe) == 0;
    if (is_safe && index >= 0)
        return keep_open(one, index, err);
    if (keep_closed(one, err) < 0)
        return -1;
    if (is_safe)
        return 0;
    *err = unsafe;
    return -1;
}

/* What a release left behind when its time was over, or when it was killed. */
static int go_on_releasing(struct one *one, struct oneib_error *err)
{
    struct oneib_error kept = {0};
    bool stands;
    struct oneib_pause at_once = oneib_pause_for(0);
    if (!one->state.closed && close_vf(one, err) < 0)
        return -1;
    if (oneib_vf_lose_guid(&one->place, &at_once, &kept) == 0)
        return oneib_record_change(&one->record, NULL, &stands, err);
    /* The SM has not let go of the GUID: it will be asked again. */
    if (kept.code == ONEIB_ERROR_TIMEOUT)
        return 0;
    *err = kept;
    return -1;
}

static int reconcile_stage(struct one *one, struct oneib_error *err)
{
    switch (one->record.stage) {
    case ONEIB_VF_RELEASING:
        return go_on_releasing(one, err);
    case ONEIB_VF_PREPARING:
        /* Whoever was at work on it is not any more: the next assignment goes on with it, or the
         * probe releases it. */
        return one->state.closed ? 0 : close_vf(one, err);
    case ONEIB_VF_ENDED:
        return one->state.closed ? 0 : close_vf(one, err);
    case ONEIB_VF_OPEN:
    case ONEIB_VF_CLOSED:
        return one->record.pkey ? reconcile_key(one, err) : keep_closed(one, err);
    }
    return 0;
}

/* What cannot be read is closed, as far as it can be. */
static int reconcile_state(struct one *one, struct oneib_error *err)
{
    if (oneib_vf_state_read(one->place.hca, one->place.vf, &one->state, err) < 0)
        return close_after_failure(one, err);
    return reconcile_stage(one, err);
}

/* A VF that is gone from this host is open for nobody; its record is for whoever looks after stale
 * ones. */
static int reconcile_locked(struct look *look, const struct oneib_pci *vf, struct oneib_error *err)
{
    struct one one = {.look = look};
    bool found, exists;
    if (oneib_record_read(vf, &one.record, &found, err) < 0)
        return -1;
    if (!found)
        return 0;
    if (oneib_vf_place_of(&look->hcas, &one.record, &one.place, &exists, err) < 0)
        return oneib_record_wrap(&one.record, err);
    if (!exists || reconcile_state(&one, err) == 0)
        return 0;
    return oneib_record_wrap(&one.record, err);
}

/* ---- one VF without a record
 * ------------------------------------------------------------------------- */

static int close_unassigned(struct look *look, const struct oneib_hca *hca,
                            const struct oneib_vf *vf, struct oneib_error *err)
{
    struct oneib_vf_record record;
    bool found, closed = false;
    if (oneib_record_read(&vf->pci, &record, &found, err) < 0)
        return -1;
    if (found)
        return 0;
    if (oneib_vf_close_unassigned(hca, vf, &closed, err) < 0)
        return -1;
    look->repairs->fresh += closed;
    return 0;
}

/* ---- all of them
 * ------------------------------------------------------------------------- */

static void look_at_recorded(struct look *look, const struct oneib_pci *vf)
{
    struct oneib_error err = {0};
    bool taken;
    int lock;
    int result = oneib_vf_try_lock(vf, &lock, &taken, &err);
    if (result == 0 && taken) {
        result = reconcile_locked(look, vf, &err);
        oneib_vf_unlock(lock);
    }
    look->repairs->busy += result == 0 && !taken;
    if (result < 0)
        note_failure(look, &err);
}

static void look_at_unrecorded(struct look *look, const struct oneib_hca *hca,
                               const struct oneib_vf *vf)
{
    struct oneib_error err = {0};
    bool taken;
    int lock;
    int result = oneib_vf_try_lock(&vf->pci, &lock, &taken, &err);
    if (result == 0 && taken) {
        result = close_unassigned(look, hca, vf, &err);
        oneib_vf_unlock(lock);
    }
    if (result < 0)
        note_failure(look, &err);
}

static void look_at_all(struct look *look, const struct oneib_vf_table *table)
{
    /* First what may be open for somebody. */
    for (size_t i = 0; i < table->count; i++)
        look_at_recorded(look, &table->items[i].vf);
    for (size_t i = 0; i < look->hcas.count; i++) {
        const struct oneib_hca *hca = &look->hcas.items[i];
        for (size_t n = 0; hca->driver == ONEIB_HCA_MLX4 && n < hca->vf_count; n++)
            if (!oneib_vf_table_of_vf(table, &hca->vfs[n].pci))
                look_at_unrecorded(look, hca, &hca->vfs[n]);
    }
}

int oneib_vfs_reconcile(struct oneib_vf_repairs *repairs, struct oneib_error *err)
{
    struct look look = {.repairs = repairs};
    struct oneib_vf_table table;
    *repairs = (struct oneib_vf_repairs){0};
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    const int result = oneib_hcas_read(ONEIB_HCA_VFS, &look.hcas, err);
    if (result == 0)
        look_at_all(&look, &table);
    oneib_hcas_clear(&look.hcas);
    oneib_vf_table_clear(&table);
    return result < 0 ? -1 : oneib_vf_attempted(&look.attempts, err);
}
