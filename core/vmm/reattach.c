// SPDX-License-Identifier: Apache-2.0
#include "hca/reservations.h"
#include "vmm/actions.h"
#include "vmm/plug.h"
#include <inttypes.h>
#include <stdio.h>

#define NAME_SIZE 16 /* "one-4294967295" */

int oneib_vmm_reattach(struct oneib_vmm *vmm, size_t *plugged, struct oneib_error *err)
{
    char name[NAME_SIZE];
    struct oneib_vf_table table = {0};
    struct oneib_live *live = NULL;
    struct oneib_error failure = {0};
    int outcome = -1;
    *plugged = 0;
    snprintf(name, sizeof name, "one-%" PRIu32, vmm->vm->id);
    if (oneib_reservations_read(&table, &failure) == 0 &&
        oneib_live_open(vmm->config->node.libvirt, &live, &failure) == 0)
        outcome = oneib_plug_in(live, name, vmm->vm, &table, NULL, plugged, &failure);
    oneib_live_close(live);
    oneib_vf_table_clear(&table);
    if (outcome == 0 || failure.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = failure;
    return -1;
}
