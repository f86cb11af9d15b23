// SPDX-License-Identifier: Apache-2.0
/* No action of OpenNebula's: `deploy` of a VM that gets cores of its own, for which libvirt is
 * asked who else has some. `deploy` becomes it. */
#include "deployment.h"

static int deploy(struct action *action, int *status, struct oneib_error *err)
{
    return deployment_read_vm(action, err) < 0 ? -1 : oneib_vmm_deploy(&action->vmm, status, err);
}

int main(int argc, char **argv)
{
    return deployment_main(argc, argv, deploy);
}
