// SPDX-License-Identifier: Apache-2.0
/* What walking the forwarding tables needs of them. Private to routes*.c. */
#ifndef ONEIB_TOPOLOGY_ROUTES_INTERNAL_H
#define ONEIB_TOPOLOGY_ROUTES_INTERNAL_H

#include "topology/routes.h"

#define NONE SIZE_MAX
#define PORTS 256 /* of a switch, by number */
#define WORD_BITS 64

struct oneib_route_switch {
    oneib_guid guid;
    struct oneib_exits exits;
    size_t hops[PORTS]; /* by port that it is left by; NONE: leads nowhere */
    uint64_t walked_in; /* the walk that has come through last; 0: none */
};

struct oneib_route_host {
    oneib_guid guid; /* port GUID */
    uint16_t lid;
    size_t leaf;   /* index of the switch */
    size_t uplink; /* index of the hop to it */
};

/* NULL: the fabric does not have it. */
const struct oneib_route_host *oneib_routes_find_host(const struct oneib_routes *routes,
                                                      oneib_guid guid);
/* The hop by which packets to the LID leave this switch. A walk (routes->walks) is all ways to one
 * LID that are looked at together: where another one of them has come through, the rest of the path
 * is known. NONE: the path ends, or is known from here on. */
size_t oneib_routes_next_hop(struct oneib_routes *routes, size_t at, uint16_t lid);
/* Sets the bits of all hops from these ports to the host. */
void oneib_routes_walk_to(struct oneib_routes *routes, const struct oneib_route_host *to,
                          const oneib_guid *ports, size_t count, uint64_t *set);

#endif
