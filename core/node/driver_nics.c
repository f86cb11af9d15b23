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
    if (nic->bridged)
        return refuse(vm, nic,
                      "has a BRIDGE, which would connect the VM to Ethernet: remove BRIDGE from "
                      "the network, and let VN_MAD_CONF say BRIDGE_TYPE = \"none\"",
                      err);
    if (nic->is_pci && !nic->has_address)
        return refuse(vm, nic, "is attached as a PCI device that has no ADDRESS yet", err);
    return 0;
}

static struct oneib_request request_for(uint32_t vm_id, uint8_t nic_id, uint32_t network_id)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_HAVE);
    request.vm_id = vm_id;
    request.nic_id = nic_id;
    request.network_id = network_id;
    request.numa_node = -1;
    return request;
}

struct oneib_request oneib_nic_request(const struct oneib_node_vm *vm,
                                       const struct oneib_node_nic *nic)
{
    return request_for(vm->id, nic->nic_id, nic->network_id);
}

struct oneib_request oneib_record_request(const struct oneib_vf_record *record)
{
    return request_for(record->vm_id, record->nic_id, record->network_id);
}

bool oneib_nic_is_open(const struct oneib_node_nic *nic, const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_OPEN && record->guid == ONEIB_VF_GUID_SET &&
           record->network_id == nic->network_id;
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
