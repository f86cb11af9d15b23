// SPDX-License-Identifier: Apache-2.0
/*
 * What the network driver's actions do on a node. Each is given what OpenNebula gives it, and acts
 * through oneib-vf. Order of events and what each has to undo: docs/design/node.md.
 */
#ifndef ONEIB_NODE_DRIVER_H
#define ONEIB_NODE_DRIVER_H

#include "base/config.h"
#include "base/error.h"
#include "node/vm_document.h"
#include <stddef.h>
#include <stdint.h>

/* Every InfiniBand NIC of the VM (of an attach: that one) gets its VF, open. GUIDs are deferred
 * when the VM has run before and this is no attach: a live migration looks the same, and then the
 * source's port still has them. On failure the VFs that this call assigned are released. */
int oneib_driver_pre(const struct oneib_config *config, const struct oneib_node_vm *vm,
                     struct oneib_error *err);
/* Completes what pre deferred, on the same NICs. On failure of an attach its VF is released: nobody
 * calls clean then. Otherwise the VF stays, closed: the VM runs on without InfiniBand. */
int oneib_driver_post(const struct oneib_config *config, const struct oneib_node_vm *vm,
                      struct oneib_error *err);
/* host: the argument, the host that is cleaned; it differs from vm->hostname at the source of a
 * migration. Releases the NIC of a detach, else all that the VM has here. */
int oneib_driver_clean(const struct oneib_config *config, const struct oneib_node_vm *vm,
                       const char *host, struct oneib_error *err);
/* The network's key or membership may have changed: NICs of that network are closed, and opened
 * with the new key. Without a key they stay closed. */
int oneib_driver_update_nic(const struct oneib_config *config, const struct oneib_node_vm *vm,
                            uint32_t network_id, struct oneib_error *err);

#endif
