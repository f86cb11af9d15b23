// SPDX-License-Identifier: Apache-2.0
/* A network was updated while a VM with a NIC of it runs here. */
#include "action.h"
#include "base/number.h"
#include "node/driver.h"
#include "xml/values.h"

static int update_nic(struct action *action, struct oneib_error *err)
{
    uint64_t network_id;
    if (!oneib_parse_decimal(action->arguments[1], ONEIB_ID_MAX, &network_id))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the network's id, this action's second argument, is no number");
    /* Nothing to go by: not even whose VFs to close. */
    if (action->vm.id == ONEIB_NO_ID)
        return action_needs_document(action, err);
    if (oneib_driver_update_nic(&action->config, &action->vm, (uint32_t)network_id, err) < 0)
        return -1;
    return action_needs_document(action, err);
}

int main(int argc, char **argv)
{
    return action_main(argc, argv, "update_nic", "DEPLOY_ID NETWORK_ID", 2, update_nic);
}
