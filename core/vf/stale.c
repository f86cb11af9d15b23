// SPDX-License-Identifier: Apache-2.0
/* When a record is nobody's any more. */
#include "base/clock.h"
#include "hca/reservations.h"
#include "vf/vf_internal.h"
#include <math.h>

#define SETTLED_S 120   /* since nothing is granted any more, or since its domain has ended */
#define ARRIVING_S 3600 /* between pre and the moment when libvirt knows the domain */
#define PAUSE_S 5       /* a domain that libvirt starts anew, as for a snapshot's revert */
#define CALLER_COMES_MS 10000u /* after a restart, whoever had asked asks again */

/* Seconds until it has not changed for so long; a time that is ahead is another boot's. */
static int64_t seconds_to(const struct oneib_vf_record *record, int64_t age, int64_t now)
{
    const int64_t left = record->since + age - now;
    return left > 0 && record->since - now < age ? left : 0;
}

/* A migration copies disks and snapshots before libvirt knows the domain here, and a resumption may
 * fetch the VM's memory. What does not come any more is granted nothing. */
static bool may_be_arriving(const struct oneib_vf_record *record)
{
    return record->pkey != 0 && record->stage != ONEIB_VF_ENDED;
}

static int64_t settles_in(const struct oneib_vf_record *record, int64_t now)
{
    return seconds_to(record, may_be_arriving(record) ? ARRIVING_S : SETTLED_S, now);
}

/* Whether libvirt knows nothing of it. */
static bool is_unknown_to_domains(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return oneib_vfs_domains_known(vfs) && !oneib_domain_list_has(vfs->domains, record->vm_id) &&
           !oneib_domain_list_names(vfs->domains, &record->vf);
}

/* Its VM may run: OpenNebula has given up an attach after its pre, and calls nobody. */
static bool is_of_no_use(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    return oneib_vfs_domains_known(vfs) && record->stage == ONEIB_VF_CLOSED && record->pkey == 0 &&
           !oneib_domain_list_names(vfs->domains, &record->vf);
}

/* Pre gives a VM its VFs one by one: the last one's time counts. */
static int64_t vm_settles_in(const struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                             int64_t now)
{
    int64_t longest = settles_in(record, now);
    for (size_t i = 0; i < vfs->table.count; i++) {
        const struct oneib_vf_record *other = &vfs->table.items[i];
        const bool counts = other->vm_id == record->vm_id && other->stage != ONEIB_VF_RELEASING;
        const int64_t left = counts ? seconds_to(other, SETTLED_S, now) : 0;
        if (left > longest)
            longest = left;
    }
    return longest;
}

static bool is_vm_under_way(const struct oneib_vfs *vfs, uint32_t vm_id)
{
    for (size_t i = 0; i < vfs->table.count; i++) {
        const struct oneib_vf_record *record = &vfs->table.items[i];
        const struct oneib_vf_work *work =
            record->vm_id == vm_id ? oneib_vfs_work_of(vfs, &record->vf) : NULL;
        if (work && work->task == ONEIB_VF_PREPARE)
            return true;
    }
    return false;
}

/* Milliseconds until the record is stale, as far as can be told now; INFINITY: it is not. */
static double stale_in(const struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                       int64_t now)
{
    if (oneib_vfs_work_of(vfs, &record->vf))
        return INFINITY;
    if (record->stage == ONEIB_VF_RELEASING)
        return 0;
    if (record->stage == ONEIB_VF_PREPARING)
        return vfs->opened + CALLER_COMES_MS - oneib_now_ms();
    if ((!is_unknown_to_domains(vfs, record) && !is_of_no_use(vfs, record)) ||
        is_vm_under_way(vfs, record->vm_id))
        return INFINITY;
    return (double)vm_settles_in(vfs, record, now) * 1000;
}

static bool may_be_taken_over(const struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                              int64_t now)
{
    return record->stage == ONEIB_VF_ENDED && !oneib_vfs_work_of(vfs, &record->vf) &&
           is_unknown_to_domains(vfs, record) && seconds_to(record, PAUSE_S, now) == 0;
}

const struct oneib_vf_record *oneib_vfs_find_ended(const struct oneib_vfs *vfs,
                                                   const struct oneib_hca *hca,
                                                   const struct oneib_pci *chosen)
{
    const int64_t now = oneib_seconds_since_boot();
    const struct oneib_vf_record *longest = NULL;
    for (size_t i = 0; i < vfs->table.count; i++) {
        const struct oneib_vf_record *record = &vfs->table.items[i];
        if (may_be_taken_over(vfs, record, now) && oneib_hca_find_vf(hca, &record->vf) &&
            (!chosen || oneib_pci_compare(&record->vf, chosen) == 0) &&
            (!longest || record->since < longest->since))
            longest = record;
    }
    return longest;
}

static const struct oneib_vf_record *find_stale(const struct oneib_vfs *vfs)
{
    const int64_t now = oneib_seconds_since_boot();
    for (size_t i = 0; i < vfs->table.count; i++)
        if (stale_in(vfs, &vfs->table.items[i], now) <= 0)
            return &vfs->table.items[i];
    return NULL;
}

/* Each is under way, or gone, afterwards. */
void oneib_vfs_release_stale(struct oneib_vfs *vfs)
{
    const struct oneib_vf_record *stale;
    while ((stale = find_stale(vfs))) {
        const struct oneib_pci vf = stale->vf;
        struct oneib_error err = {0};
        vfs->noted.freed += stale->stage != ONEIB_VF_RELEASING;
        if (oneib_vfs_begin_release(vfs, &vf, &err) < 0)
            oneib_vfs_note_failure(vfs, &err);
        if (!oneib_vfs_work_of(vfs, &vf) && oneib_vf_table_of_vf(&vfs->table, &vf))
            return; /* too much is under way */
    }
}

double oneib_vfs_next_stale(const struct oneib_vfs *vfs)
{
    const int64_t now = oneib_seconds_since_boot();
    double next = INFINITY;
    for (size_t i = 0; i < vfs->table.count; i++)
        next = oneib_sooner(next, stale_in(vfs, &vfs->table.items[i], now));
    return oneib_now_ms() + next;
}
