// SPDX-License-Identifier: Apache-2.0
/*
 * Owner of this daemon's entry in the ledger (DAEMON), by which nodes know its keys and the address
 * at which they reach it.
 */
#ifndef ONEIB_ONEIBD_REGISTRATION_H
#define ONEIB_ONEIBD_REGISTRATION_H

#include "base/error.h"
#include "base/finding.h"
#include "cluster/ledger.h"
#include "config/config.h"
#include <stdbool.h>

struct oneib_daemon;
struct oneib_registration;

/* Without daemon.address it asks for this host's name. Never NULL; to be freed. */
struct oneib_registration *oneib_registration_new(const struct oneib_config *config);
void oneib_registration_free(struct oneib_registration *registration);

/* A turn's part: puts the entry into the ledger, where it is missing or another one. true: the
 * ledger could not be written, mostly because another daemon or command has written it: read it and
 * call again. What keeps the entry out of the ledger is a finding: nodes that know this daemon
 * already reach it all the same. */
bool oneib_registration_update(struct oneib_daemon *daemon);
/* Whether the last update has failed. */
bool oneib_registration_failed(const struct oneib_registration *registration);
/* Adds daemon-unknown, where it has. */
void oneib_registration_add_findings(const struct oneib_registration *registration,
                                     struct oneib_findings *findings);

/* This host's name as other hosts know it: the fully qualified one, where the resolver has it. May
 * ask a name server, which takes seconds. */
void oneib_registration_host_name(char name[ONEIB_ADDRESS_SIZE]);

/* Fills in the address: daemon.address, or "tcp://", the host's name and the port of daemon.grants.
 * INPUT: nodes cannot use the address: it is too long, or the host's name is empty or "localhost",
 * which is a different host on each node. */
int oneib_registration_set_address(const struct oneib_config *config, const char *host_name,
                                   struct oneib_ledger_daemon *entry, struct oneib_error *err);

/* Whether the ledger has it, with these keys at this address; `since` does not count. */
bool oneib_registration_stands(const struct oneib_ledger *ledger,
                               const struct oneib_ledger_daemon *entry);
/* Puts it into the ledger, in the place of entries with its address or one of its keys; of more than
 * nodes can know (ONEIB_DAEMONS_MAX) the one that was entered first goes. */
int oneib_registration_put(struct oneib_ledger *ledger, const struct oneib_ledger_daemon *entry,
                           struct oneib_error *err);

#endif
