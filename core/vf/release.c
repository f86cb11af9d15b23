// SPDX-License-Identifier: Apache-2.0
/* Taking a VF back. */
#include "base/clock.h"
#include "vf/vf_internal.h"
#include <inttypes.h>

#define RELEASED_MEANWHILE "the VF was released meanwhile"
#define LONGEST_MS 250
#define LONGEST_ALONE_MS 5000 /* when nobody waits for it */

/* ---- one ------------------------------------------------------------------------------------- */

struct releasing {
    struct oneib_vfs *vfs;
    struct oneib_vf_work *work;
    struct oneib_vf_record record; /* when it has one */
    bool has_record;
    struct oneib_vf_place place;
};

/* A release that has begun is gone on with, whatever ends the service. */
static int note_releasing(struct releasing *releasing, struct oneib_error *err)
{
    struct oneib_vf_record after = releasing->record;
    if (!releasing->has_record || after.stage == ONEIB_VF_RELEASING)
        return 0;
    oneib_vfs_set_stage(&after, ONEIB_VF_RELEASING);
    after.guid = ONEIB_VF_GUID_NONE;
    if (oneib_vfs_put(releasing->vfs, &after, err) < 0)
        return -1;
    releasing->record = after;
    return 0;
}

static int make_closed(struct releasing *releasing, struct oneib_error *err)
{
    if (releasing->work->is_closed)
        return 0;
    if (oneib_vf_close(releasing->place.hca, releasing->place.vf, err) < 0)
        return -1;
    releasing->work->is_closed = true;
    return 0;
}

/* The GUID of a VF that its domain still has stays: the VF is not free, whatever else it is. */
static bool is_kept_by_domain(const struct releasing *releasing)
{
    return releasing->has_record && oneib_vfs_is_running_with(releasing->vfs, &releasing->record);
}

static bool may_be_in_domain(const struct releasing *releasing)
{
    return releasing->record.in_domain &&
           (!oneib_vfs_domains_known(releasing->vfs) || is_kept_by_domain(releasing));
}

/* A release can last, for as long as a guest, or the subnet manager, does not let go: the closed VF
 * holds no key, and is in a domain no longer than one has it. */
static int note_closed(struct releasing *releasing, struct oneib_error *err)
{
    struct oneib_vf_record after = releasing->record;
    after.pkey = 0;
    after.in_domain = may_be_in_domain(releasing);
    if (!releasing->has_record ||
        (releasing->record.pkey == 0 && releasing->record.in_domain == after.in_domain))
        return 0;
    if (oneib_vfs_put(releasing->vfs, &after, err) < 0)
        return -1;
    releasing->record = after;
    return 0;
}

static int take_guid(struct releasing *releasing, bool *is_gone, struct oneib_error *err)
{
    const struct oneib_vf_place *place = &releasing->place;
    struct oneib_vf_state state = {0};
    *is_gone = false;
    if (!releasing->work->guid_was_taken && oneib_vf_clear_guid(place->hca, place->vf, err) < 0)
        return -1;
    releasing->work->guid_was_taken = true;
    if (oneib_vf_guid_read(place->hca, place->vf, 0, &state, err) < 0)
        return -1;
    *is_gone = state.guid_gone;
    return 0;
}

/* Nobody's any more. What waited for it begins. */
static int end(struct releasing *releasing, struct oneib_error *err)
{
    struct oneib_vfs *vfs = releasing->vfs;
    const struct oneib_vf_work work = *releasing->work;
    if (releasing->has_record && oneib_vfs_remove(vfs, &work.vf, err) < 0)
        return -1;
    oneib_vfs_drop(vfs, &work.vf);
    releasing->work = NULL;
    if (work.has_next)
        oneib_vfs_have_next(vfs, &work.next, work.wish);
    return 0;
}

