// SPDX-License-Identifier: Apache-2.0
#include "ib/device.h"
#include "base/number.h"
#include <string.h>

static bool is_allowed(char c)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "_.-";
    return c != '\0' && strchr(allowed, c);
}

bool oneib_device_name_is_valid(const char *name, size_t length)
{
    if (length == 0 || length >= ONEIB_DEVICE_NAME_SIZE)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_allowed(name[i]))
            return false;
    /* It becomes part of a path. */
    return !(name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.')));
}

bool oneib_phydev_parse(const char *text, size_t length, char device[ONEIB_DEVICE_NAME_SIZE],
                        uint8_t *port)
{
    const char *colon = memchr(text, ':', length);
    const size_t name = colon ? (size_t)(colon - text) : length;
    uint64_t number = 0;
    if (!oneib_device_name_is_valid(text, name) ||
        (colon &&
         (!oneib_parse_decimal_n(colon + 1, length - name - 1, 254, &number) || number == 0)))
        return false;
    memcpy(device, text, name);
    device[name] = '\0';
    *port = (uint8_t)number;
    return true;
}
