// SPDX-License-Identifier: Apache-2.0
/*
 * Owner of the nodes: the server that they connect to, whose keys are believed, what they have
 * reported, which grants and IB_KEYS they were sent, and which changes of partitions are deferred
 * until they report (docs/design/grants.md).
 */
#ifndef ONEIB_ONEIBD_NODE_GRANTS_H
#define ONEIB_ONEIBD_NODE_GRANTS_H

#include "base/error.h"
#include "base/finding.h"
#include "cluster/ledger.h"
#include "config/config.h"
#include "oneibd/node_server.h"
#include "oneibd/nodes.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_daemon;
struct oneib_node_grants;

/* before: of the configuration before, whose server stays where its address and key do, until
 * oneib_node_grants_take_over(); NULL: none. NULL: *err. */
struct oneib_node_grants *oneib_node_grants_open(const struct oneib_config *config,
                                                 const struct oneib_config *before,
                                                 struct oneib_error *err);
void oneib_node_grants_close(struct oneib_node_grants *grants); /* NULL: nothing */
/* Takes from `before` the server that stays, with what its nodes have reported and were sent, and
 * what is known of hosts' keys. */
void oneib_node_grants_take_over(struct oneib_node_grants *grants,
                                 struct oneib_node_grants *before);

/* ---- what others read ------------------------------------------------------------------------ */

struct oneib_node_server *oneib_node_grants_server(const struct oneib_node_grants *grants);
struct oneib_nodes *oneib_node_grants_nodes(struct oneib_node_grants *grants);
/* Of the last turn; host_ports.h adds to them. */
struct oneib_findings *oneib_node_grants_findings(struct oneib_node_grants *grants);
/* The host's node was not heard for a minute. */
bool oneib_node_grants_is_cut_off(const struct oneib_node_grants *grants, uint32_t host_id);
/* The host's node has reported, since this fence was asked to be lifted, that it has nothing. */
bool oneib_node_grants_has_nothing(const struct oneib_node_grants *grants,
                                   const struct oneib_ledger_fence *fence);
/* VFs of the host that are in use without OpenNebula knowing of it. */
size_t oneib_node_grants_unexpected_vfs(const struct oneib_node_grants *grants, uint32_t host_id);
/* Members whose P_Keys wait for reports of nodes. */
size_t oneib_node_grants_withheld(const struct oneib_node_grants *grants);
/* snapshot.desired.table lacks, or still has, what waits for nodes' reports. */
bool oneib_node_grants_have_deferred(const struct oneib_node_grants *grants);
/* IB_KEYS of some hosts are left to the next turn. */
bool oneib_node_grants_have_unwritten_keys(const struct oneib_node_grants *grants);

/* ---- the loop -------------------------------------------------------------------------------- */

/* Takes the reports that have come; true when a turn is waited for. */
bool oneib_node_grants_receive(struct oneib_daemon *daemon);
/* What nodes learn of this daemon with each sign of life. */
void oneib_node_grants_send_role(struct oneib_daemon *daemon);
/* Whether a turn is due by reports, or for want of them; milliseconds until that is to be asked
 * again. */
bool oneib_node_grants_is_due(const struct oneib_daemon *daemon);
double oneib_node_grants_wait(const struct oneib_daemon *daemon, double otherwise);
/* Writes the reports to their file (sync/heard.h), where that is due. */
void oneib_node_grants_write_reports(struct oneib_daemon *daemon);

/* ---- a turn ---------------------------------------------------------------------------------- */

void oneib_node_grants_begin_turn(struct oneib_node_grants *grants);
/* Replaces what oned says that hosts may hold by what is believed of it, before anything is computed
 * by it. */
void oneib_node_grants_verify_keys(struct oneib_daemon *daemon);
/* Sends lists, writes IB_KEYS, and leaves in snapshot.desired.table what may be put into force now.
 */
int oneib_node_grants_update(struct oneib_daemon *daemon, struct oneib_error *err);
/* Writes the serials of IB_KEYS into the ledger: by the writer, every few seconds at most. */
void oneib_node_grants_write_key_serials(struct oneib_daemon *daemon);

#endif
