// SPDX-License-Identifier: Apache-2.0
#include "hca/assign.h"
#include "hca/assign_internal.h"
#include "hca/reservations.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AT_WORK_MS 10000  /* for whoever works on the VF, beside the waiting that both may do */
#define UNDO_WAIT_MS 2000 /* for the SM to let go of a GUID that was set for nothing */

static int check_wanted(const struct oneib_assignment *wanted, struct oneib_error *err)
{
    if (wanted->pkey > ONEIB_PKEY_LAST)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "0x%04x is no virtual cluster's P_Key: they are 0x0001-0x%04x",
                          wanted->pkey, ONEIB_PKEY_LAST);
    if (wanted->port && !wanted->device[0] && !wanted->has_vf)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "port %u of which adapter?", wanted->port);
    return 0;
}

/* The GUID is this call's to set, unless it is deferred. */
static enum oneib_vf_guid guid_to_come(const struct oneib_assignment *wanted)
{
    return wanted->defer_guid ? ONEIB_VF_GUID_DEFERRED : ONEIB_VF_GUID_NONE;
}

/* ---- a VF that is new to the NIC
 * ------------------------------------------------------------------------- */

static int find_adapter_of_vf(struct oneib_assign_work *work, const char **device,
                              struct oneib_error *err)
{
    const struct oneib_assignment *wanted = work->wanted;
    const struct oneib_vf *vf;
    char address[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_hca *hca = oneib_hcas_of_vf(&work->hcas, &wanted->vf, &vf);
    oneib_pci_format(&wanted->vf, address);
    if (!hca)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s is not a virtual function of an InfiniBand adapter of this host",
                          address);
    if (wanted->device[0] && strcmp(wanted->device, hca->name) != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s is a virtual function of %s, but the network's PHYDEV is %s", address,
                          hca->name, wanted->device);
    *device = hca->name;
    return 0;
}

static int find_new_place(struct oneib_assign_work *work, struct oneib_error *err)
{
    const struct oneib_assignment *wanted = work->wanted;
    struct oneib_vf_place *place = &work->place;
    const struct oneib_port *port;
    const char *device = wanted->device;
    if (wanted->has_vf && find_adapter_of_vf(work, &device, err) < 0)
        return -1;
    if (oneib_hcas_choose_port(&work->hcas, device, wanted->port, &place->hca, &port, err) < 0)
        return -1;
    if (place->hca->fault.code != ONEIB_ERROR_NONE)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "%s hands out no virtual function: %s",
                          place->hca->name, place->hca->fault.text);
    place->port = &place->hca->ports[port - place->hca->ports];
    if (oneib_hca_seek_pkey(place->hca, place->port, wanted->pkey, wanted->limited, err) < 0)
        return -1;
    return oneib_port_is_safe(place->hca, place->port, err);
}

static struct oneib_vf_record new_record(const struct oneib_assign_work *work,
                                         const struct oneib_vf *vf)
{
    const struct oneib_assignment *wanted = work->wanted;
    struct oneib_vf_record record = {
        .vf = vf->pci,
        .index = vf->index,
        .port = work->place.port->number,
        .vm_id = wanted->vm_id,
        .nic_id = wanted->nic_id,
        .site = wanted->site,
        .pkey = wanted->pkey,
        .limited = wanted->limited,
        .stage = ONEIB_VF_PREPARING,
        .guid = guid_to_come(wanted),
        .since = oneib_seconds_since_boot(),
    };
    strcpy(record.device, work->place.hca->name);
    oneib_vf_record_own(&record);
    return record;
}

/* Under the table's lock. The VF's lock is taken here, without waiting, so that nobody comes
 * between the record and the work on the VF. */
static int reserve(struct oneib_assign_work *work, struct oneib_vf_table *table, bool *taken,
                   struct oneib_error *err)
{
    struct oneib_vf_choice choice;
    if (oneib_vf_table_of_nic(table, work->wanted->vm_id, work->wanted->nic_id))
        return 0;
    if (oneib_vf_choose(work->wanted, table, work->place.hca, work->place.port->number, &choice,
                        err) < 0)
        return -1;
    if (!choice.vf)
        return 0;
    work->record = new_record(work, choice.vf);
    if (oneib_vf_table_add(table, &work->record, err) < 0 ||
        oneib_reservations_write(table, err) < 0) {
        oneib_vf_unlock(choice.lock);
        return -1;
    }
    work->place.vf = choice.vf;
    work->state = choice.state;
    work->lock = choice.lock;
    work->is_new = true;
    *taken = true;
    return 0;
}

