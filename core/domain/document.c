// SPDX-License-Identifier: Apache-2.0
#include "domain/document.h"
#include "ib/dummy_mac.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last slot of a PCI bus. */
#define SLOT_MAX 0x1f

void oneib_domain_description_clear(struct oneib_domain_description *description)
{
    free(description->name);
    free(description->root_ports);
    free(description->taken);
    *description = (struct oneib_domain_description){.vm_id = -1};
}

const struct oneib_domain_device *
oneib_domain_device_of(const struct oneib_domain_description *description, uint8_t nic_id)
{
    for (size_t i = 0; i < description->device_count; i++)
        if (description->devices[i].nic_id == nic_id)
            return &description->devices[i];
    return NULL;
}

static bool has_index(const struct oneib_domain_description *description, unsigned index)
{
    for (size_t i = 0; i < description->device_count; i++)
        if (description->devices[i].has_dummy && description->devices[i].index == index)
            return true;
    return false;
}

bool oneib_domain_free_index(const struct oneib_domain_description *description, unsigned *index)
{
    for (unsigned i = 0; i <= ONEIB_DUMMY_MAC_INDEX_MAX; i++)
        if (!has_index(description, i)) {
            *index = i;
            return true;
        }
    return false;
}

static bool is_slot_taken(const struct oneib_domain_description *description, uint8_t bus,
                          uint8_t slot)
{
    for (size_t i = 0; i < description->taken_count; i++)
        if (description->taken[i].domain == 0 && description->taken[i].bus == bus &&
            description->taken[i].slot == slot)
            return true;
    return false;
}

bool oneib_domain_bus_is_free(const struct oneib_domain_description *description, uint8_t bus)
{
    for (size_t i = 0; i < description->taken_count; i++)
        if (description->taken[i].domain == 0 && description->taken[i].bus == bus)
            return false;
    return true;
}

bool oneib_domain_guest_address(const struct oneib_domain_description *description, unsigned index,
                                struct oneib_pci *address)
{
    struct oneib_pci wanted = {0};
    if (index > ONEIB_DUMMY_MAC_INDEX_MAX)
        return false;
    if (description->machine == ONEIB_MACHINE_PC)
        wanted.slot = (uint8_t)(SLOT_MAX - index);
    else if (description->machine == ONEIB_MACHINE_PCIE && index < description->root_port_count)
        wanted.bus = description->root_ports[description->root_port_count - 1 - index];
    else
        return false;
    if (is_slot_taken(description, wanted.bus, wanted.slot))
        return false;
    *address = wanted;
    return true;
}

void oneib_domain_alias(const char *prefix, uint8_t nic_id, char alias[ONEIB_ALIAS_SIZE])
{
    snprintf(alias, ONEIB_ALIAS_SIZE, "%s%u", prefix, nic_id);
}
