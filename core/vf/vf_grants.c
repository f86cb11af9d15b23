// SPDX-License-Identifier: Apache-2.0
/* What oneibd's grants mean for the VFs. */
#include "base/clock.h"
#include "hca/reservations.h"
#include "vf/vf_internal.h"
#include <inttypes.h>
#include <string.h>

#define RETRY_MS 1000 /* of closing what has failed to be closed */

/* ---- one record and its grant ---------------------------------------------------------------- */

static const struct oneib_grant *grant_of(const struct oneib_vfs *vfs,
                                          const struct oneib_vf_record *record)
{
    return vfs->grants ? oneib_grant_list_find(vfs->grants, record->vm_id, record->nic_id) : NULL;
}

static bool is_same_place(const struct oneib_grant *grant, const struct oneib_vf_record *record)
{
    return grant->network_id == record->network_id && grant->port == record->port &&
           strcmp(grant->device, record->device) == 0 &&
           (!grant->has_vf || oneib_pci_compare(&grant->vf, &record->vf) == 0);
}

/* The adapter has another name since: that of the record may be another one's by now, whose fabric
 * may be another. One that is away for a moment comes back under any name. */
static bool is_of_another(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    const struct oneib_vf *vf;
    const struct oneib_hca *hca = oneib_hcas_of_vf(&vfs->hcas, &record->vf, &vf);
    return hca && strcmp(hca->name, record->device) != 0;
}

/* The key that its record is to have; 0: none, as nothing is granted where it is. */
static oneib_pkey granted_key(const struct oneib_grant *grant, const struct oneib_vf_record *record)
{
    return grant && is_same_place(grant, record) ? grant->pkey : 0;
}

static bool is_granted(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    const struct oneib_grant *grant = grant_of(vfs, record);
    return grant && oneib_grant_allows(grant, record) && !is_of_another(vfs, record);
}

/* ---- what may be ----------------------------------------------------------------------------- */

int oneib_vfs_find_grant(const struct oneib_vfs *vfs, const struct oneib_request *request,
                         const struct oneib_grant **grant, struct oneib_error *err)
{
    struct oneib_guid_parts parts;
    *grant = vfs->grants
                 ? oneib_grant_list_find(vfs->grants, request->vm_id, (uint8_t)request->nic_id)
                 : NULL;
    if (!*grant)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "oneibd has not granted it a virtual function of this host: 'oneib show' "
                          "there says why");
    if ((*grant)->network_id != request->network_id)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "oneibd has granted it network %" PRIu32 ", and not network %" PRIu32,
                          (*grant)->network_id, request->network_id);
    if (!oneib_guid_decode((*grant)->guid, &parts) || parts.vm_id != request->vm_id ||
        parts.nic_id != request->nic_id || (*grant)->pkey == 0 || (*grant)->pkey > ONEIB_PKEY_LAST)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "oneibd's grant is not valid: is oneibd of another version?");
    return 0;
}

/* Whatever is OPEN by its record, or was until its key went, has been opened by a list that was
 * fresh. */
static bool has_been_open(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_OPEN ||
           (record->stage == ONEIB_VF_CLOSED &&
            oneib_vfs_remembers(vfs, &record->vf, ONEIB_VF_WAS_OPEN));
}

bool oneib_vfs_may_open(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return is_granted(vfs, record) && (vfs->grants_are_fresh || has_been_open(vfs, record));
}

bool oneib_vfs_may_stay_open(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return !vfs->grants || is_granted(vfs, record);
}

bool oneib_vfs_may_set_guid(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    const struct oneib_grant *grant = grant_of(vfs, record);
    return grant && grant->may_set_guid && grant->guid == oneib_vf_record_guid(record) &&
           (vfs->grants_are_fresh || has_been_open(vfs, record));
}

bool oneib_vfs_is_granted(const struct oneib_vfs *vfs, const struct oneib_request *request)
{
    const struct oneib_grant *grant;
    struct oneib_error none;
    const struct oneib_vf_record *record =
        oneib_vf_table_of_nic(&vfs->table, request->vm_id, (uint8_t)request->nic_id);
    if (oneib_vfs_find_grant(vfs, request, &grant, &none) < 0)
        return false;
    return vfs->grants_are_fresh ||
           (record && record->stage == ONEIB_VF_OPEN && record->guid == ONEIB_VF_GUID_SET &&
            oneib_grant_allows(grant, record));
}

/* ---- following a list ------------------------------------------------------------------------ */

static bool is_as_granted(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    const struct oneib_grant *grant = grant_of(vfs, record);
    const oneib_pkey pkey = granted_key(grant, record);
    if (pkey == 0)
        return record->pkey == 0 && record->stage != ONEIB_VF_OPEN;
    return record->pkey == pkey && record->limited == grant->limited;
}

