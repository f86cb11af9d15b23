// SPDX-License-Identifier: Apache-2.0
/* What is read of a VF that was read whole before, and whether its VM may manage the fabric. */
#include "hca/vf_control.h"
#include "tree.h"
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define VF 1 /* not 0, whose files would be mistaken easily */
#define GUID 0x0200000000002a01

static const struct tree_hca adapter = {
    .driver = ONEIB_HCA_MLX4, .ports = 2, .pkeys = 15, .vfs = 3};

static struct oneib_hcas hcas;

static const struct oneib_hca *hca(void)
{
    return &hcas.items[0];
}

static struct oneib_vf *vf(void)
{
    return &hcas.items[0].vfs[VF];
}

static void read_adapters(void)
{
    struct oneib_error err = {0};
    if (oneib_hcas_read(ONEIB_HCA_VFS, &hcas, &err) < 0)
        fail_msg("%s", err.text);
}

static int open_scene(void **state)
{
    tree_reset(state);
    tree_add_hca(&adapter);
    read_adapters();
    return 0;
}

static int close_scene(void **state)
{
    (void)state;
    oneib_hcas_clear(&hcas);
    return 0;
}

static struct oneib_vf_glance glance_at(uint8_t port)
{
    struct oneib_error err = {0};
    struct oneib_vf_glance glance;
    if (oneib_vf_glance(hca(), vf(), port, &glance, &err) < 0)
        fail_msg("%s", err.text);
    return glance;
}

static void assert_glance_fails(uint8_t port, const char *words)
{
    struct oneib_error err = {0};
    struct oneib_vf_glance glance;
    assert_int_equal(oneib_vf_glance(hca(), vf(), port, &glance, &err), -1);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

/* ---- at a glance ----------------------------------------------------------------------------- */

static void a_glance_tells_where_the_port_is_open_and_its_guid(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    tree_set_vf_pkey(&adapter, VF, 2, 0, "4");
    assert_int_equal(oneib_vf_set_guid(hca(), vf(), 2, GUID, &err), 0);
    tree_set_alias(&adapter, VF, 2, GUID);
    const struct oneib_vf_glance first = glance_at(1), second = glance_at(2);
    assert_true(first.is_known);
    assert_int_equal(first.index, 0);
    assert_true(first.guid == 0);
    assert_true(second.is_known);
    assert_int_equal(second.index, 4);
    assert_true(second.guid == GUID);
}

static void a_guid_that_the_subnet_manager_does_not_agree_to_is_none(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_set_guid(hca(), vf(), 1, GUID, &err), 0);
    assert_true(glance_at(1).guid == 0);
    tree_set_alias(&adapter, VF, 1, GUID + 1);
    assert_true(glance_at(1).guid == 0);
}

static void a_guid_that_was_deleted_is_none(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    tree_set_alias(&adapter, VF, 1, GUID);
    assert_int_equal(oneib_vf_set_guid(hca(), vf(), 1, GUID, &err), 0);
    assert_int_equal(oneib_vf_clear_guid(hca(), vf(), &err), 0);
    assert_true(glance_at(1).guid == 0);
}

static void an_entry_that_is_none_is_not_closed(void **state)
{
    (void)state;
    tree_set_vf_pkey(&adapter, VF, 1, 0, "none");
    assert_int_equal(glance_at(1).index, -1);
}

static void what_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    tree_set_vf_pkey(&adapter, VF, 1, 0, "anything");
    assert_glance_fails(1, "virtual function 1 (0000:81:00.2) of mlx4_0");
    assert_glance_fails(3, "pkey_idx/0");
    tree_write("nonsense", "/sys/class/infiniband/mlx4_0/iov/ports/2/admin_guids/2");
    assert_glance_fails(2, "admin_guids/2");
}

static void an_mlx5_is_not_glanced_at(void **state)
{
    (void)state;
    const struct tree_hca mlx5 = {.driver = ONEIB_HCA_MLX5, .pci = "0000:04:00.0", .vfs = 3};
    tree_remove_hca(&adapter);
    oneib_hcas_clear(&hcas);
    tree_add_hca(&mlx5);
    read_adapters();
    assert_false(glance_at(1).is_known);
}

/* ---- management packets ---------------------------------------------------------------------- */

