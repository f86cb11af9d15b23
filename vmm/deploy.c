// SPDX-License-Identifier: Apache-2.0
/* Starts a VM. Loads no libvirt: a VM that gets cores of its own is left to the program for all other
 * actions, which takes the same command line, and all are where the operator keeps VMs off others'
 * cores. */
#include "base/memory_file.h"
#include "deployment.h"
#include "hca/place.h"
#include <errno.h>
#include <unistd.h>

#define PROGRAM "vmm/driver"
#define BUILT "vmm/vmm-driver"

/* With standard input as it came. */
static int rewind_input(const struct action *action, struct oneib_error *err)
{
    const int file = oneib_memory_file(action->input, action->input_length);
    if (file >= 0 && dup2(file, STDIN_FILENO) >= 0)
        return 0;
    return oneib_fail_errno(err, errno, "handing over the domain's document");
}

/* Returns only on failure. */
static int become_driver(const struct action *action, struct oneib_error *err)
{
    char program[PATH_MAX];
    oneib_node_program(PROGRAM, BUILT, program);
    if (oneib_upstream_check_caller(&action->vmm.upstream, err) < 0 ||
        rewind_input(action, err) < 0)
        return -1;
    execv(program, action->argv);
    return oneib_fail_errno(err, errno, "starting %s ('install.sh --node' installs it)", program);
}

static int deploy(struct action *action, int *status, struct oneib_error *err)
{
    if (deployment_read_vm(action, err) < 0)
        return -1;
    if (action->config.node.hpc_cores != ONEIB_HPC_CORES_SHARED ||
        (action->vm.wants_hpc && action->vm.nic_count > 0))
        return become_driver(action, err);
    return oneib_vmm_deploy(&action->vmm, status, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {"deploy", DEPLOYMENT_ARGUMENTS, deploy, false};
    return action_main(argc, argv, &form, 1);
}
