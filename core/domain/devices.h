// SPDX-License-Identifier: Apache-2.0
/* The PCI devices of the host that a domain's document names. */
#ifndef ONEIB_DOMAIN_DEVICES_H
#define ONEIB_DOMAIN_DEVICES_H

#include "base/error.h"
#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>

struct oneib_devices {
    struct oneib_pci *items; /* owned; each once, in the order of the documents */
    size_t count, capacity;
};

/* Adds those of the document. A device whose address cannot be read is PROTOCOL: nobody knows what
 * it is. INPUT: no document of a domain's. */
int oneib_devices_add(const char *xml, size_t length, struct oneib_devices *devices,
                      struct oneib_error *err);
bool oneib_devices_are_equal(const struct oneib_devices *a, const struct oneib_devices *b);
void oneib_devices_clear(struct oneib_devices *devices);

#endif
