// SPDX-License-Identifier: Apache-2.0
/*
 * No action of OpenNebula's: gives a running VM the VFs that it lacks. 'post' calls it where a VM
 * arrives, and 'oneib hca --repair' (node/start_reattach.h). Standard input is the VM's document,
 * the reduced or the full one, or nothing: without it only guest addresses are not known.
 */
#include "vmm_action.h"
#include <stdlib.h>

static int read_vm(struct action *action, struct oneib_error *err)
{
    if (action->input_length > 0)
        return action_read_input_leniently(action, err);
    action->vm.id = action->vm_id;
    return 0;
}

static int reattach(struct action *action, int *status, struct oneib_error *err)
{
    *status = EXIT_SUCCESS;
    return read_vm(action, err) < 0 ? -1 : oneib_vmm_reattach(&action->vmm, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {
        .name = "reattach",
        .arguments = "VMID",
        .is_ours = true,
        .count = 1,
        .vm_id = 0,
        .domain = NO_ARGUMENT,
    };
    return action_main(argc, argv, &form, reattach);
}
