// SPDX-License-Identifier: Apache-2.0
/*
 * Adapters that have the same port GUID: by a mistake at the factory, by a firmware image that was
 * copied, or on purpose. The subnet manager takes one of them and not the other, and which one that
 * is can change; what is given to the GUID is given to either. Pure.
 */
#ifndef ONEIB_CLUSTER_DUPLICATE_GUIDS_H
#define ONEIB_CLUSTER_DUPLICATE_GUIDS_H

#include "base/finding.h"
#include "cluster/cloud.h"
#include "cluster/fence.h"
#include <stddef.h>

/* Adds port-twice for each GUID behind two switches' ports or more, with the first two of them. */
void oneib_duplicate_guids_report(const struct oneib_switch_link *links, size_t count,
                                  const struct oneib_cloud *cloud, struct oneib_findings *findings);

#endif
