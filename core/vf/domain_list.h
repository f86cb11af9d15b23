// SPDX-License-Identifier: Apache-2.0
/*
 * What oneib-node knows of libvirt's domains: which VFs they name. Filled from what its child,
 * oneib-domains, tells; of fixed size, so that nothing is allocated for what a domain's owner
 * wrote. What does not fit is as good as not known: nothing is handed out then.
 */
#ifndef ONEIB_VF_DOMAIN_LIST_H
#define ONEIB_VF_DOMAIN_LIST_H

#include "base/error.h"
#include "service/service_message.h"
#include <stdbool.h>
#include <stddef.h>

#define ONEIB_DOMAIN_ENTRIES_MAX 4096

struct oneib_domain_list {
    bool known;
    struct oneib_error why; /* not known: the reason */
    size_t count;
    struct oneib_domain_entry items[ONEIB_DOMAIN_ENTRIES_MAX];
};

/* A domain, running or defined, names the VF. */
bool oneib_domain_list_names(const struct oneib_domain_list *list, const struct oneib_pci *vf);
/* A running domain of that VM names the VF. */
bool oneib_domain_list_runs_with(const struct oneib_domain_list *list, uint32_t vm_id,
                                 const struct oneib_pci *vf);
/* A domain of that VM is there; a running one. */
bool oneib_domain_list_has(const struct oneib_domain_list *list, uint32_t vm_id);
bool oneib_domain_list_runs(const struct oneib_domain_list *list, uint32_t vm_id);

#endif
