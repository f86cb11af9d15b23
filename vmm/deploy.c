// SPDX-License-Identifier: Apache-2.0
/* Starts a VM. Standard input is its domain's document; the VM's own lies beside the deployment
 * file, where oned puts it right before this. */
#include "action.h"
#include "base/cleanup.h"
#include "base/file.h"
#include <inttypes.h>

#define DOCUMENT "vm.xml"

static char *path_beside(const char *deployment_file)
{
    const char *slash = strrchr(deployment_file, '/');
    char *path;
    const int folder = slash ? (int)(slash - deployment_file + 1) : 0;
    return asprintf(&path, "%.*s" DOCUMENT, folder, deployment_file) < 0 ? NULL : path;
}

static int read_vm(struct action *action, struct oneib_error *err)
{
    oneib_autofree char *path = path_beside(action->arguments[0]);
    oneib_autofree char *xml = NULL;
    size_t length;
    if (!path)
        return oneib_fail_memory(err);
    if (oneib_file_read(path, ONEIB_VM_DOCUMENT_MAX, &xml, &length, err) < 0)
        return oneib_wrap(err,
                          "VM %" PRIu32
                          ": OpenNebula's document of the VM, which it puts here before it deploys",
                          action->vm_id);
    return action_read_vm(action, xml, length, err);
}

static int deploy(struct action *action, int *status, struct oneib_error *err)
{
    return read_vm(action, err) < 0 ? -1 : oneib_vmm_deploy(&action->vmm, status, err);
}

int main(int argc, char **argv)
{
    static const struct action_form form = {
        .name = "deploy",
        .arguments = "DEPLOYMENT_FILE HOST VMID HOST",
        .count = 4,
        .vm_id = 2,
        .domain = NO_ARGUMENT,
    };
    return action_main(argc, argv, &form, deploy);
}
