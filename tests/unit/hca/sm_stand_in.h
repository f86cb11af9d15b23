// SPDX-License-Identifier: Apache-2.0
/*
 * The subnet manager's and the adapter's part for one mlx4 adapter of a tree (tree.h), in a process
 * of its own: alias GUIDs that were asked for appear in gids, deleted ones vanish, and a key comes
 * into the table after a while. Entries change in place, so that no reader sees half of one.
 */
#ifndef ONEIB_UNIT_SM_STAND_IN_H
#define ONEIB_UNIT_SM_STAND_IN_H

#include "tree.h"

/* `hca` must live until the stop. Ends with its parent. */
void sm_start(const struct tree_hca *hca);
void sm_stop(void);
/* From now on it accepts, and lets go of, GUIDs, or does not. */
void sm_accept_guids(bool accept);
void sm_let_guids_go(bool let_go);
/* In so many milliseconds, entry `index` of the port's table becomes `raw`. One at a time. */
void sm_put_key_in(unsigned ms, unsigned port, unsigned index, uint16_t raw);

#endif
