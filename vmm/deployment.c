// SPDX-License-Identifier: Apache-2.0
#include "deployment.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include <inttypes.h>
#include <string.h>

#define DOCUMENT "vm.xml"

static char *path_beside(const char *deployment_file)
{
    const char *slash = strrchr(deployment_file, '/');
    const int directory = slash ? (int)(slash - deployment_file + 1) : 0;
    return oneib_asprintf("%.*s" DOCUMENT, directory, deployment_file);
}

int deployment_read_vm(struct action *action, struct oneib_error *err)
{
    oneib_autofree char *path = path_beside(action->arguments[0]);
    oneib_autofree char *xml = NULL;
    size_t length;
    if (oneib_file_read(path, ONEIB_VM_DOCUMENT_MAX, &xml, &length, err) < 0)
        return oneib_wrap(err,
                          "VM %" PRIu32
                          ": OpenNebula's document of the VM, which it puts here before it deploys",
                          action->vm_id);
    return action_read_vm(action, xml, length, err);
}
