// SPDX-License-Identifier: Apache-2.0
/*
 * The document that OpenNebula gives drivers on a node: for the network driver the reduced <VM>, in
 * which each NIC and PCI has a <TEMPLATE> of its own, or, for update_nic, the full one with one
 * <TEMPLATE>; for the virtualization driver the full one inside <VMM_DRIVER_ACTION_DATA>, or, at
 * deploy, the full one in a file, vm.xml.
 * Users write into it (CONTEXT, USER_TEMPLATE, even NICs: docs/security.md); it is parsed strictly,
 * and what cannot be parsed is refused, never guessed. It says which VFs are wanted, and nothing
 * about what they may reach: that is oneibd's grant.
 */
#ifndef ONEIB_NODE_VM_DOCUMENT_H
#define ONEIB_NODE_VM_DOCUMENT_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "ib/dummy_mac.h"
#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes, decoded; real ones have 10 KiB. */
#define ONEIB_VM_DOCUMENT_MAX ((size_t)16 * 1024 * 1024)

/* A NIC of ours whose id is known. */
struct oneib_node_nic {
    uint8_t nic_id;
    bool faulty; /* another attribute of it is malformed, and counts as not said: the document was
                    refused for it */
    uint32_t network_id;
    bool is_pci;
    bool attach;      /* ATTACH=YES: the one that this attach or detach is about */
    bool has_address; /* PCI: ADDRESS */
    struct oneib_pci address;
    bool has_previous; /* PCI: PREV_ADDRESS; stays there after a migration for good */
    struct oneib_pci previous;
    bool bridged; /* BRIDGE is set: libvirt would connect the dummy interface to it */
    char mac[ONEIB_MAC_TEXT_SIZE];  /* MAC, lower case; "": not said */
    uint32_t ipv4;                  /* IP, host byte order; 0: none, as in an IPv6 network */
    char target[ONEIB_TARGET_SIZE]; /* TARGET: the host's interface; "": not said */
    bool has_guest_address;         /* PCI: VM_DOMAIN, VM_BUS, VM_SLOT and VM_FUNCTION */
    struct oneib_pci guest_address;
    bool to_undo; /* the driver's: this action gave it its VF, and takes it back when it fails */
};

struct oneib_node_vm {
    uint32_t id;                 /* ONEIB_NO_ID: not read */
    bool deployed;               /* DEPLOY_ID is set: the VM ran before, or runs */
    char *hostname;              /* owned, untrusted: the last history record's; NULL: none */
    struct oneib_node_nic *nics; /* owned, by NIC id: those of our driver, plain and PCI */
    size_t nic_count, nic_capacity;
    bool wants_hpc; /* IB_HPC=YES in TEMPLATE or USER_TEMPLATE */
    bool attaching; /* a NIC, PCI or NIC_ALIAS of any driver has ATTACH=YES: all drivers of the VM
                       are called, for an alias too */
    /* The host's device that OpenNebula's own action plugs in: that of a PCI with ATTACH=YES of
     * another driver. UNCLEAR: its address is malformed, or there are two. */
    enum oneib_node_device { ONEIB_DEVICE_NONE, ONEIB_DEVICE_TOLD, ONEIB_DEVICE_UNCLEAR } device;
    struct oneib_pci device_address; /* TOLD */
};

/*
 * xml: the decoded document. vn_mad: which NICs are ours. In any case *vm is to be cleared.
 *
 * INPUT names VM and NIC: NIC id over 255 or no number, two NICs with one id, a malformed address
 * or driver. *vm then has all the rest, so that what only takes away (clean, closing) can
 * go on: a user who can spoil a NIC must not keep what it has.
 * A MAC, IP, TARGET or guest address that is malformed counts as not said, and is a fault of the
 * NIC only where it is needed: the network driver does not read them. PROTOCOL: no such document;
 * *vm has no NICs, and the id only if it could be read.
 */
int oneib_node_vm_parse(const char *xml, size_t length, const char *vn_mad,
                        struct oneib_node_vm *vm, struct oneib_error *err);
/* The same from what is on standard input: base64, with or without line breaks; at most
 * ONEIB_VM_DOCUMENT_MAX decoded. */
int oneib_node_vm_decode(const char *base64, size_t length, const char *vn_mad,
                         struct oneib_node_vm *vm, struct oneib_error *err);
void oneib_node_vm_clear(struct oneib_node_vm *vm);

#endif