int oneib_vfs_close_vf(struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                       struct oneib_error *err)
{
    struct oneib_vf_place place;
    bool exists;
    if (oneib_vfs_find_place(vfs, record, &place, &exists, err) < 0 ||
        (exists && oneib_vf_close(place.hca, place.vf, err) < 0))
        return oneib_vfs_wrap(record, err);
    vfs->noted.closed += record->stage == ONEIB_VF_OPEN;
    return 0;
}

static void note_adapter(const struct oneib_vfs *vfs, struct oneib_vf_record *record)
{
    const struct oneib_vf *vf;
    const struct oneib_hca *hca = oneib_hcas_of_vf(&vfs->hcas, &record->vf, &vf);
    if (!hca)
        return;
    strcpy(record->device, hca->name);
    record->index = vf->index;
}

/* Only now that it is closed may the record name another key, or adapter. */
static void note_granted(const struct oneib_vfs *vfs, struct oneib_vf_record *record)
{
    note_adapter(vfs, record);
    const struct oneib_grant *grant = grant_of(vfs, record);
    record->pkey = granted_key(grant, record);
    if (record->pkey)
        record->limited = grant->limited;
    if (record->stage == ONEIB_VF_OPEN)
        oneib_vfs_set_stage(record, ONEIB_VF_CLOSED);
    if (record->pkey == 0 && record->stage == ONEIB_VF_CLOSED)
        record->since = oneib_seconds_since_boot();
}

/* What is being released is closed by that. */
static bool is_to_be_changed(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return record->stage != ONEIB_VF_RELEASING &&
           (!is_as_granted(vfs, record) || is_of_another(vfs, record));
}

static bool is_anything_to_be_changed(const struct oneib_vfs *vfs)
{
    for (size_t i = 0; i < vfs->table.count; i++)
        if (is_to_be_changed(vfs, &vfs->table.items[i]))
            return true;
    return false;
}

/* Keeps the first. */
static void note_failure(int *result, const struct oneib_error *failure, struct oneib_error *err)
{
    if (*result == 0)
        *err = *failure;
    *result = -1;
}

/* First all that is to be closed, then the table, once. */
static int follow_grants(struct oneib_vfs *vfs, struct oneib_error *err)
{
    int result = 0;
    struct oneib_error failure = {0};
    struct oneib_vf_table *draft = oneib_vfs_draft(vfs);
    for (size_t i = 0; i < vfs->table.count; i++) {
        const struct oneib_vf_record *record = &vfs->table.items[i];
        struct oneib_error unclosed = {0};
        if (!is_to_be_changed(vfs, record))
            continue;
        oneib_vfs_forget_memory(vfs, &record->vf, ONEIB_VF_WAS_OPEN);
        if (oneib_vfs_close_vf(vfs, record, &unclosed) < 0)
            note_failure(&result, &unclosed, err);
        else
            note_granted(vfs, &draft->items[i]);
    }
    if (oneib_vfs_commit(vfs, &failure) < 0)
        note_failure(&result, &failure, err);
    return result;
}

int oneib_vfs_read_at_grants(struct oneib_vfs *vfs, struct oneib_error *err)
{
    vfs->grants_retry = 0;
    if (!vfs->grants || !vfs->table_known || !is_anything_to_be_changed(vfs))
        return 0;
    if (follow_grants(vfs, err) == 0)
        return 0;
    vfs->grants_retry = oneib_now_ms() + RETRY_MS;
    return -1;
}

/* ---- a new list ------------------------------------------------------------------------------ */

static bool may_be_opened_now(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_CLOSED && record->pkey != 0 &&
           !oneib_vfs_work_of(vfs, &record->vf) && oneib_vfs_may_open(vfs, record);
}

static bool has_something_to_open(const struct oneib_vfs *vfs)
{
    for (size_t i = 0; i < vfs->table.count; i++)
        if (may_be_opened_now(vfs, &vfs->table.items[i]))
            return true;
    return false;
}

/* What waits for a grant, or has lost it. */
static void wake_preparing(struct oneib_vfs *vfs)
{
    for (size_t i = 0; i < vfs->work_count; i++)
        if (vfs->works[i].task == ONEIB_VF_PREPARE)
            vfs->works[i].due = 0;
}

int oneib_vfs_set_grants(struct oneib_vfs *vfs, const struct oneib_grant_list *grants, bool fresh,
                         struct oneib_error *err)
{
    struct oneib_error unread = {0};
    const bool is_first = grants && !vfs->grants;
    int result = 0;
    vfs->grants = grants;
    vfs->grants_are_fresh = grants && fresh;
    /* A VF is found at its adapter. What can be closed is, by what was read before. */
    if (oneib_vfs_follow_adapters(vfs, &unread) < 0)
        note_failure(&result, &unread, err);
    if (oneib_vfs_read_at_grants(vfs, &unread) < 0)
        note_failure(&result, &unread, err);
    wake_preparing(vfs);
    /* What waits for the first list is OPEN by its record. */
    vfs->has_new_grants = (is_first && vfs->table.count > 0) || has_something_to_open(vfs);
    return result;
}
