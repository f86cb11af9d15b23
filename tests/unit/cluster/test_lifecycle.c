// SPDX-License-Identifier: Apache-2.0
/*
 * The meaning of every state, stated a second time and in another form: by what a VM does in it.
 * The names are OpenNebula's (VirtualMachine.h), listed by number.
 */
#include "cluster/lifecycle.h"
#include <stdbool.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LOWEST (-5)
#define HIGHEST 300
#define ACTIVE 3

static const int arriving[] = {1, 2, 9, 19, 20, 21, 22, 31, 32};
static const int settled[] = {3, 16, 17, 24, 25, 26, 57, 59, 62, 66, 69};
static const int leaving[] = {5, 6, 12, 15, 18, 23, 29};
static const int migrating[] = {4, 7, 8, 35, 60, 61};
static const int absent[] = {0,  10, 11, 27, 28, 30, 33, 34, 38, 39, 40, 41, 42, 43, 44, 45,
                             46, 49, 50, 51, 52, 53, 54, 56, 63, 64, 65, 67, 68, 70, 71};
static const int failed[] = {36, 37, 47, 48};
static const int absent_states[] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 11};

static bool contains(const int *numbers, size_t count, int number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}
#define CONTAINS(numbers, number) contains(numbers, sizeof(numbers) / sizeof *(numbers), number)

static enum oneib_phase expected_in_active(int lcm_state)
{
    if (CONTAINS(arriving, lcm_state))
        return ONEIB_ARRIVING;
    if (CONTAINS(settled, lcm_state))
        return ONEIB_SETTLED;
    if (CONTAINS(leaving, lcm_state))
        return ONEIB_LEAVING;
    if (CONTAINS(migrating, lcm_state))
        return ONEIB_MIGRATING;
    if (CONTAINS(failed, lcm_state))
        return ONEIB_FAILED;
    return CONTAINS(absent, lcm_state) ? ONEIB_ABSENT : ONEIB_PHASE_UNKNOWN;
}

static enum oneib_phase expected(int state, int lcm_state)
{
    if (state == ACTIVE)
        return expected_in_active(lcm_state);
    return CONTAINS(absent_states, state) ? ONEIB_ABSENT : ONEIB_PHASE_UNKNOWN;
}

static void every_pair_of_numbers_has_its_answer(void **unused)
{
    (void)unused;
    for (int state = LOWEST; state <= HIGHEST; state++)
        for (int lcm_state = LOWEST; lcm_state <= HIGHEST; lcm_state++)
            if (oneib_vm_phase(state, lcm_state) != expected(state, lcm_state))
                fail_msg("STATE %d LCM_STATE %d is %s", state, lcm_state,
                         oneib_phase_name(oneib_vm_phase(state, lcm_state)));
}

static void the_ends_of_int_are_unknown(void **unused)
{
    (void)unused;
    static const int ends[] = {INT32_MIN, INT32_MAX};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(oneib_vm_phase(ends[i], 3), ONEIB_PHASE_UNKNOWN);
        assert_int_equal(oneib_vm_phase(ACTIVE, ends[i]), ONEIB_PHASE_UNKNOWN);
        assert_null(oneib_vm_state_name(ACTIVE, ends[i]));
        assert_null(oneib_vm_state_name(ends[i], 3));
    }
}

static void a_vm_that_is_being_prepared_is_a_member_already(void **unused)
{
    (void)unused;
    assert_int_equal(oneib_vm_phase(ACTIVE, 1), ONEIB_ARRIVING); /* PROLOG */
    assert_int_equal(oneib_vm_phase(ACTIVE, 2), ONEIB_ARRIVING); /* BOOT */
}

static void a_vm_has_a_place_unless_it_is_on_no_host_or_its_start_has_failed(void **unused)
{
    (void)unused;
    for (int lcm_state = 0; lcm_state <= HIGHEST; lcm_state++)
        assert_int_equal(oneib_phase_has_place(oneib_vm_phase(ACTIVE, lcm_state)),
                         !CONTAINS(absent, lcm_state) && !CONTAINS(failed, lcm_state));
}

