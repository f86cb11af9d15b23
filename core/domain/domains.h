// SPDX-License-Identifier: Apache-2.0
/*
 * Which libvirt domains there are on this node, and which PCI devices they name, as oneib-node
 * tells its callers: service/service_client.h. Nobody asks libvirt for it but oneib-domains. Pure.
 */
#ifndef ONEIB_DOMAIN_DOMAINS_H
#define ONEIB_DOMAIN_DOMAINS_H

#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_domain {
    char *name;                /* owned; untrusted: a user's, when it is not "one-ID" */
    int64_t vm_id;             /* of "one-42"; -1: not OpenNebula's */
    bool running;              /* else only defined */
    struct oneib_pci *devices; /* owned: <hostdev type='pci'> and <interface type='hostdev'> */
    size_t device_count;
};

struct oneib_domains {
    struct oneib_domain *items; /* owned */
    size_t count, capacity;
};

void oneib_domains_clear(struct oneib_domains *domains);

bool oneib_domain_names(const struct oneib_domain *domain, const struct oneib_pci *device);
/* The first domain that names the device; NULL: none. */
const struct oneib_domain *oneib_domains_of(const struct oneib_domains *domains,
                                            const struct oneib_pci *device);
/* The 42 of "one-42"; -1: not OpenNebula's. */
int64_t oneib_domain_vm_id(const char *name);

#endif
