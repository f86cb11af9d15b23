// SPDX-License-Identifier: Apache-2.0
/*
 * What the network driver's actions do on a node. Each is given what OpenNebula gives it, and acts
 * through oneib-node. Order of events and what each has to undo: docs/design/node.md.
 *
 * While a NIC of any driver is attached or detached, only a NIC with ATTACH=YES is meant:
 * OpenNebula calls all drivers of the VM, and most have nothing to do then.
 */
#ifndef ONEIB_NODE_DRIVER_H
#define ONEIB_NODE_DRIVER_H

#include "base/error.h"
#include "config/config.h"
#include "node/vm_document.h"
#include <stddef.h>
#include <stdint.h>

/*
 * Every InfiniBand NIC of the VM (of an attach: that one) gets its VF, open. GUIDs are deferred
 * when the VM has run before and this is no attach: a live migration looks the same, and then the
 * source's port still has them. All NICs are checked before the first is touched: a malformed one,
 * a BRIDGE, a PCI NIC without ADDRESS are refused. On failure the VFs that this call got are
 * released.
 */
int oneib_driver_pre(const struct oneib_config *config, struct oneib_node_vm *vm,
                     struct oneib_error *err);

/* Completes what pre deferred, on the same NICs. On failure of an attach its VF is released: nobody
 * calls clean then. Otherwise the VF stays, closed: the VM runs on without InfiniBand. */
int oneib_driver_post(const struct oneib_config *config, struct oneib_node_vm *vm,
                      struct oneib_error *err);

/*
 * post of anything but an attach: completes what pre deferred, and gives the domain the VFs that it
 * lacks (node/start_reattach.h). document: the VM's, decoded.
 *
 * OpenNebula cancels a VM whose post fails after a restore, and its state is lost; and a restore
 * cannot be told from a deployment of a VM that ran before. So what fails for such a VM while its
 * domain runs here, or while libvirt does not answer, is no failure, and *left says what it was
 * (code NONE: nothing). Nor is it for a VM that runs for the first time when all that fails is the
 * reattaching, or when its domain lacks a VF of its own, and so was not started with them.
 */
int oneib_driver_arrive(const struct oneib_config *config, struct oneib_node_vm *vm,
                        const char *document, size_t length, struct oneib_error *left,
                        struct oneib_error *err);

/* Takes back what pre, or post of an attach, has done for these NICs: for what fails after them
 * (hooks). What cannot be released is closed at least, or RELEASING, and left to the service. Of an
 * attach it is closed even in a running domain, which keeps it until it lets go of it. */
void oneib_driver_undo(const struct oneib_config *config, const struct oneib_node_vm *vm);

/* host: the argument, the host that is cleaned; it differs from vm->hostname at the source of a
 * migration. Releases the NIC of a detach, else all that the VM has here, but for what its running
 * domain names: the VM has not left this host then. TIMEOUT: what is not free yet is closed, but
 * the SM has not let go of its GUID; the service goes on with it, and nothing is left to do for the
 * caller. */
int oneib_driver_clean(const struct oneib_config *config, const struct oneib_node_vm *vm,
                       const char *host, struct oneib_error *err);

#endif
