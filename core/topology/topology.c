// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.h"

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

void oneib_topology_clear(struct oneib_topology *topology)
{
    free(topology->nodes);
    free(topology->links);
    *topology = (struct oneib_topology){0};
}
