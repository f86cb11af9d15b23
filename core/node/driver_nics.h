// SPDX-License-Identifier: Apache-2.0
/* One NIC: whether it is meant, whether it can have a VF, and what to ask oneib-node for. Private
 * to the drivers; pure. */
#ifndef ONEIB_NODE_DRIVER_NICS_H
#define ONEIB_NODE_DRIVER_NICS_H

#include "base/error.h"
#include "host/vf_record.h"
#include "node/vm_document.h"
#include "service/service_message.h"
#include <stdbool.h>

/* During an attach or detach of whatever driver: only the NIC that it is about. */
bool oneib_nic_is_meant(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic);
/* NULL: the VM has no such NIC of ours. */
const struct oneib_node_nic *oneib_nic_find(const struct oneib_node_vm *vm, uint8_t nic_id);

/* REFUSED: why it cannot have a VF, and what to do. */
int oneib_nic_check(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                    struct oneib_error *err);

/* HAVE: the VF that oneibd grants this NIC, or the record's; its GUID at once. */
struct oneib_request oneib_nic_request(const struct oneib_node_vm *vm,
                                       const struct oneib_node_nic *nic);
struct oneib_request oneib_record_request(const struct oneib_vf_record *record);

/* The record is of this network, open and with its GUID: there is nothing left to ask for. */
bool oneib_nic_is_open(const struct oneib_node_nic *nic, const struct oneib_vf_record *record);

/* The VF that a PCI NIC has on the host that is cleaned; NULL: it is not told. */
const struct oneib_pci *oneib_nic_vf_on(const struct oneib_node_vm *vm,
                                        const struct oneib_node_nic *nic, const char *host);

#endif
