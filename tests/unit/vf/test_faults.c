// SPDX-License-Identifier: Apache-2.0
/* What goes wrong while a VF is being assigned. */
#include "scene.h"

#define ANOTHER_GUID oneib_guid_encode(SITE + 1, 42, 1)

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

static void what_was_undone_without_more_is_told_alone(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    assert_int_equal(try_to_give(&wanted, &record, &err), -1);
    assert_null(strstr(err.text, "besides"));
}

static void assert_fails_unread(oneib_vfs_ticket ticket)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    set_mode_of_guid(0, 0);
    const int result = finish(ticket, &record, &err);
    set_mode_of_guid(0, 0644);
    assert_int_equal(result, -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "admin_guids/1");
}

static void a_guid_that_cannot_be_read_is_not_waited_for(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    sm_accept_guids(false);
    assert_fails_unread(begin(&wanted));
}

/* Else the caller would be told in vain that the key has not come. */
static void a_port_that_becomes_unsafe_while_the_key_is_waited_for_is_told_at_once(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 1500;
    const oneib_vfs_ticket ticket = begin(&wanted);
    tree_set_pkey(&hca, 1, 0, 0xffff);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "full member of the default partition");
    settle();
}

/* ---- another GUID ---------------------------------------------------------------------------- */

/* Given, and then granted at another site; the SM does not let go of its GUID. */
static oneib_vfs_ticket begin_with_another_guid(void)
{
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    sm_let_guids_go(false);
    wanted.grant.guid = ANOTHER_GUID;
    return begin(&wanted);
}

static void an_old_guid_that_cannot_be_read_is_not_waited_for(void **state)
{
    (void)state;
    assert_fails_unread(begin_with_another_guid());
}

static void another_guid_is_set_once_the_old_one_is_gone(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const oneib_vfs_ticket ticket = begin_with_another_guid();
    for (int i = 0; i < 3; i++)
        take_step();
    assert_false(read_guid(0) == ANOTHER_GUID);
    sm_let_guids_go(true);
    if (finish(ticket, &record, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(read_guid(0), ANOTHER_GUID);
}

static void a_guid_that_the_sm_has_accepted_needs_no_leave(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    wanted.grant.pkey = OTHER_KEY;
    wanted.grant.may_set_guid = false;
    wanted.guid_wait_ms = 100;
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
}

static void one_that_was_only_asked_for_does(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give_before_guid_that_is_refused(&wanted);
    wanted.guid_wait_ms = 50;
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "has not accepted GUID");
    wanted.grant.may_set_guid = false;
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "oneibd has not allowed GUID");
}

static void what_can_be_neither_closed_nor_recorded_is_told_as_both(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    const oneib_vfs_ticket ticket = begin(&wanted);
    set_mode_of_entry(0, 0, 0);
    tree_set_mode(0555, "/run/oneib");
    const int result = finish(ticket, &record, &err);
    tree_set_mode(0755, "/run/oneib");
    set_mode_of_entry(0, 0, 0644);
    assert_int_equal(result, -1);
    assert_is_about(&err, err.code, "/run/oneib");
    assert_is_about(&err, err.code, "besides, closing virtual function 0");
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_map_that_cannot_be_opened_leaves_the_vf_free),
        IN_SCENE(a_vf_that_cannot_be_closed_stays_releasing),
        IN_SCENE(a_vf_that_cannot_be_read_is_not_handed_out),
        IN_SCENE(a_guid_that_cannot_be_taken_back_is_told_besides),
        IN_SCENE(what_was_undone_without_more_is_told_alone),
        IN_SCENE(a_guid_that_cannot_be_read_is_not_waited_for),
        IN_SCENE(a_port_that_becomes_unsafe_while_the_key_is_waited_for_is_told_at_once),
        IN_SCENE(an_old_guid_that_cannot_be_read_is_not_waited_for),
        IN_SCENE(another_guid_is_set_once_the_old_one_is_gone),
        IN_SCENE(a_guid_that_the_sm_has_accepted_needs_no_leave),
        IN_SCENE(one_that_was_only_asked_for_does),
        IN_SCENE(what_can_be_neither_closed_nor_recorded_is_told_as_both),
        IN_SCENE(a_caller_that_gives_up_has_what_it_began_undone),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