static void let_manage(unsigned port, const char *value)
{
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&adapter, VF, directory);
    tree_write(value, "/sys/class/infiniband/mlx4_0/iov/%s/ports/%u/enable_smi_admin", directory,
               port);
}

static bool may_manage(void)
{
    struct oneib_error err = {0};
    struct oneib_vf_state state;
    if (oneib_vf_state_read(hca(), vf(), &state, &err) < 0)
        fail_msg("%s", err.text);
    return state.may_manage;
}

static void a_vf_may_manage_when_one_of_its_ports_may(void **state)
{
    (void)state;
    assert_false(may_manage());
    let_manage(1, "0");
    let_manage(2, "0");
    assert_false(may_manage());
    let_manage(2, "1");
    assert_true(may_manage());
}

static void a_right_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_state vf_state;
    let_manage(2, "on");
    assert_int_equal(oneib_vf_state_read(hca(), vf(), &vf_state, &err), -1);
    assert_non_null(strstr(err.text, "enable_smi_admin"));
}

/* ---- read again ------------------------------------------------------------------------------ */

static void what_may_change_of_a_vf_is_read_again(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    assert_string_equal(vf()->driver, "vfio-pci");
    tree_bind_vf(&adapter, VF, NULL);
    tree_add_vf_interface(&adapter, VF, "ib1", true);
    assert_int_equal(oneib_hca_reread_vf(hca(), vf(), &err), 0);
    assert_string_equal(vf()->driver, "");
    assert_true(vf()->interface_up);
    assert_true(vf()->iov_directory[0] != '\0');
    assert_int_equal(vf()->index, VF);
}

/* As `echo 1 >.../remove` does it: the adapter's link stays, and leads nowhere. */
static void a_vf_that_was_removed_from_the_bus_is_off_it(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    assert_false(vf()->off_bus);
    tree_remove("/sys/bus/pci/devices/0000:81:00.2");
    assert_int_equal(oneib_hca_reread_vf(hca(), vf(), &err), 0);
    assert_true(vf()->off_bus);
    assert_string_equal(vf()->driver, "");
}

static void a_device_that_is_no_function_of_the_adapter_is_off_the_bus(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    tree_remove("/sys/bus/pci/devices/0000:81:00.2/physfn");
    assert_int_equal(oneib_hca_reread_vf(hca(), vf(), &err), 0);
    assert_true(vf()->off_bus);
    tree_link("/sys/devices/pci0000:91/0000:91:00.0",
              "/sys/devices/pci0000:81/0000:81:00.2/physfn");
    assert_int_equal(oneib_hca_reread_vf(hca(), vf(), &err), 0);
    assert_true(vf()->off_bus);
}

static void another_device_in_its_place_is_not_the_vf(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char directory[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_pci other = tree_vf_pci(&adapter, VF + 1), before = vf()->pci;
    oneib_pci_format(&other, directory);
    tree_remove("/sys/bus/pci/devices/0000:81:00.0/virtfn1");
    char target[64];
    snprintf(target, sizeof target, "/sys/devices/pci0000:81/%s", directory);
    tree_link(target, "/sys/devices/pci0000:81/0000:81:00.0/virtfn1");
    assert_int_equal(oneib_hca_reread_vf(hca(), vf(), &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_int_equal(oneib_pci_compare(&vf()->pci, &before), 0);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_glance_tells_where_the_port_is_open_and_its_guid),
        IN_SCENE(a_guid_that_the_subnet_manager_does_not_agree_to_is_none),
        IN_SCENE(a_guid_that_was_deleted_is_none),
        IN_SCENE(an_entry_that_is_none_is_not_closed),
        IN_SCENE(what_cannot_be_read_is_an_error),
        IN_SCENE(an_mlx5_is_not_glanced_at),
        IN_SCENE(a_vf_may_manage_when_one_of_its_ports_may),
        IN_SCENE(a_right_that_cannot_be_read_is_an_error),
        IN_SCENE(what_may_change_of_a_vf_is_read_again),
        IN_SCENE(a_vf_that_was_removed_from_the_bus_is_off_it),
        IN_SCENE(a_device_that_is_no_function_of_the_adapter_is_off_the_bus),
        IN_SCENE(another_device_in_its_place_is_not_the_vf),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
