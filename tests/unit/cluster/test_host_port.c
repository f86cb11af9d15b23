// SPDX-License-Identifier: Apache-2.0
/* Which port of a host a network's NICs use, and how many keys it can hold. */
#include "cloud_builder.h"
#include "cluster/host_port.h"

#define RED 4u

static struct oneib_host *host_of(struct scene *scene)
{
    add_network(scene, RED, 0x100);
    return add_empty_host(scene, 1);
}

static enum oneib_port_answer ask(const struct scene *scene, const struct oneib_hca_port **found)
{
    return oneib_host_port(&scene->cloud, &scene->cloud.hosts[0], &scene->cloud.networks[0], found);
}

static void assert_port(const struct scene *scene, oneib_guid guid)
{
    const struct oneib_hca_port *found;
    assert_int_equal(ask(scene, &found), ONEIB_PORT_FOUND);
    assert_int_equal(found->port_guid, guid);
}

static void assert_none(const struct scene *scene, enum oneib_port_answer answer)
{
    const struct oneib_hca_port *found;
    assert_int_equal(ask(scene, &found), answer);
    assert_null(found);
}

static void of_a_device_port_1_is_used_or_the_only_one(void **state)
{
    struct scene *scene = *state;
    struct oneib_host *host = host_of(scene);
    assert_none(scene, ONEIB_PORT_MISSING);
    add_port(scene, host, "mlx5_0", 2, 0x12);
    assert_port(scene, 0x12);
    add_port(scene, host, "mlx5_0", 3, 0x13);
    assert_none(scene, ONEIB_PORT_MISSING);
    add_port(scene, host, "mlx5_0", 1, 0x11);
    assert_port(scene, 0x11);
}

static void of_several_devices_the_one_that_the_network_names_is_used(void **state)
{
    struct scene *scene = *state;
    struct oneib_host *host = host_of(scene);
    add_port(scene, host, "mlx5_0", 1, 0x11);
    add_port(scene, host, "mlx5_1", 2, 0x22);
    assert_none(scene, ONEIB_PORT_AMBIGUOUS);
    snprintf(scene->cloud.networks[0].device, sizeof scene->cloud.networks[0].device, "mlx5_1");
    assert_port(scene, 0x22);
    add_port(scene, host, "mlx5_1", 3, 0x23);
    assert_none(scene, ONEIB_PORT_MISSING);
    scene->cloud.networks[0].device_port = 3;
    assert_port(scene, 0x23);
}

/* An adapter for storage, one that is not cabled, Omni-Path: none of them has a VF to give. */
static void of_several_devices_the_one_that_serves_vms_is_used(void **state)
{
    struct scene *scene = *state;
    struct oneib_host *host = host_of(scene);
    add_port(scene, host, "hfi1_0", 1, 0x31)->vfs_total = 8;
    assert_port(scene, 0x31); /* its only one, which has a finding of its own */
    add_port(scene, host, "mlx5_0", 1, 0x11);
    assert_port(scene, 0x11);
    add_port(scene, host, "mlx5_1", 1, 0x21)->vfs_total = 8;
    add_port(scene, host, "mlx5_1", 2, 0x22)->vfs_total = 8;
    assert_port(scene, 0x21);
    add_port(scene, host, "mlx4_0", 1, 0x41);
    assert_port(scene, 0x21);
    host->ports[4].vfs_total = 4;
    assert_none(scene, ONEIB_PORT_AMBIGUOUS);
    snprintf(scene->cloud.networks[0].device, sizeof scene->cloud.networks[0].device, "mlx5_0");
    assert_port(scene, 0x11);
}

/* Whoever forges a host's document names a port twice. */
static void a_port_that_is_told_of_in_two_ways_is_not_used(void **state)
{
    struct scene *scene = *state;
    struct oneib_host *host = host_of(scene);
    add_port(scene, host, "mlx5_0", 2, 0x12);
    add_port(scene, host, "mlx5_0", 2, 0x12);
    assert_port(scene, 0x12);
    host->ports[1].driver = ONEIB_HCA_OTHER;
    assert_none(scene, ONEIB_PORT_AMBIGUOUS);
    host->ports[1].driver = host->ports[0].driver;
    host->ports[1].port_guid = 0x13;
    assert_none(scene, ONEIB_PORT_AMBIGUOUS);
}

static void a_device_that_nobody_can_read_is_no_device(void **state)
{
    struct scene *scene = *state;
    add_port(scene, host_of(scene), "mlx5_0", 1, 0x11);
    scene->cloud.networks[0].device_invalid = true;
    assert_none(scene, ONEIB_PORT_UNNAMED);
}

static void a_port_holds_what_its_table_has_room_for_without_the_last_slot(void **state)
{
    (void)state;
    assert_int_equal(oneib_port_key_capacity(0), 63);
    assert_int_equal(oneib_port_key_capacity(128), 127);
    assert_int_equal(oneib_port_key_capacity(1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(of_a_device_port_1_is_used_or_the_only_one),
        SCENE_TEST(of_several_devices_the_one_that_the_network_names_is_used),
        SCENE_TEST(of_several_devices_the_one_that_serves_vms_is_used),
        SCENE_TEST(a_port_that_is_told_of_in_two_ways_is_not_used),
        SCENE_TEST(a_device_that_nobody_can_read_is_no_device),
        cmocka_unit_test(a_port_holds_what_its_table_has_room_for_without_the_last_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
