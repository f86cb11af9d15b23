// SPDX-License-Identifier: Apache-2.0
/* What runs in the networks of VMs that wait: asked of oned when the scheduler asks us. */
#ifndef ONEIB_SCHEDULER_RUNNING_H
#define ONEIB_SCHEDULER_RUNNING_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "opennebula/documents.h"
#include "opennebula/one_client.h"
#include "placement/message.h"

/*
 * Those networks, the VMs that they name, and the hosts of these that the message lacks; sorted.
 * One call a network, one for each 200 VMs, one for each such host. A network that is gone is left
 * out, as is one whose own document its owner has spoilt, and a VM likewise. *cloud is zeroed
 * before; on failure it holds nothing.
 */
int oneib_read_running(struct oneib_one *one, const char *vn_mad,
                       const struct oneib_sched_message *message,
                       const struct oneib_id_set *networks, struct oneib_cloud *cloud,
                       struct oneib_error *err);

#endif
