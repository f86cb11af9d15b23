// SPDX-License-Identifier: Apache-2.0
/* The ledger's entries of ports: which are which host's. */
#include "base/array.h"
#include "base/order.h"
#include "cluster/ledger.h"
#include <inttypes.h>
#include <string.h>

static size_t port_place(const struct oneib_ledger *ledger, oneib_guid guid)
{
    return ONEIB_LOWER_BOUND(i, ledger->port_count, ledger->ports[i].guid < guid);
}

const struct oneib_ledger_port *oneib_ledger_port(const struct oneib_ledger *ledger,
                                                  oneib_guid guid)
{
    const size_t place = port_place(ledger, guid);
    return place < ledger->port_count && ledger->ports[place].guid == guid ? &ledger->ports[place]
                                                                           : NULL;
}

size_t oneib_ledger_count_ports(const struct oneib_ledger *ledger, uint32_t host_id)
{
    size_t count = 0;
    for (size_t i = 0; i < ledger->port_count; i++)
        count += ledger->ports[i].host_id == host_id;
    return count;
}

static int check_port(const struct oneib_ledger *ledger, const struct oneib_ledger_port *port,
                      struct oneib_error *err)
{
    const struct oneib_ledger_port *known = oneib_ledger_port(ledger, port->guid);
    if (port->guid == 0 || (port->switch_guid == 0) != (port->switch_port == 0))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "host %" PRIu32 ": 0x%016" PRIx64 " at port %u of switch 0x%016" PRIx64
                          " is no port",
                          port->host_id, port->guid, port->switch_port, port->switch_guid);
    if (!oneib_ledger_host(ledger, port->host_id))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "no key is known of host %" PRIu32,
                          port->host_id);
    if (known && known->host_id != port->host_id)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "port 0x%016" PRIx64 " is host %" PRIu32 "'s",
                          port->guid, known->host_id);
    if (!known && oneib_ledger_count_ports(ledger, port->host_id) >= ONEIB_HOST_PORTS_MAX)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "host %" PRIu32 " has %d ports already",
                          port->host_id, ONEIB_HOST_PORTS_MAX);
    return 0;
}

int oneib_ledger_set_port(struct oneib_ledger *ledger, const struct oneib_ledger_port *port,
                          struct oneib_error *err)
{
    const size_t place = port_place(ledger, port->guid);
    if (check_port(ledger, port, err) < 0)
        return -1;
    if (!oneib_ledger_port(ledger, port->guid))
        ONEIB_INSERT(ledger->ports, ledger->port_count, ledger->port_capacity, place);
    ledger->ports[place] = *port;
    return 0;
}

void oneib_ledger_forget_port(struct oneib_ledger *ledger, oneib_guid guid)
{
    const size_t place = port_place(ledger, guid);
    if (!oneib_ledger_port(ledger, guid))
        return;
    ledger->port_count--;
    memmove(&ledger->ports[place], &ledger->ports[place + 1],
            (ledger->port_count - place) * sizeof *ledger->ports);
}

void oneib_ledger_forget_ports(struct oneib_ledger *ledger, uint32_t host_id)
{
    size_t kept = 0;
    for (size_t i = 0; i < ledger->port_count; i++)
        if (ledger->ports[i].host_id != host_id)
            ledger->ports[kept++] = ledger->ports[i];
    ledger->port_count = kept;
}

void oneib_ledger_renew_ports(struct oneib_ledger *ledger, uint32_t host_id)
{
    size_t kept = 0;
    for (size_t i = 0; i < ledger->port_count; i++) {
        struct oneib_ledger_port port = ledger->ports[i];
        const bool is_its = port.host_id == host_id;
        if (is_its && port.state == ONEIB_LEDGER_PORT_ABSENT)
            continue;
        if (is_its)
            port.state = ONEIB_LEDGER_PORT_RENEWED;
        ledger->ports[kept++] = port;
    }
    ledger->port_count = kept;
}

bool oneib_ledger_port_allows(const struct oneib_ledger_port *port,
                              const struct oneib_hca_port *reported)
{
    return !port->hca.device[0] || port->state == ONEIB_LEDGER_PORT_RENEWED ||
           (strcmp(port->hca.device, reported->device) == 0 && port->hca.port == reported->port &&
            port->hca.driver == reported->driver);
}

static const char *const port_states[] = {
    [ONEIB_LEDGER_PORT_ABSENT] = "absent",
    [ONEIB_LEDGER_PORT_RENEWED] = "renewed",
};

const char *oneib_ledger_port_state_name(enum oneib_ledger_port_state state)
{
    return port_states[state];
}

bool oneib_ledger_port_state_parse(const char *name, enum oneib_ledger_port_state *state)
{
    for (size_t i = 0; i < sizeof port_states / sizeof *port_states; i++)
        if (port_states[i] && strcmp(name, port_states[i]) == 0) {
            *state = (enum oneib_ledger_port_state)i;
            return true;
        }
    return false;
}

void oneib_ledger_ports_render(const struct oneib_ledger *ledger, struct oneib_text *text)
{
    for (size_t i = 0; i < ledger->port_count; i++) {
        const struct oneib_ledger_port *port = &ledger->ports[i];
        oneib_text_printf(text, "HOST_PORT = [ HOST = \"%" PRIu32 "\", GUID = \"0x%016" PRIx64 "\"",
                          port->host_id, port->guid);
        if (port->hca.device[0])
            oneib_text_printf(text, ", NAME = \"%s:%u\", DRIVER = \"%s\", VFS = \"%u\"",
                              port->hca.device, port->hca.port,
                              oneib_hca_driver_name(port->hca.driver), port->hca.vfs_total);
        if (port->state != ONEIB_LEDGER_PORT_PRESENT)
            oneib_text_printf(text, ", STATE = \"%s\"", oneib_ledger_port_state_name(port->state));
        if (port->is_accepted)
            oneib_text_append(text, ", ACCEPTED = \"YES\"");
        oneib_text_printf(
            text, ", SWITCH = \"0x%016" PRIx64 "\", PORT = \"%u\", SINCE = \"%" PRId64 "\" ]\n",
            port->switch_guid, port->switch_port, port->since);
    }
}
