// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.h"
#include "base/array.h"

#include <stdlib.h>

/* A subnet's ports are sorted. */
void oneib_topology_add_vports(struct oneib_topology *topology, const struct oneib_subnet *subnet)
{
    for (size_t i = 0; i < subnet->port_count; i++) {
        const struct oneib_subnet_port *port = &subnet->ports[i];
        if (!port->owner || !port->answered)
            continue;
        ONEIB_APPEND(topology->vports, topology->vport_count, topology->vport_capacity,
                     (struct oneib_topology_vport){port->guid, port->owner});
    }
}

void oneib_topology_clear(struct oneib_topology *topology)
{
    free(topology->nodes);
    free(topology->links);
    free(topology->vports);
    *topology = (struct oneib_topology){0};
}
