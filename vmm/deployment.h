// SPDX-License-Identifier: Apache-2.0
/* What the two programs that start a VM share. Standard input is its domain's document; the VM's
 * own lies beside the deployment file, where oned puts it right before this. */
#ifndef ONEIB_VMM_DEPLOYMENT_H
#define ONEIB_VMM_DEPLOYMENT_H

#include "vmm_action.h"

#define DEPLOYMENT_ARGUMENTS "DEPLOYMENT_FILE HOST VMID HOST"

/* The VM's document, as action_read_vm(). */
int deployment_read_vm(struct action *action, struct oneib_error *err);

#endif
