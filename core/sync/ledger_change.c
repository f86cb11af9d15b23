// SPDX-License-Identifier: Apache-2.0
#include "sync/ledger_change.h"

#define WRITES 10

/* *refused: another writer was faster. */
static int change_once(struct oneib_one *one, struct oneib_kept_ledger *kept,
                       oneib_ledger_edit edit, void *context, bool *written, bool *refused,
                       struct oneib_error *err)
{
    oneib_autoledger struct oneib_ledger next = {0};
    oneib_ledger_copy(&kept->ledger, &next);
    *written = *refused = false;
    if (edit(&next, context, err) < 0)
        return -1;
    if (oneib_ledger_equal(&next, &kept->ledger))
        return 0;
    *written = oneib_ledger_write(one, kept, &next, err) == 0;
    *refused = !*written && err->code == ONEIB_ERROR_REFUSED;
    return *written ? 0 : -1;
}

int oneib_ledger_change(struct oneib_one *one, bool by_acl, struct oneib_kept_ledger *kept,
                        oneib_ledger_edit edit, void *context, bool *written,
                        struct oneib_error *err)
{
    bool refused;
    for (unsigned i = 0; i < WRITES; i++) {
        if (change_once(one, kept, edit, context, written, &refused, err) == 0)
            return 0;
        if (!refused || oneib_ledger_read_usable(one, by_acl, kept, err) < 0)
            return -1;
    }
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "other writers keep changing the ledger: try again");
}
