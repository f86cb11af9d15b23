// SPDX-License-Identifier: Apache-2.0
/* Ports that OpenNebula does not know and that lose access by what is to be written: storage
 * servers, gateways and login nodes of a site that oneib is new to. Pure. */
#ifndef ONEIB_SYNC_LOSSES_H
#define ONEIB_SYNC_LOSSES_H

#include "sync/sync.h"

/*
 * From what is in force (without a table of its own: what the ports hold) to
 * snapshot->desired.table: a finding access-removed for each partition, clusters' aside, from which
 * such ports are removed, in which they become limited members, or which loses IPoIB. It names the
 * ports and the setting that keeps the access. Nothing is found while the subnet is not known.
 */
void oneib_losses_note(const struct oneib_config *config, const struct oneib_snapshot *snapshot,
                       struct oneib_findings *findings);

#endif
