// SPDX-License-Identifier: Apache-2.0
/*
 * The actions of the virtualization driver: docs/design/vmm.md. Whoever links this links core/live
 * too, or a stand-in for it.
 *
 * All return 0 with *status, the exit status that OpenNebula is to see when the upstream action was
 * run (whatever it was: it has said why itself), or -1 with the reason why ours failed. What went
 * wrong without failing the action is appended to `warnings`: whole sentences of errors, one a
 * line.
 */
#ifndef ONEIB_VMM_ACTIONS_H
#define ONEIB_VMM_ACTIONS_H

#include "base/error.h"
#include "base/text.h"
#include "config/config.h"
#include "node/vm_document.h"
#include "vmm/upstream.h"
#include <stdbool.h>
#include <stddef.h>

struct oneib_vmm {
    const struct oneib_config *config; /* borrowed */
    struct oneib_upstream upstream;
    struct oneib_node_vm *vm;    /* borrowed; of stdin, or of vm.xml at deploy */
    const char *domain;          /* borrowed: DEPLOY_ID; NULL at deploy */
    struct oneib_text *warnings; /* borrowed */
};

/* upstream.input is oned's document of the domain, which must be of this VM. libvirt is asked only
 * for a VM that wants cores of its own. */
int oneib_vmm_deploy(struct oneib_vmm *vmm, int *status, struct oneib_error *err);

/* The NIC with ATTACH=YES, when it is ours: VF and dummy interface, both or neither; else upstream.
 * mac: the argument; it must be the NIC's. An attach that fails gives back the VF that 'pre' has
 * reserved for it, even when it cannot be taken out of the domain: then it is closed. OpenNebula
 * has no such NIC any more then, and calls neither post nor clean. */
int oneib_vmm_attach_nic(struct oneib_vmm *vmm, const char *mac, int *status,
                         struct oneib_error *err);
int oneib_vmm_detach_nic(struct oneib_vmm *vmm, const char *mac, int *status,
                         struct oneib_error *err);

/* save, and migrate to another host: VFs out, upstream; in again only when it failed and the domain
 * is still here. live: migrate, which is refused for a tuned VM. */
int oneib_vmm_leave(struct oneib_vmm *vmm, bool live, int *status, struct oneib_error *err);
/*
 * snapshot_create and snapshot_revert: VFs out, upstream, VFs in again. After a revert the domain
 * has the devices of the snapshot: dummy interfaces of NICs that the VM's document has and it lacks
 * are added, those of NICs that the VM has no more are taken away, and then VFs go in. (libvirt 9.0
 * ends QEMU at a revert and would also do it with the VF in place.)
 */
int oneib_vmm_snapshot(struct oneib_vmm *vmm, int *status, struct oneib_error *err);
/* checkpoint: the file. Fails before the upstream action or not at all. When the VM does not run in
 * the end it gives back the VFs that 'pre' has reserved: OpenNebula calls nobody then. */
int oneib_vmm_restore(struct oneib_vmm *vmm, const char *checkpoint, int *status,
                      struct oneib_error *err);

/*
 * A running domain gets the VFs that the table has for its VM, with their GUIDs set, and that it
 * lacks; one without the dummy interface of such a VF is a failure. None running: nothing to do.
 * vmm->vm may have no NICs: they tell guest addresses only. Goes on after a failure; -1 with the
 * first.
 */
int oneib_vmm_reattach(struct oneib_vmm *vmm, struct oneib_error *err);

#endif
