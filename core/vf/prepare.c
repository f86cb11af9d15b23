// SPDX-License-Identifier: Apache-2.0
/* From a closed VF that its record is for to one that is as it was asked for. */
#include "base/clock.h"
#include "vf/vf_internal.h"
#include <inttypes.h>

#define LONGEST_MS 250

/* One look at what is under way. */
struct look {
    struct oneib_vf_giving *giving;
    struct oneib_vf_work *work;
    bool waits; /* nothing more can be done now */
    bool is_done;
};

/* ---- the GUID -------------------------------------------------------------------------------- */

/* Whether another GUID than the wanted one is in the way. One that no port shows is but a wish, of
 * the driver's or of somebody who has gone. One that was deleted already, and that the SM has not
 * let go of, is this NIC's own: nobody else's VF is handed out so. */
static bool has_wrong_guid(const struct oneib_vf_giving *giving)
{
    const struct oneib_vf_state *state = &giving->state;
    if (giving->record.guid == ONEIB_VF_GUID_DEFERRED)
        return !state->guid_gone;
    return state->guid_shown && state->guid != 0 &&
           state->guid != oneib_vf_record_guid(&giving->record);
}

static int read_guid(const struct look *look, struct oneib_vf_state *state, struct oneib_error *err)
{
    const struct oneib_vf_giving *giving = look->giving;
    return oneib_vf_guid_read(giving->place.hca, giving->place.vf, giving->record.port, state, err);
}

static int set_guid(struct look *look, struct oneib_error *err)
{
    const struct oneib_vf_giving *giving = look->giving;
    const oneib_guid guid = oneib_vf_record_guid(&giving->record);
    look->work->phase = ONEIB_VF_GUID_COMES;
    if (giving->record.guid == ONEIB_VF_GUID_DEFERRED)
        return 0;
    return oneib_vf_set_guid(giving->place.hca, giving->place.vf, giving->record.port, guid, err);
}

/* Another host may still have it: then it is waited for that its grant says otherwise. */
static int set_free_guid(struct look *look, struct oneib_error *err)
{
    const struct oneib_vf_giving *giving = look->giving;
    const struct oneib_vf_record *record = &giving->record;
    look->work->phase = ONEIB_VF_GUID_IS_FREE;
    if (record->guid == ONEIB_VF_GUID_DEFERRED || oneib_vfs_may_set_guid(giving->vfs, record))
        return set_guid(look, err);
    if (oneib_now_ms() >= look->work->guid_until)
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                          "oneibd has not allowed GUID 0x%016" PRIx64 " after %" PRIu32
                          " ms: another host may still have it ('oneib show' there)",
                          oneib_vf_record_guid(record), giving->vfs->guid_wait_ms);
    look->waits = true;
    return 0;
}

static int let_old_guid_go(struct look *look, struct oneib_error *err)
{
    struct oneib_vf_state state = {0};
    if (read_guid(look, &state, err) < 0)
        return -1;
    if (state.guid_gone)
        return set_free_guid(look, err);
    if (oneib_now_ms() >= look->work->guid_until)
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                          "the subnet manager has not let go of the VF's old GUID after "
                          "%" PRIu32 " ms",
                          look->giving->vfs->guid_wait_ms);
    look->waits = true;
    return 0;
}

static bool can_do_without_guid(const struct oneib_vf_record *record)
{
    return record->guid == ONEIB_VF_GUID_DEFERRED;
}

static int see_guid_accepted(struct look *look, struct oneib_error *err)
{
    const struct oneib_vf_giving *giving = look->giving;
    const oneib_guid guid = oneib_vf_record_guid(&giving->record);
    struct oneib_vf_state state = {0};
    look->work->phase = ONEIB_VF_KEY_COMES;
    if (can_do_without_guid(&giving->record))
        return 0;
    if (read_guid(look, &state, err) < 0)
        return -1;
    if (state.guid == guid && state.guid_accepted)
        return 0;
    look->work->phase = ONEIB_VF_GUID_COMES;
    if (oneib_now_ms() >= look->work->guid_until)
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                          "the subnet manager has not accepted GUID 0x%016" PRIx64
                          " at %s port %u after %" PRIu32 " ms: does it run, and has no other "
                          "port that GUID?",
                          guid, giving->place.hca->name, giving->record.port,
                          giving->vfs->guid_wait_ms);
    look->waits = true;
    return 0;
}

/* ---- the key --------------------------------------------------------------------------------- */

