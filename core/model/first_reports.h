// SPDX-License-Identifier: Apache-2.0
/*
 * Which host reported a port first. Probes' reports come by monitoring, which is not authenticated:
 * who can speak for a host later does not take another's port by it, nor take a port away from the
 * host that had it. Kept in memory: docs/design/fence.md says what follows from that. Pure.
 */
#ifndef ONEIB_MODEL_FIRST_REPORTS_H
#define ONEIB_MODEL_FIRST_REPORTS_H

#include "base/error.h"
#include "model/cloud.h"
#include <stddef.h>
#include <stdint.h>

struct oneib_first_report {
    oneib_guid guid;
    uint32_t host_id;
};

struct oneib_first_reports {
    struct oneib_first_report *items; /* owned; by GUID */
    size_t count, capacity;
};

/* Adds the ports that were not reported before. A host that OpenNebula does not have any more has
 * no port. */
int oneib_first_reports_note(struct oneib_first_reports *reports, const struct oneib_cloud *cloud,
                             struct oneib_error *err);
/* ONEIB_NO_ID: nobody. */
uint32_t oneib_first_reporter(const struct oneib_first_reports *reports, oneib_guid guid);
void oneib_first_reports_clear(struct oneib_first_reports *reports);

#endif
