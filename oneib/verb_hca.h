// SPDX-License-Identifier: Apache-2.0
/* What `oneib hca` shows, as JSON. */
#ifndef ONEIB_ONEIB_VERB_HCA_H
#define ONEIB_ONEIB_VERB_HCA_H

#include "command/json.h"
#include "node/inventory.h"

/* repaired: how many were put right; -1: nobody asked for it. */
int oneib_hca_json_write(const struct oneib_inventory *inventory, int64_t repaired,
                         struct oneib_error *err);

/* The raw P_Key that an open VF of mlx4 is mapped to, or that an open one of mlx5 has at index 0 of
 * its own table, where that can be read; 0: none, or not known. */
uint16_t oneib_inventory_vf_key(const struct oneib_inventory_vf *item);
/*
 * Who has a VF, and how: "in use" (in a running VM, and open for it), "closed" (a running VM's, and
 * open to nobody), "reserved" (a VM's that is not running here, or has it not yet), "preparing" and
 * "releasing" (being worked on), "free", "domain" (a libvirt domain's without oneib), "host",
 * "leaked" (nobody's, and open or with a GUID), "ethernet", "unreadable".
 */
const char *oneib_inventory_vf_use(const struct oneib_inventory_vf *item);
/* "infiniband", "ethernet", "unknown". */
const char *oneib_link_layer_name(enum oneib_link_layer layer);
/* How many entries of a port's table hold a key. */
unsigned oneib_port_keys_used(const struct oneib_port *port);

#endif
