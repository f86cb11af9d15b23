// SPDX-License-Identifier: Apache-2.0
/*
 * The whole cloud from oned, consistently enough: networks, hosts, then VMs by windows of ids, then
 * one by one what the pools left open. docs/design/pools.md tells why this loses nobody:
 *  - first it is asked who we are: from all but administrators pools hide, without a word, what
 * they may not see;
 *  - the network pool says which networks there are, each is then asked for by itself;
 *  - windows cover every VM id that a host or a network document names, and everything beyond the
 * highest; what is malformed is halved until it is known whose document it is;
 *  - a named VM that no window showed is asked for by itself: gone is fine, "no permission" is an
 * error (a user who may not see all VMs must not be allowed to empty partitions);
 *  - a migrating VM is asked for by itself (its source host);
 *  - a network or host that a NIC names and the pool did not show is asked for by itself: it may be
 * new.
 */
#ifndef ONEIB_OPENNEBULA_POOLS_H
#define ONEIB_OPENNEBULA_POOLS_H

#include "base/error.h"
#include "base/finding.h"
#include "cluster/cloud.h"
#include "opennebula/documents.h"
#include "opennebula/one_client.h"
#include <stddef.h>

/* Called now and then with VMs read and VMs known of, once there are any; may be NULL. */
typedef void (*oneib_pools_progress)(size_t done, size_t total, void *context);

struct oneib_pools_options {
    const char *vn_mad;
    uint32_t window; /* VM ids a call */
    bool acl_user;   /* no administrator: the operator answers for the rights of our user */
    /* REFUSED when oned.conf lacks restrictions of opennebula/restrictions.h: for whoever acts by
     * itself
     */
    bool require_restrictions;
    /*
     * Not NULL: a host with ports that is known from before need not be asked about each time that
     * a VM arrives there. Those that were not are added here, to be named in the next work queue:
     * what is known of them is what was right when anybody looked last.
     */
    struct oneib_id_set *hosts_later;
    oneib_pools_progress progress;
    void *progress_context;
};

/* *cloud comes back sorted. On failure *cloud and *findings hold nothing that must be cleared. */
int oneib_pools_read(struct oneib_one *one, const struct oneib_pools_options *options,
                     struct oneib_cloud *cloud, struct oneib_findings *findings,
                     struct oneib_error *err);

#endif
