// SPDX-License-Identifier: Apache-2.0
/* What the table has for a NIC, as a domain is to have it. Private to the virtualization driver. */
#ifndef ONEIB_VMM_PLAN_H
#define ONEIB_VMM_PLAN_H

#include "base/error.h"
#include "config/config.h"
#include "domain/document.h"
#include "domain/edit.h"
#include "host/vf_record.h"
#include "node/vm_document.h"
#include <stdbool.h>
#include <stdint.h>

/* REFUSED: what oneib_nic_check() refuses; a NIC whose MAC or TARGET is not said. */
int oneib_plan_check(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                     struct oneib_error *err);

/*
 * From the NIC in the VM's document (already checked by oneib_plan_check()) and its record. A
 * closed VF will do: it reaches nobody until its key comes. REFUSED: no record ("'pre' of the
 * network driver did not run here"), one that is not ready yet or being released, another VF than
 * the scheduler chose, a VF that the host has no more.
 */
int oneib_plan_nic(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                   const struct oneib_vf_table *table, unsigned index,
                   struct oneib_domain_nic *planned, struct oneib_error *err);

/* Sets the GUIDs that 'pre' has deferred, of a VM that does not run yet: as far as 'pre' knew
 * another host's port could still have them. What fails takes nothing back, not even of a document
 * that says ATTACH. */
int oneib_plan_complete_guids(const struct oneib_config *config, const struct oneib_node_vm *vm,
                              struct oneib_error *err);

/* REFUSED: the VM has more NICs of ours than a domain can have. */
int oneib_plan_check_count(const struct oneib_node_vm *vm, struct oneib_error *err);

/* All plain and PCI NICs of ours in the document, indices from 0 by NIC id. planned has room for
 * ONEIB_DOMAIN_NICS_MAX; more NICs are REFUSED. */
int oneib_plan_all(const struct oneib_node_vm *vm, const struct oneib_vf_table *table,
                   struct oneib_domain_nic *planned, size_t *count, struct oneib_error *err);

/* For hot-plug: keeps the address that a PCI NIC has where the running domain has that bus, and
 * nothing at that place; else by the NIC's index; else libvirt chooses. */
void oneib_plan_guest_address(const struct oneib_domain_description *description,
                              struct oneib_domain_nic *planned);

/* libvirt has to move the VF to vfio-pci: it is not there (its driver link in sysfs). */
bool oneib_vf_is_to_be_managed(const struct oneib_pci *vf);

#endif
