// SPDX-License-Identifier: Apache-2.0
/* What grants.c and grants_gate.c share. Only they include this. */
#ifndef ONEIB_MODEL_GRANTS_INTERNAL_H
#define ONEIB_MODEL_GRANTS_INTERNAL_H

#include "model/grants.h"
#include "model/partition.h"
#include "model/port_index.h"

/* NULL: nothing is known of the host's node. */
const struct oneib_node_view *oneib_node_view_of(const struct oneib_node_view *nodes, size_t count,
                                                 uint32_t host_id);
/* The partition is the network's, or that of the network whose partition it shares. */
bool oneib_partition_is_networks(const struct oneib_desired *desired,
                                 const struct oneib_partition *partition, uint32_t network_id);

#endif
