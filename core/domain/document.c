// SPDX-License-Identifier: Apache-2.0
#include "domain/document.h"
#include "ib/dummy_mac.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last slot of a PCI bus. */
#define SLOT_MAX 0x1f

void oneib_domain_view_clear(struct oneib_domain_view *view)
{
    free(view->name);
    free(view->root_ports);
    free(view->taken);
    *view = (struct oneib_domain_view){.vm_id = -1};
}

const struct oneib_domain_device *oneib_domain_device_of(const struct oneib_domain_view *view,
                                                         uint8_t nic_id)
{
    for (size_t i = 0; i < view->device_count; i++)
        if (view->devices[i].nic_id == nic_id)
            return &view->devices[i];
    return NULL;
}

static bool has_index(const struct oneib_domain_view *view, unsigned index)
{
    for (size_t i = 0; i < view->device_count; i++)
        if (view->devices[i].has_dummy && view->devices[i].index == index)
            return true;
    return false;
}

bool oneib_domain_free_index(const struct oneib_domain_view *view, unsigned *index)
{
    for (unsigned i = 0; i <= ONEIB_DUMMY_MAC_INDEX_MAX; i++)
        if (!has_index(view, i)) {
            *index = i;
            return true;
        }
    return false;
}

static bool is_slot_taken(const struct oneib_domain_view *view, uint8_t bus, uint8_t slot)
{
    for (size_t i = 0; i < view->taken_count; i++)
        if (view->taken[i].domain == 0 && view->taken[i].bus == bus && view->taken[i].slot == slot)
            return true;
    return false;
}

bool oneib_domain_bus_is_free(const struct oneib_domain_view *view, uint8_t bus)
{
    for (size_t i = 0; i < view->taken_count; i++)
        if (view->taken[i].domain == 0 && view->taken[i].bus == bus)
            return false;
    return true;
}

bool oneib_domain_guest_address(const struct oneib_domain_view *view, unsigned index,
                                struct oneib_pci *address)
{
    struct oneib_pci wanted = {0};
    if (index > ONEIB_DUMMY_MAC_INDEX_MAX)
        return false;
    if (view->machine == ONEIB_MACHINE_PC)
        wanted.slot = (uint8_t)(SLOT_MAX - index);
    else if (view->machine == ONEIB_MACHINE_PCIE && index < view->root_port_count)
        wanted.bus = view->root_ports[view->root_port_count - 1 - index];
    else
        return false;
    if (is_slot_taken(view, wanted.bus, wanted.slot))
        return false;
    *address = wanted;
    return true;
}

void oneib_domain_alias(const char *prefix, uint8_t nic_id, char alias[ONEIB_ALIAS_SIZE])
{
    snprintf(alias, ONEIB_ALIAS_SIZE, "%s%u", prefix, nic_id);
}