static void a_vm_of_a_lost_host_stays_a_member(void **unused)
{
    (void)unused;
    assert_int_equal(oneib_vm_phase(ACTIVE, 16), ONEIB_SETTLED);   /* UNKNOWN */
    assert_int_equal(oneib_vm_phase(ACTIVE, 60), ONEIB_MIGRATING); /* PROLOG_MIGRATE_UNKNOWN */
}

static void lcm_state_counts_in_active_only(void **unused)
{
    (void)unused;
    assert_int_equal(oneib_vm_phase(8, 3), ONEIB_ABSENT);
    assert_int_equal(oneib_vm_phase(6, 999), ONEIB_ABSENT);
    assert_string_equal(oneib_vm_state_name(8, 3), "POWEROFF");
}

static const char *const lcm_names[] = {
    "LCM_INIT",
    "PROLOG",
    "BOOT",
    "RUNNING",
    "MIGRATE",
    "SAVE_STOP",
    "SAVE_SUSPEND",
    "SAVE_MIGRATE",
    "PROLOG_MIGRATE",
    "PROLOG_RESUME",
    "EPILOG_STOP",
    "EPILOG",
    "SHUTDOWN",
    NULL,
    NULL,
    "CLEANUP_RESUBMIT",
    "UNKNOWN",
    "HOTPLUG",
    "SHUTDOWN_POWEROFF",
    "BOOT_UNKNOWN",
    "BOOT_POWEROFF",
    "BOOT_SUSPENDED",
    "BOOT_STOPPED",
    "CLEANUP_DELETE",
    "HOTPLUG_SNAPSHOT",
    "HOTPLUG_NIC",
    "HOTPLUG_SAVEAS",
    "HOTPLUG_SAVEAS_POWEROFF",
    "HOTPLUG_SAVEAS_SUSPENDED",
    "SHUTDOWN_UNDEPLOY",
    "EPILOG_UNDEPLOY",
    "PROLOG_UNDEPLOY",
    "BOOT_UNDEPLOY",
    "HOTPLUG_PROLOG_POWEROFF",
    "HOTPLUG_EPILOG_POWEROFF",
    "BOOT_MIGRATE",
    "BOOT_FAILURE",
    "BOOT_MIGRATE_FAILURE",
    "PROLOG_MIGRATE_FAILURE",
    "PROLOG_FAILURE",
    "EPILOG_FAILURE",
    "EPILOG_STOP_FAILURE",
    "EPILOG_UNDEPLOY_FAILURE",
    "PROLOG_MIGRATE_POWEROFF",
    "PROLOG_MIGRATE_POWEROFF_FAILURE",
    "PROLOG_MIGRATE_SUSPEND",
    "PROLOG_MIGRATE_SUSPEND_FAILURE",
    "BOOT_UNDEPLOY_FAILURE",
    "BOOT_STOPPED_FAILURE",
    "PROLOG_RESUME_FAILURE",
    "PROLOG_UNDEPLOY_FAILURE",
    "DISK_SNAPSHOT_POWEROFF",
    "DISK_SNAPSHOT_REVERT_POWEROFF",
    "DISK_SNAPSHOT_DELETE_POWEROFF",
    "DISK_SNAPSHOT_SUSPENDED",
    NULL,
    "DISK_SNAPSHOT_DELETE_SUSPENDED",
    "DISK_SNAPSHOT",
    NULL,
    "DISK_SNAPSHOT_DELETE",
    "PROLOG_MIGRATE_UNKNOWN",
    "PROLOG_MIGRATE_UNKNOWN_FAILURE",
    "DISK_RESIZE",
    "DISK_RESIZE_POWEROFF",
    "DISK_RESIZE_UNDEPLOYED",
    "HOTPLUG_NIC_POWEROFF",
    "HOTPLUG_RESIZE",
    "HOTPLUG_SAVEAS_UNDEPLOYED",
    "HOTPLUG_SAVEAS_STOPPED",
    "BACKUP",
    "BACKUP_POWEROFF",
    "RESTORE",
};
#define LCM_NAMES ((int)(sizeof lcm_names / sizeof lcm_names[0]))

