// SPDX-License-Identifier: Apache-2.0
/* A network was updated while a VM with a NIC of it runs here. Which key it has now is oneibd's to
 * say, and comes with its grants. */
#include "vnm_action.h"

static int update_nic(struct action *action, struct oneib_error *err)
{
    (void)action;
    (void)err;
    return 0;
}

int main(int argc, char **argv)
{
    return action_main(argc, argv, "update_nic", "DEPLOY_ID NETWORK_ID", 2, update_nic);
}