/* The caller has waited long enough; the release goes on. */
static void give_next_up(struct releasing *releasing)
{
    struct oneib_vf_work *work = releasing->work;
    if (work->has_next && oneib_now_ms() >= work->next_until)
        oneib_vfs_refuse_next(releasing->vfs, work, ONEIB_ERROR_TIMEOUT,
                              "the subnet manager has not let go of the GUID of the virtual "
                              "function that has to be free first: try again when it has");
}

static int find(struct releasing *releasing, bool *exists, struct oneib_error *err)
{
    struct oneib_vfs *vfs = releasing->vfs;
    if (releasing->has_record)
        return oneib_vfs_find_place(vfs, &releasing->record, &releasing->place, exists, err);
    releasing->place.hca = oneib_hcas_of_vf(&vfs->hcas, &releasing->work->vf, &releasing->place.vf);
    *exists = releasing->place.hca != NULL;
    return 0;
}

/* Closing is tried although the table cannot be written. A VF that is gone from this host needs
 * none. */
static int close_it(struct releasing *releasing, bool *exists, struct oneib_error *err)
{
    struct oneib_error unwritten = {0};
    const bool is_noted = note_releasing(releasing, &unwritten) == 0;
    if (find(releasing, exists, err) < 0 || (*exists && make_closed(releasing, err) < 0))
        return -1;
    if (is_noted)
        return 0;
    *err = unwritten;
    return -1;
}

static int take_steps(struct releasing *releasing, struct oneib_error *err)
{
    bool exists, is_gone;
    if (close_it(releasing, &exists, err) < 0)
        return -1;
    if (!exists)
        return end(releasing, err);
    if (is_kept_by_domain(releasing))
        return note_closed(releasing, err);
    if (take_guid(releasing, &is_gone, err) < 0)
        return -1;
    return is_gone ? end(releasing, err) : note_closed(releasing, err);
}

int oneib_vfs_go_on_releasing(struct oneib_vfs *vfs, struct oneib_vf_work *work, bool everything,
                              struct oneib_error *err)
{
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &work->vf);
    struct releasing releasing = {.vfs = vfs, .work = work, .has_record = record != NULL};
    if (record)
        releasing.record = *record;
    if (everything) {
        work->is_closed = false;
        work->guid_was_taken = false;
    }
    const int result = take_steps(&releasing, err);
    if (releasing.work) {
        give_next_up(&releasing);
        oneib_vfs_pause(work,
                        oneib_vfs_release_is_waited_for(vfs, work) ? LONGEST_MS : LONGEST_ALONE_MS);
    }
    if (result == 0 || !releasing.has_record)
        return result;
    return oneib_vfs_wrap(&releasing.record, err);
}

/* Whoever has the VF gives it back: what was to be made of it for the same NIC ends, and another
 * NIC goes on waiting for it. */
static void end_wish(struct oneib_vfs *vfs, struct oneib_vf_work *work)
{
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &work->vf);
    const bool is_anothers =
        work->has_next && record &&
        (work->next.vm_id != record->vm_id || work->next.nic_id != record->nic_id);
    if (is_anothers)
        return;
    if (work->has_next)
        oneib_vfs_refuse_next(vfs, work, ONEIB_ERROR_REFUSED, RELEASED_MEANWHILE);
    else if (record)
        oneib_vfs_wish_refused(vfs, work->wish, record, RELEASED_MEANWHILE);
}

int oneib_vfs_begin_release(struct oneib_vfs *vfs, const struct oneib_pci *vf,
                            struct oneib_error *err)
{
    struct oneib_vf_work *work = oneib_vfs_work_of(vfs, vf);
    struct oneib_vf_work before = {0};
    if (work) {
        end_wish(vfs, work);
        before = *work;
    }
    work = oneib_vfs_begin(vfs, vf, ONEIB_VF_RELEASE);
    if (!work)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "too many requests are in progress on this host");
    if (before.has_next) {
        work->wish = before.wish;
        work->has_next = true;
        work->next = before.next;
        work->next_until = before.next_until;
    }
    return oneib_vfs_go_on_releasing(vfs, work, true, err);
}