static const char *const state_names[] = {"INIT",     "PENDING",    "HOLD",    NULL,
                                          "STOPPED",  "SUSPENDED",  "DONE",    NULL,
                                          "POWEROFF", "UNDEPLOYED", "CLONING", "CLONING_FAILURE"};
#define STATE_NAMES ((int)(sizeof state_names / sizeof state_names[0]))

static void assert_name(int state, int lcm_state, const char *name)
{
    const char *given = oneib_vm_state_name(state, lcm_state);
    if (name ? !given || strcmp(given, name) != 0 : given != NULL)
        fail_msg("STATE %d LCM_STATE %d is called %s", state, lcm_state, given ? given : "nothing");
}

static void states_have_opennebulas_names(void **unused)
{
    (void)unused;
    for (int lcm_state = LOWEST; lcm_state <= HIGHEST; lcm_state++)
        assert_name(ACTIVE, lcm_state,
                    lcm_state >= 0 && lcm_state < LCM_NAMES ? lcm_names[lcm_state] : NULL);
    for (int state = LOWEST; state <= HIGHEST; state++)
        if (state != ACTIVE)
            assert_name(state, 0, state >= 0 && state < STATE_NAMES ? state_names[state] : NULL);
}

/* Where the name alone tells that no domain is on a host, nothing may be said to be there, and the
 * other way round. */
static void the_name_of_a_state_agrees_with_its_phase(void **unused)
{
    (void)unused;
    static const char *const stored[] = {"_POWEROFF", "_SUSPENDED", "_UNDEPLOYED", "_STOPPED",
                                         "EPILOG"};
    for (int lcm_state = 0; lcm_state < LCM_NAMES; lcm_state++) {
        const char *name = lcm_names[lcm_state];
        if (!name || strncmp(name, "BOOT", 4) == 0 || strncmp(name, "SHUTDOWN", 8) == 0)
            continue;
        for (size_t i = 0; i < sizeof stored / sizeof stored[0]; i++)
            if (strstr(name, stored[i]))
                assert_int_equal(oneib_vm_phase(ACTIVE, lcm_state), ONEIB_ABSENT);
    }
    for (int lcm_state = 0; lcm_state < LCM_NAMES; lcm_state++)
        if (lcm_names[lcm_state] && (strncmp(lcm_names[lcm_state], "BOOT", 4) == 0 ||
                                     strncmp(lcm_names[lcm_state], "SHUTDOWN", 8) == 0))
            assert_int_not_equal(oneib_vm_phase(ACTIVE, lcm_state), ONEIB_ABSENT);
}

static void phases_have_names(void **unused)
{
    (void)unused;
    assert_string_equal(oneib_phase_name(ONEIB_ABSENT), "absent");
    assert_string_equal(oneib_phase_name(ONEIB_ARRIVING), "arriving");
    assert_string_equal(oneib_phase_name(ONEIB_SETTLED), "settled");
    assert_string_equal(oneib_phase_name(ONEIB_LEAVING), "leaving");
    assert_string_equal(oneib_phase_name(ONEIB_MIGRATING), "migrating");
    assert_string_equal(oneib_phase_name(ONEIB_FAILED), "failed");
    assert_string_equal(oneib_phase_name(ONEIB_PHASE_UNKNOWN), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_numbers_has_its_answer),
        cmocka_unit_test(the_ends_of_int_are_unknown),
        cmocka_unit_test(a_vm_that_is_being_prepared_is_a_member_already),
        cmocka_unit_test(a_vm_has_a_place_unless_it_is_on_no_host_or_its_start_has_failed),
        cmocka_unit_test(a_vm_of_a_lost_host_stays_a_member),
        cmocka_unit_test(lcm_state_counts_in_active_only),
        cmocka_unit_test(states_have_opennebulas_names),
        cmocka_unit_test(the_name_of_a_state_agrees_with_its_phase),
        cmocka_unit_test(phases_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
