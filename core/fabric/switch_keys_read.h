// SPDX-License-Identifier: Apache-2.0
/*
 * Stale P_Keys of leaf switches' ports. opensm (part_enforce) copies an end port's P_Key table to the
 * port of the switch that it is linked to, block by block as far as the end port's table is used, and
 * empties no block beyond. What stays there lets the host, not its guests, send with these keys.
 */
#ifndef ONEIB_FABRIC_SWITCH_KEYS_READ_H
#define ONEIB_FABRIC_SWITCH_KEYS_READ_H

#include "fabric/fabric.h"

/* A key in the table of a switch's port that the end port linked there does not hold. */
struct oneib_stale_key {
    oneib_guid port_guid;   /* the end port */
    oneib_guid switch_guid; /* port 0 of the switch */
    uint8_t switch_port;
    uint16_t pkey; /* raw */
};

struct oneib_stale_keys {
    struct oneib_stale_key *items; /* owned; by end port, then key */
    size_t count, capacity;
    size_t unanswered; /* questions */
};

/*
 * By one question for each block beyond those that the end port uses, up to the switch's
 * PartitionEnforcementCap, and where there is such a block by a walk over the links
 * (oneib_fabric_read_links()). *subnet is as it was read last. On failure *keys is empty.
 */
int oneib_fabric_read_stale_keys(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                                 struct oneib_stale_keys *keys, struct oneib_error *err);
void oneib_stale_keys_clear(struct oneib_stale_keys *keys);

#endif
