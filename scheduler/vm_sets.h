// SPDX-License-Identifier: Apache-2.0
/* VMs asked of oned, many at once, of which one whose text is broken keeps nobody else's away. */
#ifndef ONEIB_SCHEDULER_VM_SETS_H
#define ONEIB_SCHEDULER_VM_SETS_H

#include "base/error.h"
#include "opennebula/one_client.h"
#include <stddef.h>
#include <stdint.h>

/* Takes what oned shows of VMs of ids first..last: a pool, or one VM's document. PROTOCOL: it is
 * malformed, and nothing of it was taken. */
typedef int (*oneib_vms_taker)(void *context, const char *xml, size_t length, uint32_t first,
                               uint32_t last, struct oneib_error *err);

/*
 * ids: ascending, each once. 200 are asked for in a call; of a malformed answer half of them again,
 * in the end one alone, for into its own document nobody else can write. One whose own is malformed
 * is said on standard error, and left out, as is one that is gone.
 */
int oneib_vm_sets_read(struct oneib_one *one, const uint32_t *ids, size_t count,
                       oneib_vms_taker take, void *context, struct oneib_error *err);

#endif
