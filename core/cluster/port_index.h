// SPDX-License-Identifier: Apache-2.0
/* Whose port a GUID is: the ports that hosts report, by GUID. */
#ifndef ONEIB_CLUSTER_PORT_INDEX_H
#define ONEIB_CLUSTER_PORT_INDEX_H

#include "cluster/cloud.h"
#include "partitions/partition.h"
#include <stddef.h>

/* One port that a host reports. */
struct oneib_known_port {
    oneib_guid guid;
    const struct oneib_host *host; /* of the cloud */
    const struct oneib_hca_port *port;
};

struct oneib_port_index {
    struct oneib_known_port *items; /* owned; by GUID, of one GUID that of the lowest host first */
    size_t count, capacity;
};

/* The cloud (sorted) must stay as it is while the index is used. */
void oneib_port_index_make(const struct oneib_cloud *cloud, struct oneib_port_index *index);
/* NULL when no host reports this port. */
const struct oneib_known_port *oneib_port_index_find(const struct oneib_port_index *index,
                                                     oneib_guid guid);
void oneib_port_index_clear(struct oneib_port_index *index);

/* The network whose partition has the key in the table; NULL: none, or it is gone. */
const struct oneib_network *oneib_network_of_key(const struct oneib_cloud *cloud,
                                                 const struct oneib_partition_table *table,
                                                 oneib_pkey pkey);
/* The network whose partition this is by its name, "one7"; NULL: it is none's, or it is gone. */
const struct oneib_network *oneib_network_of(const struct oneib_cloud *cloud,
                                             const struct oneib_partition *partition);
/* The ID of a cluster's partition name, "one<ID>" exactly; false for any other name. */
bool oneib_cluster_name_parse(const char *name, uint32_t *network_id);
/* The network of a cluster's partition: "one7", and "one7-0101", what is left of one that has
 * another key now. */
bool oneib_partition_cluster(const struct oneib_partition *partition, uint32_t *network_id);

#endif
