// SPDX-License-Identifier: Apache-2.0
/*
 * Looks at the VFs of all simulated nodes over and over, and judges each look: what must never be,
 * not even for a moment, is not seen by looking at the end. A VF is never open at a key that the
 * ledger gives to another network than that of its guest: for what is in force for a network is in
 * the ledger as that network's. It is a process of its own, a fork of the test's, and ends with it.
 */
#ifndef ONEIB_VF_WATCH_H
#define ONEIB_VF_WATCH_H

#include "lab_node.h"
#include <pthread.h>

#define VF_WATCH_HOSTS 8
#define VF_WATCH_VFS 8
#define VF_WATCH_VMS 8192
#define VF_WATCH_NOBODY UINT32_MAX

struct vf_watch {
    pthread_mutex_t lock;                          /* of what follows */
    uint32_t guests[VF_WATCH_HOSTS][VF_WATCH_VFS]; /* the VM whose domain has it, or NOBODY */
    uint32_t networks[VF_WATCH_VMS];               /* of each VM's NIC */
    uint64_t looks;                                /* at all VFs, each with what was open */
    uint64_t open;                                 /* VFs that were seen open, over all looks */
    char violation[256];                           /* the first; "": none */
    struct lab *lab;
    unsigned vfs;
};

/* After lab_nodes_start(), for nodes with that many VFs. NULL: failed. Without guests or VMs. */
struct vf_watch *vf_watch_start(struct lab *lab, unsigned vfs, struct oneib_error *err);
void vf_watch_vm(struct vf_watch *watch, uint32_t vm, uint32_t network);
/* The domain of that VM (NOBODY: of no VM any more) has it. */
void vf_watch_guest(struct vf_watch *watch, size_t host, unsigned vf, uint32_t vm);
/* Whether something was seen that must not be; then what. */
bool vf_watch_complains(struct vf_watch *watch, char *what, size_t size);
/* How often it has looked, and how many VFs it has seen open then. */
void vf_watch_count(struct vf_watch *watch, uint64_t *looks, uint64_t *open);

#endif
