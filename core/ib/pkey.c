// SPDX-License-Identifier: Apache-2.0
#include "ib/pkey.h"
#include "base/number.h"
#include <stdio.h>
#include <strings.h>

bool oneib_pkey_parse(const char *string, oneib_pkey *pkey)
{
    uint64_t value;
    if (!oneib_parse_decimal(string, ONEIB_PKEY_LAST, &value) || value < ONEIB_PKEY_FIRST)
        return false;
    *pkey = (oneib_pkey)value;
    return true;
}

uint16_t oneib_pkey_raw(oneib_pkey pkey, enum oneib_membership membership)
{
    return membership == ONEIB_FULL ? pkey | ONEIB_PKEY_FULL_BIT : pkey;
}

oneib_pkey oneib_pkey_base(uint16_t raw)
{
    return raw & ~ONEIB_PKEY_FULL_BIT & 0xffff;
}

bool oneib_pkey_is_full(uint16_t raw)
{
    return (raw & ONEIB_PKEY_FULL_BIT) != 0;
}

struct oneib_pkey_text oneib_pkey_shown(oneib_pkey pkey)
{
    struct oneib_pkey_text shown;
    snprintf(shown.text, sizeof shown.text, "0x%04x", pkey);
    return shown;
}

struct oneib_pkey_text oneib_pkey_raw_shown(uint16_t raw)
{
    struct oneib_pkey_text shown;
    snprintf(shown.text, sizeof shown.text, "0x%04x %s", oneib_pkey_base(raw),
             oneib_membership_name(oneib_pkey_is_full(raw) ? ONEIB_FULL : ONEIB_LIMITED));
    return shown;
}

const char *oneib_membership_name(enum oneib_membership membership)
{
    switch (membership) {
    case ONEIB_FULL:
        return "full";
    case ONEIB_BOTH:
        return "both";
    case ONEIB_LIMITED:
        break;
    }
    /* A value that is none of the three must never widen anything. */
    return "limited";
}

bool oneib_membership_parse(const char *string, enum oneib_membership *membership)
{
    if (string && strcasecmp(string, "full") == 0)
        *membership = ONEIB_FULL;
    else if (string && strcasecmp(string, "limited") == 0)
        *membership = ONEIB_LIMITED;
    else
        return false;
    return true;
}
