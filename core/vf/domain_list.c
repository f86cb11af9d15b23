// SPDX-License-Identifier: Apache-2.0
#include "vf/domain_list.h"

static bool is_of(const struct oneib_domain_entry *entry, uint32_t vm_id)
{
    return entry->vm_id == (int64_t)vm_id;
}

static bool names(const struct oneib_domain_entry *entry, const struct oneib_pci *vf)
{
    return entry->has_vf && oneib_pci_compare(&entry->vf, vf) == 0;
}

bool oneib_domain_list_names(const struct oneib_domain_list *list, const struct oneib_pci *vf)
{
    for (size_t i = 0; i < list->count; i++)
        if (names(&list->items[i], vf))
            return true;
    return false;
}

bool oneib_domain_list_runs_with(const struct oneib_domain_list *list, uint32_t vm_id,
                                 const struct oneib_pci *vf)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].running && is_of(&list->items[i], vm_id) && names(&list->items[i], vf))
            return true;
    return false;
}

bool oneib_domain_list_has(const struct oneib_domain_list *list, uint32_t vm_id)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_of(&list->items[i], vm_id))
            return true;
    return false;
}

bool oneib_domain_list_runs(const struct oneib_domain_list *list, uint32_t vm_id)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].running && is_of(&list->items[i], vm_id))
            return true;
    return false;
}
