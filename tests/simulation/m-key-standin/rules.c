// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <infiniband/mad.h>

static void end_lease(struct m_key_port *port, int64_t now_ms)
{
    if (port->expires_ms == 0 || now_ms < port->expires_ms)
        return;
    port->expires_ms = 0;
    port->level = 0;
}

static void note_violation(struct m_key_port *port, int64_t now_ms)
{
    if (port->violations < UINT16_MAX)
        port->violations++;
    if (port->expires_ms == 0 && port->lease_s != 0)
        port->expires_ms = now_ms + (int64_t)port->lease_s * 1000;
}

bool m_key_admits(struct m_key_port *port, bool is_set, uint64_t key, int64_t now_ms)
{
    end_lease(port, now_ms);
    if (port->key == 0 || port->key == key) {
        port->expires_ms = 0;
        return true;
    }
    if (!is_set && port->level < 2)
        return true;
    note_violation(port, now_ms);
    return false;
}

void m_key_show(const struct m_key_port *port, bool is_set, uint64_t key, uint8_t *port_info)
{
    const bool hidden = !is_set && port->level == 1 && key != port->key;
    mad_set_field64(port_info, 0, IB_PORT_MKEY_F, hidden ? 0 : port->key);
    mad_set_field(port_info, 0, IB_PORT_MKEY_LEASE_F, port->lease_s);
    mad_set_field(port_info, 0, IB_PORT_MKEY_PROT_BITS_F, port->level);
    mad_set_field(port_info, 0, IB_PORT_MKEY_VIOL_F, port->violations);
}

void m_key_take(struct m_key_port *port, uint8_t *port_info)
{
    port->key = mad_get_field64(port_info, 0, IB_PORT_MKEY_F);
    port->lease_s = (uint16_t)mad_get_field(port_info, 0, IB_PORT_MKEY_LEASE_F);
    port->level = (uint8_t)mad_get_field(port_info, 0, IB_PORT_MKEY_PROT_BITS_F);
    if (mad_get_field(port_info, 0, IB_PORT_MKEY_VIOL_F) == 0)
        port->violations = 0;
}
