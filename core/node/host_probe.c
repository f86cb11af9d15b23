// SPDX-License-Identifier: Apache-2.0
#include "node/host_probe.h"
#include "base/escape.h"
#include "node/inventory_internal.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROBLEM_MAX 1000 /* bytes */

/* VFs that are VMs': by them oneibd tells which adapter a network without PHYDEV means, so that what
 * lasts for a moment does not count. */
static unsigned count_vfs(const struct oneib_hca *hca, const struct oneib_config *config)
{
    unsigned count = 0;
    for (size_t i = 0; i < hca->vf_count; i++)
        count += !oneib_is_host_vf(config, &hca->vfs[i].pci);
    return count;
}

/* Those that a VM can get now. */
static unsigned count_usable_vfs(const struct oneib_hca *hca, const struct oneib_config *config)
{
    unsigned count = 0;
    for (size_t i = 0; i < hca->vf_count && hca->fault.code == ONEIB_ERROR_NONE; i++)
        count += !hca->vfs[i].interface_up && !hca->vfs[i].off_bus &&
                 !oneib_is_host_vf(config, &hca->vfs[i].pci);
    return count;
}

/* The entries that can hold keys. */
static unsigned count_pkeys(const struct oneib_hca *hca, const struct oneib_port *port)
{
    return port->pkey_count - (oneib_port_shows_last_slot(hca, port) ? 1u : 0u);
}

/* NAME = "value": what the kernel, or a driver, calls something must not end the quotes around it.
 */
static void append_value(struct oneib_text *text, const char *name, const char *value)
{
    oneib_text_printf(text, "%s = \"", name);
    oneib_text_append_escaped(text, value, PROBLEM_MAX);
    oneib_text_append(text, "\"");
}

static void append_state(struct oneib_text *text, uint8_t state)
{
    char shown[16];
    snprintf(shown, sizeof shown, "%s", oneib_port_state_name(state));
    for (char *letter = shown; *letter; letter++)
        *letter = (char)toupper((unsigned char)*letter);
    append_value(text, "STATE", shown);
}

static void append_port(struct oneib_text *text, const struct oneib_hca *hca,
                        const struct oneib_port *port, unsigned vfs)
{
    char pci[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&hca->pci, pci);
    oneib_text_append(text, "IB_HCA = [ ");
    append_value(text, "NAME", hca->name);
    oneib_text_printf(text,
                      ", DRIVER = \"%s\", PCI = \"%s\", NODE_GUID = \"0x%016" PRIx64
                      "\", PORT = \"%u\", PORT_GUID = \"0x%016" PRIx64 "\", LID = \"%u\", ",
                      oneib_hca_driver_name(hca->driver), pci, hca->node_guid, port->number,
                      port->guid, port->lid);
    append_state(text, port->state);
    oneib_text_printf(
        text, ", RATE = \"%u\", PKEYS_MAX = \"%u\", VFS_TOTAL = \"%u\", NUMA_NODE = \"%d\" ]\n",
        port->rate_gbps, count_pkeys(hca, port), vfs, hca->numa_node);
}

/* A port without a GUID cannot be told from others: the front-end has no use for it. */
static bool is_told(const struct oneib_port *port)
{
    return port->link_layer == ONEIB_LINK_INFINIBAND && port->guid != 0;
}

static bool is_active(const struct oneib_port *port)
{
    return strcmp(oneib_port_state_name(port->state), "active") == 0;
}

/* Totals of the host. */
struct totals {
    unsigned vfs, active;
};

static void append_hca(struct oneib_text *text, const struct oneib_hca *hca,
                       const struct oneib_config *config, struct totals *totals)
{
    const unsigned vfs = count_vfs(hca, config);
    bool any = false;
    for (size_t i = 0; i < hca->port_count; i++) {
        const struct oneib_port *port = &hca->ports[i];
        if (!is_told(port))
            continue;
        append_port(text, hca, port, vfs);
        any = true;
        totals->active += is_active(port);
    }
    totals->vfs += any ? count_usable_vfs(hca, config) : 0;
}

void oneib_probe_render(const struct oneib_hcas *hcas, const struct oneib_config *config,
                        bool given, const char *node_key, const char *problem,
                        struct oneib_text *text)
{
    struct totals totals = {0, 0};
    for (size_t i = 0; i < hcas->count; i++)
        append_hca(text, &hcas->items[i], config, &totals);
    oneib_text_printf(text, "IB_VFS_TOTAL = \"%u\"\nIB_PORTS_ACTIVE = \"%u\"\n",
                      given ? totals.vfs : 0, totals.active);
    append_value(text, "IB_NODE_KEY", node_key ? node_key : "");
    oneib_text_append(text, "\n");
    append_value(text, "IB_PROBLEM", problem);
    oneib_text_append(text, "\n");
}
