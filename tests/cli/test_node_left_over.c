// SPDX-License-Identifier: Apache-2.0
/* What a node's programs make of what was left over: by a repair that was killed, a reboot, a service
 * that was killed, a table that was lost. */
#include "fault_scene.h"

static void repairs_that_are_killed_at_any_moment(void **state)
{
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        must(PRE, VM_42);
        lose_table();
        kill_within_a_moment(REPAIR, "");
        must(REPAIR, "");
        await_no_records();
        assert_closed(0);
    }
    assert_nothing_is_left();
}

static void what_is_stale_is_released_by_the_service(void **state)
{
    (void)state;
    must(PRE, VM("42", NIC("1", KEY) NIC("2", KEY)));
    must(PROBE, "");
    must(REPAIR, "");
    assert_int_equal(count_records(), 2);
    date_records(LONG_AGO);
    assert_nothing_is_left();
}

static void restart_adapter(void)
{
    tree_remove_hca(hca);
    add_adapter();
}

static void a_reboot(void **state)
{
    (void)state;
    must(PRE, VM_42);
    stop_node(SIGKILL);
    restart_adapter();
    tree_remove("/run/oneib");
    start_node();
    assert_nothing_is_left();
    must(PRE, VM_42);
    assert_int_equal(key_of(0), 0x8005);
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

/* Its times are another boot's. */
static void a_reboot_that_the_table_survived(void **state)
{
    (void)state;
    must(PRE, VM("42", NIC("1", KEY) NIC("2", KEY)));
    stop_node(SIGKILL);
    restart_adapter();
    date_records(LONG_AGO);
    assert_nothing_is_left();
}

static void a_vm_that_comes_back_after_a_reboot_that_the_table_survived(void **state)
{
    (void)state;
    must(PRE, VM_42);
    stop_node(SIGKILL);
    restart_adapter();
    date_records(LONG_AGO);
    must(PRE, VM_42);
    assert_int_equal(key_of(0), 0x8005);
    assert_int_equal(count_records(), 1);
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

/* Nobody but a repair closes what may be somebody's by hand. */
static void a_table_that_was_lost_while_vfs_are_open(void **state)
{
    (void)state;
    must(PRE, VM("42", TAG("DEPLOY_ID", UUID) NIC("1", KEY)));
    lose_table();
    must(PROBE, "");
    assert_int_equal(key_of(0), 0x8005);
    must(PRE, VM("43", NIC("1", KEY)));
    assert_int_equal(key_of(1), 0x8005);
    must(CLEAN, VM("43", NIC("1", KEY)));
    must(REPAIR, "");
    assert_nothing_is_left();
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void move_key(unsigned from, unsigned to)
{
    tree_set_pkey(hca, 1, from, 0);
    tree_set_pkey(hca, 1, to, 0x8005);
}

static void a_key_that_moves_under_a_running_vf(void **state)
{
    (void)state;
    must(PRE, VM_42);
    move_key(KEY_INDEX, 9);
    tree_set_pkey(hca, 1, KEY_INDEX, 0x8006);
    await_key_of(0, 0x8005);
    tree_set_pkey(hca, 1, 9, 0);
    await_key_of(0, 0x7fff);
    tree_set_pkey(hca, 1, KEY_INDEX, 0x8005);
    await_key_of(0, 0x8005);
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

static void a_service_that_is_killed_and_started_again(void **state)
{
    (void)state;
    must(PRE, VM_42);
    for (int i = 0; i < 10; i++) {
        move_key(i % 2 ? 9 : KEY_INDEX, i % 2 ? KEY_INDEX : 9);
        pause_ms(rand() % 120);
        stop_node(SIGKILL);
        start_node();
        await_key_of(0, 0x8005);
    }
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

static void a_port_that_becomes_a_full_member_under_a_running_vf(void **state)
{
    (void)state;
    must(PRE, VM_42);
    tree_set_pkey(hca, 1, 0, 0xffff);
    const double until = oneib_now_ms() + DEADLINE_MS;
    char entry[16] = "";
    while (strcmp(entry, CLOSED_INDEX) != 0 && oneib_now_ms() < until)
        read_entry(0, 0, entry);
    assert_string_equal(entry, CLOSED_INDEX);
    tree_set_pkey(hca, 1, 0, 0x7fff);
    await_key_of(0, 0x8005);
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT(repairs_that_are_killed_at_any_moment),
        FAULT(what_is_stale_is_released_by_the_service),
        FAULT(a_reboot),
        FAULT(a_reboot_that_the_table_survived),
        FAULT(a_vm_that_comes_back_after_a_reboot_that_the_table_survived),
        FAULT(a_table_that_was_lost_while_vfs_are_open),
        FAULT(a_key_that_moves_under_a_running_vf),
        FAULT(a_service_that_is_killed_and_started_again),
        FAULT(a_port_that_becomes_a_full_member_under_a_running_vf),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
