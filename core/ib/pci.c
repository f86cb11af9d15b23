// SPDX-License-Identifier: Apache-2.0
#include "ib/pci.h"
#include "base/number.h"
#include "base/order.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* `length` hexadecimal digits, all of them. */
static bool parse_digits(const char *text, size_t length, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = oneib_hex_digit(text[i]);
        if (digit > 15)
            return false;
        *value = *value << 4 | digit;
    }
    return true;
}

/* DOMAIN:BUS:SLOT, then `separator` and the function. */
static bool parse(const char *text, char separator, struct oneib_pci *pci)
{
    const char *colon = strchr(text, ':');
    const size_t digits = colon ? (size_t)(colon - text) : 0;
    uint32_t domain, bus, slot;
    if (digits < 4 || digits > 8 || strlen(colon) != 8 || colon[3] != ':' ||
        colon[6] != separator || colon[7] < '0' || colon[7] > '7')
        return false;
    if (!parse_digits(text, digits, &domain) || !parse_digits(colon + 1, 2, &bus) ||
        !parse_digits(colon + 4, 2, &slot) || slot > ONEIB_PCI_SLOT_LAST)
        return false;
    *pci = (struct oneib_pci){
        .domain = domain,
        .bus = (uint8_t)bus,
        .slot = (uint8_t)slot,
        .function = (uint8_t)(colon[7] - '0'),
    };
    return true;
}

bool oneib_pci_parse(const char *text, struct oneib_pci *pci)
{
    return parse(text, '.', pci);
}

bool oneib_pci_parse_one(const char *text, struct oneib_pci *pci)
{
    return parse(text, ':', pci);
}

void oneib_pci_format(const struct oneib_pci *pci, char text[ONEIB_PCI_TEXT_SIZE])
{
    snprintf(text, ONEIB_PCI_TEXT_SIZE, "%04" PRIx32 ":%02x:%02x.%x", pci->domain, pci->bus,
             pci->slot & 0x1f, pci->function & 7);
}

bool oneib_pci_is_valid(const struct oneib_pci *pci)
{
    return pci->slot <= ONEIB_PCI_SLOT_LAST && pci->function <= ONEIB_PCI_FUNCTION_LAST;
}

int oneib_pci_compare(const struct oneib_pci *left, const struct oneib_pci *right)
{
    return ONEIB_BY(domain, bus, slot, function);
}

bool oneib_pci_is_among(const struct oneib_pci *list, size_t count, const struct oneib_pci *pci)
{
    for (size_t i = 0; i < count; i++)
        if (oneib_pci_compare(&list[i], pci) == 0)
            return true;
    return false;
}
