// SPDX-License-Identifier: Apache-2.0
/*
 * What a libvirt domain's document says about the InfiniBand NICs of its VM. Pure. The document is
 * libvirt's, or oned's at deploy; what users wrote into it (names, raw libvirt elements) is data,
 * and a document that could be read in two ways is refused.
 */
#ifndef ONEIB_DOMAIN_DOCUMENT_H
#define ONEIB_DOMAIN_DOCUMENT_H

#include "base/error.h"
#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes; real ones have 10 KiB. Below what libxml2 takes for one text (XML_MAX_TEXT_LENGTH), so
 * that a document that is too large is called that. */
#define ONEIB_DOMAIN_DOCUMENT_MAX ((size_t)8 * 1024 * 1024)
/* libvirt keeps aliases that begin with "ua-" as they are (docs/formatdomain: user aliases). */
#define ONEIB_ALIAS_VF "ua-oneib-"          /* + NIC id: the <hostdev> */
#define ONEIB_ALIAS_DUMMY "ua-oneib-dummy-" /* + NIC id: the <interface> */
#define ONEIB_ALIAS_SIZE 24
/* Index of the InfiniBand interface in the VM: ib/dummy_mac.h, 0-15. */
#define ONEIB_DOMAIN_NICS_MAX 16

/* What the domain has of one of our NICs. */
struct oneib_domain_device {
    uint8_t nic_id;
    bool has_vf; /* the <hostdev> */
    struct oneib_pci vf;
    bool has_guest_address; /* of the <hostdev>, PCI */
    struct oneib_pci guest_address;
    bool has_dummy; /* the <interface>; index and ipv4 are its dummy MAC's */
    unsigned index;
    uint32_t ipv4; /* host byte order; 0: it carries none */
};

enum oneib_machine {
    ONEIB_MACHINE_OTHER,
    ONEIB_MACHINE_PC,  /* i440fx: one bus, hot-plug by ACPI */
    ONEIB_MACHINE_PCIE /* q35 and virt: hot-plug into <controller model='pcie-root-port'> */
};

struct oneib_domain_description {
    char *name;    /* owned; untrusted; NULL: the document has none */
    int64_t vm_id; /* of "one-42"; -1: not OpenNebula's */
    enum oneib_machine machine;
    struct oneib_domain_device devices[ONEIB_DOMAIN_NICS_MAX * 2]; /* by NIC id */
    size_t device_count;
    uint8_t *root_ports; /* owned: bus behind each pcie-root-port that oned wrote, ascending */
    size_t root_port_count;
    bool has_bus[256];       /* in the guest, by the index of each <controller type='pci'> */
    struct oneib_pci *taken; /* owned: guest PCI addresses that the document names for any device */
    size_t taken_count, taken_capacity;
    bool tuned; /* it has oneib's mark: see tuning.h */
};

/* INPUT: malformed, a document type, no <domain>, two names, something in <devices> that is in a
 * namespace, a guest PCI address that cannot be read, an alias of ours twice, without a NIC id or
 * on the wrong kind of device, a VF's <hostdev> of ours without a PCI source, a dummy interface of
 * ours without a dummy MAC, more NICs of ours than can be. */
int oneib_domain_description_read(const char *xml, size_t length,
                                  struct oneib_domain_description *description,
                                  struct oneib_error *err);
void oneib_domain_description_clear(struct oneib_domain_description *description);
#define oneib_autodescription __attribute__((cleanup(oneib_domain_description_clear)))

/* NULL: the domain has nothing of that NIC. */
const struct oneib_domain_device *
oneib_domain_device_of(const struct oneib_domain_description *description, uint8_t nic_id);
/* The lowest index that no dummy interface has; false: all 16 are taken. */
bool oneib_domain_free_index(const struct oneib_domain_description *description, unsigned *index);

/*
 * Where in the guest the VF of the interface with this index belongs: docs/design/vmm.md. False:
 * leave it to libvirt (taken, or no such place).
 */
bool oneib_domain_guest_address(const struct oneib_domain_description *description, unsigned index,
                                struct oneib_pci *address);

/* Nothing that the document names is on that bus of the guest. */
bool oneib_domain_bus_is_free(const struct oneib_domain_description *description, uint8_t bus);

/* "ua-oneib-3", "ua-oneib-dummy-3". */
void oneib_domain_alias(const char *prefix, uint8_t nic_id, char alias[ONEIB_ALIAS_SIZE]);

#endif
