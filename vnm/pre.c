// SPDX-License-Identifier: Apache-2.0
/* Before a VM starts, is restored or migrated here, or gets a NIC. */
#include "node/driver.h"
#include "vnm_action.h"

static int pre(struct action *action, struct oneib_error *err)
{
    return action_give(action, oneib_driver_pre, err);
}

int main(int argc, char **argv)
{
    return action_main(argc, argv, "pre", "", 0, pre);
}
