// SPDX-License-Identifier: Apache-2.0
#include "cluster/lifecycle.h"
#include <stddef.h>

/* Numbers and names: OpenNebula 7.4, include/VirtualMachine.h. A slot without a name is a number
 * nobody uses. */
struct meaning {
    const char *name;
    enum oneib_phase phase;
};

#define STATE_ACTIVE 3 /* the one state in which LCM_STATE counts */

/* Outside of ACTIVE a VM has no domain on any host. */
static const char *const state_names[] = {
    [0] = "INIT",
    [1] = "PENDING",
    [2] = "HOLD",
    [STATE_ACTIVE] = "ACTIVE",
    [4] = "STOPPED",
    [5] = "SUSPENDED",
    [6] = "DONE",
    [8] = "POWEROFF",
    [9] = "UNDEPLOYED",
    [10] = "CLONING",
    [11] = "CLONING_FAILURE",
};
#define STATES ((int)(sizeof state_names / sizeof state_names[0]))

static const struct meaning lcm_states[] = {
    [0] = {"LCM_INIT", ONEIB_ABSENT},
    [1] = {"PROLOG", ONEIB_ARRIVING},
    [2] = {"BOOT", ONEIB_ARRIVING},
    [3] = {"RUNNING", ONEIB_SETTLED},
    [4] = {"MIGRATE", ONEIB_MIGRATING},
    [5] = {"SAVE_STOP", ONEIB_LEAVING},
    [6] = {"SAVE_SUSPEND", ONEIB_LEAVING},
    [7] = {"SAVE_MIGRATE", ONEIB_MIGRATING},
    [8] = {"PROLOG_MIGRATE", ONEIB_MIGRATING},
    [9] = {"PROLOG_RESUME", ONEIB_ARRIVING},
    [10] = {"EPILOG_STOP", ONEIB_ABSENT},
    [11] = {"EPILOG", ONEIB_ABSENT},
    [12] = {"SHUTDOWN", ONEIB_LEAVING},
    [15] = {"CLEANUP_RESUBMIT", ONEIB_LEAVING},
    [16] = {"UNKNOWN", ONEIB_SETTLED},
    [17] = {"HOTPLUG", ONEIB_SETTLED},
    [18] = {"SHUTDOWN_POWEROFF", ONEIB_LEAVING},
    [19] = {"BOOT_UNKNOWN", ONEIB_ARRIVING},
    [20] = {"BOOT_POWEROFF", ONEIB_ARRIVING},
    [21] = {"BOOT_SUSPENDED", ONEIB_ARRIVING},
    [22] = {"BOOT_STOPPED", ONEIB_ARRIVING},
    [23] = {"CLEANUP_DELETE", ONEIB_LEAVING},
    [24] = {"HOTPLUG_SNAPSHOT", ONEIB_SETTLED},
    [ONEIB_LCM_HOTPLUG_NIC] = {"HOTPLUG_NIC", ONEIB_SETTLED},
    [26] = {"HOTPLUG_SAVEAS", ONEIB_SETTLED},
    [27] = {"HOTPLUG_SAVEAS_POWEROFF", ONEIB_ABSENT},
    [28] = {"HOTPLUG_SAVEAS_SUSPENDED", ONEIB_ABSENT},
    [29] = {"SHUTDOWN_UNDEPLOY", ONEIB_LEAVING},
    [30] = {"EPILOG_UNDEPLOY", ONEIB_ABSENT},
    [31] = {"PROLOG_UNDEPLOY", ONEIB_ARRIVING},
    [32] = {"BOOT_UNDEPLOY", ONEIB_ARRIVING},
    [33] = {"HOTPLUG_PROLOG_POWEROFF", ONEIB_ABSENT},
    [34] = {"HOTPLUG_EPILOG_POWEROFF", ONEIB_ABSENT},
    [35] = {"BOOT_MIGRATE", ONEIB_MIGRATING},
    [36] = {"BOOT_FAILURE", ONEIB_FAILED},
    [37] = {"BOOT_MIGRATE_FAILURE", ONEIB_FAILED},
    [38] = {"PROLOG_MIGRATE_FAILURE", ONEIB_ABSENT},
    [39] = {"PROLOG_FAILURE", ONEIB_ABSENT},
    [40] = {"EPILOG_FAILURE", ONEIB_ABSENT},
    [41] = {"EPILOG_STOP_FAILURE", ONEIB_ABSENT},
    [42] = {"EPILOG_UNDEPLOY_FAILURE", ONEIB_ABSENT},
    [43] = {"PROLOG_MIGRATE_POWEROFF", ONEIB_ABSENT},
    [44] = {"PROLOG_MIGRATE_POWEROFF_FAILURE", ONEIB_ABSENT},
    [45] = {"PROLOG_MIGRATE_SUSPEND", ONEIB_ABSENT},
    [46] = {"PROLOG_MIGRATE_SUSPEND_FAILURE", ONEIB_ABSENT},
    [47] = {"BOOT_UNDEPLOY_FAILURE", ONEIB_FAILED},
    [48] = {"BOOT_STOPPED_FAILURE", ONEIB_FAILED},
    [49] = {"PROLOG_RESUME_FAILURE", ONEIB_ABSENT},
    [50] = {"PROLOG_UNDEPLOY_FAILURE", ONEIB_ABSENT},
    [51] = {"DISK_SNAPSHOT_POWEROFF", ONEIB_ABSENT},
    [52] = {"DISK_SNAPSHOT_REVERT_POWEROFF", ONEIB_ABSENT},
    [53] = {"DISK_SNAPSHOT_DELETE_POWEROFF", ONEIB_ABSENT},
    [54] = {"DISK_SNAPSHOT_SUSPENDED", ONEIB_ABSENT},
    [56] = {"DISK_SNAPSHOT_DELETE_SUSPENDED", ONEIB_ABSENT},
    [57] = {"DISK_SNAPSHOT", ONEIB_SETTLED},
    [59] = {"DISK_SNAPSHOT_DELETE", ONEIB_SETTLED},
    /* A VM whose host is lost is moved without being saved: its domain may still run where it was.
     */
    [60] = {"PROLOG_MIGRATE_UNKNOWN", ONEIB_MIGRATING},
    [61] = {"PROLOG_MIGRATE_UNKNOWN_FAILURE", ONEIB_MIGRATING},
    [62] = {"DISK_RESIZE", ONEIB_SETTLED},
    [63] = {"DISK_RESIZE_POWEROFF", ONEIB_ABSENT},
    [64] = {"DISK_RESIZE_UNDEPLOYED", ONEIB_ABSENT},
    [65] = {"HOTPLUG_NIC_POWEROFF", ONEIB_ABSENT},
    [66] = {"HOTPLUG_RESIZE", ONEIB_SETTLED},
    [67] = {"HOTPLUG_SAVEAS_UNDEPLOYED", ONEIB_ABSENT},
    [68] = {"HOTPLUG_SAVEAS_STOPPED", ONEIB_ABSENT},
    [69] = {"BACKUP", ONEIB_SETTLED},
    [70] = {"BACKUP_POWEROFF", ONEIB_ABSENT},
    [71] = {"RESTORE", ONEIB_ABSENT},
};
#define LCM_STATES ((int)(sizeof lcm_states / sizeof lcm_states[0]))

