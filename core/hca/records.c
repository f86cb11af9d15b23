// SPDX-License-Identifier: Apache-2.0
#include "hca/assign_internal.h"
#include "hca/reservations.h"
#include <inttypes.h>

/* Enough to tell whether anybody has changed it: the rest changes only under the VF's lock. */
static bool is_as_before(const struct oneib_vf_record *record, const struct oneib_vf_record *before)
{
    return record && oneib_record_is_of_nic(record, before->vm_id, before->nic_id) &&
           record->stage == before->stage && record->owner == before->owner &&
           record->owner_start == before->owner_start;
}

int oneib_record_change(const struct oneib_vf_record *before, const struct oneib_vf_record *after,
                        bool *stands, struct oneib_error *err)
{
    struct oneib_vf_table table;
    int lock, result = 0;
    *stands = false;
    if (oneib_reservations_lock(ONEIB_TABLE_WAIT_MS, &table, &lock, err) < 0)
        return -1;
    struct oneib_vf_record *current = oneib_vf_table_of_vf(&table, &before->vf);
    *stands = is_as_before(current, before);
    if (*stands && after)
        *current = *after;
    else if (*stands)
        oneib_vf_table_remove(&table, &before->vf);
    if (*stands)
        result = oneib_reservations_write(&table, err);
    oneib_reservations_unlock(lock);
    oneib_vf_table_clear(&table);
    return result;
}

int oneib_record_read(const struct oneib_pci *vf, struct oneib_vf_record *record, bool *found,
                      struct oneib_error *err)
{
    struct oneib_vf_table table;
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    const struct oneib_vf_record *current = oneib_vf_table_of_vf(&table, vf);
    *found = current != NULL;
    if (current)
        *record = *current;
    oneib_vf_table_clear(&table);
    return 0;
}

int oneib_record_stands(const struct oneib_vf_record *record, bool *stands, struct oneib_error *err)
{
    struct oneib_vf_record current;
    bool found;
    if (oneib_record_read(&record->vf, &current, &found, err) < 0)
        return -1;
    *stands = found && is_as_before(&current, record);
    return 0;
}

void oneib_record_set_stage(struct oneib_vf_record *record, enum oneib_vf_stage stage)
{
    if (record->stage != stage)
        record->since = oneib_seconds_since_boot();
    record->stage = stage;
}

bool oneib_record_is_of_nic(const struct oneib_vf_record *record, uint32_t vm_id, uint8_t nic_id)
{
    return record->vm_id == vm_id && record->nic_id == nic_id;
}

int oneib_record_wrap(const struct oneib_vf_record *record, struct oneib_error *err)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&record->vf, vf);
    return oneib_wrap(err, "VM %" PRIu32 " NIC %u (%s)", record->vm_id, record->nic_id, vf);
}

void oneib_error_also(struct oneib_error *err, const struct oneib_error *second)
{
    const int number = err->system_errno;
    oneib_fail(err, err->code, "%s; besides, %s", err->text, second->text);
    err->system_errno = number;
}
