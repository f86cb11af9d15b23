// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "hca/assign.h"
#include "hca/assign_internal.h"
#include "hca/reservations.h"
#include "hca/vf_ways.h"
#include <inttypes.h>
#include <stdlib.h>

#define AT_WORK_MS 10000 /* for whoever works on the VF: it gives up when it sees RELEASING */

struct one_release {
    struct oneib_vf_record record; /* RELEASING, by this process */
    bool is_closed;                /* this far it went well */
};

/* Releasing goes on after a failure, so that one VF that resists keeps no other one open. */
struct releasing {
    const struct oneib_hcas *hcas;
    struct one_release *items; /* owned */
    size_t count;
    struct oneib_pause pause; /* for the SM to let go of GUIDs, of all together */
    size_t released;
    struct oneib_vf_attempts attempts;
};

/* ---- saying so in the table
 * ------------------------------------------------------------------------- */

static bool is_meant(const struct oneib_vf_record *record, uint32_t vm_id, int nic_id)
{
    return record->vm_id == vm_id && (nic_id < 0 || record->nic_id == nic_id);
}

static void make_releasing(struct oneib_vf_record *record)
{
    oneib_record_set_stage(record, ONEIB_VF_RELEASING);
    record->guid = ONEIB_VF_GUID_NONE;
    oneib_vf_record_own(record);
}

static int mark(struct oneib_vf_table *table, uint32_t vm_id, int nic_id,
                struct releasing *releasing, struct oneib_error *err)
{
    releasing->items = calloc(table->count + 1, sizeof *releasing->items);
    if (!releasing->items)
        return oneib_fail_memory(err);
    for (size_t i = 0; i < table->count; i++) {
        struct oneib_vf_record *record = &table->items[i];
        if (!is_meant(record, vm_id, nic_id))
            continue;
        make_releasing(record);
        releasing->items[releasing->count++].record = *record;
    }
    return releasing->count > 0 ? oneib_reservations_write(table, err) : 0;
}

/* Without the VFs' locks: whoever has one gives up when it sees this. */
static int mark_all(uint32_t vm_id, int nic_id, struct releasing *releasing,
                    struct oneib_error *err)
{
    struct oneib_vf_table table;
    int lock;
    if (oneib_reservations_lock(ONEIB_TABLE_WAIT_MS, &table, &lock, err) < 0)
        return -1;
    const int result = mark(&table, vm_id, nic_id, releasing, err);
    oneib_reservations_unlock(lock);
    oneib_vf_table_clear(&table);
    return result;
}

/* ---- doing it
 * ------------------------------------------------------------------------- */

/*
 * Whether there is still something to release. Another release of the same NIC may be at work too:
 * that is as if it were this one. A record that is not RELEASING any more is a later assignment's:
 * nobody writes over RELEASING but who has closed the VF first.
 */
static int find_releasing(struct one_release *one, bool *is_there, struct oneib_error *err)
{
    struct oneib_vf_record current;
    bool found;
    if (oneib_record_read(&one->record.vf, &current, &found, err) < 0)
        return -1;
    *is_there = found && oneib_record_is_of_nic(&current, one->record.vm_id, one->record.nic_id) &&
                current.stage == ONEIB_VF_RELEASING;
    if (*is_there)
        one->record = current;
    return 0;
}

/* Another release may write its own name into the record at this moment: then once more. */
static int remove_record(struct releasing *releasing, struct one_release *one,
                         struct oneib_error *err)
{
    bool is_removed = false, is_there = true;
    while (is_there && !is_removed) {
        if (oneib_record_change(&one->record, NULL, &is_removed, err) < 0 ||
            (!is_removed && find_releasing(one, &is_there, err) < 0))
            return -1;
    }
    releasing->released += is_removed;
    return 0;
}

/* At once, before the SM is waited for. */
static int close_one(struct releasing *releasing, struct one_release *one, struct oneib_error *err)
{
    const struct oneib_vf_record *record = &one->record;
    struct oneib_vf_place place;
    bool is_there, exists;
    if (find_releasing(one, &is_there, err) < 0)
        return -1;
    if (!is_there)
        return 0;
    if (oneib_vf_place_of(releasing->hcas, record, &place, &exists, err) < 0)
        return -1;
    if (!exists)
        return remove_record(releasing, one, err);
    if (oneib_vf_close(place.hca, place.vf, err) < 0)
        return -1;
    one->is_closed = true;
    return oneib_vf_clear_guid(place.hca, place.vf, err);
}

/* The lock was free since the VF was closed. Where the record has changed meanwhile, somebody may
 * have opened the VF, so that closing begins again. */
static int close_again(struct releasing *releasing, struct one_release *one,
                       struct oneib_error *err)
{
    bool stands;
    if (oneib_record_stands(&one->record, &stands, err) < 0)
        return -1;
    if (stands)
        return 0;
    one->is_closed = false;
    return close_one(releasing, one, err);
}

static int free_one(struct releasing *releasing, struct one_release *one, struct oneib_error *err)
{
    struct oneib_vf_place place;
    bool exists;
    if (close_again(releasing, one, err) < 0)
        return -1;
    if (!one->is_closed)
        return 0;
    if (oneib_vf_place_of(releasing->hcas, &one->record, &place, &exists, err) < 0)
        return -1;
    if (exists && oneib_vf_wait_without_guid(&place, &releasing->pause, err) < 0)
        return -1;
    return remove_record(releasing, one, err);
}

/* The record stays, and nobody works on it any more. A failure to say so is of no consequence: this
 * process ends. */
static void leave(const struct oneib_vf_record *record)
{
    struct oneib_vf_record left = *record;
    struct oneib_error unwritten;
    bool stands;
    left.owner = 0;
    left.owner_start = 0;
    oneib_record_change(record, &left, &stands, &unwritten);
}