static const char *lcm_state_name(int lcm_state)
{
    return lcm_state >= 0 && lcm_state < LCM_STATES ? lcm_states[lcm_state].name : NULL;
}

const char *oneib_vm_state_name(int state, int lcm_state)
{
    if (state == STATE_ACTIVE)
        return lcm_state_name(lcm_state);
    return state >= 0 && state < STATES ? state_names[state] : NULL;
}

enum oneib_phase oneib_vm_phase(int state, int lcm_state)
{
    if (!oneib_vm_state_name(state, lcm_state))
        return ONEIB_PHASE_UNKNOWN;
    return state == STATE_ACTIVE ? lcm_states[lcm_state].phase : ONEIB_ABSENT;
}

bool oneib_phase_has_place(enum oneib_phase phase)
{
    return phase != ONEIB_ABSENT && phase != ONEIB_FAILED;
}

const char *oneib_phase_name(enum oneib_phase phase)
{
    static const char *const names[] = {
        [ONEIB_ABSENT] = "absent",         [ONEIB_ARRIVING] = "arriving",
        [ONEIB_SETTLED] = "settled",       [ONEIB_LEAVING] = "leaving",
        [ONEIB_MIGRATING] = "migrating",   [ONEIB_FAILED] = "failed",
        [ONEIB_PHASE_UNKNOWN] = "unknown",
    };
    return names[phase];
}
