// SPDX-License-Identifier: Apache-2.0
/* Moves a running VM to another host, or its disks to another datastore of this host, which is
 * nothing that a VF could hinder. */
#include "vmm_action.h"
#include <string.h>

static bool stays_here(char *const *arguments)
{
    return strcmp(arguments[1], arguments[2]) == 0;
}

static int migrate(struct action *action, int *status, struct oneib_error *err)
{
    const struct oneib_upstream *upstream = &action->vmm.upstream;
    if (!stays_here(action->arguments))
        return action_read_input_leniently(action, err) < 0
                   ? -1
                   : oneib_vmm_leave(&action->vmm, true, status, err);
    return oneib_upstream_check(upstream, err) < 0
               ? -1
               : oneib_upstream_run(upstream, NULL, 0, status, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {
        .name = "migrate",
        .arguments = "DEPLOY_ID DESTINATION SOURCE VMID HOST",
        .count = 5,
        .vm_id = 3,
        .domain = 0,
    };
    return action_main(argc, argv, &form, migrate);
}
