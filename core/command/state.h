// SPDX-License-Identifier: Apache-2.0
/* The state of virtual clusters, as the fabric has it, or, without the fabric, the file. */
#ifndef ONEIB_COMMAND_STATE_H
#define ONEIB_COMMAND_STATE_H

#include "command/output.h"
#include "command/view.h"
#include "partitions/subnet.h"
#include <stdint.h>

enum oneib_cluster_state {
    ONEIB_STATE_NO_KEY,       /* the network has no P_Key yet */
    ONEIB_STATE_INVALID_KEY,  /* its VLAN_ID is not a P_Key */
    ONEIB_STATE_CONFLICT,     /* its key is somebody else's */
    ONEIB_STATE_VIOLATED,     /* a port holds the key that should not */
    ONEIB_STATE_NOT_IN_FORCE, /* a member's port does not hold the key as it should */
    ONEIB_STATE_SILENT,       /* a member's port does not answer */
    ONEIB_STATE_OFF_FABRIC,   /* a member's port is not on the fabric */
    ONEIB_STATE_UNVERIFIED,   /* a member is a virtual port, of which the reading shows nothing;
                               or the fabric could not be read, and the file is right */
    ONEIB_STATE_IN_FORCE,
    ONEIB_STATE_PARTLY_REFUSED, /* as IN_FORCE or IN_FILE, but not for all VMs: some are refused */
    ONEIB_STATE_REFUSED,        /* VMs are on hosts, and none of them is a member */
    ONEIB_STATE_NOT_IN_FILE,    /* the fabric was not read: the file differs */
    ONEIB_STATE_IN_FILE,
    ONEIB_STATE_EMPTY, /* no members, nothing to be in force */
};

struct oneib_states {
    const struct oneib_snapshot *snapshot;
    struct oneib_verification verification; /* when the subnet is known */
    uint8_t *keys;                          /* owned; what is wrong with each of the 2^15 keys */
};

void oneib_states_make(const struct oneib_view *view, struct oneib_states *states);
void oneib_states_clear(struct oneib_states *states);

enum oneib_cluster_state oneib_state_of(const struct oneib_states *states,
                                        const struct oneib_cluster *cluster);
/* "in force", "no key", ... */
const char *oneib_state_name(enum oneib_cluster_state state);
enum oneib_style oneib_state_style(enum oneib_cluster_state state);

#endif