typedef int (*release_step)(struct releasing *releasing, struct one_release *one,
                            struct oneib_error *err);

static void under_lock(struct releasing *releasing, struct one_release *one, release_step step)
{
    const struct oneib_vf_record *record = &one->record;
    struct oneib_error err = {0};
    int lock;
    int result = oneib_vf_lock(&record->vf, AT_WORK_MS, &lock, &err);
    if (result == 0) {
        result = step(releasing, one, &err);
        oneib_vf_unlock(lock);
    }
    if (result == 0)
        return;
    one->is_closed = false;
    leave(record);
    oneib_record_wrap(record, &err);
    oneib_vf_attempt(&releasing->attempts, -1, &err);
}

static void release_all(struct releasing *releasing)
{
    for (size_t i = 0; i < releasing->count; i++)
        under_lock(releasing, &releasing->items[i], close_one);
    for (size_t i = 0; i < releasing->count; i++)
        if (releasing->items[i].is_closed)
            under_lock(releasing, &releasing->items[i], free_one);
}

/* Nothing to release is the common case of many calls: it costs no look at the adapters. */
static int release_marked(struct releasing *releasing, struct oneib_error *err)
{
    struct oneib_hcas hcas = {0};
    if (releasing->count == 0)
        return 0;
    if (oneib_hcas_read(ONEIB_HCA_VFS, &hcas, err) < 0) {
        for (size_t i = 0; i < releasing->count; i++)
            leave(&releasing->items[i].record);
        return -1;
    }
    releasing->hcas = &hcas;
    release_all(releasing);
    oneib_hcas_clear(&hcas);
    return oneib_vf_attempted(&releasing->attempts, err);
}

int oneib_release(uint32_t vm_id, int nic_id, uint32_t guid_wait_ms, size_t *released,
                  struct oneib_error *err)
{
    struct releasing releasing = {.pause = oneib_pause_for(guid_wait_ms)};
    int result = mark_all(vm_id, nic_id, &releasing, err);
    if (result == 0)
        result = release_marked(&releasing, err);
    *released = releasing.released;
    free(releasing.items);
    return result;
}

/* ---- a VF that nobody is recorded for
 * ------------------------------------------------------------------------- */

static int check_is_ours_to_close(const struct oneib_hca *hca, const struct oneib_vf *vf,
                                  const struct oneib_pci *in_use, size_t in_use_count,
                                  struct oneib_error *err)
{
    if (!hca || !oneib_hca_has_infiniband(hca))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "it is not a virtual function of an InfiniBand adapter of this host");
    if (oneib_pci_is_among(&vf->pci, in_use, in_use_count))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "a libvirt domain has it");
    if (vf->interface_up)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the host uses it: a network interface of it is up");
    return 0;
}

/* Under the VF's lock, which keeps everybody from choosing it, as a record would. */
static int free_unrecorded(const struct oneib_hcas *hcas, const struct oneib_pci *pci,
                           const struct oneib_pci *in_use, size_t in_use_count,
                           uint32_t guid_wait_ms, struct oneib_error *err)
{
    struct oneib_vf_place place = {0};
    place.hca = oneib_hcas_of_vf(hcas, pci, &place.vf);
    if (check_is_ours_to_close(place.hca, place.vf, in_use, in_use_count, err) < 0)
        return -1;
    struct oneib_pause pause = oneib_pause_for(guid_wait_ms);
    return oneib_vf_make_closed(&place, err) < 0 ? -1 : oneib_vf_lose_guid(&place, &pause, err);
}

/* *recorded: as whose VF oneib_release() has to release it. */
static int release_unrecorded(const struct oneib_hcas *hcas, const struct oneib_pci *vf,
                              const struct oneib_pci *in_use, size_t in_use_count,
                              uint32_t guid_wait_ms, struct oneib_vf_record *record, bool *recorded,
                              struct oneib_error *err)
{
    int lock;
    if (oneib_vf_lock(vf, AT_WORK_MS, &lock, err) < 0)
        return -1;
    int result = oneib_record_read(vf, record, recorded, err);
    if (result == 0 && !*recorded)
        result = free_unrecorded(hcas, vf, in_use, in_use_count, guid_wait_ms, err);
    oneib_vf_unlock(lock);
    return result;
}

static int release_recorded(const struct oneib_vf_record *record, uint32_t vm_id,
                            const struct oneib_pci *in_use, size_t in_use_count,
                            uint32_t guid_wait_ms, struct oneib_error *err)
{
    size_t released;
    if (record->vm_id != vm_id)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "it is VM %" PRIu32 " NIC %u's, not VM %" PRIu32 "'s", record->vm_id,
                          record->nic_id, vm_id);
    if (oneib_pci_is_among(&record->vf, in_use, in_use_count))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "a libvirt domain has it");
    return oneib_release(vm_id, record->nic_id, guid_wait_ms, &released, err);
}

int oneib_release_vf(const struct oneib_pci *vf, uint32_t vm_id, const struct oneib_pci *in_use,
                     size_t in_use_count, uint32_t guid_wait_ms, struct oneib_error *err)
{
    struct oneib_hcas hcas = {0};
    struct oneib_vf_record record;
    bool recorded;
    char address[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(vf, address);
    int result = oneib_hcas_read(ONEIB_HCA_VFS, &hcas, err);
    if (result == 0)
        result = release_unrecorded(&hcas, vf, in_use, in_use_count, guid_wait_ms, &record,
                                    &recorded, err);
    if (result == 0 && recorded)
        result = release_recorded(&record, vm_id, in_use, in_use_count, guid_wait_ms, err);
    oneib_hcas_clear(&hcas);
    return result < 0 ? oneib_wrap(err, "%s", address) : 0;
}
