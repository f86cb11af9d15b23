// SPDX-License-Identifier: Apache-2.0
#include "node/vm_document.h"
#include <stdlib.h>

void oneib_node_vm_clear(struct oneib_node_vm *vm)
{
    free(vm->hostname);
    free(vm->nics);
    *vm = (struct oneib_node_vm){0};
}
