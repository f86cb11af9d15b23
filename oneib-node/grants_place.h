// SPDX-License-Identifier: Apache-2.0
/* The files of a node's end of grants: its key, the daemons that it knows, its ports' sm_lid. For
 * oneib-node/grants_feed.c. */
#ifndef ONEIB_NODE_GRANTS_PLACE_H
#define ONEIB_NODE_GRANTS_PLACE_H

#include "base/error.h"
#include "grants/daemons.h"
#include "grants/grants_message.h"
#include "grants/seal.h"
#include <stddef.h>
#include <stdint.h>

#define ONEIB_GRANTS_LIDS_MAX 32

/* Makes it at first, and where the machine is another one; writes the public half for the probe. */
int oneib_grants_read_pair(struct oneib_curve_pair *pair, struct oneib_error *err);
/* Absent: none. */
int oneib_grants_read_daemons(struct oneib_daemons *daemons, struct oneib_error *err);
int oneib_grants_write_daemons(const struct oneib_daemons *daemons, struct oneib_error *err);
/* The kernel's boot id; zeros when it cannot be told. */
void oneib_grants_read_boot(uint8_t boot[ONEIB_NONCE_SIZE]);
/* The `sm_lid` of each active port; what cannot be read is left out. Returns how many. */
size_t oneib_grants_read_lids(uint16_t lids[ONEIB_GRANTS_LIDS_MAX]);

#endif
