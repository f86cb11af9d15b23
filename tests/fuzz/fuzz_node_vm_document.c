// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as what OpenNebula gives drivers: with an even first byte the document, with
 * an odd one its base64. What was read must be sound whatever it was: a broken promise of
 * node/vm_document.h aborts.
 */
#include "node/driver_nics.h"
#include "node/vm_document.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
    if (!promise)
        abort();
}

/* It becomes markup, and is compared with what OpenNebula says. */
static void check_device(const struct oneib_node_nic *nic)
{
    require(memchr(nic->target, '\0', sizeof nic->target) != NULL);
    require(!strpbrk(nic->target, "<>&'\"/ \n"));
    const size_t length = strnlen(nic->mac, sizeof nic->mac);
    require(length == 0 || length == sizeof nic->mac - 1);
    require(strspn(nic->mac, "0123456789abcdef:") == length);
    require(!nic->has_guest_address || nic->is_pci);
    require(nic->guest_address.slot < 32 && nic->guest_address.function < 8);
}

static void check_nic(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic)
{
    struct oneib_error err = {0};
    require(nic->faulty || nic->network_id != ONEIB_NO_ID);
    require(!nic->to_undo);
    check_device(nic);
    if (oneib_nic_check(vm, nic, &err) == 0) {
        const struct oneib_request request = oneib_nic_request(vm, nic);
        require(request.vm_id == vm->id && request.nic_id == nic->nic_id);
        require(request.network_id == nic->network_id);
    }
}

static void check(const struct oneib_node_vm *vm, const struct oneib_error *err)
{
    require(err->code == ONEIB_ERROR_NONE || err->code == ONEIB_ERROR_INPUT ||
            err->code == ONEIB_ERROR_PROTOCOL);
    require(err->code == ONEIB_ERROR_PROTOCOL || vm->id != ONEIB_NO_ID);
    require(err->code != ONEIB_ERROR_PROTOCOL || vm->nic_count == 0);
    for (size_t i = 0; i < vm->nic_count; i++) {
        require(i == 0 || vm->nics[i - 1].nic_id < vm->nics[i].nic_id);
        require(err->code != ONEIB_ERROR_NONE || !vm->nics[i].faulty);
        check_nic(vm, &vm->nics[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_node_vm vm;
    struct oneib_error err = {0};
    if (size == 0)
        return 0;

    /* A copy of its own, so that reading beyond its end is seen. */
    const size_t length = size - 1;
    char *text = malloc(length > 0 ? length : 1);
    if (!text)
        return 0;
    memcpy(text, data + 1, length);
    const int outcome = data[0] % 2 == 0
                            ? oneib_node_vm_parse(text, length, "infiniband", &vm, &err)
                            : oneib_node_vm_decode(text, length, "infiniband", &vm, &err);
    require((outcome < 0) == (err.code != ONEIB_ERROR_NONE));
    check(&vm, &err);
    oneib_node_vm_clear(&vm);
    free(text);
    return 0;
}
