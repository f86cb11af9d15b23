// SPDX-License-Identifier: Apache-2.0
/*
 * A cloud that is kept, and refreshed piece by piece: what an event names is asked of oned again,
 * with everything that its membership depends on. Reading a hundred thousand VMs takes seconds;
 * reading the one that changed takes milliseconds. oneib_pools_read() stays the truth: a refresh
 * gives what it would have given, had nothing changed but what was named (tests compare the two).
 */
#ifndef ONEIB_OPENNEBULA_CACHE_H
#define ONEIB_OPENNEBULA_CACHE_H

#include "base/error.h"
#include "base/finding.h"
#include "cluster/cloud.h"
#include "opennebula/documents.h"
#include "opennebula/one_client.h"
#include "opennebula/pools.h"
#include <stdbool.h>

/* What to look at again. Zeroed: nothing. */
struct oneib_work_queue {
    struct oneib_id_set vms, networks, hosts; /* unsorted, with repetitions, as they come */
    bool new_vms;                             /* everything beyond the highest VM id known */
    bool everything;
};

void oneib_work_queue_vm(struct oneib_work_queue *queue, uint32_t id);
void oneib_work_queue_network(struct oneib_work_queue *queue, uint32_t id);
void oneib_work_queue_host(struct oneib_work_queue *queue, uint32_t id);
/* Adds all that is on another one. */
void oneib_work_queue_join(struct oneib_work_queue *queue, const struct oneib_work_queue *more);
bool oneib_work_queue_is_empty(const struct oneib_work_queue *queue);
/* The VMs whose state cannot last (arriving, leaving, migrating, of unknown state), or that wait to
 * be placed: to be looked at without being told. */
void oneib_work_queue_unsettled(const struct oneib_cloud *cloud, struct oneib_work_queue *queue);
/* Whether a VM is arriving or migrating. */
bool oneib_cloud_is_preparing(const struct oneib_cloud *cloud);
void oneib_work_queue_clear(struct oneib_work_queue *queue);

/*
 * Brings *cloud and *findings, which oneib_pools_read() or this function filled, up to date:
 * - named networks are read again, each by itself, and VMs that they lease to now and did not
 *   before;
 * - named hosts likewise (all of them when there are many), and VMs that they hold and that were
 * not known;
 * - named VMs are read again; of those that are on a host the networks too (what vouches for a NIC
 *   is never older than the NIC), and of those that are arriving or migrating the host: it may be
 *   younger than what is known of it (options->hosts_later puts that off). VMs that are gone lose
 * their attachments. Many VMs are read by windows of ids;
 * - then the same completion as in oneib_pools_read(): migrating VMs by themselves, networks and
 * hosts that are not known, NICs whose networks do not know of their VM. Findings about an object
 * that is read again are replaced. *changed: the cloud is not what it was (attachments, networks or
 * hosts differ in what partitions or host attributes depend on). work queue->everything:
 * oneib_pools_read() into the same place. On failure *cloud and *findings are as they were before.
 */
int oneib_cache_refresh(struct oneib_one *one, const struct oneib_pools_options *options,
                        const struct oneib_work_queue *queue, struct oneib_cloud *cloud,
                        struct oneib_findings *findings, bool *changed, struct oneib_error *err);

#endif
