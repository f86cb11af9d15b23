// SPDX-License-Identifier: Apache-2.0
/*
 * Owner of the ledger's ports: which host each belongs to, by what nodes report over their own
 * connections, and at which switch it is, by what the fabric shows. The ledger has both before a
 * host fails (docs/design/fence.md).
 */
#ifndef ONEIB_ONEIBD_HOST_PORTS_H
#define ONEIB_ONEIBD_HOST_PORTS_H

#include "base/error.h"
#include "base/finding.h"
#include "cluster/desired.h"
#include <stdbool.h>

struct oneib_daemon;
struct oneib_host_ports;

/* Never NULL; to be freed. */
struct oneib_host_ports *oneib_host_ports_new(void);
void oneib_host_ports_free(struct oneib_host_ports *ports);

/* The policy as far as it decides whose a port is. Borrows from the configuration. */
struct oneib_policy oneib_daemon_port_policy(const struct oneib_daemon *daemon);
/* Puts the ports that nodes report into the ledger: by the writer. Adds port-anothers, port-changed
 * and ports-many to those of node_grants.h. */
int oneib_host_ports_pin(struct oneib_daemon *daemon, struct oneib_error *err);

/* Whether places are to be found although nothing has changed: a cable that is moved changes
 * nothing else. */
bool oneib_host_ports_are_due(const struct oneib_daemon *daemon);
/* Puts the places of those ports into the ledger, when the fabric has changed or it is due, beside
 * the master subnet manager alone. *changed is set when there are other duplicate GUIDs than
 * before. */
int oneib_host_ports_find_places(struct oneib_daemon *daemon, bool *changed,
                                 struct oneib_error *err);
/* The subnet manager here is not the master any more: places are another daemon's. */
void oneib_host_ports_forget_places(struct oneib_host_ports *ports);
/* Adds port-twice, as links were read last. */
void oneib_host_ports_add_findings(const struct oneib_host_ports *ports,
                                   struct oneib_findings *findings);

#endif
