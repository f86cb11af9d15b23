// SPDX-License-Identifier: Apache-2.0
/* After a VM has started, was restored or migrated here, or got a NIC. */
#include "base/base64.h"
#include "base/cleanup.h"
#include "node/driver.h"
#include "vnm_action.h"

static int arrive(struct action *action, struct oneib_error *err)
{
    struct oneib_error left;
    size_t length;
    oneib_autofree char *document =
        oneib_base64_decode(action->input, action->input_length, &length);
    if (!document)
        return oneib_fail_memory(err);
    if (oneib_driver_arrive(&action->config, &action->vm, document, length, &left, err) < 0)
        return -1;
    if (left.code != ONEIB_ERROR_NONE)
        action_warn(&left);
    return action_run_hooks(action, err);
}

static int post(struct action *action, struct oneib_error *err)
{
    if (action_needs_document(action, err) < 0)
        return -1;
    return action->vm.attaching ? action_give(action, oneib_driver_post, err) : arrive(action, err);
}

int main(int argc, char **argv)
{
    return action_main(argc, argv, "post", "DEPLOY_ID HOST", 2, post);
}
