// SPDX-License-Identifier: Apache-2.0
#include "scheduler/vm_sets.h"
#include "base/cleanup.h"
#include <inttypes.h>
#include <stdio.h>

#define VMS_A_CALL 200u

struct reading {
    struct oneib_one *one;
    oneib_vms_taker take;
    void *context;
};

static void leave_out(uint32_t id, const struct oneib_error *err)
{
    fprintf(stderr,
            "oneib: VM %" PRIu32 " cannot be read, and is OpenNebula's alone to place: %s\n", id,
            err->text);
}

static int read_one(const struct reading *reading, uint32_t id, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    if (oneib_one_vm(reading->one, id, &xml, &length, err) < 0)
        return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
    if (reading->take(reading->context, xml, length, id, id, err) == 0)
        return 0;
    if (err->code != ONEIB_ERROR_PROTOCOL)
        return -1;
    leave_out(id, err);
    return 0;
}

static int read_set(const struct reading *reading, const uint32_t *ids, size_t count,
                    struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    if (oneib_one_vms(reading->one, ids, count, &xml, &length, err) < 0)
        return -1;
    if (reading->take(reading->context, xml, length, ids[0], ids[count - 1], err) == 0)
        return 0;
    if (err->code != ONEIB_ERROR_PROTOCOL)
        return -1;
    if (count == 1)
        return read_one(reading, ids[0], err);
    const size_t half = count / 2;
    return read_set(reading, ids, half, err) < 0 ? -1
                                                 : read_set(reading, ids + half, count - half, err);
}

int oneib_vm_sets_read(struct oneib_one *one, const uint32_t *ids, size_t count,
                       oneib_vms_taker take, void *context, struct oneib_error *err)
{
    const struct reading reading = {.one = one, .take = take, .context = context};
    for (size_t i = 0; i < count; i += VMS_A_CALL) {
        const size_t rest = count - i;
        if (read_set(&reading, ids + i, rest < VMS_A_CALL ? rest : VMS_A_CALL, err) < 0)
            return -1;
    }
    return 0;
}
