// SPDX-License-Identifier: Apache-2.0
/* Which clusters meet on a link, and which would if one of them had one member more. Pure. */
#ifndef ONEIB_TOPOLOGY_ROUTES_MEET_H
#define ONEIB_TOPOLOGY_ROUTES_MEET_H

#include "topology/routes.h"

/*
 * What a cluster of these members would use further if one of these ports became a member, too: its
 * own links, and paths between it and each member but for the members' own links. meets[n] tells
 * whether that of ports[n] has a hop of `others`. A port that the fabric does not have meets
 * nothing.
 */
void oneib_routes_would_meet(struct oneib_routes *routes, const oneib_guid *members,
                             size_t member_count, const uint64_t *others, const oneib_guid *ports,
                             size_t port_count, bool *meets);
/* Sets the bits of these hops. */
void oneib_routes_join(struct oneib_routes *routes, const oneib_guid *members, size_t member_count,
                       oneib_guid port, uint64_t *set);

/* Whether two sets of as many words have a hop in common. */
bool oneib_routes_meet(const uint64_t *a, const uint64_t *b, size_t words);

/* A cluster, and what it uses. */
struct oneib_routed_cluster {
    uint32_t network_id;
    uint8_t sl;
    const uint64_t *set;
};

/* Two clusters of one SL other than 0 that have a hop in common. */
struct oneib_shared_level {
    uint32_t network_id, other_id; /* the lower one first */
    uint8_t sl;
    size_t first; /* index of the first hop that both use */
    size_t hops;  /* how many there are */
};

/* Of every two; *shared is the caller's, to be freed. */
void oneib_routes_shared(const struct oneib_routes *routes,
                         const struct oneib_routed_cluster *clusters, size_t cluster_count,
                         struct oneib_shared_level **shared, size_t *count);

#endif
