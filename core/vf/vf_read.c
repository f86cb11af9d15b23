// SPDX-License-Identifier: Apache-2.0
/* Comparing what is recorded with the VFs and the tables of their ports. */
#include "vf/vf_internal.h"

/* One VF with a record. */
struct one {
    struct oneib_vfs *vfs;
    struct oneib_vf_record record; /* as the table has it */
    struct oneib_vf_place place;
    struct oneib_vf_state state;
    enum oneib_vf_sight sight; /* of its own port */
};

/* ---- closing --------------------------------------------------------------------------------- */

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

/* ---- opening --------------------------------------------------------------------------------- */

/* A GUID that is deferred, or that its grant does not allow, may be another port's: it is not to be
 * set. */
static bool lacks_guid(const struct one *one)
{
    return one->record.guid != ONEIB_VF_GUID_DEFERRED &&
           oneib_vfs_may_set_guid(one->vfs, &one->record) &&
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

/* Only where a virtual port's link comes before its key. */
static void wait_if_link_is_up(struct one *one)
{
    if (oneib_vf_state_read(one->place.hca, one->place.vf, &one->state, &(struct oneib_error){0}) <
            0 ||
        !one->state.closed)
        oneib_vfs_wait_for_key(one->vfs, &one->record);
}

static int open_vf(struct one *one, struct oneib_error *err)
{
    struct oneib_error why;
    bool is_open;
    if (give_guid(one, err) < 0)
        return -1;
    if (oneib_vfs_open_where_key_is(one->vfs, &one->place, &one->record, &is_open, &why, err) < 0 ||
        note_stage(one, is_open ? ONEIB_VF_OPEN : ONEIB_VF_CLOSED, err) < 0)
        return close_after_failure(one, err);
    one->vfs->noted.opened += is_open;
    if (why.code != ONEIB_ERROR_NONE)
        wait_if_link_is_up(one);
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

/* ---- one VF with a record -------------------------------------------------------------------- */

/* Without a list it waits for the first one as it is recorded: so a restart of the service is no
 * change of it. */
static int open_if_granted(struct one *one, struct oneib_error *err)
{
    if (!one->vfs->grants)
        return make_closed(one, err);
    if (!oneib_vfs_may_open(one->vfs, &one->record))
        return keep_closed(one, err);
    return make_closed(one, err) < 0 ? -1 : open_vf(one, err);
}

/* The adapter has it still, and the SM has taken it away. */
static bool is_told_guid(const struct one *one)
{
    return one->state.guid == oneib_vf_record_guid(&one->record);
}

static int keep_open(struct one *one, int32_t index, struct oneib_error *err)
{
    if (one->sight == ONEIB_VF_LACKS || (lacks_guid(one) && !is_told_guid(one)) ||
        !oneib_vfs_is_open_at(&one->place, &one->state, index))
        return open_if_granted(one, err);
    if (!oneib_vfs_may_stay_open(one->vfs, &one->record))
        return keep_closed(one, err);
    if (give_guid(one, err) < 0 || note_guid(one, err) < 0)
        return -1;
    return note_stage(one, ONEIB_VF_OPEN, err);
}

/* What is opened with its link before its key is tried again where it only lacks that. */
static bool is_to_be_tried(const struct one *one)
{
    return one->sight == ONEIB_VF_LACKS && one->record.stage == ONEIB_VF_CLOSED &&
           one->vfs->virtual_ports == ONEIB_VIRTUAL_PORTS_LINK_FIRST &&
           !oneib_vfs_remembers(one->vfs, &one->record.vf, ONEIB_VF_RESTS);
}

static bool is_to_be_closed(const struct one *one)
{
    return (one->sight == ONEIB_VF_LACKS || one->sight == ONEIB_VF_HARMS) && !is_to_be_tried(one);
}

/* -1 in *index: nowhere that the VF may be open at. */
static int find_key(struct one *one, int32_t *index, struct oneib_error *err)
{
    struct oneib_error why;
    if (oneib_vfs_check_unprivileged(&one->state, err) < 0 ||
        oneib_vfs_key_index(&one->place, one->record.pkey, one->record.limited, index, err) < 0 ||
        oneib_vfs_see_port(one->vfs, &one->place, &one->record, &one->sight, &why, err) < 0)
        return -1;
    if (is_to_be_closed(one))
        *index = -1;
    return 0;
}

/* What another domain will have at its start is not opened by itself. */
static bool is_not_to_be_opened(const struct one *one)
{
    return one->record.stage == ONEIB_VF_CLOSED && oneib_vfs_may_be_others(one->vfs, &one->record);
}

/* What was open follows its key, or its port, when that comes back, however old the list is by
 * then.
 */
static void remember_open(const struct one *one)
{
    if (one->record.stage == ONEIB_VF_OPEN && oneib_vfs_may_open(one->vfs, &one->record))
        oneib_vfs_remember(one->vfs, &one->record.vf, ONEIB_VF_WAS_OPEN, UINT32_MAX);
}

/* Where the key cannot be told, or the port is not safe, the VF is closed and then the reason told.
 */
static int look_at_key(struct one *one, struct oneib_error *err)
{
    struct oneib_error unsafe = {0};
    int32_t index = -1;
    if (is_not_to_be_opened(one))
        return keep_closed(one, err);
    const bool is_safe = find_key(one, &index, &unsafe) == 0;
    if (is_safe && index >= 0)
        return keep_open(one, index, err);
    remember_open(one);
    if (!one->state.closed)
        oneib_vfs_remember(one->vfs, &one->record.vf, ONEIB_VF_RESTS, ONEIB_VF_REST_MS);
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

/* ---- at a glance ----------------------------------------------------------------------------- */

static bool seems_to_have_guid(const struct oneib_vf_record *record,
                               const struct oneib_vf_glance *glance)
{
    return record->guid == ONEIB_VF_GUID_DEFERRED ||
           (record->guid == ONEIB_VF_GUID_SET && glance->guid == oneib_vf_record_guid(record));
}

/* While it may not be opened it is closed, wherever its key is. */
static bool is_to_be_open(const struct one *one)
{
    return one->record.stage == ONEIB_VF_OPEN ? oneib_vfs_may_stay_open(one->vfs, &one->record)
                                              : oneib_vfs_may_open(one->vfs, &one->record);
}

/* Where the record's key is, in the table that was read for this glance; 0: nowhere, or it has
 * none.
 */
static bool find_index(const struct one *one, int32_t *index)
{
    const struct oneib_vf_record *record = &one->record;
    struct oneib_error unsafe;
    *index = 0;
    if (record->pkey == 0 || record->stage == ONEIB_VF_ENDED)
        return true;
    if (!one->place.port || oneib_port_is_safe(one->place.hca, one->place.port, &unsafe) < 0)
        return false;
    const int32_t found = oneib_port_pkey_index(one->place.port, record->pkey, record->limited);
    *index = found < 0 || !is_to_be_open(one) ? 0 : found;
    return true;
}

static bool has_right_stage(const struct oneib_vf_record *record, int32_t index)
{
    return record->stage == ONEIB_VF_ENDED ||
           record->stage == (index > 0 ? ONEIB_VF_OPEN : ONEIB_VF_CLOSED);
}

/* Whatever is in doubt is looked at whole. */
static bool seems_right(const struct one *one)
{
    const struct oneib_vf_record *record = &one->record;
    struct oneib_vf_glance glance;
    struct oneib_error unseen;
    int32_t index;
    return find_index(one, &index) && has_right_stage(record, index) &&
           oneib_vf_glance(one->place.hca, one->place.vf, record->port, &glance, &unseen) == 0 &&
           glance.is_known && glance.index == index && seems_to_have_guid(record, &glance);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* A VF that is gone from this host is open for nobody; its record goes when it is stale. */
static int look_at_record(struct oneib_vfs *vfs, const struct oneib_vf_record *record, bool whole,
                          struct oneib_error *err)
{
    struct one one = {.vfs = vfs, .record = *record};
    bool exists;
    if (oneib_vfs_find_place(vfs, record, &one.place, &exists, err) < 0)
        return oneib_vfs_wrap(record, err);
    if (!exists || (!whole && seems_right(&one)) || look_at_state(&one, err) == 0)
        return 0;
    return oneib_vfs_wrap(&one.record, err);
}

/* What is under way has its own steps; what has ended is not opened again because the table could
 * not be written. */
static bool is_to_be_looked_at(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return !oneib_vfs_work_of(vfs, &record->vf) && !oneib_vfs_has_ended(vfs, record);
}

static int look_at_recorded(struct oneib_vfs *vfs, const struct oneib_pci *vf, bool whole,
                            struct oneib_error *err)
{
    const struct oneib_vf_record *found = oneib_vf_table_of_vf(&vfs->table, vf);
    if (!found || !is_to_be_looked_at(vfs, found))
        return 0;
    const struct oneib_vf_record record = *found;
    return look_at_record(vfs, &record, whole, err);
}

/* Whoever else mapped it is left alone. */
static void look_at_unrecorded(struct oneib_vfs *vfs, const struct oneib_hca *hca,
                               const struct oneib_vf *vf)
{
    struct oneib_error err = {0};
    bool closed = false;
    if (hca->driver != ONEIB_HCA_MLX4 || oneib_vf_table_of_vf(&vfs->table, &vf->pci) ||
        oneib_vfs_work_of(vfs, &vf->pci))
        return;
    if (oneib_vf_close_unassigned(hca, vf, &closed, &err) < 0)
        oneib_vfs_note_failure(vfs, &err);
    else
        vfs->noted.fresh += closed;
}

/* tells: else it is looked at once more, and then told. */
static void look_at_all_recorded(struct oneib_vfs *vfs, bool whole, bool tells)
{
    for (size_t i = 0; i < vfs->table.count; i++) {
        const struct oneib_pci vf = vfs->table.items[i].vf;
        struct oneib_error err = {0};
        if (look_at_recorded(vfs, &vf, whole, &err) < 0 && tells)
            oneib_vfs_note_failure(vfs, &err);
    }
}

static void look_at_all_unrecorded(struct oneib_vfs *vfs)
{
    for (size_t i = 0; i < vfs->hcas.count; i++) {
        const struct oneib_hca *hca = &vfs->hcas.items[i];
        for (size_t n = 0; n < hca->vf_count; n++)
            look_at_unrecorded(vfs, hca, &hca->vfs[n]);
    }
}

/* ---- one in turn ----------------------------------------------------------------------------- */

/* The VF of that number, counted through all adapters. NULL: there are not so many. */
static const struct oneib_hca *find_numbered(const struct oneib_vfs *vfs, size_t number,
                                             const struct oneib_vf **vf)
{
    for (size_t i = 0; i < vfs->hcas.count; i++) {
        const struct oneib_hca *hca = &vfs->hcas.items[i];
        if (number < hca->vf_count) {
            *vf = &hca->vfs[number];
            return hca;
        }
        number -= hca->vf_count;
    }
    return NULL;
}

/* Once in twenty minutes each, of 126 that are glanced at every ten seconds. */
static void look_at_next_in_turn(struct oneib_vfs *vfs)
{
    struct oneib_error err = {0};
    const struct oneib_vf *vf;
    const struct oneib_hca *hca = find_numbered(vfs, vfs->next_in_turn++, &vf);
    if (!hca) {
        vfs->next_in_turn = 0;
        return;
    }
    if (look_at_recorded(vfs, &vf->pci, true, &err) < 0)
        oneib_vfs_note_failure(vfs, &err);
    look_at_unrecorded(vfs, hca, vf);
}

/* What cannot be read counts as empty: no VF of the port seems right then. */
static void read_tables(struct oneib_vfs *vfs)
{
    struct oneib_error unread;
    for (size_t i = 0; i < vfs->hcas.count; i++)
        for (size_t n = 0; n < vfs->hcas.items[i].port_count; n++) {
            struct oneib_port *port = &vfs->hcas.items[i].ports[n];
            if (port->link_layer == ONEIB_LINK_INFINIBAND &&
                oneib_hca_reread_pkeys(&vfs->hcas.items[i], port, &unread) < 0)
                port->pkey_count = 0;
        }
}

static void glance_at_all_recorded(struct oneib_vfs *vfs, bool tells)
{
    if (vfs->table.count > 0)
        read_tables(vfs);
    look_at_all_recorded(vfs, false, tells);
}

/* First what may be open for somebody; and of that what a glance shows not to be right: it must not
 * wait until all others have been looked at whole. */
void oneib_vfs_read(struct oneib_vfs *vfs, enum oneib_vfs_read how)
{
    const bool whole = how == ONEIB_VFS_EVERYTHING || vfs->hcas_are_new;
    glance_at_all_recorded(vfs, !whole);
    if (!whole) {
        look_at_next_in_turn(vfs);
        return;
    }
    look_at_all_recorded(vfs, true, true);
    look_at_all_unrecorded(vfs);
    vfs->hcas_are_new = false;
}
