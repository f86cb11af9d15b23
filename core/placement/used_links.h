// SPDX-License-Identifier: Apache-2.0
/*
 * Which links the clusters with service levels use, and which hosts would make two of one level
 * share one: for the scheduler's window. Pure.
 */
#ifndef ONEIB_PLACEMENT_USED_LINKS_H
#define ONEIB_PLACEMENT_USED_LINKS_H

#include "ib/guid.h"
#include "topology/routes_meet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A port of a host; it has one entry for each. */
struct oneib_host_port_guid {
    uint32_t host_id;
    oneib_guid guid;
};

struct oneib_placed_cluster {
    uint32_t network_id;
    uint8_t sl;        /* 1-15 */
    oneib_guid *ports; /* owned: its members' */
    size_t port_count, port_capacity;
    uint64_t *set; /* owned: the hops that it uses, its members' own links in any case */
};

struct oneib_links {
    struct oneib_routes routes;         /* owned */
    struct oneib_host_port_guid *ports; /* owned; by host id */
    size_t port_count, port_capacity;
    struct oneib_placed_cluster *clusters; /* owned; each network once */
    size_t cluster_count, cluster_capacity;
    bool is_exclusive; /* no host is offered that would make two clusters share a link; else such
                          ones come last */
};

/* When routes are there. A cluster that is there already stays as it is; ports may be NULL with
 * count 0: nobody of it runs. */
void oneib_links_add_cluster(struct oneib_links *links, uint32_t network_id, uint8_t sl,
                             const oneib_guid *ports, size_t count);
/*
 * meets[n]: by its links, a member of the cluster on host_ids[n], by whichever of its ports, would
 * have it share a link with a cluster of its level that it shares none with yet. A cluster that is
 * not there meets nobody; a host that is not there does when is_exclusive.
 */
void oneib_links_judge(struct oneib_links *links, uint32_t network_id, const uint32_t *host_ids,
                       size_t count, bool *meets);
/* The cluster has a member on this host from now on, by all of its ports. */
void oneib_links_settle(struct oneib_links *links, uint32_t network_id, uint32_t host_id);
void oneib_links_clear(struct oneib_links *links);
#define oneib_autolinks __attribute__((cleanup(oneib_links_clear)))

#endif
