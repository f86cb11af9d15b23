// SPDX-License-Identifier: Apache-2.0
#include "sm/kind.h"
#include "ib/ipoib.h"

static const struct oneib_sm_traits kinds[] = {
    [ONEIB_SM_OPENSM] = {.name = "opensm", .rate_max = 22}, /* 600 Gb/s: opensm 3.3.23 */
    [ONEIB_SM_NVIDIA_OPENSM] = {.name = "nvidia-opensm",
                                .virtual_ports = true,
                                .m_key_per_port = true,
                                .rate_max = ONEIB_RATE_CODE_MAX},
    [ONEIB_SM_UFM] = {.name = "ufm",
                      .virtual_ports = true,
                      .m_key_per_port = true,
                      .is_elsewhere = true,
                      .rate_max = ONEIB_RATE_CODE_MAX,
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
