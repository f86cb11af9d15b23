// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger (cluster/ledger.h) where it is kept: in one document of oned's, of type
 * ONEIB_LEDGER_TYPE. Users can make documents of any type, so only one is believed that uid 0 owns
 * or that is of group 0 (oneadmin's), and that gives others no rights. It is replaced whole, by the
 * one writer of the site, and by `oneib host`: each writing takes oned's lock of the document,
 * looks whether that is still what was read last, and reads it back afterwards. So nobody's change
 * is lost but by a writer that hangs for 10 s between its look and its writing: then its lock is
 * taken.
 */
#ifndef ONEIB_OPENNEBULA_LEDGER_DOCUMENT_H
#define ONEIB_OPENNEBULA_LEDGER_DOCUMENT_H

#include "base/error.h"
#include "cluster/ledger.h"
#include "opennebula/one_client.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oneib_ledger_state {
    ONEIB_LEDGER_ABSENT, /* there is no such document */
    ONEIB_LEDGER_READ,   /* `ledger` is what it says */
    ONEIB_LEDGER_BROKEN, /* there is one, or are several, that cannot be believed: `why` */
};

/* Zeroed: ABSENT, and nothing is known of a document. */
struct oneib_kept_ledger {
    enum oneib_ledger_state state;
    uint32_t document_id;       /* unless ABSENT: the document, of several the lowest id */
    uint32_t highest_id;        /* of those several; else the same */
    struct oneib_ledger ledger; /* when READ; else empty */
    struct oneib_error why;     /* when BROKEN */
};

/*
 * Reads what there is; *kept is replaced (it was zeroed once). The known document is read by one
 * call; without one all of the caller's and its groups are looked through, or, for a user with
 * rights by ACL, those of each member of the group oneadmin: never what others could write into. -1
 * is for what oned does not answer; *kept stays as it was then.
 */
int oneib_ledger_read(struct oneib_one *one, bool by_acl, struct oneib_kept_ledger *kept,
                      struct oneib_error *err);
/* The same, but a ledger that is BROKEN is an error: *err says why. */
int oneib_ledger_read_usable(struct oneib_one *one, bool by_acl, struct oneib_kept_ledger *kept,
                             struct oneib_error *err);
/*
 * Puts `next` in the place of kept->ledger; next->serial is not looked at: it becomes one more than
 * the serial before. kept must be READ, or ABSENT: then the document is made. REFUSED: somebody
 * else has written it since it was read. On failure it is not
 * known what oned has: read it again.
 */
int oneib_ledger_write(struct oneib_one *one, struct oneib_kept_ledger *kept,
                       const struct oneib_ledger *next, struct oneib_error *err);
/* The same, whatever stands there (oneib sync --adopt): of several documents the others are
 * removed, and rights are set as they should be. Its serial is higher than next->serial, too. */
int oneib_ledger_overwrite(struct oneib_one *one, struct oneib_kept_ledger *kept,
                           const struct oneib_ledger *next, struct oneib_error *err);
void oneib_kept_ledger_clear(struct oneib_kept_ledger *kept);
#define oneib_autokept __attribute__((cleanup(oneib_kept_ledger_clear)))

/* ---- reading documents; for core/opennebula and its tests ------------------------------------ */

/* xml: a <DOCUMENT> or a <DOCUMENT_POOL>; documents that nobody would believe count as none.
 * *count: how many there are that would be. */
int oneib_ledger_parse(const char *xml, size_t length, struct oneib_kept_ledger *kept,
                       size_t *count, struct oneib_error *err);

#endif
