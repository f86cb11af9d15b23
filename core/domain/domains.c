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

static size_t count_devices(const struct oneib_domains *domains)
{
    size_t count = 0;
    for (size_t i = 0; i < domains->count; i++)
        count += domains->items[i].device_count;
    return count;
}

static int compare_devices(const void *a, const void *b)
{
    return oneib_pci_compare(a, b);
}

static size_t remove_repetitions(struct oneib_pci *sorted, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || oneib_pci_compare(&sorted[kept - 1], &sorted[i]) != 0)
            sorted[kept++] = sorted[i];
    return kept;
}

int oneib_domains_devices(const struct oneib_domains *domains, struct oneib_pci **devices,
                          size_t *count, struct oneib_error *err)
{
    *devices = NULL;
    *count = 0;
    const size_t total = count_devices(domains);
    if (total == 0)
        return 0;
    struct oneib_pci *all = calloc(total, sizeof *all);
    if (!all)
        return oneib_fail_memory(err);
    size_t used = 0;
    for (size_t i = 0; i < domains->count; i++)
        for (size_t j = 0; j < domains->items[i].device_count; j++)
            all[used++] = domains->items[i].devices[j];
    qsort(all, used, sizeof *all, compare_devices);
    *devices = all;
    *count = remove_repetitions(all, used);
    return 0;
}

bool oneib_domain_names(const struct oneib_domain *domain, const struct oneib_pci *device)
{
    for (size_t i = 0; i < domain->device_count; i++)
        if (oneib_pci_compare(&domain->devices[i], device) == 0)
            return true;
    return false;
}

const struct oneib_domain *oneib_domains_of(const struct oneib_domains *domains,
                                            const struct oneib_pci *device)
{
    for (size_t i = 0; i < domains->count; i++)
        if (oneib_domain_names(&domains->items[i], device))
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

int64_t oneib_domain_vm_id(const char *name)
{
    uint64_t id;
    if (strncmp(name, "one-", 4) == 0 && oneib_parse_decimal(name + 4, INT32_MAX, &id))
        return (int64_t)id;
    return -1;
}
