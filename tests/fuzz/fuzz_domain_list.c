// SPDX-License-Identifier: Apache-2.0
/* The list of domains: what is accepted comes out the same when it is printed and read again. */
#include "domain/domains.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void compare(const struct oneib_domain *a, const struct oneib_domain *b)
{
    require(strcmp(a->name, b->name) == 0 && a->vm_id == b->vm_id && a->running == b->running &&
            a->device_count == b->device_count);
    for (size_t i = 0; i < a->device_count; i++)
        require(oneib_pci_compare(&a->devices[i], &b->devices[i]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_error err = {0};
    struct oneib_domains domains, again;
    struct oneib_text text = {0};
    char *copy = malloc(size + 1);
    require(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    const int status = oneib_domains_parse(copy, size, &domains, &err);
    free(copy);
    if (status < 0) {
        require(err.code != ONEIB_ERROR_NONE && domains.count == 0);
        return 0;
    }
    for (size_t i = 0; i < domains.count; i++)
        oneib_domain_render(domains.items[i].name, domains.items[i].running,
                            domains.items[i].devices, domains.items[i].device_count, &text);
    require(oneib_domains_parse(text.data ? text.data : "", text.length, &again, &err) == 0);
    require(again.count == domains.count);
    for (size_t i = 0; i < domains.count; i++)
        compare(&domains.items[i], &again.items[i]);
    oneib_domains_clear(&again);
    oneib_domains_clear(&domains);
    oneib_text_clear(&text);
    return 0;
}
