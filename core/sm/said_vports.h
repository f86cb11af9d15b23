// SPDX-License-Identifier: Apache-2.0
/* What a subnet manager says of virtual ports. Said, not verified: it says which there are, and
 * not what they hold, and nothing of it was read back from them. */
#ifndef ONEIB_SM_SAID_VPORTS_H
#define ONEIB_SM_SAID_VPORTS_H

#include "ib/guid.h"
#include <stdbool.h>
#include <stddef.h>

struct oneib_said_vport {
    oneib_guid guid;
    oneib_guid port_guid; /* of the adapter's port; 0: it is not said */
    bool is_active;
};

/* Zeroed: nothing is known. */
struct oneib_said_vports {
    bool is_known;                  /* else it does not say which there are */
    struct oneib_said_vport *items; /* owned; by GUID */
    size_t count, capacity;
    size_t not_understood; /* besides these: what has no GUID where one was expected */
};
/* NULL: it is not said that there is one. Of several with one GUID an active one. */
const struct oneib_said_vport *oneib_said_vport_find(const struct oneib_said_vports *said,
                                                     oneib_guid guid);
void oneib_said_vports_clear(struct oneib_said_vports *said);

#endif
