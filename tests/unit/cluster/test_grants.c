// SPDX-License-Identifier: Apache-2.0
/* What scenarios/grants*.txt do not hold: more grants than a list takes, and calls that no daemon makes. */
#include "cluster/grants_internal.h"
#include "grant_scene.h"

static bool is_about(const struct oneib_finding *finding, enum oneib_subject subject, uint32_t id)
{
    for (size_t i = 0; i < finding->mention_count; i++)
        if (finding->mentions[i].subject == subject && finding->mentions[i].id == id)
            return true;
    return false;
}

static void those_that_came_last_find_no_room_in_a_list(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    for (uint32_t i = 0; i < ONEIB_GRANTS_MAX + 2; i++)
        add_nic(&played->scene, i, 0, 7, 1)->since = 10000 - i;
    grant_all(played);
    assert_int_equal(oneib_grants_of_host(&played->grants, 1)->count, ONEIB_GRANTS_MAX);
    assert_null(granted(played, 1, 0, 0));
    assert_null(granted(played, 1, 1, 0));
    assert_non_null(granted(played, 1, 2, 0));
    assert_int_equal(played->findings.count, 1);
    assert_string_equal(played->findings.items[0].code, "grants-full");
}

static void
a_list_that_is_just_full_leaves_nobody_out_and_one_that_was_too_long_is_in_order(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    for (uint32_t i = 0; i < ONEIB_GRANTS_MAX; i++)
        add_nic(&played->scene, i, 0, 7, 1)->since = 10000 - i;
    grant_all(played);
    assert_int_equal(oneib_grants_of_host(&played->grants, 1)->count, ONEIB_GRANTS_MAX);
    assert_int_equal(played->findings.count, 0);
    add_nic(&played->scene, ONEIB_GRANTS_MAX, 0, 7, 1);
    grant_all(played);
    const struct oneib_host_grants *host = oneib_grants_of_host(&played->grants, 1);
    for (size_t i = 1; i < host->count; i++)
        assert_true(oneib_grant_compare(&host->items[i - 1], &host->items[i]) < 0);
    assert_true(is_about(&played->findings.items[0], ONEIB_SUBJECT_HOST, 1));
}

static void a_host_of_which_no_node_is_known_has_no_snapshot(void **state)
{
    const struct oneib_node_snapshot snapshots[] = {{.host_id = 1}, {.host_id = 3}, {.host_id = 4}};
    (void)state;
    assert_ptr_equal(oneib_node_snapshot_of(snapshots, 2, 1), &snapshots[0]);
    assert_ptr_equal(oneib_node_snapshot_of(snapshots, 2, 3), &snapshots[1]);
    assert_null(oneib_node_snapshot_of(snapshots, 2, 0));
    assert_null(oneib_node_snapshot_of(snapshots, 2, 2));
    assert_null(oneib_node_snapshot_of(snapshots, 2, 4));
}

static void a_partition_is_its_networks_and_that_of_who_shares_it(void **state)
{
    struct grant_scene *played = *state;
    const struct oneib_partition theirs = {.name = "one7", .pkey = 0x101};
    const struct oneib_partition gone = {.name = "one99", .pkey = 0x109};
    add_network(&played->scene, 7, 0x101)->reservations_share = true;
    add_reservation(&played->scene, 8, 7, 0x101);
    add_network(&played->scene, 9, 0x102);
    add_node(played, 1);
    add_nic(&played->scene, 4, 0, 7, 1);
    add_nic(&played->scene, 5, 0, 9, 1);
    grant_all(played);
    assert_true(oneib_partition_is_networks(&played->scene.desired, &theirs, 7));
    assert_true(oneib_partition_is_networks(&played->scene.desired, &theirs, 8));
    assert_false(oneib_partition_is_networks(&played->scene.desired, &theirs, 9));
    assert_false(oneib_partition_is_networks(&played->scene.desired, &theirs, 99));
    assert_true(oneib_partition_is_networks(&played->scene.desired, &gone, 99));
}

static void without_a_ledger_and_a_file_the_default_partition_is_written(void **state)
{
    struct grant_scene *played = *state;
    grant_all(played);
    const struct oneib_gate_input input = {.cloud = &played->scene.cloud,
                                           .desired = &played->scene.desired,
                                           .grants = &played->grants};
    oneib_gate_compute(&input, &played->gate);
    assert_int_equal(played->gate.table.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRANT_TEST(those_that_came_last_find_no_room_in_a_list),
        GRANT_TEST(
            a_list_that_is_just_full_leaves_nobody_out_and_one_that_was_too_long_is_in_order),
        GRANT_TEST(a_host_of_which_no_node_is_known_has_no_snapshot),
        GRANT_TEST(without_a_ledger_and_a_file_the_default_partition_is_written),
        GRANT_TEST(a_partition_is_its_networks_and_that_of_who_shares_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
