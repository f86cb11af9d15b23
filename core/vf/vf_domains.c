// SPDX-License-Identifier: Apache-2.0
/* What libvirt's domains mean for the VFs. */
#include "base/clock.h"
#include "vf/vf_internal.h"
#include <string.h>

#define RETRY_MS 1000 /* of closing what has failed to be closed */

bool oneib_vfs_domains_known(const struct oneib_vfs *vfs)
{
    return vfs->domains && vfs->domains->known;
}

int oneib_vfs_check_domains(const struct oneib_vfs *vfs, struct oneib_error *err)
{
    if (oneib_vfs_domains_known(vfs))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "the virtual functions of libvirt's domains are unknown: %s",
                      vfs->domains && vfs->domains->why.text[0] ? vfs->domains->why.text
                                                                : "libvirt has not answered yet");
}

bool oneib_vfs_is_named(const struct oneib_vfs *vfs, const struct oneib_pci *vf)
{
    return oneib_vfs_domains_known(vfs) && oneib_domain_list_names(vfs->domains, vf);
}

bool oneib_vfs_is_running_with(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return oneib_vfs_domains_known(vfs) &&
           oneib_domain_list_runs_with(vfs->domains, record->vm_id, &record->vf);
}

bool oneib_vfs_is_running(const struct oneib_vfs *vfs, uint32_t vm_id)
{
    return oneib_vfs_domains_known(vfs) && oneib_domain_list_runs(vfs->domains, vm_id);
}

static bool is_others(const struct oneib_domain_entry *entry, const struct oneib_vf_record *record)
{
    return entry->has_vf && entry->vm_id != (int64_t)record->vm_id &&
           oneib_pci_compare(&entry->vf, &record->vf) == 0;
}

/* A domain has it that is not the VM's; the domains are known. */
static bool is_named_by_other(const struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                              bool running_only)
{
    for (size_t i = 0; i < vfs->domains->count; i++) {
        const struct oneib_domain_entry *entry = &vfs->domains->items[i];
        if (is_others(entry, record) && (entry->running || !running_only))
            return true;
    }
    return false;
}

bool oneib_vfs_may_be_others(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    const bool is_held = oneib_vfs_is_running_with(vfs, record);
    return oneib_vfs_domains_known(vfs) && is_named_by_other(vfs, record, is_held);
}

void oneib_vfs_hold_domain(struct oneib_vfs *vfs, struct oneib_vf_record *record)
{
    record->in_domain = false;
    oneib_vfs_forget_memory(vfs, &record->vf, ONEIB_VF_LEAVING);
    if (oneib_vfs_is_running_with(vfs, record))
        oneib_vfs_remember(vfs, &record->vf, ONEIB_VF_HELD, ONEIB_VF_HELD_MS);
    else
        oneib_vfs_forget_memory(vfs, &record->vf, ONEIB_VF_HELD);
}

/* ---- ended ----------------------------------------------------------------------------------- */

static bool may_be_in_domain(const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_OPEN || record->stage == ONEIB_VF_CLOSED;
}

bool oneib_vfs_has_ended(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    if (!oneib_vfs_domains_known(vfs) || !may_be_in_domain(record))
        return false;
    return (record->in_domain && !oneib_domain_list_runs(vfs->domains, record->vm_id)) ||
           is_named_by_other(vfs, record, true);
}

/* Its release was asked for a moment ago; or it was not given yet, and somebody else has taken it.
 */
static bool has_left(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    const struct oneib_vf_work *work = oneib_vfs_work_of(vfs, &record->vf);
    if (work && work->task == ONEIB_VF_RELEASE)
        return false;
    if (record->stage == ONEIB_VF_PREPARING && is_named_by_other(vfs, record, true))
        return true;
    return oneib_vfs_remembers(vfs, &record->vf, ONEIB_VF_LEAVING) &&
           !oneib_vfs_is_running_with(vfs, record);
}

static bool is_newly_named(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return !record->in_domain && may_be_in_domain(record) &&
           oneib_vfs_is_running_with(vfs, record) &&
           !oneib_vfs_remembers(vfs, &record->vf, ONEIB_VF_HELD);
}

