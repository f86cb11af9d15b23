// SPDX-License-Identifier: Apache-2.0
/*
 * What reading the whole cloud (opennebula/pools.h) and reading pieces of it again
 * (opennebula/cache.h) share; for core/opennebula alone.
 *
 * What is read is collected aside. Where nothing was read, what is known from before counts (the
 * base), so that a piece is judged within the whole.
 */
#ifndef ONEIB_OPENNEBULA_POOLS_INTERNAL_H
#define ONEIB_OPENNEBULA_POOLS_INTERNAL_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "opennebula/documents.h"
#include "opennebula/one_client.h"
#include "opennebula/pools.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More hosts than this are read by their pool, more VMs within one window by that window: one
 * answer then costs oned less than many. */
#define ONEIB_MANY 16

/*
 * Ids that were asked for by themselves are remembered: an oned that names the same id again and
 * again cannot hold us.
 */
struct oneib_pools {
    struct oneib_one *one;
    const struct oneib_pools_options *options;
    const struct oneib_cloud *base;   /* sorted */
    struct oneib_documents documents; /* what is read: its cloud is kept sorted */
    bool all_hosts;                   /* their pool was read: nothing of the base's counts */
    struct oneib_id_set vms_asked, networks_asked, hosts_asked; /* sorted */
    struct oneib_id_set vms_stored_odd; /* sorted: whose pool document is malformed or odd: what
                                           they say by themselves decides */
    struct oneib_id_set vms_alone;      /* whom no window can show: to be asked for by themselves */
    size_t malformed_id_ranges;
    uint32_t vm_end; /* one beyond the highest id that is known to be a VM's; 0: none */
    size_t total;    /* VMs known of, for progress */
};

/* The sets only. */
void oneib_pools_clear(struct oneib_pools *pools);

/* Whether our user sees everything, and whether oned's configuration says what it must. */
int oneib_pools_check_oned(const struct oneib_pools *pools, struct oneib_error *err);

int oneib_pools_read_hosts(struct oneib_pools *pools, struct oneib_error *err);
int oneib_pools_read_networks(struct oneib_pools *pools, struct oneib_error *err);
/* Ids first..last, last -1: open end. Of VMs whose documents are malformed: their ids to vms_alone.
 */
int oneib_pools_read_window(struct oneib_pools *pools, int64_t first, int64_t last,
                            struct oneib_error *err);

/* VMs of which ids a document may show; last -1: open end. */
void oneib_pools_want_vms(struct oneib_documents *documents, int64_t first, int64_t last);

/* Each asks for those that were not asked for yet, one by one (many hosts: their pool). `wanted`
 * may be unsorted; they alone are left in it. *asked: set when something was asked for. */
int oneib_pools_ask_vms(struct oneib_pools *pools, struct oneib_id_set *wanted, bool *asked,
                        struct oneib_error *err);
int oneib_pools_ask_networks(struct oneib_pools *pools, struct oneib_id_set *wanted, bool *asked,
                             struct oneib_error *err);
int oneib_pools_ask_hosts(struct oneib_pools *pools, struct oneib_id_set *wanted, bool *asked,
                          struct oneib_error *err);

/* For those that `wanted`, sorted, names, asked for before or not. */
int oneib_pools_ask_vms_again(struct oneib_pools *pools, const struct oneib_id_set *wanted,
                              struct oneib_error *err);
int oneib_pools_ask_networks_again(struct oneib_pools *pools, const struct oneib_id_set *wanted,
                                   struct oneib_error *err);

/* Those with these ids, which are sorted. */
void oneib_pools_drop_networks(struct oneib_cloud *cloud, const struct oneib_id_set *ids);
void oneib_pools_drop_hosts(struct oneib_cloud *cloud, const struct oneib_id_set *ids);

void oneib_pools_report_progress(const struct oneib_pools *pools);

/* VMs that what was read names, that were not read yet and that the base's documents did not name.
 */
void oneib_pools_newly_named(struct oneib_pools *pools, struct oneib_id_set *vms);

/*
 * Everything that is left open by what was read: VMs that are named, the source hosts of migrating
 * VMs, networks and hosts that are not known, or known from before a NIC that depends on them; NICs
 * whose networks do not know of their VMs.
 */
int oneib_pools_complete(struct oneib_pools *pools, struct oneib_error *err);

/*
 * One beyond the highest of the ids, sorted, that is known to be a VM's: it was asked for by
 * itself, or is below one that was, or below the base's end.
 */
uint32_t oneib_pools_vm_end(const struct oneib_pools *pools, const uint32_t *ids, size_t count);

/*
 * Networks of other drivers stay known only while a NIC of ours, or a reservation, names them.
 * Fills *named, sorted, when there are any of them at all; drop_others() drops those that are not
 * in it.
 */
void oneib_pools_name_others(const struct oneib_pools *pools, struct oneib_id_set *named);
void oneib_pools_drop_others(struct oneib_cloud *cloud, const struct oneib_id_set *named);

/* A NIC on a host whose network does not know of its VM. */
bool oneib_pools_is_doubtful(const struct oneib_pools *pools,
                             const struct oneib_attachment *attachment);

/* Adds all of `more`; the set comes back sorted. */
void oneib_id_set_join(struct oneib_id_set *set, const struct oneib_id_set *more);
/* Drops those that `others`, sorted, has; the set comes back sorted. */
void oneib_id_set_drop(struct oneib_id_set *set, const struct oneib_id_set *others);

#endif
