// SPDX-License-Identifier: Apache-2.0
/* What the daemon says of findings and deviations: each when it comes, and when it is gone. */
#ifndef ONEIB_ONEIBD_DAEMON_REPORT_H
#define ONEIB_ONEIBD_DAEMON_REPORT_H

#include "base/finding.h"
#include "cluster/cloud.h"
#include "partitions/partition.h"
#include "partitions/subnet.h"

struct oneib_report {
    struct oneib_findings known; /* sorted: what was said */
    char last_error[1024];       /* what went wrong last, "" when nothing does */
};

/*
 * Logs what is in `now` and was not known (violations as errors, warnings, notices as information;
 * with the fix), and as information what is gone. At most 100 lines of each; the rest is a
 * number. Sorts and empties *now, which is what is known then.
 */
void oneib_report_findings(struct oneib_report *report, struct oneib_findings *now);
/* What deviations are named by. */
struct oneib_report_names {
    const struct oneib_cloud *cloud;           /* whose port it is */
    const struct oneib_partition_table *table; /* whose key it is */
    const struct oneib_subnet *subnet;
};
/* Adds deviations of the fabric as findings: what is wrong with a port is said like anything else.
 */
void oneib_report_add_deviations(const struct oneib_report_names *names,
                                 const struct oneib_verification *verification,
                                 struct oneib_findings *findings);
void oneib_report_clear(struct oneib_report *report);

#endif