static int take_new(struct oneib_assign_work *work, bool *taken, struct oneib_error *err)
{
    struct oneib_vf_table table;
    int lock;
    if (find_new_place(work, err) < 0 ||
        oneib_reservations_lock(ONEIB_TABLE_WAIT_MS, &table, &lock, err) < 0)
        return -1;
    const int result = reserve(work, &table, taken, err);
    oneib_reservations_unlock(lock);
    oneib_vf_table_clear(&table);
    return result;
}

/* ---- the VF that the NIC has
 * ------------------------------------------------------------------------- */

/* The record may have changed while the VF's lock was somebody else's. A release that is under way
 * is not stopped: it waits for this lock. */
static int is_ours_to_take(struct oneib_assign_work *work, const struct oneib_pci *vf, bool *ours,
                           struct oneib_error *err)
{
    bool found;
    *ours = false;
    if (oneib_record_read(vf, &work->record, &found, err) < 0)
        return -1;
    *ours = found &&
            oneib_record_is_of_nic(&work->record, work->wanted->vm_id, work->wanted->nic_id) &&
            !(work->record.stage == ONEIB_VF_RELEASING && oneib_vf_record_has_owner(&work->record));
    return 0;
}

/* A VF that is gone from the host is nothing to be closed or kept. */
static int find_own_place(struct oneib_assign_work *work, bool *exists, struct oneib_error *err)
{
    bool stands;
    if (oneib_vf_place_of(&work->hcas, &work->record, &work->place, exists, err) < 0)
        return -1;
    return *exists ? 0 : oneib_record_change(&work->record, NULL, &stands, err);
}

static int take_own(struct oneib_assign_work *work, const struct oneib_pci *vf, bool *taken,
                    struct oneib_error *err)
{
    bool ours = false, locked;
    if (oneib_vf_try_lock(vf, &work->lock, &locked, err) < 0)
        return -1;
    if (!locked)
        return 0;
    int result = is_ours_to_take(work, vf, &ours, err);
    if (result == 0 && ours)
        result = find_own_place(work, taken, err);
    work->had = work->record.stage == ONEIB_VF_OPEN || work->record.stage == ONEIB_VF_CLOSED;
    if (!*taken) {
        oneib_vf_unlock(work->lock);
        work->lock = -1;
    }
    return result;
}

/* ---- taking either
 * ------------------------------------------------------------------------- */

static int find_own(const struct oneib_assignment *wanted, struct oneib_pci *vf, bool *found,
                    struct oneib_error *err)
{
    struct oneib_vf_table table;
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    const struct oneib_vf_record *own =
        oneib_vf_table_of_nic(&table, wanted->vm_id, wanted->nic_id);
    *found = own != NULL;
    if (own)
        *vf = own->vf;
    oneib_vf_table_clear(&table);
    return 0;
}

static int try_to_take(struct oneib_assign_work *work, bool *taken, struct oneib_error *err)
{
    struct oneib_pci vf;
    bool has_one;
    if (find_own(work->wanted, &vf, &has_one, err) < 0)
        return -1;
    return has_one ? take_own(work, &vf, taken, err) : take_new(work, taken, err);
}

/* Until the NIC has a VF, with its lock and its record. */
static int take(struct oneib_assign_work *work, struct oneib_error *err)
{
    const struct oneib_assignment *wanted = work->wanted;
    struct oneib_pause patience =
        oneib_pause_for(wanted->pkey_wait_ms + wanted->guid_wait_ms + AT_WORK_MS);
    for (;;) {
        bool taken = false;
        if (try_to_take(work, &taken, err) < 0)
            return -1;
        if (taken)
            return 0;
        if (oneib_assign_is_interrupted(wanted))
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "interrupted");
        if (!oneib_pause(&patience))
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                              "another oneib-vf is at work on the virtual function: try again "
                              "when it is done");
    }
}

/* ---- making it what is wanted
 * ------------------------------------------------------------------------- */

/* The NIC's VF is another one than it should be now: it must not be opened with a key that is meant
 * for another adapter, whose fabric may be another. */
