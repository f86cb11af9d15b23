// SPDX-License-Identifier: Apache-2.0
/* What was read again takes the place of what was known; for core/opennebula alone. */
#ifndef ONEIB_OPENNEBULA_CACHE_MERGE_H
#define ONEIB_OPENNEBULA_CACHE_MERGE_H

#include "base/finding.h"
#include "cluster/cloud.h"
#include "opennebula/pools_internal.h"
#include <stdbool.h>

/*
 * Objects that were read, or asked for and are gone, are replaced in *cloud (the reading's base)
 * and *findings; what was collected is moved. *changed: as in opennebula/cache.h.
 */
void oneib_cache_merge(struct oneib_pools *pools, struct oneib_cloud *cloud,
                       struct oneib_findings *findings, bool *changed);

/* The same in what partitions or host attributes depend on? */
bool oneib_cache_same_network(const struct oneib_network *a, const struct oneib_network *b);
bool oneib_cache_same_host(const struct oneib_host *a, const struct oneib_host *b);
bool oneib_cache_same_attachment(const struct oneib_attachment *a,
                                 const struct oneib_attachment *b);
/* Do two clouds, both sorted, differ in that? */
bool oneib_cache_differs(const struct oneib_cloud *before, const struct oneib_cloud *after);

#endif
