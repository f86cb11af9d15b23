// SPDX-License-Identifier: Apache-2.0
#include "sm/kind.h"

static const struct oneib_sm_traits kinds[] = {
    [ONEIB_SM_OPENSM] = {.name = "opensm"},
    [ONEIB_SM_NVIDIA_OPENSM] = {.name = "nvidia-opensm",
                                .virtual_ports = true,
                                .m_key_per_port = true},
    [ONEIB_SM_UFM] = {.name = "ufm",
                      .virtual_ports = true,
                      .m_key_per_port = true,
                      .is_elsewhere = true,
                      .default_partition = ONEIB_SM_LEAVES,
                      .others = ONEIB_SM_REFUSES,
                      .wildcards = ONEIB_SM_REFUSES,
                      .mtu_rate = ONEIB_SM_LEAVES,
                      .sl = ONEIB_SM_LEAVES,
                      .names = ONEIB_SM_LEAVES},
};

const struct oneib_sm_traits *oneib_sm_traits(enum oneib_sm_kind kind)
{
    return &kinds[kind];
}
