// SPDX-License-Identifier: Apache-2.0
#include "vmm/actions.h"
#include "vmm/plug.h"
#include <inttypes.h>

static int check_pins(const struct oneib_vmm *vmm,
                      const struct oneib_domain_description *description, bool live,
                      struct oneib_error *err)
{
    if (!live || !description->tuned)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32 " has cores and memory of this host to itself (IB_HPC), and "
                      "would take those of others on another host: migrate it powered off or "
                      "suspended",
                      vmm->vm->id);
}

/* libvirtd finishes what it has begun, even when it was told to end: then virsh fails, but the
 * domain has been saved, or has moved. OpenNebula would start the VM anew, without its memory. */
static void tell_gone(const struct oneib_vmm *vmm, bool live, struct oneib_error *left)
{
    oneib_fail(left, ONEIB_ERROR_NOT_FOUND,
               live
                   ? "VM %" PRIu32 " is gone from this host although its migration is said to have "
                     "failed: before you do anything else with it look whether one-%" PRIu32
                     " runs on the destination ('virsh list'); OpenNebula would start it twice"
                   : "VM %" PRIu32 " is gone from this host although saving it is said to have "
                     "failed: its state may be whole in the checkpoint, and OpenNebula would start "
                     "the VM without it; before you resume it keep a copy of that file: 'virsh "
                     "restore' on it starts one-%" PRIu32 " as it was",
               vmm->vm->id, vmm->vm->id);
}

static void stay(struct oneib_vmm *vmm, const struct oneib_domain_description *before, bool live)
{
    struct oneib_error left = {0};
    if (oneib_plug_in(vmm->config, vmm->domain, vmm->vm, before, &left) == 0)
        return;
    if (left.code == ONEIB_ERROR_NOT_FOUND)
        tell_gone(vmm, live, &left);
    oneib_plug_warn(vmm->warnings, &left);
}

/* A domain without a VF may have dummy interfaces whose VFs an earlier call, killed, took out. */
static int go(struct oneib_vmm *vmm, const struct oneib_domain_description *before, bool live,
              int *status, struct oneib_error *err)
{
    const int outcome = oneib_upstream_run(&vmm->upstream, NULL, 0, status, err);
    if ((outcome < 0 || *status != 0) && before->device_count > 0)
        stay(vmm, before, live);
    return outcome;
}

int oneib_vmm_leave(struct oneib_vmm *vmm, bool live, int *status, struct oneib_error *err)
{
    struct oneib_live *connection = NULL;
    oneib_autodescription struct oneib_domain_description description = {0};
    if (oneib_upstream_check(&vmm->upstream, err) < 0 ||
        oneib_plug_begin(vmm->config, vmm->domain, vmm->vm, &connection, &description, err) < 0)
        return -1;
    int outcome = check_pins(vmm, &description, live, err);
    if (outcome == 0 && oneib_plug_has_vf(&description))
        outcome = oneib_plug_out(vmm->config, connection, vmm->domain, vmm->vm, &description, err);
    oneib_live_close(connection);
    if (outcome == 0)
        outcome = go(vmm, &description, live, status, err);
    return outcome;
}
