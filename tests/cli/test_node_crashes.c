// SPDX-License-Identifier: Apache-2.0
/* What a node's programs make of each other, and of being killed. */
#include "fault_scene.h"

#define AT_ONCE 200
#define MANY_VFS 63

/* ---- at once --------------------------------------------------------------------------------- */

static void clean_before_pre(void **state)
{
    (void)state;
    must(CLEAN, VM_42);
    must(PRE, VM_42);
    assert_int_equal(key_of(0), 0x8005);
    must(CLEAN, VM_42);
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

static void pre_several_times_at_once(void **state)
{
    (void)state;
    struct process calls[8];
    for (size_t i = 0; i < 8; i++)
        calls[i] = start(PRE, VM_42);
    for (size_t i = 0; i < 8; i++)
        if (end_of(&calls[i]) != 0)
            fail_msg("%s", said);
    assert_int_equal(count_records(), 1);
    assert_int_equal(key_of(0), 0x8005);
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

static void pre_and_clean_at_once(void **state)
{
    (void)state;
    for (long ms = 0; ms < 40; ms += 4) {
        const struct process pre = start(PRE, VM_42);
        pause_ms(ms);
        const struct process clean = start(CLEAN, VM_42);
        end_of(&pre);
        if (end_of(&clean) != 0)
            fail_msg("%s", said);
        must(CLEAN, VM_42);
        assert_string_equal(table(), "");
    }
    assert_nothing_is_left();
}

static int begin_with_many_vfs(void **state)
{
    static const struct tree_hca many = {
        .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .vfs = MANY_VFS, .pkeys = 7};
    (void)state;
    begin_with(&many);
    return 0;
}

static void two_hundred_callers_at_once(void **state)
{
    (void)state;
    static struct process calls[AT_ONCE];
    unsigned given = 0;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        char vm[16];
        snprintf(vm, sizeof vm, "%u", i);
        calls[i] = start(WORDS(ONEIB_ASK_BINARY, "have", "--vm", vm, "--nic", "0"), "");
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        if (end_of(&calls[i]) == 0)
            given++;
        else
            assert_contains(said, "mlx4_0 has no free virtual function: 63 in all, 63 reserved");
    }
    assert_int_equal(given, MANY_VFS);
    assert_int_equal(count_records(), MANY_VFS);
    for (unsigned vf = 0; vf < MANY_VFS; vf++)
        assert_int_equal(key_of(vf), 0x8005);
    date_records(LONG_AGO);
    await_no_records();
    for (unsigned vf = 0; vf < MANY_VFS; vf++)
        assert_closed(vf);
    assert_nothing_is_left();
}

/* A NIC that waits for its key keeps the one before it, too. */
static void a_repair_while_pre_is_under_way(void **state)
{
    (void)state;
    const struct process pre = start(PRE, VM("42", NIC("1", KEY) NIC("2", OTHER_KEY)));
    await_record("nic=2");
    must(PROBE, "");
    must(REPAIR, "");
    assert_int_equal(count_records(), 2);
    await_key_of(0, 0x8005);
    sm_put_key_in(0, 1, 9, 0x8006);
    if (end_of(&pre) != 0)
        fail_msg("%s", said);
    assert_int_equal(key_of(1), 0x8006);
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

/* ---- killed ---------------------------------------------------------------------------------- */

/* The call goes on with the service that is started in its place. */
static void must_outlive_the_service(const char *const *argv, const char *xml)
{
    const struct process process = start(argv, xml);
    pause_for_a_moment();
    stop_node(SIGKILL);
    start_node();
    if (end_of(&process) != 0)
        fail_msg("%s: %s", argv[0], said);
}

/* What is open is never more than a record says. The service may be at work, which explains a VF
 * that is open just before, or just after, its record is looked for. */
static void assert_only_recorded_vfs_are_open(void)
{
    for (unsigned vf = 0; vf < hca->vfs; vf++)
        if (key_of(vf) != 0x7fff && !strstr(table(), address_of(vf)) && key_of(vf) != 0x7fff)
            fail_msg("VF %u is open and nobody's", vf);
}

static void drivers_that_are_killed_at_any_moment(void **state)
{
    (void)state;
    static const char restored[] =
        VM("42", TAG("DEPLOY_ID", UUID) NIC("1", KEY) PCI("2", KEY TAG("ADDRESS", "0000:81:00:2")));
    grant_vf(42, 2, "0000:81:00.2");
    for (int i = 0; i < KILLS; i++) {
        kill_within_a_moment(PRE, restored);
        assert_only_recorded_vfs_are_open();
        must(PRE, restored);
        kill_within_a_moment(POST, restored);
        must(POST, restored);
        assert_int_equal(count_records(), 2);
        assert_int_equal(key_of(0), 0x8005);
        assert_int_equal(key_of(1), 0x8005);
        kill_within_a_moment(CLEAN, restored);
        assert_only_recorded_vfs_are_open();
        must(CLEAN, restored);
        await_no_records();
    }
    assert_nothing_is_left();
}

static void a_service_that_is_killed_at_any_moment_of_a_call(void **state)
{
    (void)state;
    static const char restored[] =
        VM("42", TAG("DEPLOY_ID", UUID) NIC("1", KEY) PCI("2", KEY TAG("ADDRESS", "0000:81:00:2")));
    grant_vf(42, 2, "0000:81:00.2");
    for (int i = 0; i < KILLS; i++) {
        must_outlive_the_service(PRE, restored);
        assert_int_equal(count_records(), 2);
        must_outlive_the_service(POST, restored);
        assert_int_equal(key_of(0), 0x8005);
        assert_int_equal(key_of(1), 0x8005);
        must_outlive_the_service(CLEAN, restored);
        assert_only_recorded_vfs_are_open();
        await_no_records();
    }
    assert_nothing_is_left();
}

/* The service has made up its mind about every VF. */
static void await_rest(void)
{
    const double until = oneib_now_ms() + DEADLINE_MS;
    while ((strstr(table(), "preparing") || strstr(table(), "releasing")) && oneib_now_ms() < until)
        pause_ms(2);
}

/* The service may hear of a call only after its caller was killed: what was asked before this is
 * heard when this is answered. */
static void await_heard(void)
{
    must(CLEAN, VM("9999", NIC("1", KEY)));
}

/* Nobody waits for its VF; one that it has got all the same is stale after a while. */
static void a_pre_that_was_killed_and_never_called_again(void **state)
{
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        kill_within_a_moment(PRE, VM_42);
        assert_only_recorded_vfs_are_open();
        await_heard();
        await_rest();
        if (count_records() > 0)
            date_records(LONG_AGO);
        await_no_records();
        assert_closed(0);
    }
    assert_nothing_is_left();
}

static void changes_of_a_key_that_are_killed_at_any_moment(void **state)
{
    (void)state;
    static const char *const grants[] = {"network=7 pkey=0x0005 " AT_MLX4,
                                         "network=7 pkey=0x0006 " AT_MLX4};
    tree_set_pkey(hca, 1, 9, 0x8006);
    must(PRE, VM_42);
    for (unsigned i = 1; i < KILLS; i++) {
        grant_nic(42, 1, grants[i % 2]);
        pause_ms((long)(i % 10) * 5);
        stop_node(SIGKILL);
        start_node();
        await_key_of(0, 0x8005 + i % 2);
        await_record("stage=open guid=set");
    }
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT(clean_before_pre),
        FAULT(pre_several_times_at_once),
        FAULT(pre_and_clean_at_once),
        cmocka_unit_test_setup_teardown(two_hundred_callers_at_once, begin_with_many_vfs, end),
        FAULT(a_repair_while_pre_is_under_way),
        FAULT(drivers_that_are_killed_at_any_moment),
        FAULT(a_service_that_is_killed_at_any_moment_of_a_call),
        FAULT(a_pre_that_was_killed_and_never_called_again),
        FAULT(changes_of_a_key_that_are_killed_at_any_moment),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
