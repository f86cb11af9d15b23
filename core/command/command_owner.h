// SPDX-License-Identifier: Apache-2.0
/* Whose a network is. */
#ifndef ONEIB_COMMAND_COMMAND_OWNER_H
#define ONEIB_COMMAND_COMMAND_OWNER_H

#include "base/text.h"
#include "cluster/cloud.h"
#include <jansson.h>

/* Appends "alice:physics", escaped; numbers where oned says no name, "-" where it says nothing.
 * NULL: "-". */
void oneib_append_owner(struct oneib_text *text, const struct oneib_network *network);
/* {user, uid, group, gid}, each null when it is not said; NULL: null. */
json_t *oneib_json_owner(const struct oneib_network *network);

#endif
