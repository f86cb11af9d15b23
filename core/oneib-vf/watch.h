// SPDX-License-Identifier: Apache-2.0
/* `oneib-vf watch`: keeps open VFs where their keys are, for as long as the process lives. */
#ifndef ONEIB_VF_WATCH_H
#define ONEIB_VF_WATCH_H

#include "base/config.h"
#include "base/error.h"

/*
 * Looks (oneib_vfs_reconcile()) at the start, at every event of an adapter, at SIGHUP, and every
 * config->node.watch_ms; logs what it did. Ends with 0 at SIGTERM or SIGINT. What fails is logged,
 * once as long as it stays the same, and tried again; -1 only when it could not begin.
 */
int oneib_vf_watch(const struct oneib_config *config, struct oneib_error *err);

/* One look: when it is over, VFs that were never closed are. */
int oneib_vf_look_once(const struct oneib_config *config, struct oneib_error *err);

#endif
