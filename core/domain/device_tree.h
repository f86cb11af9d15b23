// SPDX-License-Identifier: Apache-2.0
/* The devices in a domain's document, as libvirt takes them; private to core/domain. */
#ifndef ONEIB_DOMAIN_DEVICE_TREE_H
#define ONEIB_DOMAIN_DEVICE_TREE_H

#include "base/error.h"
#include "domain/document.h"
#include "domain/xml_tree.h"
#include "ib/pci.h"
#include <stdbool.h>

/* Over the elements of all <devices>: oned writes two, and users more. NULL: no more. */
xmlNode *oneib_device_first(const xmlDoc *document);
xmlNode *oneib_device_next(const xmlNode *device);

/* A <hostdev> or <interface type='hostdev'> with a PCI device of the host. */
bool oneib_device_takes_pci(const xmlNode *device);
/* Which one. False: not exactly one address that can be read. */
bool oneib_device_source(const xmlNode *device, struct oneib_pci *source);

/* Its address in the guest, when that is a PCI one and chosen. INPUT: two, or malformed. */
int oneib_device_guest_address(const xmlNode *device, bool *has_address, struct oneib_pci *address,
                               struct oneib_error *err);

/* oneib_domain_description_read() of a document that is parsed. */
int oneib_domain_description_of(const xmlDoc *document,
                                struct oneib_domain_description *description,
                                struct oneib_error *err);
/* Adds to what is taken. */
void oneib_domain_description_take(struct oneib_domain_description *description,
                                   const struct oneib_pci *address);

#endif
