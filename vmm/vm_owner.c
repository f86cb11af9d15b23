// SPDX-License-Identifier: Apache-2.0
/* Apart from what asks libvirt: `deploy` does not. */
#include "base/escape.h"
#include "hca/reservations.h"
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

bool oneib_plug_is_still_its_own(uint32_t vm_id, uint8_t nic_id, const struct oneib_pci *vf)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    struct oneib_error unread;
    if (oneib_reservations_read(&table, &unread) < 0)
        return false;
    const struct oneib_vf_record *now = oneib_vf_table_of_nic(&table, vm_id, nic_id);
    return now && now->stage != ONEIB_VF_RELEASING && oneib_pci_compare(&now->vf, vf) == 0;
}
