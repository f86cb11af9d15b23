// SPDX-License-Identifier: Apache-2.0
/* Gives a running VM a NIC. */
#include "vmm_action.h"

static int attach_nic(struct action *action, int *status, struct oneib_error *err)
{
    return action_read_input(action, err) < 0
               ? -1
               : oneib_vmm_attach_nic(&action->vmm, action->arguments[1], status, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {
        .name = "attach_nic",
        .arguments = "DEPLOY_ID MAC BRIDGE MODEL VN_MAD TARGET VMID HOST",
        .count = 8,
        .vm_id = 6,
        .domain = 0,
    };
    return action_main(argc, argv, &form, attach_nic);
}
