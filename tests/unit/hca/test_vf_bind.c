// SPDX-License-Identifier: Apache-2.0
#include "hca/vf_ops.h"
#include "tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define VF 1
#define VF_PCI "0000:81:00.2"

static const struct tree_hca adapter = {.driver = ONEIB_HCA_MLX5, .vfs = 3};

static struct oneib_vf vf_on(const char *driver)
{
    tree_add_hca(&adapter);
    tree_bind_vf(&adapter, VF, driver);
    return (struct oneib_vf){.pci = tree_vf_pci(&adapter, VF), .index = VF};
}

static void driver_is(const struct oneib_vf *vf, const char *expected)
{
    struct oneib_error err = {0};
    char driver[32] = "unset";
    if (oneib_vf_host_driver(vf, driver, sizeof driver, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(driver, expected);
}

static void says(const struct oneib_error *err, const char *words)
{
    if (!strstr(err->text, words))
        fail_msg("\"%s\" does not say \"%s\"", err->text, words);
}

static void file_is(const char *name, const char *expected)
{
    char value[32];
    tree_read(value, sizeof value, "/sys/bus/pci/drivers/mlx5_core/%s", name);
    assert_string_equal(value, expected);
}

static void only_a_driver_that_uses_the_vf_is_the_hosts(void **state)
{
    (void)state;
    struct oneib_vf vf = vf_on("mlx5_core");
    driver_is(&vf, "mlx5_core");
    tree_reset(NULL);
    vf = vf_on("vfio-pci");
    driver_is(&vf, "");
    tree_reset(NULL);
    vf = vf_on(NULL);
    driver_is(&vf, "");
}

static void the_driver_is_what_it_is_now_and_not_what_the_inventory_said(void **state)
{
    (void)state;
    struct oneib_vf vf = vf_on("mlx5_core");
    strcpy(vf.driver, "vfio-pci");
    driver_is(&vf, "mlx5_core");
}

static void a_driver_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char driver[32];
    const struct oneib_vf vf = vf_on(NULL);
    tree_write("mlx5_core", "/sys/bus/pci/devices/" VF_PCI "/driver");
    assert_int_equal(oneib_vf_host_driver(&vf, driver, sizeof driver, &err), -1);
    says(&err, "/driver");
}

static void a_vf_without_interfaces_or_with_one_that_is_down_is_unused(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_vf vf = vf_on("mlx5_core");
    assert_int_equal(oneib_vf_check_unused(&vf, &err), 0);
    tree_add_vf_interface(&adapter, VF, "ib6", false);
    assert_int_equal(oneib_vf_check_unused(&vf, &err), 0);
}

static void a_vf_is_used_when_one_of_its_interfaces_is_up(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_vf vf = vf_on("mlx5_core");
    tree_add_vf_interface(&adapter, VF, "ib6", false);
    tree_add_vf_interface(&adapter, VF, "ib7", true);
    assert_int_equal(oneib_vf_check_unused(&vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    says(&err, "ib7");
}

static void an_interface_that_cannot_be_read_may_be_up(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_vf vf = vf_on("mlx5_core");
    tree_add_vf_interface(&adapter, VF, "ib6", false);
    tree_set_mode(0, "/sys/bus/pci/devices/" VF_PCI "/net/ib6/flags");
    assert_int_equal(oneib_vf_check_unused(&vf, &err), -1);
    tree_remove("/sys/bus/pci/devices/" VF_PCI "/net/ib6/flags");
    assert_int_equal(oneib_vf_check_unused(&vf, &err), -1);
}

static void rebinding_names_the_vf_to_both_files(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_vf vf = vf_on("mlx5_core");
    assert_int_equal(oneib_vf_rebind(&vf, "mlx5_core", &err), 0);
    file_is("unbind", VF_PCI);
    file_is("bind", VF_PCI);
}

static void a_vf_whose_interface_is_up_is_not_unbound(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_vf vf = vf_on("mlx5_core");
    tree_add_vf_interface(&adapter, VF, "ib7", true);
    assert_int_equal(oneib_vf_rebind(&vf, "mlx5_core", &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    file_is("unbind", "");
}

static void a_vf_that_cannot_be_unbound_is_not_bound(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_vf vf = vf_on("mlx5_core");
    tree_set_mode(0444, "/sys/bus/pci/drivers/mlx5_core/unbind");
    assert_int_equal(oneib_vf_rebind(&vf, "mlx5_core", &err), -1);
    says(&err, "unbind");
    file_is("bind", "");
}

static void a_vf_that_is_left_without_a_driver_is_told_with_the_fix(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_vf vf = vf_on("mlx5_core");
    tree_remove("/sys/bus/pci/drivers/mlx5_core/bind");
    assert_int_equal(oneib_vf_rebind(&vf, "mlx5_core", &err), -1);
    says(&err, "it has no driver now; echo " VF_PCI " > ");
    says(&err, "/sys/bus/pci/drivers/mlx5_core/bind gives it back");
}

static void a_vf_that_another_driver_took_is_an_error(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_vf vf = vf_on("vfio-pci");
    tree_write("", "/sys/bus/pci/drivers/mlx5_core/bind");
    assert_int_equal(oneib_vf_rebind(&vf, "mlx5_core", &err), -1);
    says(&err, "it was given to driver mlx5_core, but vfio-pci has it");
}

#define CASE(name) cmocka_unit_test_setup(name, tree_reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(only_a_driver_that_uses_the_vf_is_the_hosts),
        CASE(the_driver_is_what_it_is_now_and_not_what_the_inventory_said),
        CASE(a_driver_that_cannot_be_read_is_an_error),
        CASE(a_vf_without_interfaces_or_with_one_that_is_down_is_unused),
        CASE(a_vf_is_used_when_one_of_its_interfaces_is_up),
        CASE(an_interface_that_cannot_be_read_may_be_up),
        CASE(rebinding_names_the_vf_to_both_files),
        CASE(a_vf_whose_interface_is_up_is_not_unbound),
        CASE(a_vf_that_cannot_be_unbound_is_not_bound),
        CASE(a_vf_that_is_left_without_a_driver_is_told_with_the_fix),
        CASE(a_vf_that_another_driver_took_is_an_error),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
