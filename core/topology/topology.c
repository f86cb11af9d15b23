// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.h"
#include "base/array.h"

#include "topology/topology_ends.h"
#include <stdlib.h>

size_t oneib_topology_switch_of(const struct oneib_topology *topology, oneib_guid port_guid)
{
    for (size_t i = 0; i < topology->link_count; i++) {
        const struct oneib_topology_link *link = &topology->links[i];
        if (link->a >= topology->node_count || link->b >= topology->node_count)
            continue;
        bool a_is_switch = oneib_is_switch(topology, link->a);
        bool b_is_switch = oneib_is_switch(topology, link->b);
        /* The external ports of a switch all carry the GUID of its port 0: only CA ends are looked
         * at. */
        if (link->a_guid == port_guid && !a_is_switch && b_is_switch)
            return link->b;
        if (link->b_guid == port_guid && !b_is_switch && a_is_switch)
            return link->a;
    }
    return SIZE_MAX;
}

/* A subnet's ports are sorted. */
int oneib_topology_add_vports(struct oneib_topology *topology, const struct oneib_subnet *subnet,
                              struct oneib_error *err)
{
    for (size_t i = 0; i < subnet->port_count; i++) {
        const struct oneib_subnet_port *port = &subnet->ports[i];
        if (!port->owner || !port->answered)
            continue;
        if (oneib_reserve(&topology->vports, &topology->vport_capacity, topology->vport_count + 1,
                          sizeof *topology->vports, err) < 0)
            return -1;
        topology->vports[topology->vport_count++] =
            (struct oneib_topology_vport){port->guid, port->owner};
    }
    return 0;
}

void oneib_topology_clear(struct oneib_topology *topology)
{
    free(topology->nodes);
    free(topology->links);
    free(topology->vports);
    *topology = (struct oneib_topology){0};
}
