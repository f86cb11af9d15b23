// SPDX-License-Identifier: Apache-2.0
/*
 * Virtual ports (VFs on mlx5) as their physical ports told of them by SMPs, and whether that can be
 * believed. Which attribute modifiers firmware wants is published nowhere: what oneib asks with is
 * a guess, and an answer to another question looks like an answer. So nothing that was read counts
 * before it has shown what is known otherwise: the GUIDs that hosts have reported, and tables of
 * two virtual ports that differ as they must. Pure; host byte order.
 */
#ifndef ONEIB_PARTITIONS_VIRTUAL_PORTS_H
#define ONEIB_PARTITIONS_VIRTUAL_PORTS_H

#include "ib/guid.h"
#include "ib/pkey.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_VPORTS_MAX 1024     /* of one physical port; one that says more is not believed */
#define ONEIB_VPORT_PKEYS_MAX 256 /* likewise, of one virtual port's table; mlx5 has 128 */

/* One virtual port. */
struct oneib_vport {
    oneib_guid guid;
    uint8_t state;       /* IBA PortInfo.PortState */
    uint16_t pkey_cap;   /* of its table; 0: it did not tell */
    uint16_t *pkeys;     /* owned; pkey_cap raw entries; NULL: nothing was read */
    uint16_t blocks_due; /* of the table, 32 entries each, that have not been read */
};

/* A physical port that says that virtual ports are on there. */
struct oneib_vport_owner {
    oneib_guid guid; /* its own */
    oneib_guid node_guid;
    uint16_t lid;
    struct oneib_vport *items; /* owned, by index, from 0 */
    size_t count;
};

struct oneib_vport_reading {
    struct oneib_vport_owner *items; /* owned; none twice */
    size_t count, capacity;
};

/* What a host's service has reported of an open VF. */
struct oneib_vport_report {
    oneib_guid port; /* of its adapter */
    oneib_guid guid; /* of the VF */
    oneib_pkey pkey;
};

enum oneib_vport_proof {
    ONEIB_VPORTS_PROVEN,
    ONEIB_VPORTS_NONE_REPORTED, /* no host has an open VF of which the reading could be proved */
    ONEIB_VPORTS_NO_ANSWER,     /* no port says that virtual ports are on there */
    ONEIB_VPORTS_NO_GUIDS,      /* no port shows all the GUIDs that its host has reported */
    ONEIB_VPORTS_NO_KEYS,       /* no two tables of one port differ as they must */
};

struct oneib_vport_result {
    enum oneib_vport_proof proof;
    size_t owners;   /* ports with reports */
    size_t believed; /* ... that show all of these GUIDs */
    size_t added;    /* virtual ports that are in the subnet now */
};

/*
 * Adds to the subnet, as ports of their own, the virtual ports that can be believed: all that are
 * not down and have a GUID of their own, of each physical port that shows every GUID that its host
 * has reported; and only when, at one such port at least, two of these GUIDs with different keys
 * have tables in which each has its own key and not the other's. A table that was not read to its
 * end is added as one that did not answer; so is one whose GUID is there twice. Else the subnet is
 * as it was. `reports` in any order.
 */
void oneib_vports_add(const struct oneib_vport_reading *reading,
                      const struct oneib_vport_report *reports, size_t report_count,
                      struct oneib_subnet *subnet, struct oneib_vport_result *result);
/*
 * The same for some physical ports, which were read again because their hosts have reported more:
 * `reports` are all of these ports'. Where each GUID that was reported has its own key in a table
 * that was read, the virtual ports of that port take the place of what the subnet has of them; else
 * that stays as it is. That tables can be believed was proved before (result->proof); where it was
 * not, nothing is renewed, and *proves says that one of these ports would prove it. Of *result
 * `added` follows.
 */
void oneib_vports_renew(const struct oneib_vport_reading *reading,
                        const struct oneib_vport_report *reports, size_t report_count,
                        struct oneib_subnet *subnet, struct oneib_vport_result *result,
                        bool *proves);
/* Whether the subnet has the virtual port of a report at the report's place, with the report's key.
 */
bool oneib_vports_show(const struct oneib_subnet *subnet, const struct oneib_vport_report *report);
/* By port, GUID and key: of two reports, for base/order.h. */
int oneib_vport_report_compare(const void *left_item, const void *right_item);

/* What of a proof is missing, as words. */
const char *oneib_vport_proof_words(enum oneib_vport_proof proof);
void oneib_vport_reading_clear(struct oneib_vport_reading *reading);

#endif