/* ---- a VM's, or a NIC's ---------------------------------------------------------------------- */

struct wanted {
    struct oneib_vfs *vfs;
    const struct oneib_request *request;
    struct oneib_released *released;
    bool has_failed;
    struct oneib_error first;
};

static bool is_meant(const struct wanted *wanted, const struct oneib_vf_record *record)
{
    const struct oneib_request *request = wanted->request;
    return record->vm_id == request->vm_id &&
           (request->nic_id < 0 || record->nic_id == request->nic_id);
}

/* What a running domain has is its own, unless its VM has lost the NIC. */
static bool is_left(const struct wanted *wanted, const struct oneib_vf_record *record)
{
    return !(wanted->request->flags & ONEIB_RELEASE_NIC_GONE) &&
           oneib_vfs_is_running_with(wanted->vfs, record);
}

static void note_failure(struct wanted *wanted, const struct oneib_error *err)
{
    if (!wanted->has_failed)
        wanted->first = *err;
    wanted->has_failed = true;
}

/* All in one write, before the first is closed. One that fails is tried again for each. */
static void mark_all(struct wanted *wanted)
{
    struct oneib_error ignored;
    bool changed = false;
    struct oneib_vf_table *draft = oneib_vfs_draft(wanted->vfs);
    for (size_t i = 0; i < draft->count; i++) {
        struct oneib_vf_record *record = &draft->items[i];
        if (!is_meant(wanted, record) || is_left(wanted, record) ||
            record->stage == ONEIB_VF_RELEASING)
            continue;
        oneib_vfs_set_stage(record, ONEIB_VF_RELEASING);
        record->guid = ONEIB_VF_GUID_NONE;
        changed = true;
    }
    if (changed)
        oneib_vfs_commit(wanted->vfs, &ignored);
}

static void leave(struct wanted *wanted, const struct oneib_vf_record *record)
{
    oneib_vfs_remember(wanted->vfs, &record->vf, ONEIB_VF_LEAVING, ONEIB_LEAVING_MS);
    wanted->released->left++;
}

static void release_one(struct wanted *wanted, const struct oneib_pci *vf)
{
    struct oneib_error err = {0};
    if (oneib_vfs_begin_release(wanted->vfs, vf, &err) < 0)
        note_failure(wanted, &err);
    if (oneib_vf_table_of_vf(&wanted->vfs->table, vf))
        wanted->released->lingering++;
    else
        wanted->released->freed++;
}

/* Releasing goes on after a failure, so that one VF that resists keeps no other one open. A record
 * that goes makes the next one take its place. */
static void release_all(struct wanted *wanted)
{
    const struct oneib_vf_table *table = &wanted->vfs->table;
    for (size_t i = 0; i < table->count;) {
        const struct oneib_vf_record record = table->items[i];
        if (!is_meant(wanted, &record)) {
            i++;
            continue;
        }
        if (is_left(wanted, &record))
            leave(wanted, &record);
        else
            release_one(wanted, &record.vf);
        i += i < table->count && oneib_pci_compare(&table->items[i].vf, &record.vf) == 0;
    }
}

/* It may wait for a VF that is still another NIC's. */
static void end_waiting(struct oneib_vfs *vfs, const struct oneib_request *request)
{
    struct oneib_vf_work *work;
    while ((work = oneib_vfs_find_next(vfs, request->vm_id, request->nic_id)))
        oneib_vfs_refuse_next(vfs, work, ONEIB_ERROR_REFUSED, RELEASED_MEANWHILE);
}

static bool has_any(const struct wanted *wanted)
{
    for (size_t i = 0; i < wanted->vfs->table.count; i++)
        if (is_meant(wanted, &wanted->vfs->table.items[i]))
            return true;
    return false;
}

