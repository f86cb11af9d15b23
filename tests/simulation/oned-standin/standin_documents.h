// SPDX-License-Identifier: Apache-2.0
/* oned's documents, with the elements, order and CDATA use that were recorded from oned 7.4.0. */
#ifndef STANDIN_DOCUMENTS_H
#define STANDIN_DOCUMENTS_H

#include "base/text.h"
#include "standin_state.h"

enum standin_form {
    STANDIN_WHOLE, /* as one.vm.info and its kind answer */
    STANDIN_POOL, /* as in a pool: only the last history record, no monitoring, ALLOCATED instead of
                     leases */
};

void standin_render_vm(const struct standin_state *state, const struct standin_vm *vm,
                       enum standin_form form, struct oneib_text *text);
/* As one.vmpool.info shows it: nothing of what partitions depend on. */
void standin_render_vm_short(const struct standin_state *state, const struct standin_vm *vm,
                             struct oneib_text *text);
void standin_render_network(const struct standin_state *state,
                            const struct standin_network *network, enum standin_form form,
                            struct oneib_text *text);
void standin_render_host(const struct standin_state *state, const struct standin_host *host,
                         enum standin_form form, struct oneib_text *text);
/* Which SCHED_MAD there are: one, of the placer rank; a second one behind it, of ib; none, as in
 * 6.10. */
enum standin_placers { STANDIN_ONE_PLACER, STANDIN_LATE_PLACER, STANDIN_NO_PLACER };
/* unrestricted: without the restricted attributes that oneib asks for. */
void standin_render_config(const struct standin_state *state, bool unrestricted,
                           enum standin_placers placers, struct oneib_text *text);

/* Shared by the documents. */
void standin_render_head(uint32_t id, struct standin_owner owner, const char *name,
                         struct oneib_text *text);
void standin_render_permissions(struct oneib_text *text);
/* Names stand outside CDATA. */
void standin_render_escaped(const char *string, struct oneib_text *text);

#endif
