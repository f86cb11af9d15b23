// SPDX-License-Identifier: Apache-2.0
#include "vmm/actions.h"
#include "vmm/plug.h"
#include <inttypes.h>
#include <stdio.h>

#define NAME_SIZE 16 /* "one-4294967295" */

int oneib_vmm_reattach(struct oneib_vmm *vmm, struct oneib_error *err)
{
    char name[NAME_SIZE];
    struct oneib_error failure = {0};
    snprintf(name, sizeof name, "one-%" PRIu32, vmm->vm->id);
    if (oneib_plug_in(vmm->config, name, vmm->vm, NULL, &failure) == 0 ||
        failure.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = failure;
    return -1;
}
