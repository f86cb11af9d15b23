// SPDX-License-Identifier: Apache-2.0
/* What grants.c and grants_gate.c share. Only they include this. */
#ifndef ONEIB_CLUSTER_GRANTS_INTERNAL_H
#define ONEIB_CLUSTER_GRANTS_INTERNAL_H

#include "cluster/grants.h"
#include "cluster/port_index.h"
#include "partitions/partition.h"

/* NULL: nothing is known of the host's node. */
const struct oneib_node_snapshot *oneib_node_snapshot_of(const struct oneib_node_snapshot *nodes,
                                                         size_t count, uint32_t host_id);
/* The partition is the network's, or that of the network whose partition it shares. */
bool oneib_partition_is_networks(const struct oneib_desired *desired,
                                 const struct oneib_partition *partition, uint32_t network_id);

#endif