int oneib_vfs_release(struct oneib_vfs *vfs, const struct oneib_request *request,
                      struct oneib_released *released, oneib_vfs_ticket *ticket,
                      struct oneib_error *err)
{
    struct wanted wanted = {.vfs = vfs, .request = request, .released = released};
    struct oneib_error unread = {0};
    *ticket = 0;
    *released = (struct oneib_released){0};
    if (oneib_vfs_check_table(vfs, err) < 0)
        return -1;
    end_waiting(vfs, request);
    /* Nothing to release is the common case of many calls: it costs no look at the adapters. */
    if (!has_any(&wanted))
        return 0;
    mark_all(&wanted);
    /* What is under way for them must end all the same, and what can be closed is. */
    if (oneib_vfs_follow_adapters(vfs, &unread) < 0)
        note_failure(&wanted, &unread);
    release_all(&wanted);
    if (wanted.has_failed) {
        *err = wanted.first;
        return -1;
    }
    return released->lingering > 0 ? oneib_vfs_ticket_of_release(vfs, request, ticket, err) : 0;
}

/* ---- by its address -------------------------------------------------------------------------- */

static int check_is_ours_to_close(const struct oneib_vfs *vfs, const struct oneib_hca *hca,
                                  const struct oneib_vf *vf, struct oneib_error *err)
{
    if (!hca || !oneib_hca_has_infiniband(hca))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "it is not a virtual function of an InfiniBand adapter of this host");
    if (oneib_vfs_is_hosts(vfs, &vf->pci))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "it is kept for the host (node.host_vfs)");
    if (oneib_vfs_is_named(vfs, &vf->pci))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "a libvirt domain has it");
    if (vf->interface_up)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the host uses it: a network interface of it is up");
    return 0;
}

/* The VF of nobody, as the adapter has it now. Whose it is, a domain's perhaps, must be known. */
static int find_unrecorded(struct oneib_vfs *vfs, const struct oneib_pci *pci,
                           struct oneib_error *err)
{
    const struct oneib_vf *vf;
    struct oneib_vf now;
    const struct oneib_hca *hca = oneib_hcas_of_vf(&vfs->hcas, pci, &vf);
    if (hca) {
        now = *vf;
        if (oneib_vfs_check_domains(vfs, err) < 0 || oneib_hca_reread_vf(hca, &now, err) < 0)
            return -1;
    }
    return check_is_ours_to_close(vfs, hca, &now, err);
}

static int check_recorded(const struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                          uint32_t vm_id, struct oneib_error *err)
{
    if (record->vm_id != vm_id)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "it is VM %" PRIu32 " NIC %u's, not VM %" PRIu32 "'s", record->vm_id,
                          record->nic_id, vm_id);
    if (oneib_vfs_is_named(vfs, &record->vf))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "a libvirt domain has it");
    return 0;
}

static int check_vf(struct oneib_vfs *vfs, const struct oneib_request *request,
                    struct oneib_error *err)
{
    if (oneib_vfs_check_table(vfs, err) < 0 || oneib_vfs_follow_adapters(vfs, err) < 0)
        return -1;
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &request->vf);
    return record ? check_recorded(vfs, record, request->vm_id, err)
                  : find_unrecorded(vfs, &request->vf, err);
}

int oneib_vfs_release_vf(struct oneib_vfs *vfs, const struct oneib_request *request,
                         struct oneib_released *released, oneib_vfs_ticket *ticket,
                         struct oneib_error *err)
{
    char address[ONEIB_PCI_TEXT_SIZE];
    *ticket = 0;
    *released = (struct oneib_released){0};
    oneib_pci_format(&request->vf, address);
    if (check_vf(vfs, request, err) < 0 || oneib_vfs_begin_release(vfs, &request->vf, err) < 0)
        return oneib_wrap(err, "%s", address);
    released->lingering = oneib_vfs_work_of(vfs, &request->vf) != NULL;
    released->freed = !released->lingering;
    if (released->lingering && oneib_vfs_ticket_of_release(vfs, request, ticket, err) < 0)
        return oneib_wrap(err, "%s", address);
    return 0;
}
