// SPDX-License-Identifier: Apache-2.0
#include "node/driver_nics.h"
#include <inttypes.h>
#include <string.h>

bool oneib_nic_is_meant(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic)
{
    return !vm->attaching || nic->attach;
}

const struct oneib_node_nic *oneib_nic_find(const struct oneib_node_vm *vm, uint8_t nic_id)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        if (vm->nics[i].nic_id == nic_id)
            return &vm->nics[i];
    return NULL;
}

static int refuse(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic, const char *why,
                  struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_REFUSED, "VM %" PRIu32 " NIC %u: network %" PRIu32 " %s",
                      vm->id, nic->nic_id, nic->network_id, why);
}

int oneib_nic_check(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                    struct oneib_error *err)
{
    if (nic->faulty)
        return refuse(vm, nic, "gave it attributes that are malformed", err);
    if (nic->key_state == ONEIB_KEY_MISSING)
        return refuse(vm, nic,
                      "has no P_Key: 'oneib check' on the front-end says why, oneibd gives it one",
                      err);
    if (nic->key_state == ONEIB_KEY_INVALID)
        return refuse(vm, nic,
                      "has a VLAN_ID that is no P_Key: it is written in decimal, from 1 to 32766",
                      err);
    if (nic->bridged)
        return refuse(vm, nic,
                      "has a BRIDGE, which would connect the VM to Ethernet: remove BRIDGE from "
                      "the network, and let VN_MAD_CONF say BRIDGE_TYPE = \"none\"",
                      err);
    if (nic->is_pci && !nic->has_address)
        return refuse(vm, nic, "is attached as a PCI device that has no ADDRESS yet", err);
    return 0;
}

struct oneib_assignment oneib_nic_opening(const struct oneib_node_vm *vm,
                                          const struct oneib_node_nic *nic)
{
    struct oneib_assignment assignment = {
        .vm_id = vm->id,
        .nic_id = nic->nic_id,
        .pkey = nic->pkey,
        .limited = nic->limited,
        .port = nic->port,
        .has_vf = nic->is_pci && nic->has_address,
        .vf = nic->address,
        .numa_node = -1,
    };
    memcpy(assignment.device, nic->device, sizeof assignment.device);
    return assignment;
}

struct oneib_assignment oneib_record_closing(const struct oneib_vf_record *record)
{
    struct oneib_assignment assignment = {
        .vm_id = record->vm_id,
        .nic_id = record->nic_id,
        .limited = record->limited,
        .port = record->port,
        .numa_node = -1,
        .defer_guid = record->guid == ONEIB_VF_GUID_DEFERRED,
    };
    memcpy(assignment.device, record->device, sizeof assignment.device);
    return assignment;
}

bool oneib_nic_is_open(const struct oneib_node_nic *nic, const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_OPEN && record->guid == ONEIB_VF_GUID_SET &&
           nic->key_state == ONEIB_KEY_VALID && record->pkey == nic->pkey &&
           record->limited == nic->limited;
}

const struct oneib_pci *oneib_nic_vf_on(const struct oneib_node_vm *vm,
                                        const struct oneib_node_nic *nic, const char *host)
{
    /* PREV_ADDRESS stays after a migration: it means this host only while the document is already
     * about the destination. */
    const bool is_source = vm->hostname && strcmp(host, vm->hostname) != 0;
    if (is_source && nic->has_previous)
        return &nic->previous;
    return nic->has_address ? &nic->address : NULL;
}
