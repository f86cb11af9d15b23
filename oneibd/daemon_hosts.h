// SPDX-License-Identifier: Apache-2.0
/*
 * Owner of what is written to hosts in OpenNebula: IB_VFS_FREE and IB_SWITCH, which it computes, the
 * switches that hosts are linked to, and which hosts could not be written to.
 */
#ifndef ONEIB_ONEIBD_DAEMON_HOSTS_H
#define ONEIB_ONEIBD_DAEMON_HOSTS_H

#include "base/error.h"
#include "base/finding.h"
#include "sync/leaves.h"
#include <stdbool.h>
#include <stdint.h>

struct oneib_daemon;
struct oneib_host_updates;

/* Never NULL; to be freed. */
struct oneib_host_updates *oneib_host_updates_new(void);
void oneib_host_updates_free(struct oneib_host_updates *updates);

/* Computes IB_VFS_FREE and IB_SWITCH, and writes them where this instance is the writer. Stops when
 * an event comes: hosts remain then. */
int oneib_host_updates_write(struct oneib_daemon *daemon, struct oneib_error *err);
/* Whether hosts remain to be written to. */
bool oneib_host_updates_remain(const struct oneib_host_updates *updates);

/* IB_VFS_FREE of a host that is written to for another reason; -1: it has the value already, or
 * another instance writes it. Computed once for all hosts, until oneib_host_updates_forget(). */
int32_t oneib_host_updates_vfs_free(struct oneib_daemon *daemon, uint32_t host_id);
void oneib_host_updates_forget(struct oneib_host_updates *updates);

/* The host could not be written to: a finding; it is not written to until a poll, or, where a right
 * is missing, until everything is read. */
void oneib_host_updates_failed(struct oneib_daemon *daemon, uint32_t host_id,
                               const struct oneib_error *failure);
/* It was written to. */
void oneib_host_updates_written(struct oneib_host_updates *updates, uint32_t host_id);
/* Whether it is not written to for now. */
bool oneib_host_updates_are_paused(const struct oneib_host_updates *updates, uint32_t host_id);
/* A poll: hosts that failed may be written to again. Whether there are any. */
bool oneib_host_updates_resume(struct oneib_host_updates *updates);
/* Everything was read: also those where a right was missing, and links are read again. */
void oneib_host_updates_reset(struct oneib_host_updates *updates);

/* The switches that hosts are linked to, as read last. */
const struct oneib_leaves *oneib_host_updates_leaves(const struct oneib_host_updates *updates);
/* Adds host-not-written. */
void oneib_host_updates_add_findings(const struct oneib_host_updates *updates,
                                     struct oneib_findings *findings);

#endif
