// SPDX-License-Identifier: Apache-2.0
/* One process at a time chooses cores, or changes where others run. */
#ifndef ONEIB_VMM_CORES_LOCK_H
#define ONEIB_VMM_CORES_LOCK_H

#include "base/error.h"

/* In the home of the user who runs the driver; waits for it, a minute at the most: TIMEOUT. *lock is
 * to be closed. */
int oneib_cores_lock(int *lock, struct oneib_error *err);

#endif
