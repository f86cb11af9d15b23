// SPDX-License-Identifier: Apache-2.0
/* Elements for one NIC, private to core/domain. */
#ifndef ONEIB_DOMAIN_EDIT_DEVICES_H
#define ONEIB_DOMAIN_EDIT_DEVICES_H

#include "base/error.h"
#include "domain/edit.h"
#include "domain/xml_tree.h"
#include <stdbool.h>

/* INPUT: what the NIC is to have cannot be written down. */
int oneib_nic_check_device(const struct oneib_domain_nic *nic, struct oneib_error *err);

/* New ones, in no document yet (xmlFreeNode()). */
xmlNode *oneib_nic_hostdev(const struct oneib_domain_nic *nic);
xmlNode *oneib_nic_dummy(const struct oneib_domain_nic *nic);

/* Elements that are there become those of the NIC. */
void oneib_nic_claim_hostdev(const struct oneib_domain_nic *nic, xmlNode *hostdev);
void oneib_nic_claim_interface(const struct oneib_domain_nic *nic, xmlNode *interface);

#endif
