// SPDX-License-Identifier: Apache-2.0
#include "ib/ipoib.h"
#include "base/order.h"
#include <stddef.h>

#define MTU_CODE_MAX 5
#define IPOIB_HEADER 4 /* bytes, RFC 4391 section 6 */

unsigned oneib_mtu_bytes(uint8_t code)
{
    return code >= 1 && code <= MTU_CODE_MAX ? 128u << code : 0;
}

uint8_t oneib_mtu_code(unsigned bytes)
{
    for (uint8_t code = 1; code <= MTU_CODE_MAX; code++)
        if (oneib_mtu_bytes(code) == bytes)
            return code;
    return 0;
}

uint8_t oneib_mtu_code_for_ip(unsigned ip_mtu)
{
    if (ip_mtu == 0)
        return 0;
    for (uint8_t code = 1; code < MTU_CODE_MAX; code++)
        if (oneib_mtu_bytes(code) - IPOIB_HEADER >= ip_mtu)
            return code;
    return MTU_CODE_MAX;
}

/* Gb/s by code. 2-10: IBA 1.2.1, table of PathRecord; beyond: enum ibv_rate of rdma-core. 2 stands
 * for 2.5. */
static const uint16_t rates[] = {
    [2] = 2,    [3] = 10,  [4] = 30,  [5] = 5,    [6] = 20,   [7] = 40,   [8] = 60,    [9] = 80,
    [10] = 120, [11] = 14, [12] = 56, [13] = 112, [14] = 168, [15] = 25,  [16] = 100,  [17] = 200,
    [18] = 300, [19] = 28, [20] = 50, [21] = 400, [22] = 600, [23] = 800, [24] = 1200,
};
#define RATES (sizeof rates / sizeof rates[0])

unsigned oneib_rate_gbps(uint8_t code)
{
    return code < RATES ? rates[code] : 0;
}

uint8_t oneib_rate_code(unsigned gbps)
{
    for (uint8_t code = 2; code < RATES; code++)
        if (rates[code] == gbps)
            return code;
    return 0;
}

int oneib_rate_compare(uint8_t a, uint8_t b)
{
    return ONEIB_COMPARE(oneib_rate_gbps(a), oneib_rate_gbps(b));
}
