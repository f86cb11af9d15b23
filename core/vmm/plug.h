// SPDX-License-Identifier: Apache-2.0
/* VFs out of a running domain and in again: docs/design/vmm.md. Private to the virtualization
 * driver. */
#ifndef ONEIB_VMM_PLUG_H
#define ONEIB_VMM_PLUG_H

#include "base/config.h"
#include "base/error.h"
#include "base/text.h"
#include "domain/document.h"
#include "live/live.h"
#include "model/vf_record.h"
#include "node/vm_document.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The running domain as it is now; *view is to be cleared on success. NOT_FOUND as
 * oneib_live_document(). REFUSED: it is not the domain of this VM ("one-42"). */
int oneib_plug_look(struct oneib_live *live, const char *domain, uint32_t vm_id,
                    struct oneib_domain_view *view, struct oneib_error *err);
/* Whether a VF of ours is in it. */
bool oneib_plug_has_vf(const struct oneib_domain_view *view);

/*
 * All VFs of ours in `view` out. When the guest does not let go of one, those that are out are
 * plugged in again where they were (over a connection of its own when the one was lost), and the
 * error says what the guest did not do, and what is not as it was, if anything.
 */
int oneib_plug_out(const struct oneib_config *config, struct oneib_live *live, const char *domain,
                   const struct oneib_domain_view *view, struct oneib_error *err);

/*
 * The VFs that the table has for the VM and that the domain lacks, in: those whose dummy interface
 * it has. Guest address: as in `before` (NULL: not known), else that of a PCI NIC in vm, else by
 * index. VFs whose GUID is not set, or that are being released, are left out, with an error. Goes
 * on after a failure; the first one is in *err: NOT_FOUND, there is no such domain. *plugged: how
 * many went in.
 */
int oneib_plug_in(struct oneib_live *live, const char *domain, const struct oneib_node_vm *vm,
                  const struct oneib_vf_table *table, const struct oneib_domain_view *before,
                  size_t *plugged, struct oneib_error *err);

/*
 * Around a stock action. Before it: the running domain. *live NULL: the stock action has it all for
 * itself, because there is no such domain, or because it cannot be looked at and the VM has no NIC
 * of ours; otherwise *live is to be closed and *view to be cleared.
 */
int oneib_plug_begin(const struct oneib_config *config, const char *domain,
                     const struct oneib_node_vm *vm, struct oneib_live **live,
                     struct oneib_domain_view *view, struct oneib_error *err);
/* After it: libvirt and the table are asked anew, as it may have taken an hour. */
int oneib_plug_in_again(const struct oneib_config *config, const char *domain,
                        const struct oneib_node_vm *vm, const struct oneib_domain_view *before,
                        struct oneib_error *err);
/* What is left undone without failing the action. */
void oneib_plug_warn(struct oneib_text *warnings, const struct oneib_error *left);

#endif