/* why: what a VF's own port shows instead; code NONE: nothing is seen of it. */
static int fail_without_key(const struct oneib_vf_giving *giving, const struct oneib_error *why,
                            struct oneib_error *err)
{
    const struct oneib_vf_record *record = &giving->record;
    if (why->code != ONEIB_ERROR_NONE)
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                          "%s, after %" PRIu32 " ms: see that oneibd and the subnet manager run, "
                          "that it has virtual ports, and which of link and key it needs first "
                          "(node.virtual_ports)",
                          why->text, giving->vfs->pkey_wait_ms);
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "P_Key 0x%04x (%s) is not in the table of %s port %u after %" PRIu32
                      " ms: see that oneibd and the subnet manager run; 'oneib show' and 'oneib "
                      "verify' there say what is missing",
                      record->pkey, record->limited ? "limited" : "full or limited",
                      giving->place.hca->name, record->port, giving->vfs->pkey_wait_ms);
}

static int fail_stale(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "no message from oneibd for too long: no VF is opened by its earlier grants; "
                      "'oneib check' here says what is missing");
}

static int write_done(struct look *look, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = look->giving;
    struct oneib_vf_record done = giving->record;
    oneib_vfs_set_stage(&done, ONEIB_VF_OPEN);
    if (done.guid == ONEIB_VF_GUID_NONE)
        done.guid = ONEIB_VF_GUID_SET;
    if (oneib_vfs_put(giving->vfs, &done, err) < 0)
        return -1;
    giving->record = done;
    look->is_done = true;
    return 0;
}

/* The key may go, or move, while the VF is being opened: then it is waited for again. */
static int open_when_key_is_there(struct look *look, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = look->giving;
    const bool may_open = oneib_vfs_may_open(giving->vfs, &giving->record);
    struct oneib_error why = {0};
    bool is_open = false;
    if (!may_open && oneib_vfs_take_link_down(&giving->place, err) < 0)
        return -1;
    if (may_open && oneib_vfs_open_where_key_is(giving->vfs, &giving->place, &giving->record,
                                                &is_open, &why, err) < 0)
        return -1;
    if (is_open)
        return write_done(look, err);
    if (oneib_now_ms() >= look->work->key_until)
        return may_open ? fail_without_key(giving, &why, err) : fail_stale(err);
    look->waits = true;
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int take_step(struct look *look, struct oneib_error *err)
{
    static int (*const steps[])(struct look *, struct oneib_error *) = {
        [ONEIB_VF_OLD_GUID_GOES] = let_old_guid_go,
        [ONEIB_VF_GUID_IS_FREE] = set_free_guid,
        [ONEIB_VF_GUID_COMES] = see_guid_accepted,
        [ONEIB_VF_KEY_COMES] = open_when_key_is_there,
    };
    return steps[look->work->phase](look, err);
}

/* What it was begun for is not granted any more: a record has no key then. */
static int check_granted(const struct look *look, struct oneib_error *err)
{
    if (look->giving->record.pkey != 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "oneibd has revoked the grant: 'oneib show' there says why");
}

/* As far as possible. */
static int go_on(struct look *look, struct oneib_error *err)
{
    if (check_granted(look, err) < 0)
        return -1;
    while (!look->waits && !look->is_done)
        if (take_step(look, err) < 0)
            return -1;
    return 0;
}

static int begin_with_guid(struct look *look, struct oneib_error *err)
{
    const struct oneib_vf_giving *giving = look->giving;
    look->work->phase = ONEIB_VF_OLD_GUID_GOES;
    if (has_wrong_guid(giving))
        return oneib_vf_clear_guid(giving->place.hca, giving->place.vf, err);
    look->work->phase = ONEIB_VF_GUID_COMES;
    if (giving->state.guid == oneib_vf_record_guid(&giving->record) && giving->state.guid_accepted)
        return 0;
    return set_free_guid(look, err);
}

/* Both times begin together. */
static struct oneib_vf_work *begin_work(const struct oneib_vf_giving *giving, uint32_t wish)
{
    struct oneib_vfs *vfs = giving->vfs;
    struct oneib_vf_work *work = oneib_vfs_begin(vfs, &giving->record.vf, ONEIB_VF_PREPARE);
    const double now = oneib_now_ms();
    if (!work)
        return NULL;
    work->wish = wish;
    work->had = giving->had;
    work->ended = giving->ended;
    work->key_until = now + vfs->pkey_wait_ms;
    work->guid_until = now + vfs->guid_wait_ms;
    return work;
}

void oneib_vfs_wait_for_key(struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    const struct oneib_vf_giving giving = {.vfs = vfs, .record = *record, .had = true};
    struct oneib_vf_work *work = begin_work(&giving, 0);
    if (work)
        work->phase = ONEIB_VF_KEY_COMES;
}

int oneib_vfs_prepare(struct oneib_vf_giving *giving, uint32_t wish, bool *waits,
                      struct oneib_error *err)
{
    struct look look = {.giving = giving, .work = begin_work(giving, wish)};
    if (!look.work)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "too many requests are in progress on this host");
    const int result = begin_with_guid(&look, err) < 0 ? -1 : go_on(&look, err);
    *waits = look.waits;
    if (result < 0 || !look.waits)
        oneib_vfs_drop(giving->vfs, &giving->record.vf);
    return result;
}

