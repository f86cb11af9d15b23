// SPDX-License-Identifier: Apache-2.0
#include "vmm/plan.h"
#include "hca/attribute.h"
#include "hca/place.h"
#include "node/driver.h"
#include "node/driver_nics.h"
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PCI_DEVICES "/sys/bus/pci/devices"

static int refuse(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic, const char *why,
                  struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_REFUSED, "VM %" PRIu32 " NIC %u %s", vm->id, nic->nic_id,
                      why);
}

int oneib_plan_check(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                     struct oneib_error *err)
{
    if (oneib_nic_check(vm, nic, err) < 0)
        return -1;
    if (!nic->mac[0])
        return refuse(vm, nic, "has no MAC, or one that is malformed, in OpenNebula's document",
                      err);
    if (!nic->target[0])
        return refuse(vm, nic, "has no TARGET, or one that is malformed, in OpenNebula's document",
                      err);
    return 0;
}

static int check_record(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                        const struct oneib_vf_record *record, struct oneib_error *err)
{
    if (!record)
        return refuse(vm, nic,
                      "has no virtual function on this node: 'pre' of the network driver did not "
                      "run here, or the VM has lost it since ('oneib hca')",
                      err);
    if (record->stage == ONEIB_VF_RELEASING)
        return refuse(vm, nic,
                      "has a virtual function that is being released ('oneib hca'): try again when "
                      "that is done",
                      err);
    if (record->stage == ONEIB_VF_PREPARING)
        return refuse(vm, nic,
                      "has a virtual function that is not ready yet: 'pre' of the network driver "
                      "still runs, or was ended half-way ('oneib hca')",
                      err);
    return 0;
}

static int check_choice(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                        const struct oneib_pci *vf, struct oneib_error *err)
{
    if (!nic->is_pci || oneib_pci_compare(&nic->address, vf) == 0)
        return 0;
    char chosen[ONEIB_PCI_TEXT_SIZE], recorded[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&nic->address, chosen);
    oneib_pci_format(vf, recorded);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32
                      " NIC %u: OpenNebula's scheduler chose %s for it, but this node "
                      "has reserved %s ('oneib hca')",
                      vm->id, nic->nic_id, chosen, recorded);
}

static int check_phase(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                       const struct oneib_pci *vf, struct oneib_error *err)
{
    char address[ONEIB_PCI_TEXT_SIZE], path[PATH_MAX];
    oneib_pci_format(vf, address);
    if (oneib_node_path(path, sizeof path, err, PCI_DEVICES "/%s", address) < 0)
        return -1;
    if (access(path, F_OK) == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32 " NIC %u: its virtual function %s is gone from this host: its "
                      "adapter was reset or SR-IOV was switched off ('oneib hca')",
                      vm->id, nic->nic_id, address);
}

bool oneib_vf_is_to_be_managed(const struct oneib_pci *vf)
{
    char address[ONEIB_PCI_TEXT_SIZE], path[PATH_MAX], driver[ONEIB_ATTRIBUTE_SIZE];
    struct oneib_error unheard;
    oneib_pci_format(vf, address);
    return oneib_node_path(path, sizeof path, &unheard, PCI_DEVICES "/%s/driver", address) < 0 ||
           oneib_attribute_link(path, driver, sizeof driver, &unheard) < 0 ||
           strcmp(driver, "vfio-pci") != 0;
}

int oneib_plan_nic(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                   const struct oneib_vf_table *table, unsigned index,
                   struct oneib_domain_nic *planned, struct oneib_error *err)
{
    const struct oneib_vf_record *record = oneib_vf_table_of_nic(table, vm->id, nic->nic_id);
    if (check_record(vm, nic, record, err) < 0 || check_choice(vm, nic, &record->vf, err) < 0 ||
        check_phase(vm, nic, &record->vf, err) < 0)
        return -1;
    *planned = (struct oneib_domain_nic){
        .nic_id = nic->nic_id,
        .vf = record->vf,
        .managed = oneib_vf_is_to_be_managed(&record->vf),
        .has_guest_address = nic->has_guest_address,
        .guest_address = nic->guest_address,
        .index = index,
        .ipv4 = nic->ipv4,
        .is_pci = nic->is_pci,
    };
    memcpy(planned->mac, nic->mac, sizeof planned->mac);
    memcpy(planned->target, nic->target, sizeof planned->target);
    return 0;
}

int oneib_plan_complete_guids(const struct oneib_config *config, const struct oneib_node_vm *vm,
                              struct oneib_error *err)
{
    struct oneib_node_vm all = *vm;
    all.attaching = false;
    return oneib_driver_post(config, &all, err);
}

int oneib_plan_check_count(const struct oneib_node_vm *vm, struct oneib_error *err)
{
    if (vm->nic_count <= ONEIB_DOMAIN_NICS_MAX)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32 " has %zu InfiniBand NICs: a VM can have %d", vm->id,
                      vm->nic_count, ONEIB_DOMAIN_NICS_MAX);
}

int oneib_plan_all(const struct oneib_node_vm *vm, const struct oneib_vf_table *table,
                   struct oneib_domain_nic *planned, size_t *count, struct oneib_error *err)
{
    if (oneib_plan_check_count(vm, err) < 0)
        return -1;
    for (size_t i = 0; i < vm->nic_count; i++)
        if (oneib_plan_nic(vm, &vm->nics[i], table, (unsigned)i, &planned[i], err) < 0)
            return -1;
    *count = vm->nic_count;
    return 0;
}

/* What a machine has of itself is not always said. */
static bool has_bus(const struct oneib_domain_description *description, uint8_t bus)
{
    return bus == 0 || description->has_bus[bus];
}

void oneib_plan_guest_address(const struct oneib_domain_description *description,
                              struct oneib_domain_nic *planned)
{
    const struct oneib_pci *address = &planned->guest_address;
    if (planned->has_guest_address && has_bus(description, address->bus) &&
        !oneib_pci_is_among(description->taken, description->taken_count, address))
        return;
    planned->has_guest_address =
        oneib_domain_guest_address(description, planned->index, &planned->guest_address);
}
