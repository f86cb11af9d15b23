// SPDX-License-Identifier: Apache-2.0
/*
 * The whole cloud from oned, consistently enough: networks, hosts, then VMs by windows of ids, then
 * one by one what the pools left open. docs/design/gather.md tells why this loses nobody:
 *  - first one.system.config, which oned gives to administrators alone: pools hide from others,
 * without a word, what they may not see;
 *  - windows cover every VM id that a host or a network document names, and everything beyond the
 * highest;
 *  - a named VM that no window showed is asked for by itself: gone is fine, "no permission" is an
 * error (a user who may not see all VMs must not be allowed to empty partitions);
 *  - a migrating VM is asked for by itself (its source host);
 *  - a network or host that a NIC names and the pool did not show is asked for by itself: it may be
 * new.
 */
#ifndef ONEIB_ONE_GATHER_H
#define ONEIB_ONE_GATHER_H

#include "base/error.h"
#include "model/cloud.h"
#include "model/finding.h"
#include "one/client.h"
#include <stddef.h>

/* Called now and then with VMs read and VMs known of; may be NULL. */
typedef void (*oneib_gather_progress)(size_t done, size_t total, void *context);

struct oneib_gather_options {
    const char *vn_mad;
    uint32_t window; /* VM ids a call */
    /* REFUSED when oned.conf lacks restrictions of one/restrictions.h: for whoever acts by itself
     */
    bool require_restrictions;
    oneib_gather_progress progress;
    void *progress_context;
};

/* *cloud comes back sorted. On failure *cloud and *findings hold nothing that must be cleared. */
int oneib_gather(struct oneib_one *one, const struct oneib_gather_options *options,
                 struct oneib_cloud *cloud, struct oneib_findings *findings,
                 struct oneib_error *err);

#endif
