// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a domain's document: its description is sound, and one that was equipped with a NIC
 * says so, and is not equipped with it again. A broken promise of domain/document.h or
 * domain/edit.h aborts.
 */
#include "domain/document.h"
#include "domain/edit.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void require_refusal(const struct oneib_error *err)
{
    require(err->code == ONEIB_ERROR_INPUT && err->text[0] != '\0');
}

static void check_description(const struct oneib_domain_description *description)
{
    struct oneib_pci address;
    unsigned index;
    for (size_t i = 0; i < description->device_count; i++) {
        const struct oneib_domain_device *device = &description->devices[i];
        require(i == 0 || description->devices[i - 1].nic_id < device->nic_id);
        require(device->has_vf || device->has_dummy);
        require(device->has_vf || !device->has_guest_address);
        require(device->index < ONEIB_DOMAIN_NICS_MAX);
    }
    for (size_t i = 1; i < description->root_port_count; i++)
        require(description->root_ports[i - 1] < description->root_ports[i]);
    if (oneib_domain_free_index(description, &index) &&
        oneib_domain_guest_address(description, index, &address))
        for (size_t i = 0; i < description->taken_count; i++)
            require(oneib_pci_compare(&description->taken[i], &address) != 0);
}

static void check_equipped(const struct oneib_text *xml, const struct oneib_domain_nic *nic)
{
    struct oneib_error err = {0};
    struct oneib_text again = {0};
    struct oneib_domain_description description;
    require(oneib_domain_description_read(xml->data, xml->length, &description, &err) == 0);
    check_description(&description);
    require(description.device_count == 1);
    const struct oneib_domain_device *device = oneib_domain_device_of(&description, nic->nic_id);
    require(device && device->has_vf && device->has_dummy && device->index == nic->index &&
            device->ipv4 == nic->ipv4 && oneib_pci_compare(&device->vf, &nic->vf) == 0);
    oneib_domain_description_clear(&description);
    require(oneib_domain_equip(xml->data, xml->length, nic, 1, &again, &err) < 0);
    require_refusal(&err);
}

static void equip(const char *xml, size_t length, const struct oneib_domain_nic *nic)
{
    struct oneib_error err = {0};
    struct oneib_text equipped = {0};
    if (oneib_domain_equip(xml, length, nic, 1, &equipped, &err) == 0)
        check_equipped(&equipped, nic);
    else
        require_refusal(&err);
    oneib_text_clear(&equipped);
}

static void read_description(const char *xml, size_t length)
{
    struct oneib_error err = {0};
    struct oneib_domain_description description;
    if (oneib_domain_description_read(xml, length, &description, &err) == 0)
        check_description(&description);
    else
        require_refusal(&err);
    oneib_domain_description_clear(&description);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct oneib_domain_nic plain = {.nic_id = 1,
                                           .vf = {0, 0x81, 0, 1},
                                           .ipv4 = 0x0a140001,
                                           .mac = "02:00:0a:14:00:01",
                                           .target = "one-7-1"},
                                  pci = {.nic_id = 2,
                                         .vf = {0, 0x81, 0, 1},
                                         .managed = true,
                                         .index = 1,
                                         .target = "one-7-2",
                                         .is_pci = true};
    /* A copy of its own, so that reading beyond its end is seen. */
    char *copy = malloc(size > 0 ? size : 1);
    require(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    read_description(copy, size);
    equip(copy, size, &plain);
    equip(copy, size, &pci);
    free(copy);
    return 0;
}
