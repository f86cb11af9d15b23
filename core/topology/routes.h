// SPDX-License-Identifier: Apache-2.0
/*
 * Which links a cluster's packets take, by the forwarding tables of the switches: pure;
 * core/fabric/routes_read.h fills it. A link counts once for each direction. Multicast, and paths
 * to a port's further LIDs (LMC above 0), are not looked at.
 */
#ifndef ONEIB_TOPOLOGY_ROUTES_H
#define ONEIB_TOPOLOGY_ROUTES_H

#include "cluster/fence.h"
#include "ib/guid.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By LID the port that a packet to it leaves the switch by; what is beyond `count`, and 0xff, leads
 * nowhere (IBA 1.2.1, 14.2.5.10). */
struct oneib_exits {
    oneib_guid switch_guid; /* node GUID */
    uint8_t *ports;         /* owned */
    size_t count;
};

/* One direction of a link. */
struct oneib_hop {
    oneib_guid switch_guid; /* node GUID of the switch that it leaves, or comes to from a host */
    uint8_t switch_port;
    bool from_host;     /* else it leaves the switch */
    uint8_t other_type; /* enum oneib_node_type, of the other end */
    oneib_guid other;   /* port GUID of the other end; of a switch its port 0's */
    size_t next;        /* for routes*.c alone: index of the switch that it leads to */
};

struct oneib_routes {
    struct oneib_hop *hops; /* owned; what sets have bits for */
    size_t hop_count;
    struct oneib_route_switch *switches; /* owned, by node GUID */
    size_t switch_count;
    struct oneib_route_host *hosts; /* owned, by port GUID */
    size_t host_count;
    uint64_t walks; /* for routes*.c alone: how many there were */
};

/*
 * Takes over the tables' bytes from *exits, which are NULL then. Links that are not up, or lead to
 * nobody who is known, are none.
 */
void oneib_routes_make(const struct oneib_switch_link *links, size_t link_count,
                       const struct oneib_subnet *subnet, struct oneib_exits *exits,
                       size_t exit_count, struct oneib_routes *routes);
void oneib_routes_clear(struct oneib_routes *routes);

/* What they were made of, for whoever writes it down: the link of a hop that leaves a switch; the
 * table of a switch, by index; GUID and LID of a host's port, by index. */
struct oneib_switch_link oneib_routes_link(const struct oneib_routes *routes, size_t hop);
const struct oneib_exits *oneib_routes_exits(const struct oneib_routes *routes, size_t index);
struct oneib_subnet_port oneib_routes_host(const struct oneib_routes *routes, size_t index);

/* How many words a set of hops has; bit n % 64 of word n / 64 is hops[n]. */
size_t oneib_routes_words(const struct oneib_routes *routes);
/*
 * Sets the bits of all hops that packets take between any two of these ports; ports that the fabric
 * does not have are left out. A path that leads nowhere, or in a circle, counts as far as it goes.
 */
void oneib_routes_of(struct oneib_routes *routes, const oneib_guid *ports, size_t count,
                     uint64_t *set);

/* Sets the bits of both directions of each of these ports' own links: what a cluster of which one
 * is a member will use, with whomever. */
void oneib_routes_ends_of(const struct oneib_routes *routes, const oneib_guid *ports, size_t count,
                          uint64_t *set);

#endif
