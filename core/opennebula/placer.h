// SPDX-License-Identifier: Apache-2.0
/* Which placer OpenNebula 7's scheduler asks: docs/operator-placement.md. */
#ifndef ONEIB_OPENNEBULA_PLACER_H
#define ONEIB_OPENNEBULA_PLACER_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

#define ONEIB_PLACER_SIZE 65 /* with its 0 */

struct oneib_placer {
    /* "": there is no SCHED_MAD, as up to 6.10. What is longer is cut. */
    char name[ONEIB_PLACER_SIZE];
    bool has_late_ib; /* another SCHED_MAD names "ib", which does nothing */
};

/*
 * xml: oned's configuration (one.system.config). The first SCHED_MAD counts, as for oned
 * (SchedulerManager::load_drivers, 7.4.0), and in it -p or --placer, as one_sched reads it; without
 * that it is "rank".
 */
int oneib_placer_of(const char *xml, size_t length, struct oneib_placer *placer,
                    struct oneib_error *err);

#endif
