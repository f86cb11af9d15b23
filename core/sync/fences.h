// SPDX-License-Identifier: Apache-2.0
/*
 * The fences of the ledger as oneibd has read them last: ".NAME.fences" beside the state's path.
 * Ports stay closed by it while oned is away or the ledger is lost, and `oneib sync --adopt` makes
 * the fences of a lost ledger again from it. The ledger counts wherever it can be read; where this
 * file is, there has been one.
 */
#ifndef ONEIB_SYNC_FENCES_H
#define ONEIB_SYNC_FENCES_H

#include "base/error.h"
#include "cluster/ledger.h"
#include <stdbool.h>

/* Fences and their ports alone. Mode 0640, replaced at once. */
int oneib_fences_write(const char *state, const struct oneib_ledger *ledger,
                       struct oneib_error *err);
bool oneib_fences_are_there(const char *state);
/* *ledger is zeroed first, and has nothing but fences then. NOT_FOUND: there is no such file; other
 * errors: it cannot be read, or is damaged. */
int oneib_fences_read(const char *state, struct oneib_ledger *ledger, struct oneib_error *err);

#endif
