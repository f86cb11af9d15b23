// SPDX-License-Identifier: Apache-2.0
#include "host/virtual_port.h"
#include <inttypes.h>

static bool is_own(uint16_t raw, const struct oneib_virtual_port_wanted *wanted)
{
    return wanted->pkey != 0 && oneib_pkey_base(raw) == wanted->pkey &&
           (!wanted->limited || !oneib_pkey_is_full(raw));
}

/* An entry without a key is empty, whatever its membership bit: IBA 1.2.1, 10.9.1.2. */
static bool is_harmless(uint16_t raw, const struct oneib_virtual_port_wanted *wanted)
{
    return oneib_pkey_base(raw) == 0 || raw == oneib_pkey_raw(ONEIB_PKEY_DEFAULT, ONEIB_LIMITED) ||
           is_own(raw, wanted);
}

/* -1: none. */
static int find_harm(const struct oneib_virtual_port *port,
                     const struct oneib_virtual_port_wanted *wanted)
{
    for (unsigned i = 0; i < port->pkey_count; i++)
        if (!is_harmless(port->pkeys[i], wanted))
            return (int)i;
    return -1;
}

static void tell_of_key(const struct oneib_virtual_port *port,
                        const struct oneib_virtual_port_wanted *wanted, struct oneib_error *why)
{
    oneib_fail(why, ONEIB_ERROR_NOT_FOUND,
               "P_Key %s (%s) is not at index 0 of its own table, which begins with 0x%04x",
               oneib_pkey_shown(wanted->pkey).text, wanted->limited ? "limited" : "full or limited",
               port->pkey_count > 0 ? port->pkeys[0] : 0);
}

enum oneib_virtual_port_result
oneib_virtual_port_judge(const struct oneib_virtual_port *port,
                         const struct oneib_virtual_port_wanted *wanted, struct oneib_error *why)
{
    const int harm = find_harm(port, wanted);
    if (harm >= 0) {
        oneib_fail(why, ONEIB_ERROR_REFUSED,
                   "its own P_Key table has %s at index %d, which is not its NIC's",
                   oneib_pkey_raw_shown(port->pkeys[harm]).text, harm);
        return ONEIB_VIRTUAL_PORT_HARMS;
    }
    if (wanted->guid && port->guid != wanted->guid) {
        oneib_fail(why, ONEIB_ERROR_NOT_FOUND,
                   "its own port answers to GUID 0x%016" PRIx64 ", and not to 0x%016" PRIx64,
                   port->guid, wanted->guid);
        return ONEIB_VIRTUAL_PORT_LACKS;
    }
    if (port->pkey_count == 0 || !is_own(port->pkeys[0], wanted)) {
        tell_of_key(port, wanted, why);
        return ONEIB_VIRTUAL_PORT_LACKS;
    }
    return ONEIB_VIRTUAL_PORT_RIGHT;
}

const char *oneib_virtual_port_way_name(enum oneib_virtual_port_way way)
{
    static const char *const names[] = {[ONEIB_VIRTUAL_PORT_UNSEEN] = "none",
                                        [ONEIB_VIRTUAL_PORT_SYSFS] = "sysfs",
                                        [ONEIB_VIRTUAL_PORT_FWCTL] = "fwctl"};
    return names[way];
}
