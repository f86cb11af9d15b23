// SPDX-License-Identifier: Apache-2.0
/*
 * By which ports the members of partitions are on the fabric. A member is a port of a host, or a
 * virtual port of mlx5, which has the LID and the links of the physical port that it is behind, and
 * is in no forwarding table by itself. Pure.
 */
#ifndef ONEIB_CLUSTER_MEMBER_PORTS_H
#define ONEIB_CLUSTER_MEMBER_PORTS_H

#include "cluster/desired.h"
#include "ib/guid.h"
#include "partitions/partition.h"
#include "partitions/subnet.h"
#include <stddef.h>

struct oneib_member_port {
    oneib_guid member; /* port GUID of a virtual port */
    oneib_guid port;   /* of the physical one */
};

struct oneib_member_ports {
    struct oneib_member_port *items; /* owned; by member, then port: two while its VM migrates */
    size_t count, capacity;
};

/* desired: where oned has the VMs; subnet: virtual ports that were seen on the fabric, if any. */
void oneib_member_ports_make(const struct oneib_desired *desired, const struct oneib_subnet *subnet,
                             struct oneib_member_ports *ports);
void oneib_member_ports_clear(struct oneib_member_ports *ports);

/* The ports whose links the partition's members use, ascending and each once; *guids is the
 * caller's, to be freed. A member of which nothing is known stands for itself. */
void oneib_member_ports_of(const struct oneib_member_ports *ports,
                           const struct oneib_partition *partition, oneib_guid **guids,
                           size_t *count);

#endif
