// SPDX-License-Identifier: Apache-2.0
/* Keeps a running VM's state in its disks. */
#include "vmm_action.h"

static int snapshot_create(struct action *action, int *status, struct oneib_error *err)
{
    return action_read_input_leniently(action, err) < 0
               ? -1
               : oneib_vmm_snapshot(&action->vmm, status, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {
        .name = "snapshot_create",
        .arguments = "DEPLOY_ID SNAPSHOT_ID VMID HOST",
        .count = 4,
        .vm_id = 2,
        .domain = 0,
    };
    return action_main(argc, argv, &form, snapshot_create);
}
