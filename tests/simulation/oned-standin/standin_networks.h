// SPDX-License-Identifier: Apache-2.0
/* What VMs need of networks. */
#ifndef STANDIN_NETWORKS_H
#define STANDIN_NETWORKS_H

#include "standin_state.h"

/* The next free address of the range; reused only when the range has been gone through. */
int standin_lease_take(struct standin_network *network, uint32_t vm_id, uint32_t *index,
                       struct oneib_error *err);
void standin_lease_free(struct standin_network *network, uint32_t index);
/* Copies what NICs take over from their network. */
void standin_nic_inherit(struct standin_nic *nic, const struct standin_network *network);

#endif
