// SPDX-License-Identifier: Apache-2.0
/*
 * Documents of domains with InfiniBand NICs in them, and the devices alone for hot-plug. Pure: from
 * text to text.
 */
#ifndef ONEIB_DOMAIN_EDIT_H
#define ONEIB_DOMAIN_EDIT_H

#include "base/error.h"
#include "base/text.h"
#include "domain/document.h"
#include "ib/dummy_mac.h"
#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a domain is to have for one NIC. */
struct oneib_domain_nic {
    uint8_t nic_id;
    struct oneib_pci vf;
    bool managed;           /* libvirt moves the VF to vfio-pci, and back when it is released */
    bool has_guest_address; /* else libvirt chooses */
    struct oneib_pci guest_address;
    unsigned index;                 /* 0-15 */
    uint32_t ipv4;                  /* host byte order; 0: the NIC has none */
    char mac[ONEIB_MAC_TEXT_SIZE];  /* that oned gave it, and wrote into its document */
    char target[ONEIB_TARGET_SIZE]; /* the host's end of the interface, "one-42-1" */
    bool is_pci;                    /* oned wrote a <hostdev> with this VF, and no <interface> */
};

/*
 * oned's document of a VM that is about to start, with these NICs. Guest addresses are chosen here
 * (oneib_domain_guest_address()) where the NIC has none; what oned gave a PCI NIC stays. Nothing
 * else changes: whatever else is in the document is canonically equal. Without NICs it is the text
 * as it is, whatever it says.
 *
 * INPUT, naming the NIC: not exactly one <interface type='ethernet'> with its MAC and target (one
 * of another type is connected to something: its network has a BRIDGE, and the error says so); for
 * a PCI NIC not exactly one <hostdev>, or <interface type='hostdev'>, with its VF. Also when the
 * document has the VF, or an alias of ours, already, or is none that
 * oneib_domain_description_read() reads; for two NICs that share id, index, VF or interface, and
 * for a target that no interface can have.
 */
int oneib_domain_equip(const char *xml, size_t length, const struct oneib_domain_nic *nics,
                       size_t count, struct oneib_text *equipped, struct oneib_error *err);

/* One device, for hot-plug. */
int oneib_domain_vf_xml(const struct oneib_domain_nic *nic, struct oneib_text *xml,
                        struct oneib_error *err);
int oneib_domain_dummy_xml(const struct oneib_domain_nic *nic, struct oneib_text *xml,
                           struct oneib_error *err);

#endif
