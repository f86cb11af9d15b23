// SPDX-License-Identifier: Apache-2.0
/* What each end port of a subnet should hold by a partition table: wildcards and SELF expanded as
 * opensm does. */
#ifndef ONEIB_PARTITIONS_SUBNET_EXPECT_H
#define ONEIB_PARTITIONS_SUBNET_EXPECT_H

#include "partitions/partition.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_expectation {
    uint32_t *first;           /* owned; port i's entries are raw[first[i]] to raw[first[i + 1]] */
    uint16_t *raw;             /* owned; of each port by key */
    bool *takes_index0;        /* owned; for each port: a partition with indx0 lists it */
    size_t members_off_fabric; /* GUID members whose port the subnet does not have */
    size_t
        members_unverified; /* ... that are virtual ports: they are no part of a subnet's reading */
};

void oneib_subnet_expect(const struct oneib_subnet *subnet,
                         const struct oneib_partition_table *table,
                         struct oneib_expectation *expectation);
void oneib_expectation_clear(struct oneib_expectation *expectation);

#endif
