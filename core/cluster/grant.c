// SPDX-License-Identifier: Apache-2.0
#include "cluster/grant.h"
#include "base/order.h"
#include <string.h>

int oneib_grant_compare(const struct oneib_grant *left, const struct oneib_grant *right)
{
    return ONEIB_BY(vm_id, nic_id);
}

static bool is_same_device(const char *a, const char *b)
{
    return strncmp(a, b, ONEIB_DEVICE_NAME_SIZE) == 0;
}

bool oneib_grant_equal(const struct oneib_grant *a, const struct oneib_grant *b)
{
    return a->vm_id == b->vm_id && a->network_id == b->network_id && a->nic_id == b->nic_id &&
           a->port == b->port && a->pkey == b->pkey && a->limited == b->limited &&
           a->has_vf == b->has_vf && a->may_set_guid == b->may_set_guid &&
           is_same_device(a->device, b->device) && oneib_pci_compare(&a->vf, &b->vf) == 0 &&
           a->guid == b->guid;
}

ONEIB_ORDER(compare_items, struct oneib_grant, oneib_grant_compare(left, right));

const struct oneib_grant *oneib_grant_list_find(const struct oneib_grant_list *list, uint32_t vm_id,
                                                uint8_t nic_id)
{
    const struct oneib_grant wanted = {.vm_id = vm_id, .nic_id = nic_id};
    return ONEIB_FIND(&wanted, list->items, list->count, compare_items);
}

bool oneib_grant_list_is(const struct oneib_grant_list *list, const struct oneib_grant *grants,
                         size_t count)
{
    if (list->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!oneib_grant_equal(&list->items[i], &grants[i]))
            return false;
    return true;
}

static bool is_same_attachment(const struct oneib_grant *grant,
                               const struct oneib_vf_record *record)
{
    return grant->vm_id == record->vm_id && grant->nic_id == record->nic_id &&
           grant->network_id == record->network_id;
}

static bool is_same_place(const struct oneib_grant *grant, const struct oneib_vf_record *record)
{
    return is_same_device(grant->device, record->device) && grant->port == record->port &&
           (!grant->has_vf || oneib_pci_compare(&grant->vf, &record->vf) == 0);
}

bool oneib_grant_allows(const struct oneib_grant *grant, const struct oneib_vf_record *record)
{
    return is_same_attachment(grant, record) && is_same_place(grant, record) && grant->pkey != 0 &&
           grant->pkey == record->pkey && (record->limited || !grant->limited);
}
