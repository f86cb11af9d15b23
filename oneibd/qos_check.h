// SPDX-License-Identifier: Apache-2.0
/*
 * Owner of what the fabric shows of quality of service: whether clusters have their multicast
 * groups, and ports and paths the service levels of the operator's classes (sync/levels.h), which
 * links clusters share, and the file in which the scheduler's placer reads them.
 */
#ifndef ONEIB_ONEIBD_QOS_CHECK_H
#define ONEIB_ONEIBD_QOS_CHECK_H

#include "base/finding.h"
#include "topology/routes.h"

struct oneib_daemon;
struct oneib_qos_check;

/* Never NULL; to be freed. */
struct oneib_qos_check *oneib_qos_check_new(void);
void oneib_qos_check_free(struct oneib_qos_check *qos);

/* Asks the fabric for groups and service levels, unless that was done not long ago. A failure is a
 * finding; the findings before it stay. */
void oneib_qos_check_read(struct oneib_daemon *daemon);
/* Finds which clusters in force share the links that were read last. Asks nothing. */
void oneib_qos_check_find_sharing(struct oneib_daemon *daemon);
/* Writes qos.links_file, where it is configured, what it says is known, and it is time. A failure
 * is a finding. */
void oneib_qos_check_write_links(struct oneib_daemon *daemon);

/* The routes that were read last; empty where there are no classes. */
struct oneib_routes *oneib_qos_check_routes(struct oneib_qos_check *qos);
void oneib_qos_check_add_findings(const struct oneib_qos_check *qos,
                                  struct oneib_findings *findings);

#endif
