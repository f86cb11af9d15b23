// SPDX-License-Identifier: Apache-2.0
#include "ib/dummy_mac.h"
#include "base/number.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

bool oneib_dummy_mac_encode(uint32_t ipv4, unsigned index, char text[ONEIB_MAC_TEXT_SIZE])
{
    if (index > ONEIB_DUMMY_MAC_INDEX_MAX)
        return false;
    snprintf(text, ONEIB_MAC_TEXT_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x", ONEIB_DUMMY_MAC_PREFIX,
             index & 0xff, ipv4 >> 24, ipv4 >> 16 & 0xff, ipv4 >> 8 & 0xff, ipv4 & 0xff);
    return true;
}

static bool parse_mac(const char *text, uint8_t bytes[6])
{
    if (!text || strlen(text) != ONEIB_MAC_TEXT_SIZE - 1)
        return false;
    for (size_t i = 0; i < 6; i++) {
        const unsigned high = oneib_hex_digit(text[3 * i]);
        const unsigned low = oneib_hex_digit(text[3 * i + 1]);
        if (high > 15 || low > 15 || text[3 * i + 2] != (i < 5 ? ':' : '\0'))
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool oneib_dummy_mac_decode(const char *text, uint32_t *ipv4, unsigned *index)
{
    uint8_t bytes[6];
    if (!parse_mac(text, bytes) || bytes[0] != ONEIB_DUMMY_MAC_PREFIX ||
        bytes[1] > ONEIB_DUMMY_MAC_INDEX_MAX)
        return false;
    *ipv4 =
        (uint32_t)bytes[2] << 24 | (uint32_t)bytes[3] << 16 | (uint32_t)bytes[4] << 8 | bytes[5];
    *index = bytes[1];
    return true;
}

bool oneib_mac_parse(const char *text, uint64_t *mac)
{
    uint8_t bytes[6];
    if (!parse_mac(text, bytes))
        return false;
    *mac = 0;
    for (size_t i = 0; i < 6; i++)
        *mac = *mac << 8 | bytes[i];
    return true;
}

bool oneib_ipv4_parse(const char *string, uint32_t *ipv4)
{
    if (!string)
        return false;

    uint32_t address = 0;
    for (int i = 0; i < 4; i++) {
        size_t length = strcspn(string, ".");
        uint64_t byte;
        if (!oneib_parse_decimal_n(string, length, 255, &byte))
            return false;
        address = address << 8 | (uint32_t)byte;
        string += length;
        if (*string != (i < 3 ? '.' : '\0'))
            return false;
        string++;
    }
    *ipv4 = address;
    return true;
}

void oneib_ipv4_format(uint32_t ipv4, char text[ONEIB_IPV4_TEXT_SIZE])
{
    snprintf(text, ONEIB_IPV4_TEXT_SIZE, "%u.%u.%u.%u", ipv4 >> 24, ipv4 >> 16 & 0xff,
             ipv4 >> 8 & 0xff, ipv4 & 0xff);
}
