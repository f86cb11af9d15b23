// SPDX-License-Identifier: Apache-2.0
/*
 * One at a time: between looking at oned and having written what follows from it, nobody else may
 * write. Without that a run that looked earlier could write later, and bring back members that are
 * gone.
 */
#ifndef ONEIB_SYNC_LOCK_H
#define ONEIB_SYNC_LOCK_H

#include "base/error.h"
#include <stdint.h>

/*
 * Takes the lock that belongs to `state` (oneib_config_state()): ".NAME.lock" beside it, made when
 * absent, mode 0600, for the owner of the directory: root and a daemon without privileges share it.
 * Waits up to timeout_ms for whoever has it; then ONEIB_ERROR_TIMEOUT names that process. *lock is
 * a descriptor for oneib_sync_unlock(). The lock ends with the process, however that ends. It is
 * one for processes: a process must not take it twice.
 */
int oneib_sync_lock(const char *state, uint32_t timeout_ms, int *lock, struct oneib_error *err);
void oneib_sync_unlock(int lock);

/*
 * For a daemon, for as long as it lives: ".NAME.daemon" beside the state's path, so that there
 * is one daemon for it. ONEIB_ERROR_REFUSED at once when another process has it, which it
 * names. Independent of the lock above. It ends when the process closes any descriptor of that
 * file: take it once, and after the last fork(), for a child does not inherit it.
 * oneib_sync_unlock() gives it back.
 */
int oneib_daemon_lock(const char *state, int *lock, struct oneib_error *err);

/* Which process has that lock; 0: none. */
int oneib_daemon_find(const char *state, int *process, struct oneib_error *err);
/*
 * Makes the daemon that has that lock read everything again (SIGHUP). *process is it, 0: there is
 * none. Not for the daemon itself.
 */
int oneib_daemon_call(const char *state, int *process, struct oneib_error *err);

#endif
