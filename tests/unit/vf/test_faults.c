// SPDX-License-Identifier: Apache-2.0
/* What goes wrong while a VF is being assigned. */
#include "scene.h"

static void a_map_that_cannot_be_opened_leaves_the_vf_free(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    set_mode_of_entry(0, 0, 0444);
    assert_give_fails(&wanted, ONEIB_ERROR_SYSTEM, "opening virtual function 0");
    assert_int_equal(count_records(), 0);
    assert_closed(&hca, 0);
    assert_false(has_guid(0));
}

static void a_vf_that_cannot_be_closed_stays_releasing(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    set_mode_of_entry(0, 0, 0444);
    wanted.grant.pkey = OTHER_KEY;
    assert_give_fails(&wanted, ONEIB_ERROR_SYSTEM, "besides, closing virtual function 0");
    record = record_of(42, 1);
    assert_int_equal(record.stage, ONEIB_VF_RELEASING);
    assert_int_equal(record.pkey, KEY);
    assert_isolated(&hca);
    set_mode_of_entry(0, 0, 0644);
    assert_int_equal(release(42, 1), 1);
    assert_closed(&hca, 0);
}

static void a_vf_that_cannot_be_read_is_not_handed_out(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    set_mode_of_entry(0, 2, 0);
    tree_set_vf_pkey(&hca, 1, 1, 2, "x");
    give(&wanted, &record);
    assert_int_equal(record.index, 2);
    set_mode_of_entry(0, 2, 0644);
}

static void a_caller_that_gives_up_has_what_it_began_undone(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 20000;
    const oneib_vfs_ticket ticket = begin(&wanted);
    take_step();
    oneib_vfs_forget(vfs, ticket);
    assert_closed(&hca, 0);
    /* The SM may not have been fast enough: nobody waited for it. */
    if (find_record(42, 1, &record))
        assert_int_equal(record.stage, ONEIB_VF_RELEASING);
    settle();
    assert_nothing_is_left();
}

static void set_mode_of_guid(unsigned vf, mode_t mode)
{
    tree_set_mode(mode, "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/%u", vf + 1);
}

/* Who asked is told both: why he got nothing, and why nobody else gets it yet. */
static void a_guid_that_cannot_be_taken_back_is_told_besides(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    const oneib_vfs_ticket ticket = begin(&wanted);
    while (!has_guid(0))
        assert_true(take_step());
    set_mode_of_guid(0, 0444);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_TIMEOUT, "P_Key 0x0006");
    assert_is_about(&err, ONEIB_ERROR_TIMEOUT, "; besides, ");
    assert_closed(&hca, 0);
    set_mode_of_guid(0, 0644);
    settle();
    assert_nothing_is_left();
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_map_that_cannot_be_opened_leaves_the_vf_free),
        IN_SCENE(a_vf_that_cannot_be_closed_stays_releasing),
        IN_SCENE(a_vf_that_cannot_be_read_is_not_handed_out),
        IN_SCENE(a_guid_that_cannot_be_taken_back_is_told_besides),
        IN_SCENE(a_caller_that_gives_up_has_what_it_began_undone),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
