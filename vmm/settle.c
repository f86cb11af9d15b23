// SPDX-License-Identifier: Apache-2.0
#include "vmm/settle.h"
#include "base/cleanup.h"
#include "node/host_cpus.h"
#include "vmm/cores_lock.h"
#include "vmm/keep_off.h"
#include "vmm/plug.h"
#include <inttypes.h>

static int admit(const struct oneib_vmm *vmm, struct oneib_live *live, const char *xml,
                 size_t length, struct oneib_error *err)
{
    oneib_autocpus struct oneib_host_cpus host;
    if (oneib_host_cpus_read(&host, err) < 0)
        return -1;
    return oneib_cores_admit(live, &host, vmm->config->node.hpc_cores, xml, length, vmm->warnings,
                             err);
}

/* Nobody else starts between the look and the start. */
static int lock_and_admit(const struct oneib_vmm *vmm, const char *xml, size_t length, int *lock,
                          struct oneib_error *err)
{
    oneib_autolive struct oneib_live *live = NULL;
    if (*lock < 0 && oneib_cores_lock(lock, err) < 0)
        return oneib_wrap(err, "waiting for other VMs that are started");
    if (oneib_live_open(vmm->config->node.libvirt, &live, err) < 0)
        return oneib_wrap(err, "which VM has which cores is unknown");
    return admit(vmm, live, xml, length, err);
}

int oneib_vmm_admit(const struct oneib_vmm *vmm, const char *xml, size_t length, int *lock,
                    struct oneib_error *err)
{
    bool matter;
    if (oneib_cores_matter(vmm->config->node.hpc_cores, xml, length, &matter, err) == 0 &&
        (!matter || lock_and_admit(vmm, xml, length, lock, err) == 0))
        return 0;
    return oneib_wrap(err, "VM %" PRIu32, vmm->vm->id);
}

static int settle(const struct oneib_vmm *vmm, struct oneib_live *live, struct oneib_error *err)
{
    oneib_autocpus struct oneib_host_cpus host;
    if (oneib_host_cpus_read(&host, err) < 0)
        return -1;
    return oneib_keep_off(live, &host, vmm->warnings, err);
}

static int lock_and_settle(const struct oneib_vmm *vmm, struct oneib_error *err)
{
    oneib_autoclose int lock = -1;
    oneib_autolive struct oneib_live *live = NULL;
    return oneib_cores_lock(&lock, err) < 0 ||
                   oneib_live_open(vmm->config->node.libvirt, &live, err) < 0
               ? -1
               : settle(vmm, live, err);
}

void oneib_vmm_settle(const struct oneib_vmm *vmm)
{
    struct oneib_error failure = {0};
    if (vmm->config->node.hpc_cores != ONEIB_HPC_CORES_KEEP_OFF ||
        lock_and_settle(vmm, &failure) == 0)
        return;
    oneib_wrap(&failure, "keeping VMs that are not pinned off cores of VMs with IB_HPC");
    oneib_plug_warn(vmm->warnings, &failure);
}
