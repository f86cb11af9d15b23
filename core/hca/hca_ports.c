// SPDX-License-Identifier: Apache-2.0
/* An adapter's ports. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "hca/attribute.h"
#include "hca/hca_internal.h"
#include "hca/place.h"

#define PORT_NUMBER_MAX 254
#define PORT_STATE_MAX 5 /* IBA PortInfo.PortState: active, deferred */

static int port_path(const struct oneib_hca *hca, const struct oneib_port *port, const char *name,
                     char path[ONEIB_NODE_PATH_SIZE], struct oneib_error *err)
{
    return oneib_node_path(path, ONEIB_NODE_PATH_SIZE, err, ONEIB_CLASS_PATH "/%s/ports/%u/%s",
                           hca->name, port->number, name);
}

static int read_text(const struct oneib_hca *hca, const struct oneib_port *port, const char *name,
                     char text[ONEIB_ATTRIBUTE_SIZE], struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    if (port_path(hca, port, name, path, err) < 0)
        return -1;
    return oneib_attribute_read(path, text, ONEIB_ATTRIBUTE_SIZE, err);
}

static int fail_port(const struct oneib_hca *hca, const struct oneib_port *port, const char *name,
                     struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT, "%s port %u: its attribute %s is invalid", hca->name,
                      port->number, name);
}

static int read_link_layer(const struct oneib_hca *hca, struct oneib_port *port,
                           struct oneib_error *err)
{
    char text[ONEIB_ATTRIBUTE_SIZE];
    port->link_layer = ONEIB_LINK_UNKNOWN;
    if (read_text(hca, port, "link_layer", text, err) < 0)
        return -1;
    if (strcmp(text, "InfiniBand") == 0)
        port->link_layer = ONEIB_LINK_INFINIBAND;
    else if (strcmp(text, "Ethernet") == 0)
        port->link_layer = ONEIB_LINK_ETHERNET;
    else if (strcmp(text, "Unknown") != 0)
        return fail_port(hca, port, "link_layer", err);
    return 0;
}

/* "4: ACTIVE" */
static int read_state(const struct oneib_hca *hca, struct oneib_port *port, struct oneib_error *err)
{
    char text[ONEIB_ATTRIBUTE_SIZE];
    uint64_t state;
    if (read_text(hca, port, "state", text, err) < 0)
        return -1;
    if (!oneib_parse_decimal_n(text, strcspn(text, ":"), PORT_STATE_MAX, &state))
        return fail_port(hca, port, "state", err);
    port->state = (uint8_t)state;
    return 0;
}

/* "56 Gb/sec (4X FDR)", "2.5 Gb/sec (1X SDR)". A port that is down may have no width, and then the
 * kernel refuses to read it: no fault of the adapter. */
static void read_rate(const struct oneib_hca *hca, struct oneib_port *port)
{
    char text[ONEIB_ATTRIBUTE_SIZE];
    struct oneib_error err;
    uint64_t rate;
    if (read_text(hca, port, "rate", text, &err) == 0 &&
        oneib_parse_decimal_n(text, strcspn(text, ". "), UINT16_MAX, &rate))
        port->rate_gbps = (uint16_t)rate;
}

static int read_lid(const struct oneib_hca *hca, struct oneib_port *port, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    uint64_t lid;
    if (port_path(hca, port, "lid", path, err) < 0 ||
        oneib_attribute_hex(path, UINT16_MAX, &lid, err) < 0)
        return -1;
    port->lid = (uint16_t)lid;
    return 0;
}

int oneib_port_read_guid(const struct oneib_hca *hca, struct oneib_port *port,
                         struct oneib_error *err)
{
    char text[ONEIB_ATTRIBUTE_SIZE];
    if (read_text(hca, port, "gids/0", text, err) < 0)
        return -1;
    if (!oneib_parse_groups(text, 8, &port->guid))
        return fail_port(hca, port, "gids/0", err);
    return 0;
}

