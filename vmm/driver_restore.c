// SPDX-License-Identifier: Apache-2.0
#include "domain/threads.h"
#include "hca/reservations.h"
#include "live/live.h"
#include "node/driver.h"
#include "vmm/actions.h"
#include "vmm/plan.h"
#include "vmm/plug.h"
#include "vmm/settle.h"
#include "vmm/tune.h"
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

/* ---- before the upstream action -------------------------------------------------------------- */

/* The VFs of the VM's NICs. */
struct vfs {
    struct oneib_pci items[ONEIB_DOMAIN_NICS_MAX];
    size_t count;
};

static int add_vf(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                  const struct oneib_vf_table *table, struct vfs *vfs, struct oneib_error *err)
{
    const struct oneib_vf_record *record = oneib_vf_table_of_nic(table, vm->id, nic->nic_id);
    if (!record || record->stage == ONEIB_VF_RELEASING)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "VM %" PRIu32 " NIC %u %s; nothing was touched, and the VM's checkpoint "
                          "is as it was",
                          vm->id, nic->nic_id,
                          record ? "has a virtual function that is being released ('oneib hca')"
                                 : "has no virtual function on this node: 'pre' of the network "
                                   "driver did not run here ('oneib hca')");
    vfs->items[vfs->count++] = record->vf;
    return 0;
}

static int find_vfs(const struct oneib_node_vm *vm, struct vfs *vfs, struct oneib_error *err)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    *vfs = (struct vfs){.count = 0};
    if (oneib_plan_check_count(vm, err) < 0)
        return -1;
    int outcome = oneib_reservations_read(&table, err);
    for (size_t i = 0; i < vm->nic_count && outcome == 0; i++)
        outcome = add_vf(vm, &vm->nics[i], &table, vfs, err);
    return outcome;
}

