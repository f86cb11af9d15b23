// SPDX-License-Identifier: Apache-2.0
/* Starts a VM from its state in a file. */
#include "vmm_action.h"

static int restore(struct action *action, int *status, struct oneib_error *err)
{
    return action_read_input(action, err) < 0
               ? -1
               : oneib_vmm_restore(&action->vmm, action->arguments[0], status, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {
        .name = "restore",
        .arguments = "CHECKPOINT HOST DEPLOY_ID VMID HOST",
        .count = 5,
        .vm_id = 3,
        .domain = 2,
    };
    return action_main(argc, argv, &form, restore);
}