static int check_same_adapter(struct oneib_assign_work *work, struct oneib_error *err)
{
    const struct oneib_assignment *wanted = work->wanted;
    const struct oneib_vf_record *record = &work->record;
    const char *device = work->place.hca->name;
    const bool is_same = (!wanted->device[0] || strcmp(wanted->device, device) == 0) &&
                         (!wanted->port || wanted->port == record->port) &&
                         (!wanted->has_vf || oneib_pci_compare(&wanted->vf, &record->vf) == 0);
    if (is_same)
        return 0;
    work->noted = 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "it has a virtual function of %s port %u already, and another one is wanted "
                      "now: detach the NIC and attach it again",
                      device, record->port);
}

/* What a dead call left may have been taken by a domain since, as its record was about to go. A VF
 * that the NIC had before is named by its own VM's domain. */
static int check_not_taken(const struct oneib_assign_work *work, struct oneib_error *err)
{
    const struct oneib_assignment *wanted = work->wanted;
    if (work->had || !oneib_pci_is_among(&work->record.vf, wanted->in_use, wanted->in_use_count))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "a libvirt domain names the VF that an earlier call left behind: it is "
                      "released, try again");
}

static bool has_guid_that_is_wanted(const struct oneib_assign_work *work)
{
    if (work->record.guid != ONEIB_VF_GUID_SET)
        return work->wanted->defer_guid;
    return oneib_vf_was_given_guid(&work->place, &work->state, &work->record);
}

static bool is_open_as_wanted(const struct oneib_assign_work *work)
{
    struct oneib_error unsafe;
    int32_t index;
    return work->record.stage == ONEIB_VF_OPEN &&
           oneib_vf_key_index(&work->place, &work->record, &index, &unsafe) == 0 &&
           oneib_vf_is_open_at(&work->place, &work->state, index);
}

static bool is_as_wanted(const struct oneib_assign_work *work)
{
    const struct oneib_assignment *wanted = work->wanted;
    const struct oneib_vf_record *record = &work->record;
    if (record->pkey != wanted->pkey || record->limited != wanted->limited ||
        record->site != wanted->site || !has_guid_that_is_wanted(work))
        return false;
    return wanted->pkey ? is_open_as_wanted(work)
                        : record->stage == ONEIB_VF_CLOSED && work->state.closed;
}

static int make_closed(struct oneib_assign_work *work, struct oneib_error *err)
{
    if (work->state.closed)
        return 0;
    if (oneib_vf_close(work->place.hca, work->place.vf, err) < 0)
        return -1;
    work->state.closed = true;
    return 0;
}

/* Only now that it is closed may the record name another key. */
static int claim(struct oneib_assign_work *work, struct oneib_error *err)
{
    const struct oneib_assignment *wanted = work->wanted;
    struct oneib_vf_record claimed = work->record;
    bool stands;
    const bool keeps_guid = claimed.guid == ONEIB_VF_GUID_SET && claimed.site == wanted->site;
    strcpy(claimed.device, work->place.hca->name);
    claimed.index = work->place.vf->index;
    claimed.site = wanted->site;
    claimed.pkey = wanted->pkey;
    claimed.limited = wanted->limited;
    /* Deferring is for a GUID that may be elsewhere: this one is here. */
    claimed.guid = keeps_guid && wanted->defer_guid ? ONEIB_VF_GUID_SET : guid_to_come(wanted);
    oneib_record_set_stage(&claimed, work->had ? ONEIB_VF_CLOSED : ONEIB_VF_PREPARING);
    oneib_vf_record_own(&claimed);
    if (oneib_record_change(&work->record, &claimed, &stands, err) < 0)
        return -1;
    if (!stands)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "the VF was released meanwhile");
    work->record = claimed;
    return 0;
}

/* Nothing is to be done, but somebody wants it now: a VM that died and is started again has the old
 * record until its domain is there, and must not be taken for one that is left over. */
static int renew(struct oneib_assign_work *work, struct oneib_error *err)
{
    struct oneib_vf_record renewed = work->record;
    bool stands;
    renewed.since = oneib_seconds_since_boot();
    if (oneib_record_change(&work->record, &renewed, &stands, err) < 0)
        return -1;
    if (!stands)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "the VF was released meanwhile");
    work->record = renewed;
    return 0;
}

