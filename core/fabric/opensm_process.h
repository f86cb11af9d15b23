// SPDX-License-Identifier: Apache-2.0
/* opensm as a process: finding it and telling it to read its partitions again. */
#ifndef ONEIB_FABRIC_OPENSM_PROCESS_H
#define ONEIB_FABRIC_OPENSM_PROCESS_H

#include "base/error.h"
#include "config/config.h"
#include <sys/types.h>

/*
 * The process that the configuration means, verified: its executable or its comm is "opensm" (a
 * stale pid file whose number now belongs to another program is an error that names that program).
 * Not for ONEIB_RELOAD_COMMAND: *pid is then 0.
 */
int oneib_opensm_find(const struct oneib_config *config, pid_t *pid, struct oneib_error *err);

/*
 * Makes opensm read its files again: SIGHUP through a pidfd that is checked after it was opened (so
 * that a pid that changes hands between the look and the signal is not hit), or the configured
 * command without a shell. Refuses when opensm ignores SIGHUP (SigIgn in /proc/PID/status: it was
 * started under nohup).
 */
int oneib_opensm_reload(const struct oneib_config *config, struct oneib_error *err);

#endif
