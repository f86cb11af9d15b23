// SPDX-License-Identifier: Apache-2.0
/* A security group was updated: they filter IP on Ethernet, and have nothing to say about
 * InfiniBand. */
#include "vnm_action.h"

static int update_sg(struct action *action, struct oneib_error *err)
{
    (void)action;
    (void)err;
    return 0;
}

int main(int argc, char **argv)
{
    return action_main(argc, argv, "update_sg", "DEPLOY_ID", 1, update_sg);
}
