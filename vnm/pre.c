// SPDX-License-Identifier: Apache-2.0
/* Before a VM starts, is restored or migrated here, or gets a NIC. */
#include "action.h"
#include "node/driver.h"

static int pre(struct action *action, struct oneib_error *err)
{
    if (action_needs_document(action, err) < 0 ||
        oneib_driver_pre(&action->config, &action->vm, err) < 0)
        return -1;
    if (action_run_hooks(action, err) == 0)
        return 0;
    oneib_driver_undo(&action->config, &action->vm);
    return -1;
}

int main(int argc, char **argv)
{
    return action_main(argc, argv, "pre", "", 0, pre);
}
