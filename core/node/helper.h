// SPDX-License-Identifier: Apache-2.0
/* Calling oneib-vf (config->node.helper, by default through sudo). Its refusals become errors with
 * its own words: REFUSED, and UNREACHABLE when it could not be called at all. It takes site,
 * host_vfs and waiting times from the node's configuration, so those of the assignment count for
 * nothing here. */
#ifndef ONEIB_NODE_HELPER_H
#define ONEIB_NODE_HELPER_H

#include "base/config.h"
#include "base/error.h"
#include "hca/assign.h"
#include "model/vf_record.h"
#include <stdint.h>

/* The arguments of `oneib-vf assign` from the assignment; the record that it prints. */
int oneib_helper_assign(const struct oneib_config *config,
                        const struct oneib_assignment *assignment, struct oneib_vf_record *record,
                        struct oneib_error *err);
/* nic_id < 0: all NICs of the VM. */
int oneib_helper_release(const struct oneib_config *config, uint32_t vm_id, int nic_id,
                         struct oneib_error *err);
int oneib_helper_release_vf(const struct oneib_config *config, const struct oneib_pci *vf,
                            uint32_t vm_id, const struct oneib_pci *in_use, size_t in_use_count,
                            struct oneib_error *err);

#endif
