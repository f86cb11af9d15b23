// SPDX-License-Identifier: Apache-2.0
/* Tuning a VM for HPC on this host: docs/design/vmm.md. Private to the virtualization driver. */
#ifndef ONEIB_VMM_TUNE_H
#define ONEIB_VMM_TUNE_H

#include "base/error.h"
#include "base/text.h"
#include "ib/pci.h"
#include "live/live.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * The document with what IB_HPC asks for (hpc), or, for one that is pinned by TOPOLOGY alone, with
 * locked memory; *tuned stays empty when there is nothing to change. vfs: the VM's, at least one.
 * When cores were chosen *lock is a lock that is to be held until libvirt has the domain
 * (oneib_vmm_tune_unlock()), else -1. REFUSED: what this host cannot give, with numbers. TIMEOUT:
 * another process has been choosing cores for a minute.
 *
 * live: only for hpc, else NULL is fine. Without hpc nothing is refused, and what oneib gave a VM
 * that had asked before is taken back.
 */
int oneib_vmm_tune(struct oneib_live *live, const char *xml, size_t length, bool hpc,
                   const struct oneib_pci *vfs, size_t vf_count, struct oneib_text *tuned,
                   int *lock, struct oneib_error *err);
/* -1 is fine. */
void oneib_vmm_tune_unlock(int lock);

#endif
