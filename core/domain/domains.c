// SPDX-License-Identifier: Apache-2.0
#include "domain/domains.h"
#include "base/number.h"
#include <stdlib.h>
#include <string.h>

void oneib_domains_clear(struct oneib_domains *domains)
{
    for (size_t i = 0; i < domains->count; i++) {
        free(domains->items[i].name);
        free(domains->items[i].devices);
    }
    free(domains->items);
    *domains = (struct oneib_domains){0};
}

bool oneib_domain_names(const struct oneib_domain *domain, const struct oneib_pci *device)
{
    return oneib_pci_is_among(domain->devices, domain->device_count, device);
}

const struct oneib_domain *oneib_domains_of(const struct oneib_domains *domains,
                                            const struct oneib_pci *device)
{
    for (size_t i = 0; i < domains->count; i++)
        if (oneib_domain_names(&domains->items[i], device))
            return &domains->items[i];
    return NULL;
}

int64_t oneib_domain_vm_id(const char *name)
{
    uint64_t id;
    if (strncmp(name, "one-", 4) == 0 && oneib_parse_decimal(name + 4, INT32_MAX, &id))
        return (int64_t)id;
    return -1;
}
