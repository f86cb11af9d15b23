// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"
#include <string.h>

unsigned oneib_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a' + 10);
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A' + 10);
    return 16;
}

static bool parse_digits(const char *bytes, size_t length, unsigned base, uint64_t max,
                         uint64_t *value)
{
    if (length == 0)
        return false;

    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = oneib_hex_digit(bytes[i]);
        if (digit >= base || digit > max || sum > (max - digit) / base)
            return false;
        sum = sum * base + digit;
    }
    *value = sum;
    return true;
}

bool oneib_parse_decimal_n(const char *bytes, size_t length, uint64_t max, uint64_t *value)
{
    if (length > 1 && bytes[0] == '0')
        return false;
    return parse_digits(bytes, length, 10, max, value);
}

bool oneib_parse_decimal(const char *string, uint64_t max, uint64_t *value)
{
    return string && oneib_parse_decimal_n(string, strlen(string), max, value);
}

bool oneib_parse_hex_n(const char *bytes, size_t length, uint64_t max, uint64_t *value)
{
    if (length < 3 || length > 18 || bytes[0] != '0' || (bytes[1] != 'x' && bytes[1] != 'X'))
        return false;
    return parse_digits(bytes + 2, length - 2, 16, max, value);
}

bool oneib_parse_hex(const char *string, uint64_t max, uint64_t *value)
{
    return string && oneib_parse_hex_n(string, strlen(string), max, value);
}
