// SPDX-License-Identifier: Apache-2.0
#include "oneibd/sent_nics.h"
#include "base/array.h"
#include "base/order.h"
#include <stdlib.h>
#include <string.h>

static struct oneib_nic_name nic_of_record(const struct oneib_vf_record *record)
{
    return (struct oneib_nic_name){.vm_id = record->vm_id, .nic_id = record->nic_id};
}

/* Where the NIC is, or would be. */
static size_t place_of(const struct oneib_sent_nics *known, const struct oneib_nic_name *nic)
{
    return ONEIB_LOWER_BOUND(i, known->count,
                             oneib_nic_name_compare(&known->items[i].nic, nic) < 0);
}

static void note(struct oneib_sent_nics *known, const struct oneib_nic_name *nic, double until)
{
    const size_t place = place_of(known, nic);
    if (place < known->count && oneib_nic_name_compare(&known->items[place].nic, nic) == 0) {
        if (until == 0)
            known->items[place].until = 0;
        return;
    }
    ONEIB_INSERT(known->items, known->count, known->capacity, place);
    known->items[place] = (struct oneib_sent_nics_nic){*nic, until};
}

void oneib_sent_nics_before(struct oneib_sent_nics *known, const struct oneib_vf_record *records,
                            size_t count, double now)
{
    for (size_t i = 0; i < count; i++) {
        const struct oneib_nic_name nic = nic_of_record(&records[i]);
        note(known, &nic, now + ONEIB_SENT_BEFORE_MS);
    }
}

void oneib_sent_nics_send(struct oneib_sent_nics *known, const struct oneib_grant *grants,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct oneib_nic_name nic = {.vm_id = grants[i].vm_id, .nic_id = grants[i].nic_id};
        note(known, &nic, 0);
    }
}

static bool is_in_table(const struct oneib_vf_record *records, size_t count,
                        const struct oneib_nic_name *nic)
{
    for (size_t i = 0; i < count; i++)
        if (records[i].vm_id == nic->vm_id && records[i].nic_id == nic->nic_id)
            return true;
    return false;
}

void oneib_sent_nics_report(struct oneib_sent_nics *known, const struct oneib_grant_list *sent,
                            const struct oneib_vf_record *records, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < known->count; i++) {
        const struct oneib_nic_name *nic = &known->items[i].nic;
        if (oneib_grant_list_find(sent, nic->vm_id, nic->nic_id) ||
            is_in_table(records, count, nic))
            known->items[kept++] = known->items[i];
    }
    known->count = kept;
}

size_t oneib_sent_nics_list(const struct oneib_sent_nics *known, double now,
                            struct oneib_nic_name *nics)
{
    size_t count = 0;
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i].until == 0 || now < known->items[i].until)
            nics[count++] = (struct oneib_nic_name){.vm_id = known->items[i].nic.vm_id,
                                                    .nic_id = known->items[i].nic.nic_id,
                                                    .is_assumed = known->items[i].until != 0};
    return count;
}

void oneib_sent_nics_clear(struct oneib_sent_nics *known)
{
    free(known->items);
    *known = (struct oneib_sent_nics){0};
}
