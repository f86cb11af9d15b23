// SPDX-License-Identifier: Apache-2.0
/* Puts a VM back to a state that it had. */
#include "vmm_action.h"

static int snapshot_revert(struct action *action, int *status, struct oneib_error *err)
{
    return action_read_input_leniently(action, err) < 0
               ? -1
               : oneib_vmm_snapshot(&action->vmm, status, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {
        .name = "snapshot_revert",
        .arguments = "DEPLOY_ID SNAPSHOT VMID HOST",
        .count = 4,
        .vm_id = 2,
        .domain = 0,
    };
    return action_main(argc, argv, &form, snapshot_revert);
}
