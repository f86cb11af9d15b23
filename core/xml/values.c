// SPDX-License-Identifier: Apache-2.0
#include "xml/values.h"
#include "base/number.h"

bool oneib_value_number(const struct oneib_value *value, uint64_t max, uint64_t *number)
{
    return value->state == ONEIB_VALUE_TEXT &&
           oneib_parse_decimal_n(value->text, value->length, max, number);
}

bool oneib_value_id(const struct oneib_value *value, uint32_t *id)
{
    uint64_t number;
    if (!oneib_value_number(value, ONEIB_ID_MAX, &number))
        return false;
    *id = (uint32_t)number;
    return true;
}

enum oneib_key_state oneib_value_key(const struct oneib_value *value, oneib_pkey *pkey)
{
    if (oneib_value_is_empty(value))
        return ONEIB_KEY_MISSING;
    if (value->state == ONEIB_VALUE_TEXT && oneib_pkey_parse(value->text, pkey))
        return ONEIB_KEY_VALID;
    return ONEIB_KEY_INVALID;
}

bool oneib_value_phydev(const struct oneib_value *value, char device[ONEIB_DEVICE_NAME_SIZE],
                        uint8_t *port)
{
    return value->state == ONEIB_VALUE_TEXT &&
           oneib_phydev_parse(value->text, value->length, device, port);
}
