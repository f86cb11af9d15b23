// SPDX-License-Identifier: Apache-2.0
#include "xml/values.h"
#include "base/number.h"
#include "ib/dummy_mac.h"

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

uint32_t oneib_value_ipv4(const struct oneib_value *value)
{
    uint32_t ipv4;
    return oneib_value_is_set(value) && oneib_ipv4_parse(value->text, &ipv4) ? ipv4 : 0;
}

bool oneib_value_is_nic_of(const struct oneib_value *driver, const struct oneib_value *type,
                           bool is_pci, const char *vn_mad)
{
    const bool has_driver =
        driver->state == ONEIB_VALUE_REPEATED || oneib_value_equals(driver, vn_mad);
    return has_driver && (!is_pci || oneib_value_equals(type, "NIC"));
}

bool oneib_value_phydev(const struct oneib_value *value, char device[ONEIB_DEVICE_NAME_SIZE],
                        uint8_t *port)
{
    return value->state == ONEIB_VALUE_TEXT &&
           oneib_phydev_parse(value->text, value->length, device, port);
}
