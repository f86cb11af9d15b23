// SPDX-License-Identifier: Apache-2.0
/* Adapters that change while the service runs. */
#include "scene.h"
#include <unistd.h>

#define CLASS "/sys/class/infiniband/"

static struct oneib_pci given(const struct wanted *wanted)
{
    struct oneib_vf_record record;
    give(wanted, &record);
    return record.vf;
}

static void assert_is_vf(struct oneib_pci vf, const struct tree_hca *of, unsigned number)
{
    const struct oneib_pci wanted = tree_vf_pci(of, number);
    assert_int_equal(oneib_pci_compare(&vf, &wanted), 0);
}

/* Another one in its place, which nobody has looked at in between. */
static void an_adapter_that_is_registered_again_under_its_name_is_read_again(void **state)
{
    (void)state;
    const struct tree_hca other = {
        .driver = ONEIB_HCA_MLX4, .pci = "0000:91:00.0", .vfs = 4, .pkeys = 7};
    const struct wanted wanted = wanted_of(42, 1, KEY);
    look();
    tree_remove(CLASS "mlx4_0"); /* its directory stays, so that the other has another one */
    tree_add_hca(&other);
    tree_set_pkey(&other, 1, KEY_INDEX, FULL | KEY);
    look();
    assert_is_vf(given(&wanted), &other, 0);
    tree_remove_hca(&other);
}

static void an_adapter_that_gets_another_name_is_read_again(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    char *from = tree_path(CLASS "mlx4_0"), *to = tree_path(CLASS "mlx4_9");
    look();
    assert_int_equal(rename(from, to), 0);
    look();
    strcpy(wanted.grant.device, "mlx4_9");
    defer_guid(&wanted, true); /* the subnet manager is the other name's */
    assert_is_vf(given(&wanted), &hca, 0);
    assert_int_equal(rename(to, from), 0);
    free(from);
    free(to);
}

static void vfs_that_come_are_seen(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    tree_write("2", CLASS "mlx4_0/device/sriov_numvfs");
    look();
    want_vf(&wanted, tree_vf_pci(&hca, 3));
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "0000:81:00.4 is not a virtual function");
    tree_write("4", CLASS "mlx4_0/device/sriov_numvfs");
    look();
    assert_is_vf(given(&wanted), &hca, 3);
}

static void an_adapter_that_could_not_be_read_is_read_again(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    tree_set_mode(0, CLASS "mlx4_0/device/sriov_totalvfs");
    restart_engine();
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "sriov_totalvfs");
    tree_set_mode(0644, CLASS "mlx4_0/device/sriov_totalvfs");
    look();
    assert_is_vf(given(&wanted), &hca, 0);
}

/* Whatever is due then would fail as well. */
static void while_adapters_cannot_be_listed_that_is_told_and_tried_each_second(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    const oneib_vfs_ticket ticket = begin(&wanted);
    look();
    tree_set_mode(0, "/sys/class/infiniband");
    look_fails(ONEIB_ERROR_SYSTEM, "/sys/class/infiniband");
    vfs->has_new_grants = true;
    const uint32_t due = oneib_vfs_due_ms(vfs);
    tree_set_mode(0755, "/sys/class/infiniband");
    assert_in_range(due, 100, 1001);
    look();
    assert_true(oneib_vfs_due_ms(vfs) < 100);
    oneib_vfs_forget(vfs, ticket);
    settle();
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(an_adapter_that_is_registered_again_under_its_name_is_read_again),
        IN_SCENE(an_adapter_that_gets_another_name_is_read_again),
        IN_SCENE(vfs_that_come_are_seen),
        IN_SCENE(an_adapter_that_could_not_be_read_is_read_again),
        IN_SCENE(while_adapters_cannot_be_listed_that_is_told_and_tried_each_second),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
