// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "domain/devices.h"
#include "domain/document.h"
#include "domain/edit.h"
#include "hca/reservations.h"
#include "live/live.h"
#include "vmm/actions.h"
#include "vmm/plan.h"
#include "vmm/plug.h"
#include "vmm/settle.h"
#include "vmm/tune.h"
#include <inttypes.h>

/* The VM's NICs as its domain is to have them. */
struct plan {
    struct oneib_domain_nic nics[ONEIB_DOMAIN_NICS_MAX];
    size_t count;
};

static int check_document(const struct oneib_vmm *vmm, struct oneib_error *err)
{
    oneib_autodescription struct oneib_domain_description description = {0};
    if (oneib_domain_description_read(vmm->upstream.input, vmm->upstream.input_length, &description,
                                      err) < 0)
        return oneib_wrap(err, "the document to deploy of VM %" PRIu32, vmm->vm->id);
    const int outcome = oneib_plug_check_owner(&description, vmm->vm->id, err);
    return outcome < 0 ? oneib_wrap(err, "the document to deploy") : 0;
}

static int check_whose(const struct oneib_vmm *vmm, const struct oneib_devices *devices,
                       const struct oneib_vf_table *table, struct oneib_error *err)
{
    for (size_t i = 0; i < devices->count; i++) {
        const struct oneib_vf_record *record = oneib_vf_table_of_vf(table, &devices->items[i]);
        char address[ONEIB_PCI_TEXT_SIZE];
        if (!record || record->vm_id == vmm->vm->id)
            continue;
        oneib_pci_format(&record->vf, address);
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the document to deploy of VM %" PRIu32
                          " names %s, a virtual function that is another VM's ('oneib hca'): it "
                          "comes from RAW, or from markup in the template; remove it there",
                          vmm->vm->id, address);
    }
    return 0;
}

/* Where nobody has a VF, whatever document there is hurts nobody. */
static int check_devices(const struct oneib_vmm *vmm, const struct oneib_devices *devices,
                         const struct oneib_error *fault, struct oneib_error *err)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    if (table.count == 0 || fault->code == ONEIB_ERROR_NONE)
        return check_whose(vmm, devices, &table, err);
    *err = *fault;
    return oneib_wrap(err, "the document to deploy of VM %" PRIu32, vmm->vm->id);
}

/* libvirt gives a domain what its document names, whoever has written that there. A VF that another
 * VM has out of its domain at this moment is open all the same, at that VM's key. */
static int spare_others_vfs(const struct oneib_vmm *vmm, struct oneib_error *err)
{
    oneib_auto(oneib_devices_clear) struct oneib_devices devices = {0};
    struct oneib_error fault = {0};
    int outcome =
        oneib_devices_add(vmm->upstream.input, vmm->upstream.input_length, &devices, &fault);
    if (outcome < 0 || devices.count > 0)
        outcome = check_devices(vmm, &devices, &fault, err);
    return outcome;
}

static int check_nics(const struct oneib_node_vm *vm, struct oneib_error *err)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        if (oneib_plan_check(vm, &vm->nics[i], err) < 0)
            return -1;
    return 0;
}

static int make_plan(const struct oneib_node_vm *vm, struct plan *plan, struct oneib_error *err)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    return oneib_plan_all(vm, &table, plan->nics, &plan->count, err);
}

static int tune(const struct oneib_vmm *vmm, const struct plan *plan, struct oneib_text *tuned,
                int *lock, struct oneib_error *err)
{
    struct oneib_pci vfs[ONEIB_DOMAIN_NICS_MAX];
    oneib_autolive struct oneib_live *live = NULL;
    for (size_t i = 0; i < plan->count; i++)
        vfs[i] = plan->nics[i].vf;
    if (vmm->vm->wants_hpc && oneib_live_open(vmm->config->node.libvirt, &live, err) < 0)
        return oneib_wrap(err, "VM %" PRIu32 ": which cores are taken is unknown", vmm->vm->id);
    const int outcome = oneib_vmm_tune(live, vmm->upstream.input, vmm->upstream.input_length,
                                       vmm->vm->wants_hpc, vfs, plan->count, tuned, lock, err);
    return outcome < 0 ? oneib_wrap(err, "VM %" PRIu32, vmm->vm->id) : 0;
}

/* Others may have been waited for, for a minute, while they were given cores; and who waits too long
 * may have been deleted. */
static int check_plan(const struct oneib_node_vm *vm, const struct plan *plan,
                      struct oneib_error *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct oneib_domain_nic *nic = &plan->nics[i];
        char vf[ONEIB_PCI_TEXT_SIZE];
        if (oneib_plug_is_still_its_own(vm->id, nic->nic_id, &nic->vf))
            continue;
        oneib_pci_format(&nic->vf, vf);
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "VM %" PRIu32 " NIC %u: its virtual function %s was released while the "
                          "VM was about to start: deploy it again",
                          vm->id, nic->nic_id, vf);
    }
    return 0;
}

static int start(const struct oneib_vmm *vmm, const struct plan *plan,
                 const struct oneib_text *tuned, int *lock, int *status, struct oneib_error *err)
{
    oneib_autotext struct oneib_text equipped = {0};
    const char *document = tuned->length > 0 ? tuned->data : vmm->upstream.input;
    const size_t length = tuned->length > 0 ? tuned->length : vmm->upstream.input_length;
    if (oneib_domain_equip(document, length, plan->nics, plan->count, &equipped, err) < 0)
        return oneib_wrap(err, "VM %" PRIu32, vmm->vm->id);
    if (oneib_vmm_admit(vmm, equipped.data, equipped.length, lock, err) < 0 ||
        check_plan(vmm->vm, plan, err) < 0)
        return -1;
    return oneib_upstream_run(&vmm->upstream, equipped.data, equipped.length, status, err);
}

/* Byte for byte what oned has sent. */
static int start_without_nics(const struct oneib_vmm *vmm, int *status, struct oneib_error *err)
{
    int lock = -1;
    int outcome = oneib_vmm_admit(vmm, vmm->upstream.input, vmm->upstream.input_length, &lock, err);
    if (outcome == 0)
        outcome = oneib_upstream_run(&vmm->upstream, NULL, 0, status, err);
    oneib_vmm_tune_unlock(lock);
    oneib_vmm_settle(vmm);
    return outcome;
}

int oneib_vmm_deploy(struct oneib_vmm *vmm, int *status, struct oneib_error *err)
{
    oneib_autotext struct oneib_text tuned = {0};
    struct plan plan;
    int lock = -1;
    if (oneib_upstream_check(&vmm->upstream, err) < 0)
        return -1;
    if (spare_others_vfs(vmm, err) < 0)
        return -1;
    if (vmm->vm->nic_count == 0)
        return start_without_nics(vmm, status, err);
    /* Planned twice: what cannot be is refused before a GUID is set, and what then is in the table
     * is what the domain gets. */
    if (check_nics(vmm->vm, err) < 0 || check_document(vmm, err) < 0 ||
        make_plan(vmm->vm, &plan, err) < 0 ||
        oneib_plan_complete_guids(vmm->config, vmm->vm, err) < 0 ||
        make_plan(vmm->vm, &plan, err) < 0 || tune(vmm, &plan, &tuned, &lock, err) < 0)
        return -1;
    const int outcome = start(vmm, &plan, &tuned, &lock, status, err);
    oneib_vmm_tune_unlock(lock);
    oneib_vmm_settle(vmm);
    return outcome;
}
