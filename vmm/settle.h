// SPDX-License-Identifier: Apache-2.0
/* What starting a VM does about others' cores (keep_off.h), where the operator wants that. */
#ifndef ONEIB_VMM_SETTLE_H
#define ONEIB_VMM_SETTLE_H

#include "vmm/actions.h"

/* Before the domain of this document starts; nothing when node.hpc_cores is "shared". *lock: that
 * of the cores, which may be held already; else it may be afterwards, and is to be closed even when
 * this fails. */
int oneib_vmm_admit(const struct oneib_vmm *vmm, const char *xml, size_t length, int *lock,
                    struct oneib_error *err);
/* After it, whatever came of it, and without the lock: whom it kept off, and who came. What fails is
 * a warning. */
void oneib_vmm_settle(const struct oneib_vmm *vmm);

#endif
