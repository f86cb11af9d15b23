// SPDX-License-Identifier: Apache-2.0
/* The port that a grant names, which entry of its table, and whether a NIC may use it. */
#include "base/finding.h"
#include "base/text.h"
#include "hca/hca.h"
#include <string.h>

bool oneib_hca_has_infiniband(const struct oneib_hca *hca)
{
    for (size_t i = 0; i < hca->port_count; i++)
        if (hca->ports[i].link_layer == ONEIB_LINK_INFINIBAND)
            return true;
    return false;
}

/* As oneibd chooses for a network that names none (cluster/host_port.c). */
static bool serves_vms(const struct oneib_hca *hca)
{
    return hca->driver != ONEIB_HCA_OTHER && hca->vf_count > 0 && oneib_hca_has_infiniband(hca);
}

/* "mlx4_0, mlx4_1": what there is to choose from. */
static void list_adapters(const struct oneib_hcas *hcas, struct oneib_text *names)
{
    for (size_t i = 0; i < hcas->count; i++)
        if (serves_vms(&hcas->items[i]))
            oneib_text_printf(names, "%s%s", names->length > 0 ? ", " : "", hcas->items[i].name);
    if (names->length == 0)
        oneib_text_append(names, "none");
}

static const struct oneib_hca *find_hca(const struct oneib_hcas *hcas, const char *device,
                                        struct oneib_error *err)
{
    oneib_autotext struct oneib_text names = {0};
    const struct oneib_hca *hca = oneib_hcas_find(hcas, device);
    if (hca)
        return hca;
    list_adapters(hcas, &names);
    oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
               "this host has no adapter %s; its InfiniBand adapters with virtual functions: %s",
               device, names.data);
    return NULL;
}

static const char *link_layer_name(enum oneib_link_layer layer)
{
    return layer == ONEIB_LINK_INFINIBAND ? "InfiniBand"
           : layer == ONEIB_LINK_ETHERNET ? "Ethernet"
                                          : "unknown";
}

/* "port 1 Ethernet, port 2 InfiniBand" */
static void list_ports(const struct oneib_hca *hca, struct oneib_text *ports)
{
    for (size_t i = 0; i < hca->port_count; i++)
        oneib_text_printf(ports, "%sport %u %s", i > 0 ? ", " : "", hca->ports[i].number,
                          link_layer_name(hca->ports[i].link_layer));
}

static const struct oneib_port *find_port(const struct oneib_hca *hca, uint8_t number,
                                          struct oneib_error *err)
{
    oneib_autotext struct oneib_text ports = {0};
    const struct oneib_port *port = oneib_hca_find_port(hca, number);
    if (port && port->link_layer == ONEIB_LINK_INFINIBAND)
        return port;
    list_ports(hca, &ports);
    const char *there = ports.data ? ports.data : "none";
    if (port)
        oneib_fail(err, ONEIB_ERROR_INPUT, "%s port %u is not InfiniBand; its ports: %s", hca->name,
                   number, there);
    else
        oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s has no port %u; its ports: %s", hca->name,
                   number, there);
    return NULL;
}

int oneib_hcas_find_port(const struct oneib_hcas *hcas, const char *device, uint8_t number,
                         const struct oneib_hca **hca, const struct oneib_port **port,
                         struct oneib_error *err)
{
    *port = NULL;
    *hca = find_hca(hcas, device, err);
    if (!*hca)
        return -1;
    *port = find_port(*hca, number, err);
    return *port ? 0 : -1;
}

static int find_raw(const struct oneib_port *port, uint16_t raw)
{
    for (int i = 0; i < port->pkey_count; i++)
        if (port->pkeys[i] == raw)
            return i;
    return -1;
}

int oneib_port_pkey_index(const struct oneib_port *port, oneib_pkey pkey, bool limited)
{
    /* Empty slots are 0, and the default partition is nobody's. */
    if (pkey < ONEIB_PKEY_FIRST || pkey > ONEIB_PKEY_LAST)
        return -1;
    const int full = limited ? -1 : find_raw(port, oneib_pkey_raw(pkey, ONEIB_FULL));
    return full >= 0 ? full : find_raw(port, oneib_pkey_raw(pkey, ONEIB_LIMITED));
}

static int refuse_first_entry(const struct oneib_hca *hca, const struct oneib_port *port,
                              struct oneib_error *err)
{
    const uint16_t first = port->pkeys[0];
    if (first == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the P_Key table of %s port %u is empty: is the subnet manager running, "
                          "and the port cabled?",
                          hca->name, port->number);
    if (oneib_pkey_base(first) != ONEIB_PKEY_DEFAULT)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "entry 0 of the P_Key table of %s port %u is %s, where every virtual "
                          "function would reach it; it must be the default partition, 0x7fff: let "
                          "no partition of the subnet manager have indx0 there",
                          hca->name, port->number, oneib_pkey_raw_shown(first).text);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s port %u is a full member of the default partition (entry 0 is %s): "
                      "its virtual functions would reach every tenant; make it a limited member, "
                      "or let no VM with InfiniBand run on this host",
                      hca->name, port->number, oneib_pkey_raw_shown(first).text);
}

bool oneib_port_shows_last_slot(const struct oneib_hca *hca, const struct oneib_port *port)
{
    const unsigned count = port->pkey_count;
    return hca->driver == ONEIB_HCA_MLX4 && count > 0 && (count & (count - 1)) == 0;
}

int oneib_port_is_safe(const struct oneib_hca *hca, const struct oneib_port *port,
                       struct oneib_error *err)
{
    if (port->link_layer != ONEIB_LINK_INFINIBAND || port->pkey_count == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s port %u is not InfiniBand, or its P_Key table could not be read",
                          hca->name, port->number);
    if (port->pkeys[0] != ONEIB_PKEY_DEFAULT)
        return refuse_first_entry(hca, port, err);
    const uint16_t last = port->pkeys[port->pkey_count - 1];
    if (oneib_port_shows_last_slot(hca, port) && last != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the last slot of the P_Key table of %s port %u (%u) holds %s, and "
                          "virtual functions that were never closed are mapped to it: %s",
                          hca->name, port->number, port->pkey_count - 1,
                          oneib_pkey_raw_shown(last).text,
                          oneib_finding_fix(ONEIB_FINDING_KEY_LAST_SLOT));
    return 0;
}

const char *oneib_port_state_name(uint8_t state)
{
    static const char *const names[] = {"unknown", "down", "init", "armed", "active"};
    return state < sizeof names / sizeof *names ? names[state] : names[0];
}
