// SPDX-License-Identifier: Apache-2.0
#include "hca/reservations.h"
#include "node/inventory_internal.h"

/* Between two steps of a deployment nobody holds the record, and libvirt does not know the domain
 * yet. A time that is far ahead is another boot's. */
bool oneib_record_is_settled(const struct oneib_vf_record *record, int64_t now)
{
    return now - record->since >= ONEIB_STALE_AFTER || record->since - now >= ONEIB_STALE_AFTER;
}

/* A migration copies disks and snapshots before libvirt knows the domain here. */
static bool may_be_migrating(const struct oneib_vf_record *record, int64_t now)
{
    const int64_t age = now - record->since;
    return record->guid == ONEIB_VF_GUID_DEFERRED && age < ONEIB_MIGRATING_FOR &&
           age > -ONEIB_MIGRATING_FOR;
}

/* Whoever was at work has died in the middle: the VF is nobody's to use, whatever libvirt says. */
static bool was_left_half_done(const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_PREPARING || record->stage == ONEIB_VF_RELEASING;
}

bool oneib_record_is_stale(const struct oneib_vf_record *record,
                           const struct oneib_domains *domains, bool domains_known, bool has_owner,
                           int64_t now)
{
    if (has_owner)
        return false;
    if (was_left_half_done(record))
        return true;
    return domains_known && oneib_record_is_settled(record, now) &&
           !may_be_migrating(record, now) && !oneib_domains_have_vm(domains, record->vm_id) &&
           !oneib_domains_of(domains, &record->vf);
}

/* Another record of the VM is being worked on, or has been a moment ago. */
static bool is_vm_busy(const struct oneib_vf_table *table, const struct oneib_vf_record *record,
                       int64_t now)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_vf_record *other = &table->items[i];
        if (other != record && other->vm_id == record->vm_id &&
            (!oneib_record_is_settled(other, now) || oneib_vf_record_has_owner(other)))
            return true;
    }
    return false;
}

bool oneib_table_has_stale(const struct oneib_vf_table *table, const struct oneib_vf_record *record,
                           const struct oneib_domains *domains, bool domains_known, int64_t now)
{
    return oneib_record_is_stale(record, domains, domains_known, oneib_vf_record_has_owner(record),
                                 now) &&
           (was_left_half_done(record) || !is_vm_busy(table, record, now));
}

static bool is_running(const struct oneib_domains *domains, uint32_t vm_id)
{
    for (size_t i = 0; i < domains->count; i++)
        if (domains->items[i].vm_id == (int64_t)vm_id && domains->items[i].running)
            return true;
    return false;
}

/* One that another domain has is claimed twice, and cannot be plugged. */
bool oneib_domains_lack_vf(const struct oneib_domains *domains,
                           const struct oneib_vf_record *record)
{
    return is_running(domains, record->vm_id) && !oneib_domains_of(domains, &record->vf);
}

bool oneib_record_is_unfinished(const struct oneib_vf_record *record,
                                const struct oneib_domains *domains, bool domains_known,
                                bool has_owner, int64_t now)
{
    return !has_owner && !was_left_half_done(record) && record->guid != ONEIB_VF_GUID_SET &&
           domains_known && oneib_record_is_settled(record, now) &&
           is_running(domains, record->vm_id);
}

bool oneib_record_is_not_plugged(const struct oneib_vf_record *record,
                                 const struct oneib_domains *domains, bool domains_known,
                                 bool has_owner, int64_t now)
{
    return !has_owner && !was_left_half_done(record) && record->guid == ONEIB_VF_GUID_SET &&
           domains_known && oneib_record_is_settled(record, now) &&
           oneib_domains_lack_vf(domains, record);
}
