// SPDX-License-Identifier: Apache-2.0
#include "model/standing.h"
#include <stddef.h>

static bool has_entry(const struct oneib_subnet_port *port, uint16_t raw)
{
    for (unsigned i = 0; i < port->partition_cap; i++)
        if (port->pkeys[i] == raw)
            return true;
    return false;
}

enum oneib_standing oneib_standing_of(const struct oneib_subnet *subnet, oneib_guid guid,
                                      oneib_pkey pkey, enum oneib_membership membership)
{
    const bool full = membership == ONEIB_FULL;
    const struct oneib_subnet_port *port = oneib_subnet_find(subnet, guid);
    if (!port)
        return ONEIB_PORT_ABSENT;
    if (!port->answered)
        return ONEIB_PORT_MUTE;
    /* The other entry beside the right one is another membership too: limited was meant. */
    if (has_entry(port, oneib_pkey_raw(pkey, full ? ONEIB_LIMITED : ONEIB_FULL)))
        return full && has_entry(port, oneib_pkey_raw(pkey, ONEIB_FULL)) ? ONEIB_IN_FORCE
                                                                         : ONEIB_KEY_OTHERWISE;
    return has_entry(port, oneib_pkey_raw(pkey, membership)) ? ONEIB_IN_FORCE : ONEIB_KEY_LACKING;
}

const char *oneib_standing_name(enum oneib_standing standing)
{
    switch (standing) {
    case ONEIB_IN_FORCE:
        return "in-force";
    case ONEIB_KEY_LACKING:
        return "key-lacking";
    case ONEIB_KEY_OTHERWISE:
        return "other-membership";
    case ONEIB_PORT_ABSENT:
        return "port-off-fabric";
    case ONEIB_PORT_MUTE:
        return "port-silent";
    }
    return "unknown";
}

const char *oneib_standing_text(enum oneib_standing standing)
{
    switch (standing) {
    case ONEIB_IN_FORCE:
        return "in force";
    case ONEIB_KEY_LACKING:
        return "the port lacks the key";
    case ONEIB_KEY_OTHERWISE:
        return "the port has the other membership";
    case ONEIB_PORT_ABSENT:
        return "the port is off the fabric";
    case ONEIB_PORT_MUTE:
        return "the port does not answer";
    }
    return "unknown";
}
