// SPDX-License-Identifier: Apache-2.0
#include "cluster/host_port.h"
#include <string.h>

/* How much its adapter is for VMs: it has VFs that oneib can keep apart, it could have, or it never
 * will. Whether its link is up is no reason to move running VMs to another one. */
static int fitness(const struct oneib_hca_port *port)
{
    if (port->driver == ONEIB_HCA_OTHER)
        return 0;
    return port->vfs_total > 0 ? 2 : 1;
}

/* The fittest; NULL: several are. */
static const char *only_device(const struct oneib_host *host)
{
    const struct oneib_hca_port *best = &host->ports[0];
    bool several = false;
    for (size_t i = 1; i < host->port_count; i++) {
        const struct oneib_hca_port *port = &host->ports[i];
        if (fitness(port) > fitness(best)) {
            best = port;
            several = false;
        } else if (fitness(port) == fitness(best))
            several |= strcmp(port->device, best->device) != 0;
    }
    return several ? NULL : best->device;
}

static const char *wanted_device(const struct oneib_host *host, const struct oneib_network *network)
{
    return network->device[0] ? network->device : only_device(host);
}

/* Port 1 when the device has one, else its only port; 0: it has none, or several and none is the
 * first. */
static uint8_t only_port(const struct oneib_host *host, const char *device)
{
    uint8_t only = 0;
    bool several = false;
    for (size_t i = 0; i < host->port_count; i++) {
        const struct oneib_hca_port *port = &host->ports[i];
        if (strcmp(port->device, device) != 0)
            continue;
        if (port->port == 1)
            return 1;
        several |= only != 0 && only != port->port;
        only = port->port;
    }
    return several ? 0 : only;
}

static bool is_the_same(const struct oneib_hca_port *a, const struct oneib_hca_port *b)
{
    return a->port_guid == b->port_guid && a->driver == b->driver;
}

static enum oneib_port_answer find_port(const struct oneib_host *host, const char *device,
                                        uint8_t number, const struct oneib_hca_port **found)
{
    for (size_t i = 0; i < host->port_count; i++) {
        const struct oneib_hca_port *port = &host->ports[i];
        if (port->port != number || strcmp(port->device, device) != 0)
            continue;
        if (*found && !is_the_same(*found, port))
            return ONEIB_PORT_AMBIGUOUS;
        *found = port;
    }
    return *found ? ONEIB_PORT_FOUND : ONEIB_PORT_MISSING;
}

/* Its owner, a tenant, can forge what a reservation says itself. */
static const struct oneib_network *who_names_the_device(const struct oneib_cloud *cloud,
                                                        const struct oneib_network *network)
{
    const struct oneib_network *rules = oneib_network_rules(cloud, network);
    return rules ? rules : network;
}

enum oneib_port_answer oneib_host_port(const struct oneib_cloud *cloud,
                                       const struct oneib_host *host,
                                       const struct oneib_network *network,
                                       const struct oneib_hca_port **found)
{
    *found = NULL;
    network = who_names_the_device(cloud, network);
    if (network->device_invalid)
        return ONEIB_PORT_UNNAMED;
    if (!host || host->port_count == 0)
        return ONEIB_PORT_MISSING;
    const char *device = wanted_device(host, network);
    if (!device)
        return ONEIB_PORT_AMBIGUOUS;

    const uint8_t number = network->device_port ? network->device_port : only_port(host, device);
    const enum oneib_port_answer answer = find_port(host, device, number, found);
    if (answer != ONEIB_PORT_FOUND)
        *found = NULL;
    return answer;
}

#define CAPACITY_UNLESS_KNOWN 63

uint32_t oneib_port_key_capacity(uint16_t partition_cap)
{
    if (partition_cap == 0)
        return CAPACITY_UNLESS_KNOWN;
    return partition_cap > 1 ? partition_cap - 1u : 1;
}