static int read_pkey(struct oneib_attribute_table *table, size_t index, uint16_t *pkeys,
                     struct oneib_error *err)
{
    uint64_t raw;
    if (oneib_attribute_table_hex(table, index, UINT16_MAX, &raw, err) < 0)
        return -1;
    pkeys[index] = (uint16_t)raw;
    return 0;
}

/* The entries that oneib_port_is_safe() looks at, and all up to the first that holds `last`; -1:
 * all. */
static int read_pkeys(struct oneib_attribute_table *table, int32_t last, uint16_t *pkeys,
                      size_t count, struct oneib_error *err)
{
    if (read_pkey(table, count - 1, pkeys, err) < 0)
        return -1;
    for (size_t i = 0; i + 1 < count; i++) {
        if (read_pkey(table, i, pkeys, err) < 0)
            return -1;
        if (pkeys[i] == last)
            return 0;
    }
    return 0;
}

static int reread(const struct oneib_hca *hca, struct oneib_port *port, int32_t last,
                  struct oneib_error *err)
{
    oneib_autoattributes struct oneib_attribute_table table = {0};
    char path[ONEIB_NODE_PATH_SIZE];
    size_t count;
    if (port_path(hca, port, "pkeys", path, err) < 0 ||
        oneib_attribute_table_open(path, &table, err) < 0 ||
        oneib_attribute_table_count(&table, ONEIB_PKEY_TABLE_MAX, &count, err) < 0)
        return -1;
    oneib_autofree uint16_t *pkeys = oneib_alloc(count, sizeof *pkeys);
    if (read_pkeys(&table, last, pkeys, count, err) < 0)
        return -1;
    free(port->pkeys);
    port->pkeys = oneib_steal(&pkeys);
    port->pkey_count = (uint16_t)count;
    return 0;
}

int oneib_hca_reread_pkeys(const struct oneib_hca *hca, struct oneib_port *port,
                           struct oneib_error *err)
{
    return reread(hca, port, -1, err);
}

int oneib_hca_seek_pkey(const struct oneib_hca *hca, struct oneib_port *port, oneib_pkey pkey,
                        bool limited, struct oneib_error *err)
{
    return reread(hca, port, oneib_pkey_raw(pkey, limited ? ONEIB_LIMITED : ONEIB_FULL), err);
}

/* GUID, LID and P_Keys of a port that is not InfiniBand say nothing about a subnet. */
static void read_port(struct oneib_hca *hca, struct oneib_port *port, bool with_pkeys)
{
    struct oneib_error err;
    if (read_link_layer(hca, port, &err) < 0)
        oneib_hca_note_fault(hca, &err);
    if (read_state(hca, port, &err) < 0)
        oneib_hca_note_fault(hca, &err);
    read_rate(hca, port);
    if (port->link_layer != ONEIB_LINK_INFINIBAND)
        return;
    if (oneib_port_read_guid(hca, port, &err) < 0)
        oneib_hca_note_fault(hca, &err);
    if (read_lid(hca, port, &err) < 0)
        oneib_hca_note_fault(hca, &err);
    if (with_pkeys && oneib_hca_reread_pkeys(hca, port, &err) < 0)
        oneib_hca_note_fault(hca, &err);
}

/* The ports' numbers; their directories are named by them. */
static int list_ports(struct oneib_hca *hca, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH "/%s/ports", hca->name) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    if (count == 0)
        return 0;
    hca->ports = oneib_alloc(count, sizeof *hca->ports);
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        if (!oneib_parse_decimal(names[i], PORT_NUMBER_MAX, &number) || number == 0)
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "%s has an entry that is not a port's number (1-%d)", path,
                              PORT_NUMBER_MAX);
        hca->ports[hca->port_count++].number = (uint8_t)number;
    }
    return 0;
}

void oneib_hca_read_ports(struct oneib_hca *hca, bool with_pkeys)
{
    struct oneib_error err;
    if (list_ports(hca, &err) < 0)
        oneib_hca_note_fault(hca, &err);
    for (size_t i = 0; i < hca->port_count; i++)
        read_port(hca, &hca->ports[i], with_pkeys);
}
