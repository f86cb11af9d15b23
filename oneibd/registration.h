// SPDX-License-Identifier: Apache-2.0
/*
 * How this daemon stands in the ledger, for nodes to know it (DAEMON): its keys, and the address
 * that nodes reach it by.
 */
#ifndef ONEIB_ONEIBD_REGISTRATION_H
#define ONEIB_ONEIBD_REGISTRATION_H

#include "base/error.h"
#include "cluster/ledger.h"
#include "config/config.h"
#include <stdbool.h>

/* This host's name as others know it: the fully qualified one, where the resolver has it. May ask a
 * name server. */
void oneib_registration_host_name(char name[ONEIB_ADDRESS_SIZE]);

/* Fills in the address: daemon.address, or "tcp://", the host's name and the port of daemon.grants.
 * INPUT: nodes could not use it, for the name does not fit, or means whatever host it is used on.
 */
int oneib_registration_set_address(const struct oneib_config *config, const char *host_name,
                                   struct oneib_ledger_daemon *entry, struct oneib_error *err);

/* Whether the ledger has it, with these keys at this address; `since` does not count. */
bool oneib_registration_stands(const struct oneib_ledger *ledger,
                               const struct oneib_ledger_daemon *entry);
/* Puts it into the ledger, in the place of what has its address or one of its keys; of more than
 * nodes can know (ONEIB_DAEMONS_MAX) the one that was entered first goes. */
int oneib_registration_put(struct oneib_ledger *ledger, const struct oneib_ledger_daemon *entry,
                           struct oneib_error *err);

#endif
