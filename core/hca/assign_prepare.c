// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "hca/assign_internal.h"
#include <inttypes.h>

bool oneib_assign_is_interrupted(const struct oneib_assignment *assignment)
{
    return assignment->interrupted && *assignment->interrupted;
}

/* The GUID and the key are waited for one after the other, each until its own time is over; both
 * times begin together. */
struct waiting {
    double key_until, guid_until; /* oneib_now_ms() */
    struct oneib_pause pause;
};

static struct waiting start_waiting(const struct oneib_assign_work *work)
{
    const double now = oneib_now_ms();
    const uint32_t key_ms = work->wanted->pkey_wait_ms, guid_ms = work->wanted->guid_wait_ms;
    return (struct waiting){
        .key_until = now + key_ms,
        .guid_until = now + guid_ms,
        .pause = oneib_pause_for(key_ms > guid_ms ? key_ms : guid_ms),
    };
}

/* The caller has gone, or a release has come. */
static int check_still_wanted(const struct oneib_assign_work *work, struct oneib_error *err)
{
    bool stands;
    if (oneib_assign_is_interrupted(work->wanted))
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "interrupted while the VF was being prepared");
    if (oneib_record_stands(&work->record, &stands, err) < 0)
        return -1;
    if (!stands)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "the VF was released meanwhile");
    return 0;
}

/* ---- the GUID
 * ------------------------------------------------------------------------- */

static int wait_until_guid_is_gone(const struct oneib_assign_work *work, struct waiting *waiting,
                                   struct oneib_error *err)
{
    for (;;) {
        struct oneib_vf_state state;
        if (check_still_wanted(work, err) < 0 ||
            oneib_vf_guid_read(work->place.hca, work->place.vf, work->record.port, &state, err) < 0)
            return -1;
        if (state.guid_gone)
            return 0;
        if (oneib_now_ms() >= waiting->guid_until)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                              "the subnet manager has not let go of the VF's old GUID after "
                              "%" PRIu32 " ms",
                              work->wanted->guid_wait_ms);
        oneib_pause(&waiting->pause);
    }
}

/* Whether another GUID than the wanted one is in the way. One that no port shows is but a wish, of
 * the driver's or of somebody who has gone. One that was deleted already, and that the SM has not
 * let go of, is this NIC's own: nobody else's VF is handed out so. */
static bool has_wrong_guid(const struct oneib_assign_work *work)
{
    const struct oneib_vf_state *state = &work->state;
    if (work->record.guid == ONEIB_VF_GUID_DEFERRED)
        return !state->guid_gone;
    return state->guid_shown && state->guid != 0 &&
           state->guid != oneib_vf_record_guid(&work->record);
}

static int give_guid(struct oneib_assign_work *work, struct waiting *waiting,
                     struct oneib_error *err)
{
    const struct oneib_vf_place *place = &work->place;
    const oneib_guid guid = oneib_vf_record_guid(&work->record);
    if (has_wrong_guid(work) && (oneib_vf_clear_guid(place->hca, place->vf, err) < 0 ||
                                 wait_until_guid_is_gone(work, waiting, err) < 0))
        return -1;
    if (work->record.guid == ONEIB_VF_GUID_DEFERRED ||
        (work->state.guid == guid && work->state.guid_accepted))
        return 0;
    return oneib_vf_set_guid(place->hca, place->vf, work->record.port, guid, err);
}

static int wait_until_guid_is_accepted(const struct oneib_assign_work *work,
                                       struct waiting *waiting, struct oneib_error *err)
{
    const oneib_guid guid = oneib_vf_record_guid(&work->record);
    for (;;) {
        struct oneib_vf_state state;
        if (check_still_wanted(work, err) < 0 ||
            oneib_vf_guid_read(work->place.hca, work->place.vf, work->record.port, &state, err) < 0)
            return -1;
        if (state.guid == guid && state.guid_accepted)
            return 0;
        if (oneib_now_ms() >= waiting->guid_until)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                              "the subnet manager has not accepted GUID 0x%016" PRIx64
                              " at %s port %u after %" PRIu32 " ms: does it run, and has no other "
                              "port that GUID?",
                              guid, work->place.hca->name, work->record.port,
                              work->wanted->guid_wait_ms);
        oneib_pause(&waiting->pause);
    }
}

/* ---- the key
 * ------------------------------------------------------------------------- */

static int fail_without_key(const struct oneib_assign_work *work, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "P_Key 0x%04x (%s) is not in the table of %s port %u after %" PRIu32
                      " ms: see that oneibd and the subnet manager run; 'oneib show' and 'oneib "
                      "verify' there say what is missing",
                      work->record.pkey, work->record.limited ? "limited" : "full or limited",
                      work->place.hca->name, work->record.port, work->wanted->pkey_wait_ms);
}

/* The key may go, or move, while the VF is being opened: then it is waited for again. */
static int open_when_key_is_there(const struct oneib_assign_work *work, struct waiting *waiting,
                                  struct oneib_error *err)
{
    for (;;) {
        bool is_open;
        if (check_still_wanted(work, err) < 0 ||
            oneib_vf_open_where_key_is(&work->place, &work->record, &is_open, err) < 0)
            return -1;
        if (is_open)
            return 0;
        if (oneib_now_ms() >= waiting->key_until)
            return fail_without_key(work, err);
        oneib_pause(&waiting->pause);
    }
}

/* ---- all of it
 * ------------------------------------------------------------------------- */

static int write_done(struct oneib_assign_work *work, struct oneib_error *err)
{
    struct oneib_vf_record done = work->record;
    bool stands;
    oneib_record_set_stage(&done, done.pkey ? ONEIB_VF_OPEN : ONEIB_VF_CLOSED);
    if (done.guid == ONEIB_VF_GUID_NONE)
        done.guid = ONEIB_VF_GUID_SET;
    done.owner = 0;
    done.owner_start = 0;
    if (oneib_record_change(&work->record, &done, &stands, err) < 0)
        return -1;
    if (!stands)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "the VF was released meanwhile");
    work->record = done;
    return 0;
}

int oneib_assign_prepare(struct oneib_assign_work *work, struct oneib_error *err)
{
    struct waiting waiting = start_waiting(work);
    if (give_guid(work, &waiting, err) < 0)
        return -1;
    /* Whoever closes several VFs closes one after the other: nothing is waited for that a closed
     * one can do without. */
    if (work->record.pkey && work->record.guid != ONEIB_VF_GUID_DEFERRED &&
        wait_until_guid_is_accepted(work, &waiting, err) < 0)
        return -1;
    if (work->record.pkey && open_when_key_is_there(work, &waiting, err) < 0)
        return -1;
    return write_done(work, err);
}
