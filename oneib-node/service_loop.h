// SPDX-License-Identifier: Apache-2.0
/*
 * The service: one thread, one loop. It waits for callers, events of adapters, news of domains,
 * signals and its own timers, and lets the engine (vf/vfs.h) do what follows. Nothing in it waits
 * for anything else.
 */
#ifndef ONEIB_ONEIB_NODE_SERVICE_LOOP_H
#define ONEIB_ONEIB_NODE_SERVICE_LOOP_H

#include "base/error.h"
#include "config/config.h"
#include "oneib-node/privileges.h"

/*
 * Opens all that it needs, gives up root's privileges, looks at every VF once, says that it is
 * ready, and serves until SIGTERM or SIGINT: 0. SIGHUP: it looks at every VF and adapter. SIGUSR1:
 * libvirt is asked anew for all domains. What fails meanwhile is logged, once as long as it stays
 * the same, and tried again. -1: it could not begin, or cannot go on.
 */
int oneib_service_run(const struct oneib_config *config, const struct oneib_inherited *inherited,
                      struct oneib_error *err);

#endif
