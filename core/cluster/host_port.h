// SPDX-License-Identifier: Apache-2.0
/* Which port of a host the NICs of a network use: the one rule, for computing partitions and for
 * showing them. */
#ifndef ONEIB_CLUSTER_HOST_PORT_H
#define ONEIB_CLUSTER_HOST_PORT_H

#include "cluster/cloud.h"

enum oneib_port_answer {
    ONEIB_PORT_FOUND,
    ONEIB_PORT_MISSING,   /* the host reports no such port */
    ONEIB_PORT_AMBIGUOUS, /* more than one may be meant */
    ONEIB_PORT_UNNAMED,   /* PHYDEV names no adapter */
};

/*
 * PHYDEV's device, else the host's only one: of several the only one with VFs of mlx4 or mlx5, or,
 * where none has VFs, the only one of these drivers. PHYDEV's port, else port 1, else the device's
 * only one. A reservation's PHYDEV is its parent's (oneib_network_rules()). host may be NULL. *found is
 * NULL unless FOUND.
 */
enum oneib_port_answer oneib_host_port(const struct oneib_cloud *cloud,
                                       const struct oneib_host *host,
                                       const struct oneib_network *network,
                                       const struct oneib_hca_port **found);

/*
 * Keys that a port can hold, the default partition included: its table with the last slot empty.
 * partition_cap: NodeInfo.PartitionCap; 0: not known, then it is taken to be 64 (mlx4 and ibsim).
 */
uint32_t oneib_port_key_capacity(uint16_t partition_cap);

#endif
