// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger's hosts with their keys and ports, its daemons and its fences, as oneibd has read them
 * last: ".NAME.fences" beside the state's path. While the ledger is lost, ports stay their hosts' and
 * fenced ones closed by it, and `oneib sync --adopt` takes all of that from it. The ledger counts
 * wherever it can be read; where this file is, there has been one.
 */
#ifndef ONEIB_SYNC_FENCES_H
#define ONEIB_SYNC_FENCES_H

#include "base/error.h"
#include "cluster/ledger.h"
#include <stdbool.h>

/* No P_Keys. Mode 0640, replaced at once. */
int oneib_fences_write(const char *state, const struct oneib_ledger *ledger,
                       struct oneib_error *err);
bool oneib_fences_are_there(const char *state);
/* *ledger is zeroed first, and has no P_Keys then. NOT_FOUND: there is no such file; other
 * errors: it cannot be read, or is damaged. */
int oneib_fences_read(const char *state, struct oneib_ledger *ledger, struct oneib_error *err);

#endif
