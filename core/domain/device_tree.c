// SPDX-License-Identifier: Apache-2.0
#include "domain/device_tree.h"

static xmlNode *first_element(xmlNode *node)
{
    while (node && node->type != XML_ELEMENT_NODE)
        node = node->next;
    return node;
}

/* The first device in this <devices> or one after it. */
static xmlNode *first_in(const xmlNode *list)
{
    xmlNode *device = NULL;
    for (; list && !device; list = oneib_tree_next(list, "devices"))
        device = first_element(list->children);
    return device;
}

xmlNode *oneib_device_first(const xmlDoc *document)
{
    return first_in(oneib_tree_child(xmlDocGetRootElement(document), "devices"));
}

xmlNode *oneib_device_next(const xmlNode *device)
{
    xmlNode *next = first_element(device->next);
    return next ? next : first_in(oneib_tree_next(device->parent, "devices"));
}

/* A <hostdev> without a mode is of a subsystem. */
bool oneib_device_takes_pci(const xmlNode *device)
{
    if (oneib_tree_is(device, "hostdev"))
        return oneib_tree_has(device, "type", "pci") &&
               (!oneib_tree_attribute(device, "mode") ||
                oneib_tree_has(device, "mode", "subsystem"));
    return oneib_tree_is(device, "interface") && oneib_tree_has(device, "type", "hostdev");
}

bool oneib_device_source(const xmlNode *device, struct oneib_pci *source)
{
    const xmlNode *element = oneib_tree_child(device, "source");
    return oneib_tree_count(device, "source") == 1 && oneib_tree_count(element, "address") == 1 &&
           oneib_tree_pci(oneib_tree_child(element, "address"), source);
}

/* All zeros: libvirt is to choose one. */
static bool is_chosen(const struct oneib_pci *address)
{
    return address->domain != 0 || address->bus != 0 || address->slot != 0;
}

int oneib_device_guest_address(const xmlNode *device, bool *has_address, struct oneib_pci *address,
                               struct oneib_error *err)
{
    const xmlNode *element = oneib_tree_child(device, "address");
    *has_address = false;
    if (!element)
        return 0;
    if (oneib_tree_next(element, "address"))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the device near line %ld of the domain's document has two addresses",
                          xmlGetLineNo(device));
    if (!oneib_tree_has(element, "type", "pci"))
        return 0;
    if (!oneib_tree_pci(element, address))
        return oneib_fail(
            err, ONEIB_ERROR_INPUT,
            "the device near line %ld of the domain's document has a PCI address that "
            "cannot be read",
            xmlGetLineNo(device));
    *has_address = is_chosen(address);
    return 0;
}
