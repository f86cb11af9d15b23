// SPDX-License-Identifier: Apache-2.0
/* Service levels and classes in a topology: which links carry them, and how drawings say so. */
#ifndef ONEIB_TOPOLOGY_TOPOLOGY_LEVELS_H
#define ONEIB_TOPOLOGY_TOPOLOGY_LEVELS_H

#include "topology/routes_meet.h"
#include "topology/topology.h"

/* Each link carries from now on the SLs of those clusters that use it, in either direction. */
void oneib_topology_carry(struct oneib_topology *topology, const struct oneib_routes *routes,
                          const struct oneib_routed_cluster *clusters, size_t count);

/* "gold SL 1", "no class SL 0": plain text that needs no escaping in any format. Nothing where the
 * topology has no classes. */
void oneib_append_level(struct oneib_text *text, const struct oneib_topology *topology, uint8_t sl,
                        const char *before);
/* "gold SL 1, silver SL 3" of the levels (bit n: SL n), behind `before`; nothing where there are
 * none. */
void oneib_append_levels(struct oneib_text *text, const struct oneib_topology *topology,
                         uint16_t levels, const char *before);

#endif
