// SPDX-License-Identifier: Apache-2.0
/* Where the hosts' ports are linked: asked of the fabric, for IB_SWITCH and `oneib hosts`. */
#ifndef ONEIB_SYNC_LEAVES_H
#define ONEIB_SYNC_LEAVES_H

#include "cluster/cloud.h"
#include "cluster/host_attributes.h"
#include "fabric/fabric.h"

struct oneib_leaves {
    struct oneib_leaf *items; /* owned; by port GUID */
    size_t count;
};

/* Replaces *leaves; on failure it is as it was. */
int oneib_leaves_find(struct oneib_fabric *fabric, const struct oneib_cloud *cloud,
                      const struct oneib_subnet *subnet, struct oneib_leaves *leaves,
                      struct oneib_error *err);
/* The switch's node GUID; 0: not known. */
oneib_guid oneib_leaf_of(const struct oneib_leaves *leaves, oneib_guid port_guid);
void oneib_leaves_clear(struct oneib_leaves *leaves);

#endif
