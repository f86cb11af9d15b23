// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` says of this host's virtual functions, as a user without privileges. */
#include "node_root.h"

static const struct tree_hca with_vfs = {
    .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .pci = "0000:81:00.0", .vfs = 2};
static const struct tree_hca without_vfs = {
    .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .pci = "0000:81:00.0", .vfs = 0};

static const char *checked(void)
{
    write_file("oneib.conf", "");
    return RUN("--config", in_directory("oneib.conf"), "check")->out;
}

static void of_a_host_without_vfs_nothing_is_said(void **state)
{
    (void)state;
    assert_lacks(checked(), " node: ");
    tree_add_hca(&without_vfs);
    assert_lacks(checked(), " node: ");
}

static void a_host_with_vfs_needs_the_service(void **state)
{
    (void)state;
    tree_add_hca(&with_vfs);
    const char *out = checked();
    assert_contains(out, "fail  node: no VM gets a virtual function here: ");
    assert_contains(out, "systemctl start oneib-node");
}

int main(void)
{
    open_node_root();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(of_a_host_without_vfs_nothing_is_said, tree_reset),
        cmocka_unit_test_setup(a_host_with_vfs_needs_the_service, tree_reset),
    };
    return close_node_root(cmocka_run_group_tests(tests, NULL, NULL));
}
