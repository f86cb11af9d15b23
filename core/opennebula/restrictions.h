// SPDX-License-Identifier: Apache-2.0
/*
 * Attributes by which a tenant could choose who to share a partition with: P_Keys and every IB_*
 * attribute, in networks and address ranges, and in the NICs of VMs, where a value of the user's
 * own wins over the network's. oned refuses them from ordinary users only when its configuration
 * restricts them.
 */
#ifndef ONEIB_OPENNEBULA_RESTRICTIONS_H
#define ONEIB_OPENNEBULA_RESTRICTIONS_H

#include "base/error.h"
#include "base/text.h"
#include <stddef.h>

/*
 * Compares oned's configuration (the document of one.system.config) with what must be restricted.
 * Appends to *lines what oned.conf lacks, a line each (VNET_RESTRICTED_ATTR = "VLAN_ID"), and says
 * how many in *missing. An attribute counts as restricted when it or the whole vector that holds it
 * is.
 */
int oneib_restrictions_missing(const char *xml, size_t length, struct oneib_text *lines,
                               size_t *missing, struct oneib_error *err);

#endif