/* ---- later ----------------------------------------------------------------------------------- */

/* A VF that is gone from the host is nothing to be prepared. */
static int find_again(struct oneib_vfs *vfs, const struct oneib_vf_work *work,
                      struct oneib_vf_giving *giving, struct oneib_error *err)
{
    bool exists;
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &work->vf);
    *giving = (struct oneib_vf_giving){.vfs = vfs, .had = work->had, .ended = work->ended};
    if (!record)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "its record is gone");
    giving->record = *record;
    giving->noted = *record;
    if (oneib_vfs_find_place(vfs, record, &giving->place, &exists, err) < 0)
        return oneib_vfs_wrap(record, err);
    if (exists)
        return 0;
    oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "the virtual function is gone from this host");
    return oneib_vfs_wrap(record, err);
}

int oneib_vfs_go_on_preparing(struct oneib_vfs *vfs, struct oneib_vf_work *work,
                              struct oneib_error *err)
{
    struct oneib_vf_giving giving;
    struct look look = {.giving = &giving, .work = work};
    const uint32_t wish = work->wish;
    const struct oneib_pci vf = work->vf;
    const bool is_found = find_again(vfs, work, &giving, err) == 0;
    if (is_found && go_on(&look, err) == 0 && look.waits) {
        oneib_vfs_pause(work, LONGEST_MS);
        return 0;
    }
    oneib_vfs_drop(vfs, &vf);
    if (look.is_done) {
        oneib_vfs_wish_done(vfs, wish, &giving.record);
        return 0;
    }
    if (is_found)
        oneib_vfs_undo(&giving, err);
    oneib_vfs_wish_failed(vfs, wish, err);
    return -1;
}

/* ---- undoing --------------------------------------------------------------------------------- */

/* What the record says once the VF is closed, or cannot be closed. */
static struct oneib_vf_record undone_record(const struct oneib_vf_giving *giving, bool is_closed)
{
    struct oneib_vf_record undone = giving->record;
    const bool has_ended = giving->ended && !oneib_vfs_is_running(giving->vfs, undone.vm_id);
    if (is_closed && giving->had) {
        undone = giving->noted;
        undone.stage = giving->record.stage;
        oneib_vfs_set_stage(&undone, has_ended ? ONEIB_VF_ENDED : ONEIB_VF_CLOSED);
        undone.in_domain = undone.in_domain && !has_ended;
    } else {
        oneib_vfs_set_stage(&undone, ONEIB_VF_RELEASING);
        undone.guid = ONEIB_VF_GUID_NONE;
    }
    return undone;
}

/* Closing comes first, and is tried whatever the table says. */
static int undo_steps(struct oneib_vf_giving *giving, struct oneib_error *err)
{
    struct oneib_error unclosed = {0};
    const struct oneib_vf_place *place = &giving->place;
    const bool is_closed = oneib_vf_close(place->hca, place->vf, &unclosed) == 0;
    const struct oneib_vf_record undone = undone_record(giving, is_closed);
    if (oneib_vfs_put(giving->vfs, &undone, err) < 0) {
        if (!is_closed)
            oneib_vfs_also(err, &unclosed);
        return -1;
    }
    giving->record = undone;
    if (is_closed)
        return 0;
    *err = unclosed;
    return -1;
}

int oneib_vfs_undo(struct oneib_vf_giving *giving, struct oneib_error *err)
{
    struct oneib_error second = {0}, third = {0};
    const int result = undo_steps(giving, &second);
    /* What has no wish any more is gone on with until it is free. */
    const bool goes = result < 0 ? !giving->had || giving->record.stage == ONEIB_VF_RELEASING
                                 : giving->record.stage == ONEIB_VF_RELEASING;
    if (result < 0)
        oneib_vfs_also(err, &second);
    if (goes && oneib_vfs_begin_release(giving->vfs, &giving->record.vf, &third) < 0 && result == 0)
        oneib_vfs_also(err, &third);
    return oneib_vfs_wrap(&giving->record, err);
}

void oneib_vfs_give_up(struct oneib_vfs *vfs, struct oneib_vf_work *work)
{
    struct oneib_vf_giving giving;
    struct oneib_error err = {0};
    const struct oneib_pci vf = work->vf;
    const bool is_found = find_again(vfs, work, &giving, &err) == 0;
    oneib_vfs_drop(vfs, &vf);
    if (is_found)
        oneib_vfs_undo(&giving, &err);
    /* A failure to close, or to write, is seen again by what goes on with it. */
}
