// SPDX-License-Identifier: Apache-2.0
/* VFs out of a running domain and in again: docs/design/vmm.md. Private to the virtualization
 * driver. */
#ifndef ONEIB_VMM_PLUG_H
#define ONEIB_VMM_PLUG_H

#include "base/error.h"
#include "base/text.h"
#include "config/config.h"
#include "domain/document.h"
#include "live/live.h"
#include "node/vm_document.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* REFUSED: it is not the domain of this VM ("one-42"). */
int oneib_plug_check_owner(const struct oneib_domain_description *description, uint32_t vm_id,
                           struct oneib_error *err);
/* The table has the VF for that NIC, and not as one that is being released; to be asked right before
 * a domain starts with it, or after it was plugged in. One that was released may be another VM's. */
bool oneib_plug_is_still_its_own(uint32_t vm_id, uint8_t nic_id, const struct oneib_pci *vf);
/* The running domain as it is now; *description is to be cleared on success. NOT_FOUND as
 * oneib_live_document(). REFUSED: oneib_plug_check_owner(). */
int oneib_plug_read(struct oneib_live *live, const char *domain, uint32_t vm_id,
                    struct oneib_domain_description *description, struct oneib_error *err);
/* The same over an older description, which stays as it was when this fails. */
int oneib_plug_read_again(struct oneib_live *live, const char *domain, uint32_t vm_id,
                          struct oneib_domain_description *description, struct oneib_error *err);
/* Whether a VF of ours is in it. */
bool oneib_plug_has_vf(const struct oneib_domain_description *description);

/*
 * All VFs of ours in `description` out. When the guest does not let go of one, those that are out
 * are plugged in again (oneib_plug_in()), and the error says what the guest did not do, and what is
 * not as it was, if anything.
 */
int oneib_plug_out(const struct oneib_config *config, struct oneib_live *live, const char *domain,
                   const struct oneib_node_vm *vm,
                   const struct oneib_domain_description *description, struct oneib_error *err);

/*
 * The VFs that the table has for the VM and that the domain lacks, in, after oneib-node was asked
 * for them anew, lest it takes them for those of a domain that has ended; by a connection of its
 * own, as what came before it may have taken an hour, or lost another one. Each is behind its dummy
 * interface, or was in the domain before. Guest address: as in `before` (NULL: not known), else
 * that of a PCI NIC in vm, else by index. What cannot go in is an error, and the rest goes on: a VF
 * whose GUID is not set, one that is being released, one that the table does not have any more, a
 * NIC without its dummy interface. The first one is in *err: NOT_FOUND, there is no such domain.
 */
int oneib_plug_in(const struct oneib_config *config, const char *domain,
                  const struct oneib_node_vm *vm, const struct oneib_domain_description *before,
                  struct oneib_error *err);

/*
 * Around an upstream action. Before it: the running domain. *live NULL: the upstream action has it
 * all for itself, because there is no such domain, or because it cannot be looked at and the VM has
 * no NIC of ours; otherwise *live is to be closed and *description to be cleared.
 */
int oneib_plug_begin(const struct oneib_config *config, const char *domain,
                     const struct oneib_node_vm *vm, struct oneib_live **live,
                     struct oneib_domain_description *description, struct oneib_error *err);
/* What is left undone without failing the action. */
void oneib_plug_warn(struct oneib_text *warnings, const struct oneib_error *left);

#endif
