// SPDX-License-Identifier: Apache-2.0
/*
 * How far the ledger was when oneibd read it last: ".NAME.ledger" beside the state's path. A
 * ledger that is the same document with a lower serial is an older one: oned's database was put
 * back to what it was some time ago. What was given since, it does not know.
 */
#ifndef ONEIB_SYNC_LEDGER_MARK_H
#define ONEIB_SYNC_LEDGER_MARK_H

#include "base/error.h"
#include "opennebula/ledger_document.h"
#include <stdbool.h>
#include <stdint.h>

struct oneib_ledger_mark {
    uint32_t document_id;
    uint64_t serial; /* 0: nothing is known */
    oneib_pkey next;
};

/* *mark is zeroed first. A file that is not there, or is damaged, says nothing. */
void oneib_ledger_mark_read(const char *state, struct oneib_ledger_mark *mark);
/* Mode 0640, replaced at once. Nothing is done for one that was not read, or is no newer. */
int oneib_ledger_mark_write(const char *state, const struct oneib_kept_ledger *kept,
                            struct oneib_error *err);
bool oneib_ledger_is_older(const struct oneib_ledger_mark *mark,
                           const struct oneib_kept_ledger *kept);

#endif
