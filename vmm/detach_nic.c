// SPDX-License-Identifier: Apache-2.0
/* Takes a NIC from a running VM. */
#include "vmm_action.h"

static bool knows_the_nic(const struct oneib_node_vm *vm)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        if (vm->nics[i].attach)
            return true;
    return false;
}

/* Detaching is what mends a malformed NIC. But one that cannot be told from the others would be
 * taken for another driver's, which finds nothing to detach and says that all is well. */
static int read_nic(struct action *action, struct oneib_error *err)
{
    struct oneib_error fault = {0};
    if (action_read_input(action, &fault) == 0 ||
        (fault.code == ONEIB_ERROR_INPUT && knows_the_nic(&action->vm)))
        return 0;
    *err = fault;
    return -1;
}

static int detach_nic(struct action *action, int *status, struct oneib_error *err)
{
    return read_nic(action, err) < 0
               ? -1
               : oneib_vmm_detach_nic(&action->vmm, action->arguments[1], status, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {
        .name = "detach_nic",
        .arguments = "DEPLOY_ID MAC VMID HOST",
        .count = 4,
        .vm_id = 2,
        .domain = 0,
    };
    return action_main(argc, argv, &form, detach_nic);
}
