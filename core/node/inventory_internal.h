// SPDX-License-Identifier: Apache-2.0
/* The parts of the inventory, for core/node alone. */
#ifndef ONEIB_NODE_INVENTORY_INTERNAL_H
#define ONEIB_NODE_INVENTORY_INTERNAL_H

#include "node/inventory.h"

/* Findings about all that was read. with_states: the VFs' states were asked for. */
void oneib_inventory_judge(struct oneib_inventory *inventory, bool with_states);

/* Whether the record's VM runs here, and no domain names the VF. */
bool oneib_domains_lack_vf(const struct oneib_domains *domains,
                           const struct oneib_vf_record *record);
bool oneib_inventory_has_vf(const struct oneib_inventory *inventory,
                            const struct oneib_vf_record *record);

/* Whether the table still has this record of the VF, read anew; record NULL: whether it still has
 * none. What was read a moment ago may be history by now. */
bool oneib_record_is_current(const struct oneib_pci *vf, const struct oneib_vf_record *record);

/* Whether an address is among those of the configuration; NULL: none are. */
bool oneib_is_host_vf(const struct oneib_config *config, const struct oneib_pci *vf);

#endif
