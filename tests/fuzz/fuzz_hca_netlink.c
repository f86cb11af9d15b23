// SPDX-License-Identifier: Apache-2.0
/* The kernel's answer about a VF: whatever it holds, nothing behind it is read, and what is not
 * taken leaves the state as it was. */
#include "hca/vf_netlink.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static bool is_link(enum oneib_vf_link link)
{
    return link == ONEIB_VF_LINK_AUTO || link == ONEIB_VF_LINK_ENABLE ||
           link == ONEIB_VF_LINK_DISABLE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct oneib_netlink_vf before = {1, 2, ONEIB_VF_LINK_ENABLE};
    void *aligned = malloc(size + (size == 0));
    require(aligned != NULL);
    if (size > 0)
        memcpy(aligned, data, size);
    for (uint32_t vf = 0; vf < 4; vf++) {
        struct oneib_error err = {0};
        struct oneib_netlink_vf state = before;
        if (oneib_netlink_parse_vf(aligned, size, vf, &state, &err) == 0) {
            require(is_link(state.link) && err.code == ONEIB_ERROR_NONE);
        } else {
            require(err.code != ONEIB_ERROR_NONE && state.node_guid == before.node_guid &&
                    state.port_guid == before.port_guid && state.link == before.link);
        }
    }
    free(aligned);
    return 0;
}
