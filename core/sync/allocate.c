// SPDX-License-Identifier: Apache-2.0
#include "sync/sync.h"

/* Errors after which asking for the next network is pointless. */
static bool ends_everything(enum oneib_error_code code)
{
    return code == ONEIB_ERROR_UNREACHABLE || code == ONEIB_ERROR_AUTH ||
           code == ONEIB_ERROR_MEMORY || code == ONEIB_ERROR_TIMEOUT;
}

int oneib_allocate(struct oneib_one *one, struct oneib_view *view, size_t *given,
                   struct oneib_error *err)
{
    *given = 0;
    for (size_t i = 0; i < view->desired.request_count; i++) {
        const struct oneib_key_request *request = &view->desired.requests[i];
        if (request->pkey == 0)
            continue; /* the range is used up: desired.findings says so */

        struct oneib_error failure;
        if (oneib_one_set_pkey(one, request->network_id, request->pkey, &failure) == 0) {
            ++*given;
            continue;
        }
        if (ends_everything(failure.code)) {
            *err = failure;
            return oneib_wrap(err, "giving network %u a P_Key", request->network_id);
        }
        if (oneib_findings_add(
                &view->findings, ONEIB_WARNING, "pkey-not-written",
                "give oneib's OpenNebula user MANAGE and ADMIN rights on the network, or set "
                "its VLAN_ID by hand",
                err, "network %u has no P_Key and could not be given one: %s", request->network_id,
                failure.text) < 0)
            return -1;
    }
    return 0;
}
