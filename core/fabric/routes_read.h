// SPDX-License-Identifier: Apache-2.0
#ifndef ONEIB_FABRIC_ROUTES_READ_H
#define ONEIB_FABRIC_ROUTES_READ_H

#include "fabric/fabric.h"
#include "topology/routes.h"

/*
 * The links, and of every switch SwitchInfo and its linear forwarding table (SMP attribute 0x19),
 * block by block. A switch that does not answer leads nowhere, and *silent counts it. On failure
 * *routes is empty.
 */
int oneib_fabric_read_routes(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                             struct oneib_routes *routes, size_t *silent, struct oneib_error *err);

#endif
