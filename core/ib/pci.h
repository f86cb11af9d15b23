// SPDX-License-Identifier: Apache-2.0
/* PCI addresses, as sysfs and libvirt write them, and as OpenNebula does. */
#ifndef ONEIB_IB_PCI_H
#define ONEIB_IB_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_PCI_TEXT_SIZE 17 /* "0000:81:00.1": domain of 4 to 8 digits (VMD has 5), and NUL */

#define ONEIB_PCI_SLOT_LAST 31
#define ONEIB_PCI_FUNCTION_LAST 7

struct oneib_pci {
    uint32_t domain;
    uint8_t bus;
    uint8_t slot;     /* 0 to ONEIB_PCI_SLOT_LAST */
    uint8_t function; /* 0 to ONEIB_PCI_FUNCTION_LAST */
};

/* "0000:81:00.1": hexadecimal, all digits written, either case. */
bool oneib_pci_parse(const char *text, struct oneib_pci *pci);
/* ADDRESS and PREV_ADDRESS of a PCI device in a VM's document: "0000:81:00:1". */
bool oneib_pci_parse_one(const char *text, struct oneib_pci *pci);
void oneib_pci_format(const struct oneib_pci *pci, char text[ONEIB_PCI_TEXT_SIZE]);
/* Slot and function are such as there can be: of an address that was not parsed here. */
bool oneib_pci_is_valid(const struct oneib_pci *pci);
/* <0, 0, >0: by domain, bus, slot, function. */
int oneib_pci_compare(const struct oneib_pci *a, const struct oneib_pci *b);
bool oneib_pci_is_among(const struct oneib_pci *list, size_t count, const struct oneib_pci *pci);

#endif
