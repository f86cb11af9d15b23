// SPDX-License-Identifier: Apache-2.0
#include "domain/devices.h"
#include "base/array.h"
#include "domain/device_tree.h"
#include "domain/xml_tree.h"
#include <stdlib.h>

/* Each once: one that runs often is defined with the devices that it has. */
static void add_device(const struct oneib_pci *device, struct oneib_devices *devices)
{
    if (!oneib_pci_is_among(devices->items, devices->count, device))
        ONEIB_APPEND(devices->items, devices->count, devices->capacity, *device);
}

/* The host's device behind a device of the domain. */
static int add_source(const xmlNode *node, struct oneib_devices *devices, struct oneib_error *err)
{
    struct oneib_pci source;
    if (!oneib_device_source(node, &source))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "its <%s> names no PCI address that can be read", node->name);
    add_device(&source, devices);
    return 0;
}

int oneib_devices_add(const char *xml, size_t length, struct oneib_devices *devices,
                      struct oneib_error *err)
{
    oneib_autotree xmlDoc *document = NULL;
    if (oneib_tree_parse(xml, length, &document, err) < 0)
        return -1;
    for (const xmlNode *node = oneib_device_first(document); node; node = oneib_device_next(node))
        if (oneib_device_takes_pci(node) && add_source(node, devices, err) < 0)
            return -1;
    return 0;
}

bool oneib_devices_are_equal(const struct oneib_devices *a, const struct oneib_devices *b)
{
    bool are_equal = a->count == b->count;
    for (size_t i = 0; are_equal && i < a->count; i++)
        are_equal = oneib_pci_compare(&a->items[i], &b->items[i]) == 0;
    return are_equal;
}

void oneib_devices_clear(struct oneib_devices *devices)
{
    free(devices->items);
    *devices = (struct oneib_devices){0};
}
