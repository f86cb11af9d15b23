// SPDX-License-Identifier: Apache-2.0
/* What answers need of the fabric and the subnet manager beyond the ports' P_Key tables: read once, and used
 * for every answer from the same snapshot (command/answer.h). */
#ifndef ONEIB_COMMAND_FABRIC_CHECKS_H
#define ONEIB_COMMAND_FABRIC_CHECKS_H

#include "fabric/switch_keys_read.h"
#include "sm/said_vports.h"
#include "sync/levels.h"
#include "topology/routes.h"

struct oneib_fabric_checks {
    /* verify */
    struct oneib_stale_keys stale_keys; /* none where the subnet manager has virtual ports */
    struct oneib_levels_result levels;
    struct oneib_findings findings; /* of multicast groups and service levels */
    bool sm_was_asked;              /* about virtual ports: it is elsewhere, and members are some */
    struct oneib_said_vports said;
    struct oneib_error
        said_error; /* why its answer is not known; code NONE: it is, or it was not asked */
    /* links */
    struct oneib_routes routes;
    size_t silent_switches; /* whose forwarding tables were not read */
};

void oneib_fabric_checks_clear(struct oneib_fabric_checks *checks);

#endif
