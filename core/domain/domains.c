// SPDX-License-Identifier: Apache-2.0
#include "domain/domains.h"
#include <stdlib.h>

void oneib_domains_clear(struct oneib_domains *domains)
{
    for (size_t i = 0; i < domains->count; i++) {
        free(domains->items[i].name);
        free(domains->items[i].devices);
    }
    free(domains->items);
    *domains = (struct oneib_domains){0};
}

const struct oneib_domain *oneib_domains_of(const struct oneib_domains *domains,
                                            const struct oneib_pci *device)
{
    for (size_t i = 0; i < domains->count; i++)
        for (size_t j = 0; j < domains->items[i].device_count; j++)
            if (oneib_pci_compare(&domains->items[i].devices[j], device) == 0)
                return &domains->items[i];
    return NULL;
}

bool oneib_domains_have_vm(const struct oneib_domains *domains, uint32_t vm_id)
{
    for (size_t i = 0; i < domains->count; i++)
        if (domains->items[i].vm_id == (int64_t)vm_id)
            return true;
    return false;
}
