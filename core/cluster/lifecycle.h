// SPDX-License-Identifier: Apache-2.0
/*
 * What a VM's STATE and LCM_STATE mean for its InfiniBand attachments. The table is total: every
 * number has an answer, and a number that no known release of OpenNebula uses is UNKNOWN (fail
 * closed: it keeps what it has and gets nothing new). Numbers as in OpenNebula 6.10-7.4,
 * include/VirtualMachine.h.
 */
#ifndef ONEIB_CLUSTER_LIFECYCLE_H
#define ONEIB_CLUSTER_LIFECYCLE_H

#include <stdbool.h>

/* The LCM_STATE in which oned attaches or detaches a NIC of a VM that runs. */
#define ONEIB_LCM_HOTPLUG_NIC 25

enum oneib_phase {
    ONEIB_ABSENT,    /* no VF: not placed, stored, powered off, gone */
    ONEIB_ARRIVING,  /* placed on its host; the VF is being prepared or will be: a member already */
    ONEIB_SETTLED,   /* runs on its host, or may (UNKNOWN) */
    ONEIB_LEAVING,   /* its VF is on its way out: a member until it is gone */
    ONEIB_MIGRATING, /* both the host of the last history record and the one before */
    ONEIB_FAILED,    /* its start on its host has failed: it stays so until its owner ends it, or
                        somebody has it tried again, and may keep nothing from others meanwhile */
    ONEIB_PHASE_UNKNOWN, /* a state number that this version does not know */
};

enum oneib_phase oneib_vm_phase(int state, int lcm_state);
/* Whether such a VM has, or is to have, something on its host: neither ABSENT nor FAILED. */
bool oneib_phase_has_place(enum oneib_phase phase);

/* "RUNNING", "POWEROFF", ...: the LCM name in ACTIVE, else the state's. "UNKNOWN-72" style is the
 * caller's: NULL for a number that is not known. */
const char *oneib_vm_state_name(int state, int lcm_state);

/* The phase as `oneib show` prints it: "absent", "arriving", ... */
const char *oneib_phase_name(enum oneib_phase phase);

#endif
