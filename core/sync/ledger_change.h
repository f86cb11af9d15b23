// SPDX-License-Identifier: Apache-2.0
/*
 * A change of the ledger by a command. Others write the ledger too: `oneib fence` and `oneib host` on
 * other machines, and oneibd, where ports are, for instance. So the change is made again to what was
 * written meanwhile.
 */
#ifndef ONEIB_SYNC_LEDGER_CHANGE_H
#define ONEIB_SYNC_LEDGER_CHANGE_H

#include "opennebula/ledger_document.h"
#include <stdbool.h>

/* Makes the change in *next, a copy of the ledger as it stands; called again for each other writer. An
 * error ends it. */
typedef int (*oneib_ledger_edit)(struct oneib_ledger *next, void *context, struct oneib_error *err);

/*
 * *kept: as it was read; it follows what is read and written. A change that changes nothing is not
 * written: *written. REFUSED too when others go on writing.
 */
int oneib_ledger_change(struct oneib_one *one, bool by_acl, struct oneib_kept_ledger *kept,
                        oneib_ledger_edit edit, void *context, bool *written,
                        struct oneib_error *err);

#endif
