// SPDX-License-Identifier: Apache-2.0
/* After a VM has left this host, or lost a NIC. */
#include "node/driver.h"
#include "vnm_action.h"

/* The VM has been shut down or saved, the NIC detached, when this is called. OpenNebula would take
 * all that for failed if this failed: what only takes longer is no reason. */
static int release(const struct action *action, struct oneib_error *err)
{
    struct oneib_error failure = {0};
    if (oneib_driver_clean(&action->config, &action->vm, action->arguments[0], &failure) == 0)
        return 0;
    if (failure.code == ONEIB_ERROR_TIMEOUT) {
        action_warn(&failure);
        return 0;
    }
    *err = failure;
    return -1;
}

static int clean(struct action *action, struct oneib_error *err)
{
    /* A NIC that is malformed hinders nobody from closing what the VM has. */
    if (action->unreadable.code != ONEIB_ERROR_INPUT && action_needs_document(action, err) < 0)
        return -1;
    if (release(action, err) < 0)
        return -1;
    return action_run_hooks(action, err);
}

int main(int argc, char **argv)
{
    return action_main(argc, argv, "clean", "HOST", 1, clean);
}
