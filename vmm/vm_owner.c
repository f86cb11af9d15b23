// SPDX-License-Identifier: Apache-2.0
/* Apart from what asks libvirt: `deploy` does not. */
#include "base/escape.h"
#include "vmm/plug.h"
#include <inttypes.h>

#define NAME_SHOWN 60

int oneib_plug_check_owner(const struct oneib_domain_description *description, uint32_t vm_id,
                           struct oneib_error *err)
{
    if (description->vm_id == (int64_t)vm_id)
        return 0;
    oneib_autotext struct oneib_text name = {0};
    oneib_text_append_escaped(&name, description->name ? description->name : "", NAME_SHOWN);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "the domain \"%s\" is not that of VM %" PRIu32 ", which is one-%" PRIu32,
                      name.data ? name.data : "", vm_id, vm_id);
}
