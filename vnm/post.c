// SPDX-License-Identifier: Apache-2.0
/* After a VM has started, was restored or migrated here, or got a NIC. */
#include "action.h"
#include "node/driver.h"

static int post(struct action *action, struct oneib_error *err)
{
    if (action_needs_document(action, err) < 0 ||
        oneib_driver_post(&action->config, &action->vm, err) < 0)
        return -1;
    if (action_run_hooks(action, err) == 0)
        return 0;
    oneib_driver_undo(&action->config, &action->vm);
    return -1;
}

int main(int argc, char **argv)
{
    return action_main(argc, argv, "post", "DEPLOY_ID HOST", 2, post);
}
