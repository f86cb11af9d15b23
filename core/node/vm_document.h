// SPDX-License-Identifier: Apache-2.0
/*
 * The document that OpenNebula gives the network driver on a node: the reduced <VM>, in which each
 * NIC and PCI has a <TEMPLATE> of its own, or, for update_nic, the full one with one <TEMPLATE>.
 * Users write into it (CONTEXT, USER_TEMPLATE, even NICs: docs/security.md); it is parsed strictly,
 * and what cannot be parsed is refused, never guessed.
 */
#ifndef ONEIB_NODE_VM_DOCUMENT_H
#define ONEIB_NODE_VM_DOCUMENT_H

#include "base/error.h"
#include "model/cloud.h"
#include "model/device.h"
#include "model/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_VM_DOCUMENT_MAX                                                                      \
    ((size_t)16 * 1024 * 1024) /* bytes, decoded; real ones have 10 KiB                            \
                                */

struct oneib_node_nic {
    uint8_t nic_id;
    uint32_t network_id;
    bool is_pci;
    bool attach; /* ATTACH=YES: the one that this attach or detach is about */
    enum oneib_key_state key_state;
    oneib_pkey pkey;                     /* when VALID */
    bool limited;                        /* IB_MEMBERSHIP says anything but full */
    char device[ONEIB_DEVICE_NAME_SIZE]; /* PHYDEV's; "": not said */
    uint8_t port;                        /* PHYDEV's; 0: not said */
    bool has_address;                    /* PCI: ADDRESS */
    struct oneib_pci address;
    bool has_previous; /* PCI: PREV_ADDRESS; stays there after a migration for good */
    struct oneib_pci previous;
    bool bridged; /* BRIDGE is set: libvirt would connect the dummy interface to it */
};

struct oneib_node_vm {
    uint32_t id;
    bool deployed;               /* DEPLOY_ID is set: the VM ran before, or runs */
    char *hostname;              /* owned, untrusted: the last history record's; "": none */
    struct oneib_node_nic *nics; /* owned, by NIC id: those of our driver, plain and PCI */
    size_t nic_count, nic_capacity;
    bool attaching; /* any NIC or PCI of any driver has ATTACH=YES */
};

/*
 * xml: the decoded document. vn_mad: which NICs are ours. INPUT names VM and NIC: NIC id over 255
 * or no number, two NICs with one id, a malformed address, PHYDEV, or driver; PROTOCOL: no such
 * document.
 */
int oneib_node_vm_parse(const char *xml, size_t length, const char *vn_mad,
                        struct oneib_node_vm *vm, struct oneib_error *err);
/* The same from what is on standard input: base64, with or without line breaks; at most
 * ONEIB_VM_DOCUMENT_MAX decoded. */
int oneib_node_vm_decode(const char *base64, size_t length, const char *vn_mad,
                         struct oneib_node_vm *vm, struct oneib_error *err);
void oneib_node_vm_clear(struct oneib_node_vm *vm);

#endif
