// SPDX-License-Identifier: Apache-2.0
/* Comparing what is recorded with the VFs and the tables of their ports. */
#include "vf/internal.h"

/* One VF with a record. */
struct one {
    struct oneib_vfs *vfs;
    struct oneib_vf_record record; /* as the table has it */
    struct oneib_vf_place place;
    struct oneib_vf_state state;
};

/* ---- closing -------------------------------------------------------------------------------- */

/* Returns -1. */
static int close_after_failure(const struct one *one, struct oneib_error *err)
{
    struct oneib_error unclosed = {0};
    if (oneib_vf_close(one->place.hca, one->place.vf, &unclosed) < 0)
        oneib_vfs_also(err, &unclosed);
    return -1;
}

static int close_vf(struct one *one, struct oneib_error *err)
{
    if (oneib_vf_close(one->place.hca, one->place.vf, err) < 0)
        return -1;
    one->vfs->noted.closed += !one->state.closed;
    one->state.closed = true;
    return 0;
}

static int note_stage(struct one *one, enum oneib_vf_stage stage, struct oneib_error *err)
{
    struct oneib_vf_record after = one->record;
    oneib_vfs_set_stage(&after, stage);
    if (after.stage == one->record.stage)
        return 0;
    if (oneib_vfs_put(one->vfs, &after, err) < 0)
        return -1;
    one->record = after;
    return 0;
}

static int make_closed(struct one *one, struct oneib_error *err)
{
    return one->state.closed ? 0 : close_vf(one, err);
}

static int keep_closed(struct one *one, struct oneib_error *err)
{
    return make_closed(one, err) < 0 ? -1 : note_stage(one, ONEIB_VF_CLOSED, err);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* A GUID that is deferred may be another port's: it is not to be set. */
static bool lacks_guid(const struct one *one)
{
    return one->record.guid != ONEIB_VF_GUID_DEFERRED &&
           !oneib_vfs_was_given_guid(&one->place, &one->state, &one->record);
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
    one->vfs->noted.reapplied++;
    return 0;
}

static int open_vf(struct one *one, struct oneib_error *err)
{
    bool is_open;
    if (give_guid(one, err) < 0)
        return -1;
    if (oneib_vfs_open_where_key_is(&one->place, &one->record, &is_open, err) < 0 ||
        note_stage(one, is_open ? ONEIB_VF_OPEN : ONEIB_VF_CLOSED, err) < 0)
        return close_after_failure(one, err);
    one->vfs->noted.opened += is_open;
    return 0;
}

/* The SM's answer came after whoever had asked for it gave up. */
static int note_guid(struct one *one, struct oneib_error *err)
{
    struct oneib_vf_record after = one->record;
    if (after.guid != ONEIB_VF_GUID_NONE || !one->state.guid_accepted)
        return 0;
    after.guid = ONEIB_VF_GUID_SET;
    if (oneib_vfs_put(one->vfs, &after, err) < 0)
        return -1;
    one->record = after;
    return 0;
}

/* ---- one VF with a record ------------------------------------------------------------------- */

static int keep_open(struct one *one, int32_t index, struct oneib_error *err)
{
    if (lacks_guid(one) || !oneib_vfs_is_open_at(&one->place, &one->state, index))
        return make_closed(one, err) < 0 ? -1 : open_vf(one, err);
    if (note_guid(one, err) < 0)
        return -1;
    return note_stage(one, ONEIB_VF_OPEN, err);
}

static int find_key(const struct one *one, int32_t *index, struct oneib_error *err)
{
    if (oneib_vfs_check_unprivileged(&one->state, err) < 0)
        return -1;
    return oneib_vfs_key_index(&one->place, one->record.pkey, one->record.limited, index, err);
}

/* Where the key cannot be told, or the port is not safe, the VF is closed and then the reason told.
 */
static int look_at_key(struct one *one, struct oneib_error *err)
{
    struct oneib_error unsafe = {0};
    int32_t index = -1;
    const bool is_safe = find_key(one, &index, &unsafe) == 0;
    if (is_safe && index >= 0)
        return keep_open(one, index, err);
    if (keep_closed(one, err) < 0)
        return -1;
    if (is_safe)
        return 0;
    *err = unsafe;
    return -1;
}

static int look_at_stage(struct one *one, struct oneib_error *err)
{
    switch (one->record.stage) {
    case ONEIB_VF_PREPARING: /* its caller is waited for, a moment */
    case ONEIB_VF_ENDED:
    case ONEIB_VF_RELEASING:
        return make_closed(one, err);
    case ONEIB_VF_OPEN:
    case ONEIB_VF_CLOSED:
        return one->record.pkey ? look_at_key(one, err) : keep_closed(one, err);
    }
    return 0;
}

/* What cannot be read is closed, as far as it can be. */
static int look_at_state(struct one *one, struct oneib_error *err)
{
    if (oneib_vf_state_read(one->place.hca, one->place.vf, &one->state, err) < 0)
        return close_after_failure(one, err);
    return look_at_stage(one, err);
}

/* A VF that is gone from this host is open for nobody; its record goes when it is stale. */
static int look_at_record(struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                          struct oneib_error *err)
{
    struct one one = {.vfs = vfs, .record = *record};
    bool exists;
    if (oneib_vfs_find_place(vfs, record, &one.place, &exists, err) < 0)
        return oneib_vfs_wrap(record, err);
    if (!exists || look_at_state(&one, err) == 0)
        return 0;
    return oneib_vfs_wrap(&one.record, err);
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* What is under way has its own steps; what has ended is not opened again because the table could
 * not be written. */
static bool is_to_be_looked_at(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return !oneib_vfs_work_of(vfs, &record->vf) && !oneib_vfs_has_ended(vfs, record);
}

static void look_at_records(struct oneib_vfs *vfs)
{
    for (size_t i = 0; i < vfs->table.count; i++) {
        const struct oneib_vf_record record = vfs->table.items[i];
        struct oneib_error err = {0};
        if (is_to_be_looked_at(vfs, &record) && look_at_record(vfs, &record, &err) < 0)
            oneib_vfs_note_failure(vfs, &err);
    }
}

static void close_unassigned(struct oneib_vfs *vfs, const struct oneib_hca *hca,
                             const struct oneib_vf *vf)
{
    struct oneib_error err = {0};
    bool closed = false;
    if (oneib_vf_close_unassigned(hca, vf, &closed, &err) < 0)
        oneib_vfs_note_failure(vfs, &err);
    else
        vfs->noted.fresh += closed;
}

/* Whoever else mapped them is left alone. */
static void look_at_unrecorded(struct oneib_vfs *vfs)
{
    for (size_t i = 0; i < vfs->hcas.count; i++) {
        const struct oneib_hca *hca = &vfs->hcas.items[i];
        for (size_t n = 0; hca->driver == ONEIB_HCA_MLX4 && n < hca->vf_count; n++)
            if (!oneib_vf_table_of_vf(&vfs->table, &hca->vfs[n].pci) &&
                !oneib_vfs_work_of(vfs, &hca->vfs[n].pci))
                close_unassigned(vfs, hca, &hca->vfs[n]);
    }
}

void oneib_vfs_look(struct oneib_vfs *vfs)
{
    look_at_records(vfs);
    look_at_unrecorded(vfs);
}
