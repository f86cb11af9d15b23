// SPDX-License-Identifier: Apache-2.0
/* Whose port a GUID is, and whose a partition is by its name. */
#include "cloud_builder.h"
#include "cluster/port_index.h"

/* The ports' order is not the hosts'; two hosts report one. */
static void a_port_is_its_hosts_or_of_two_the_lower_ones(void **state)
{
    struct scene *scene = *state;
    struct oneib_port_index index;
    for (uint32_t host = 1; host <= 5; host++)
        add_port(scene, add_empty_host(scene, host), "mlx4_0", 1, port_of(20 - 2 * host));
    add_port(scene, add_empty_host(scene, 6), "mlx4_0", 1, port_of(16));
    oneib_port_index_make(&scene->cloud, &index);
    for (uint32_t host = 1; host <= 5; host++) {
        const struct oneib_known_port *port = oneib_port_index_find(&index, port_of(20 - 2 * host));
        assert_non_null(port);
        assert_int_equal(port->host->id, host);
        assert_int_equal(port->port->port_guid, port_of(20 - 2 * host));
    }
    for (uint32_t none = 9; none <= 19; none += 2)
        assert_null(oneib_port_index_find(&index, port_of(none)));
    oneib_port_index_clear(&index);
    assert_null(oneib_port_index_find(&index, port_of(18)));
}

static void a_clusters_partition_is_named_one_and_its_id(void **state)
{
    static const char *const others[] = {"",    "one",       "one07",         "one-7", "One7",
                                         "on7", "one7-0101", "one4294967295", "xone7", "storage"};
    uint32_t id = 77;
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (oneib_cluster_name_parse(others[i], &id))
            fail_msg("\"%s\" is network %u's", others[i], id);
    assert_true(oneib_cluster_name_parse("one0", &id));
    assert_int_equal(id, 0);
    assert_true(oneib_cluster_name_parse("one4294967294", &id));
    assert_int_equal(id, 4294967294u);
}

static void what_is_left_under_another_key_is_the_clusters_too(void **state)
{
    const struct oneib_partition left = {.name = "one7-0101"}, other = {.name = "storage-0101"};
    uint32_t id;
    (void)state;
    assert_true(oneib_partition_cluster(&left, &id));
    assert_int_equal(id, 7);
    assert_false(oneib_partition_cluster(&other, &id));
}

static void a_key_is_the_network_whose_partition_has_it(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 7, 0x100);
    oneib_cloud_sort(&scene->cloud);
    add_partition(scene, &scene->in_force, "one7", 0x100);
    add_partition(scene, &scene->in_force, "one8", 0x101);
    add_partition(scene, &scene->in_force, "storage", 0x102);
    assert_int_equal(oneib_network_of_key(&scene->cloud, &scene->in_force, 0x100)->id, 7);
    for (oneib_pkey pkey = 0x101; pkey <= 0x103; pkey++)
        assert_null(oneib_network_of_key(&scene->cloud, &scene->in_force, pkey));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_port_is_its_hosts_or_of_two_the_lower_ones),
        cmocka_unit_test(a_clusters_partition_is_named_one_and_its_id),
        cmocka_unit_test(what_is_left_under_another_key_is_the_clusters_too),
        SCENE_TEST(a_key_is_the_network_whose_partition_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
