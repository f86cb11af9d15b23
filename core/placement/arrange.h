// SPDX-License-Identifier: Apache-2.0
/* From the scheduler's message and what runs already to a window (placement/window.h). Pure. */
#ifndef ONEIB_PLACEMENT_ARRANGE_H
#define ONEIB_PLACEMENT_ARRANGE_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "opennebula/documents.h"
#include "placement/message.h"
#include "placement/window.h"
#include <stddef.h>
#include <stdint.h>

/* A VM is offered every host with room when neither it nor another VM of a cluster that somebody
 * waits for has been given a host for as long: what is not looked at here, as affinity, datastores
 * and SCHED_RANK, must keep nobody waiting for ever. Some six windows of SCHED_MAX_WND_TIME
 * (oned.conf). */
#define ONEIB_PLACEMENT_PATIENCE_S 60
/* Likewise when its own cluster has been given none for as long, whatever others were. */
#define ONEIB_PLACEMENT_TURN_S 600

/* Adds the networks of those that wait and have InfiniBand, and sorts the set. */
void oneib_waiting_networks(const struct oneib_sched_message *message,
                            struct oneib_id_set *networks);
/* Tells links of the clusters of these networks: the level that a network says, where links do not
 * have it, and where its VMs run by now. */
void oneib_links_catch_up(struct oneib_links *links, const struct oneib_cloud *running);
/*
 * running: these networks, VMs that have NICs there, and the hosts where these are; sorted. A host
 * that neither it nor the message has, or that says no switch, is nowhere. now: Unix seconds.
 * VMs are served in the order of their ids. Once one has waited, whose VMs come first is drawn anew
 * each second: what is meant for a VM that OpenNebula then gives no host is offered to nobody else,
 * and whoever has many such VMs would keep everybody behind him waiting for ever.
 * REFUSED when no host of the message says how many virtual functions are free: then oneibd is
 * not at work, and nobody is to be kept from any host. On failure *window holds nothing.
 */
int oneib_window_arrange(const struct oneib_sched_message *message,
                         const struct oneib_cloud *running, int64_t now,
                         struct oneib_window *window, struct oneib_error *err);

#endif