/* The upstream action wakes up a guest that has only put itself to sleep. */
static int look_for_domain(const struct oneib_vmm *vmm, struct oneib_live *live, bool *is_here,
                           struct oneib_error *err)
{
    oneib_autotext struct oneib_text xml = {0};
    struct oneib_error failure = {0};
    *is_here = oneib_live_document(live, vmm->domain, &xml, &failure) == 0;
    if (*is_here || failure.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = failure;
    return -1;
}

/* The upstream action of some datastores fetches the file first. */
static bool is_elsewhere(const char *checkpoint)
{
    return access(checkpoint, F_OK) < 0 && errno == ENOENT;
}

static int read_mark(const struct oneib_text *xml, bool *marked, struct oneib_error *err)
{
    oneib_autodescription struct oneib_domain_description description = {0};
    if (oneib_domain_description_read(xml->data, xml->length, &description, err) < 0)
        return -1;
    *marked = description.tuned;
    return 0;
}

/* What oneib gave the VM at its deployment were cores of the host that it was on. */
static int tune_checkpoint(const struct oneib_vmm *vmm, struct oneib_live *live,
                           const struct oneib_text *xml, const struct vfs *vfs,
                           struct oneib_text *tuned, int *lock, struct oneib_error *err)
{
    bool marked = false;
    if (vfs->count == 0)
        return 0;
    if (read_mark(xml, &marked, err) < 0)
        return -1;
    if (!marked && !vmm->vm->wants_hpc)
        return 0;
    return oneib_vmm_tune(live, xml->data, xml->length, true, vfs->items, vfs->count, tuned, lock,
                          err);
}

/* Nothing is written before it is known that the VM may start. */
static int admit(const struct oneib_vmm *vmm, struct oneib_live *live, const char *checkpoint,
                 const struct oneib_text *xml, bool is_new, int *lock, struct oneib_error *err)
{
    if (oneib_vmm_admit(vmm, xml->data, xml->length, lock, err) < 0)
        return -1;
    return is_new ? oneib_live_saved_replace(live, checkpoint, xml->data, err) : 0;
}

/* Where it was saved its threads may have been kept off cores that are others' there. */
static int renew_checkpoint(const struct oneib_vmm *vmm, struct oneib_live *live,
                            const char *checkpoint, const struct vfs *vfs, int *lock,
                            struct oneib_error *err)
{
    oneib_autotext struct oneib_text xml = {0}, freed = {0}, tuned = {0};
    if (oneib_live_saved_document(live, checkpoint, &xml, err) < 0 ||
        oneib_domain_free_threads(xml.data, xml.length, &freed, err) < 0)
        return oneib_wrap(err, "reading the VM's checkpoint %s", checkpoint);
    const struct oneib_text *document = freed.length > 0 ? &freed : &xml;
    if (tune_checkpoint(vmm, live, document, vfs, &tuned, lock, err) < 0)
        return -1;
    if (tuned.length > 0)
        document = &tuned;
    return admit(vmm, live, checkpoint, document, document != &xml, lock, err);
}

static int tune_anew(const struct oneib_vmm *vmm, const char *checkpoint, const struct vfs *vfs,
                     int *lock, struct oneib_error *err)
{
    oneib_autolive struct oneib_live *live = NULL;
    bool is_here = false;
    if (oneib_live_open(vmm->config->node.libvirt, &live, err) < 0)
        return -1;
    int outcome = look_for_domain(vmm, live, &is_here, err);
    if (outcome == 0 && !is_here && (vmm->vm->wants_hpc || !is_elsewhere(checkpoint)))
        outcome = renew_checkpoint(vmm, live, checkpoint, vfs, lock, err);
    return outcome < 0 ? oneib_wrap(err, "VM %" PRIu32, vmm->vm->id) : 0;
}

/* ---- after it -------------------------------------------------------------------------------- */

/* OpenNebula would cancel a VM that has just got its state back: what fails is but a warning. */
static void equip(struct oneib_vmm *vmm)
{
    struct oneib_error left = {0};
    if (oneib_plug_in(vmm->config, vmm->domain, vmm->vm, NULL, &left) == 0)
        return;
    if (left.code == ONEIB_ERROR_NOT_FOUND)
        oneib_wrap(&left, "VM %" PRIu32 " was resumed, but runs no more", vmm->vm->id);
    oneib_plug_warn(vmm->warnings, &left);
}

/* OpenNebula calls nobody then, and the VM may be resumed on another host next, where its GUIDs are
 * to be set while this host's port would still have them. A VM that runs here keeps what it has. */
static void give_back(const struct oneib_vmm *vmm)
{
    struct oneib_live *live = NULL;
    struct oneib_error unheard = {0};
    oneib_autotext struct oneib_text xml = {0};
    const bool is_gone = oneib_live_open(vmm->config->node.libvirt, &live, &unheard) == 0 &&
                         oneib_live_document(live, vmm->domain, &xml, &unheard) < 0 &&
                         unheard.code == ONEIB_ERROR_NOT_FOUND;
    oneib_live_close(live);
    if (!is_gone)
        return;
    for (size_t i = 0; i < vmm->vm->nic_count; i++)
        vmm->vm->nics[i].to_undo = true;
    oneib_driver_undo(vmm->config, vmm->vm);
}

/* Nothing is looked at that the operator has not asked for. */
static int restore_without_nics(const struct oneib_vmm *vmm, const char *checkpoint, int *status,
                                struct oneib_error *err)
{
    const struct vfs none = {.count = 0};
    int lock = -1;
    int outcome = 0;
    if (vmm->config->node.hpc_cores != ONEIB_HPC_CORES_SHARED && !is_elsewhere(checkpoint))
        outcome = tune_anew(vmm, checkpoint, &none, &lock, err);
    if (outcome == 0)
        outcome = oneib_upstream_run(&vmm->upstream, NULL, 0, status, err);
    oneib_vmm_tune_unlock(lock);
    oneib_vmm_settle(vmm);
    return outcome;
}

int oneib_vmm_restore(struct oneib_vmm *vmm, const char *checkpoint, int *status,
                      struct oneib_error *err)
{
    struct vfs vfs;
    int lock = -1;
    if (vmm->vm->nic_count == 0)
        return restore_without_nics(vmm, checkpoint, status, err);
    int outcome = -1;
    if (oneib_upstream_check(&vmm->upstream, err) == 0 && find_vfs(vmm->vm, &vfs, err) == 0 &&
        oneib_plan_complete_guids(vmm->config, vmm->vm, err) == 0 &&
        tune_anew(vmm, checkpoint, &vfs, &lock, err) == 0)
        outcome = oneib_upstream_run(&vmm->upstream, NULL, 0, status, err);
    oneib_vmm_tune_unlock(lock);
    if (outcome == 0 && *status == 0)
        equip(vmm);
    else
        give_back(vmm);
    oneib_vmm_settle(vmm);
    return outcome;
}
