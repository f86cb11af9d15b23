// SPDX-License-Identifier: Apache-2.0
/*
 * Owner of the ports of fenced hosts (docs/design/fence.md): disabled at their switches, read every
 * two seconds, and enabled again when the fence is lifted. Of two daemons the one beside the master
 * subnet manager does it.
 */
#ifndef ONEIB_ONEIBD_FENCING_H
#define ONEIB_ONEIBD_FENCING_H

#include "base/error.h"
#include "base/finding.h"
#include <stdbool.h>

struct oneib_daemon;
struct oneib_fencing;

/* Never NULL; to be freed. */
struct oneib_fencing *oneib_fencing_new(void);
void oneib_fencing_free(struct oneib_fencing *fencing);
/* Takes from `before` the ports that were disabled while oned was away: it alone knows them. */
void oneib_fencing_keep_reclosed(struct oneib_fencing *fencing, struct oneib_fencing *before);

/* Whether the ports of fenced hosts are to be read now. */
bool oneib_fencing_is_due(const struct oneib_daemon *daemon);
/* A turn's part. Reads those ports, where that is due or the ledger asks for it, disables or enables
 * what is to be, and records their states in the ledger. *changed stays true when it is, and becomes
 * so when something follows from it. */
int oneib_fencing_update(struct oneib_daemon *daemon, bool *changed, struct oneib_error *err);
/* While oned is away, the ledger is lost or turns are late: disables ports of fenced hosts that are
 * up, by the ledger as it was read last; enables and records nothing. From now on the same is done
 * during calls of oned, which may hang. */
void oneib_fencing_keep_closed(struct oneib_daemon *daemon);

/* Adds fence-open of ports that came up, as they were read last. */
void oneib_fencing_add_findings(const struct oneib_fencing *fencing,
                                struct oneib_findings *findings);
/* The subnet manager here is not the master any more: the findings are another daemon's. */
void oneib_fencing_clear_findings(struct oneib_fencing *fencing);

#endif
