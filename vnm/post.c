// SPDX-License-Identifier: Apache-2.0
/* After a VM has started, was restored or migrated here, or got a NIC. */
#include "action.h"
#include "node/driver.h"

static int post(struct action *action, struct oneib_error *err)
{
    return action_give(action, oneib_driver_post, err);
}

int main(int argc, char **argv)
{
    return action_main(argc, argv, "post", "DEPLOY_ID HOST", 2, post);
}