/* A release that has begun goes on, though the table could not say so yet. */
static void end_work(struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    const struct oneib_vf_work *work = oneib_vfs_work_of(vfs, &record->vf);
    if (!work || work->task == ONEIB_VF_RELEASE)
        return;
    oneib_vfs_wish_refused(
        vfs, work->wish, record,
        "the VM's domain has ended meanwhile, or another one has the virtual function");
    oneib_vfs_drop(vfs, &record->vf);
}

/* Marks in the draft what has been done for it; false: nothing. */
static bool end_one(struct oneib_vfs *vfs, struct oneib_vf_record *record)
{
    struct oneib_error err = {0};
    if (oneib_vfs_close_vf(vfs, record, &err) < 0) {
        oneib_vfs_note_failure(vfs, &err);
        vfs->retry = oneib_now_ms() + RETRY_MS;
        return false;
    }
    end_work(vfs, record);
    oneib_vfs_set_stage(record, ONEIB_VF_ENDED);
    record->in_domain = false;
    return true;
}

static bool look_at_one(struct oneib_vfs *vfs, struct oneib_vf_record *record)
{
    if (oneib_vfs_has_ended(vfs, record))
        return end_one(vfs, record);
    if (!is_newly_named(vfs, record))
        return false;
    record->in_domain = true;
    return true;
}

/* First all that is to be closed, then the table, once. */
static int look_at_records(struct oneib_vfs *vfs, struct oneib_error *err)
{
    bool changed = false;
    struct oneib_vf_table *draft = oneib_vfs_draft(vfs);
    for (size_t i = 0; i < draft->count; i++)
        changed |= look_at_one(vfs, &draft->items[i]);
    return changed ? oneib_vfs_commit(vfs, err) : 0;
}

static const struct oneib_vf_record *find_left(const struct oneib_vfs *vfs)
{
    for (size_t i = 0; i < vfs->table.count; i++)
        if (has_left(vfs, &vfs->table.items[i]))
            return &vfs->table.items[i];
    return NULL;
}

/* The release comes first: closing is part of it. */
static void release_left(struct oneib_vfs *vfs)
{
    const struct oneib_vf_record *left;
    while ((left = find_left(vfs))) {
        const struct oneib_pci vf = left->vf;
        struct oneib_error err = {0};
        oneib_vfs_forget_memory(vfs, &vf, ONEIB_VF_LEAVING);
        if (oneib_vfs_begin_release(vfs, &vf, &err) < 0)
            oneib_vfs_note_failure(vfs, &err);
    }
}

/* What waited for its domain to let go. */
static void wake_releases(struct oneib_vfs *vfs)
{
    for (size_t i = 0; i < vfs->work_count; i++)
        if (vfs->works[i].task == ONEIB_VF_RELEASE)
            vfs->works[i].due = 0;
}

static bool has_anything_to_note(const struct oneib_vfs *vfs)
{
    for (size_t i = 0; i < vfs->table.count; i++)
        if (oneib_vfs_has_ended(vfs, &vfs->table.items[i]) ||
            is_newly_named(vfs, &vfs->table.items[i]))
            return true;
    return false;
}

void oneib_vfs_read_at_domains(struct oneib_vfs *vfs)
{
    struct oneib_error err = {0};
    vfs->retry = 0;
    if (!oneib_vfs_domains_known(vfs) || !vfs->table_known)
        return;
    release_left(vfs);
    if (has_anything_to_note(vfs) && look_at_records(vfs, &err) < 0) {
        oneib_vfs_note_failure(vfs, &err);
        vfs->retry = oneib_now_ms() + RETRY_MS;
    }
}

void oneib_vfs_set_domains(struct oneib_vfs *vfs, const struct oneib_domain_list *list)
{
    struct oneib_error err = {0};
    vfs->domains = list;
    /* A VF is found at its adapter. */
    if (oneib_vfs_follow_adapters(vfs, &err) < 0)
        oneib_vfs_note_failure(vfs, &err);
    oneib_vfs_read_at_domains(vfs);
    wake_releases(vfs);
}