static int fulfil_own(struct oneib_assign_work *work, struct oneib_error *err)
{
    if (check_same_adapter(work, err) < 0 || check_not_taken(work, err) < 0 ||
        oneib_vf_state_read(work->place.hca, work->place.vf, &work->state, err) < 0)
        return -1;
    work->is_done = is_as_wanted(work);
    if (work->is_done)
        return renew(work, err);
    if (make_closed(work, err) < 0 || claim(work, err) < 0)
        return -1;
    return oneib_assign_prepare(work, err);
}

static int fulfil_new(struct oneib_assign_work *work, struct oneib_error *err)
{
    return make_closed(work, err) < 0 ? -1 : oneib_assign_prepare(work, err);
}

/* ---- undoing
 * ------------------------------------------------------------------------- */

static void drop_owner(struct oneib_vf_record *record)
{
    record->owner = 0;
    record->owner_start = 0;
}

/* What the record says once the VF is closed, or cannot be closed. */
static struct oneib_vf_record undone_record(const struct oneib_assign_work *work, bool is_closed)
{
    struct oneib_vf_record undone = work->record;
    drop_owner(&undone);
    if (is_closed && work->had) {
        oneib_record_set_stage(&undone, ONEIB_VF_CLOSED);
        undone.pkey = work->noted;
        undone.limited = work->wanted->limited;
    } else {
        oneib_record_set_stage(&undone, ONEIB_VF_RELEASING);
        undone.guid = ONEIB_VF_GUID_NONE;
    }
    return undone;
}

static int free_again(struct oneib_assign_work *work, struct oneib_error *err)
{
    const struct oneib_assignment *wanted = work->wanted;
    uint32_t wait_ms = wanted->guid_wait_ms < UNDO_WAIT_MS ? wanted->guid_wait_ms : UNDO_WAIT_MS;
    bool stands;
    struct oneib_pause pause = oneib_pause_for(oneib_assign_is_interrupted(wanted) ? 0 : wait_ms);
    if (oneib_vf_lose_guid(&work->place, &pause, err) < 0)
        return -1;
    return oneib_record_change(&work->record, NULL, &stands, err);
}

/* Closing comes first, and is tried whatever the table says; a record that is not ours any more is
 * left to whoever made it so. */
static int undo_steps(struct oneib_assign_work *work, struct oneib_error *err)
{
    struct oneib_error unclosed = {0};
    const bool is_closed = oneib_vf_close(work->place.hca, work->place.vf, &unclosed) == 0;
    const struct oneib_vf_record undone = undone_record(work, is_closed);
    bool stands;
    if (oneib_record_change(&work->record, &undone, &stands, err) < 0) {
        if (!is_closed)
            oneib_error_also(err, &unclosed);
        return -1;
    }
    work->record = undone;
    if (!is_closed) {
        *err = unclosed;
        return -1;
    }
    return work->had || !stands ? 0 : free_again(work, err);
}

static void undo(struct oneib_assign_work *work, struct oneib_error *err)
{
    struct oneib_error second = {0};
    if (undo_steps(work, &second) < 0)
        oneib_error_also(err, &second);
}

/* ---- all of it
 * ------------------------------------------------------------------------- */

static int fulfil(struct oneib_assign_work *work, struct oneib_error *err)
{
    if ((work->is_new ? fulfil_new(work, err) : fulfil_own(work, err)) == 0)
        return 0;
    undo(work, err);
    return oneib_record_wrap(&work->record, err);
}

static int assign(struct oneib_assign_work *work, struct oneib_error *err)
{
    if (check_wanted(work->wanted, err) < 0 ||
        oneib_hcas_read(ONEIB_HCA_VFS, &work->hcas, err) < 0 || take(work, err) < 0)
        return oneib_wrap(err, "VM %" PRIu32 " NIC %u", work->wanted->vm_id, work->wanted->nic_id);
    const int result = fulfil(work, err);
    oneib_vf_unlock(work->lock);
    return result;
}

int oneib_assign(const struct oneib_assignment *assignment, struct oneib_vf_record *record,
                 struct oneib_error *err)
{
    struct oneib_assign_work work = {.wanted = assignment, .noted = assignment->pkey, .lock = -1};
    const int result = assign(&work, err);
    if (result == 0)
        *record = work.record;
    oneib_hcas_clear(&work.hcas);
    return result;
}
