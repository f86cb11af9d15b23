// SPDX-License-Identifier: Apache-2.0
/* From the message of OpenNebula's scheduler to the hosts that its VMs are offered: what the message
 * lacks is read from oned (docs/design/placement.md). */
#ifndef ONEIB_SCHEDULER_PLACING_H
#define ONEIB_SCHEDULER_PLACING_H

#include "base/error.h"
#include "config/config.h"
#include "placement/message.h"
#include "placement/window.h"
#include <stdbool.h>

/* The configuration at path; NULL: the usual one. The session is that of whoever runs this, which
 * is oneadmin: the one that is configured is oneibd's. */
int oneib_placing_config(const char *path, struct oneib_config *config, struct oneib_error *err);
/*
 * Within the patience that has begun (scheduler/patience.h). has_pools: the message has its VMs and
 * hosts; else they are asked of oned, and added. A window without VMs: nobody with InfiniBand
 * waits. On failure *window holds nothing, and OpenNebula is to go on without us.
 */
int oneib_place(const struct oneib_config *config, struct oneib_sched_message *message,
                bool has_pools, struct oneib_window *window, struct oneib_error *err);

#endif
