// SPDX-License-Identifier: Apache-2.0
/* Stops a VM and keeps its state in a file: suspend, stop, cold migration. */
#include "vmm_action.h"

static int save(struct action *action, int *status, struct oneib_error *err)
{
    return action_read_input_leniently(action, err) < 0
               ? -1
               : oneib_vmm_leave(&action->vmm, false, status, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {
        .name = "save",
        .arguments = "DEPLOY_ID CHECKPOINT HOST VMID HOST",
        .count = 5,
        .vm_id = 3,
        .domain = 0,
    };
    return action_main(argc, argv, &form, save);
}
