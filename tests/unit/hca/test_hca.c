// SPDX-License-Identifier: Apache-2.0
#include "reading_hcas.h"

static void a_host_without_adapters_has_an_empty_list(void **state)
{
    (void)state;
    read_hcas(EVERYTHING);
    assert_int_equal(hcas.count, 0);
    tree_remove("/sys/class");
    read_hcas(EVERYTHING);
    assert_int_equal(hcas.count, 0);
    assert_int_equal(hcas.refused.code, ONEIB_ERROR_NONE);
}

static void a_class_that_cannot_be_listed_is_an_error(void **state)
{
    struct oneib_error err = {0};
    (void)state;
    tree_set_mode(0, "/sys/class/infiniband");
    assert_int_equal(oneib_hcas_read(EVERYTHING, &hcas, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_int_equal(hcas.count, 0);
    tree_set_mode(0755, "/sys/class/infiniband");
}

static void an_adapter_is_read_with_its_port(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_set_pkey(&mlx4, 1, 3, 0x8005);
    const struct oneib_hca *hca = read_one(EVERYTHING);
    assert_string_equal(hca->name, "mlx4_0");
    assert_int_equal(hca->driver, ONEIB_HCA_MLX4);
    assert_int_equal(hca->pci.bus, 0x81);
    assert_true(hca->node_guid == tree_node_guid(&mlx4));
    assert_int_equal(hca->numa_node, 0);
    assert_int_equal(hca->port_count, 1);
    const struct oneib_port *port = &hca->ports[0];
    assert_int_equal(port->number, 1);
    assert_int_equal(port->link_layer, ONEIB_LINK_INFINIBAND);
    assert_int_equal(port->state, 4);
    assert_int_equal(port->lid, 4);
    assert_int_equal(port->rate_gbps, 56);
    assert_true(port->guid == tree_port_guid(&mlx4, 1));
    assert_int_equal(port->pkey_count, 7);
    assert_int_equal(port->pkeys[0], 0x7fff);
    assert_int_equal(port->pkeys[3], 0x8005);
    assert_int_equal(port->pkeys[6], 0);
}

static void what_is_not_asked_for_is_not_read(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    const struct oneib_hca *hca = read_one(0);
    assert_int_equal(hca->vf_count, 0);
    assert_int_equal(hca->vfs_supported, 7);
    assert_int_equal(hca->ports[0].pkey_count, 0);
    assert_int_equal(read_one(ONEIB_HCA_PKEYS)->vf_count, 0);
    assert_int_equal(read_one(ONEIB_HCA_VFS)->ports[0].pkey_count, 0);
}

static void drivers_are_told_apart(void **state)
{
    const struct tree_hca other = {
        .name = "hfi1_0", .driver = ONEIB_HCA_OTHER, .pci = "0000:02:00.0", .without_sriov = true};
    (void)state;
    tree_add_hca(&mlx4);
    tree_add_hca(&second);
    tree_add_hca(&other);
    read_hcas(EVERYTHING);
    assert_int_equal(hcas.count, 3);
    assert_string_equal(hcas.items[0].name, "hfi1_0");
    assert_int_equal(hcas.items[0].driver, ONEIB_HCA_OTHER);
    assert_int_equal(hcas.items[0].vfs_supported, 0);
    assert_int_equal(hcas.items[0].fault.code, ONEIB_ERROR_NONE);
    assert_int_equal(hcas.items[1].driver, ONEIB_HCA_MLX4);
    assert_int_equal(hcas.items[2].driver, ONEIB_HCA_MLX5);
}

static void adapters_are_found_by_name_and_vfs_by_address(void **state)
{
    const struct oneib_vf *vf;
    const struct oneib_pci nobodys = {.bus = 0x99};
    (void)state;
    tree_add_hca(&mlx4);
    tree_add_hca(&second);
    read_hcas(EVERYTHING);
    assert_string_equal(oneib_hcas_find(&hcas, "mlx5_0")->name, "mlx5_0");
    assert_null(oneib_hcas_find(&hcas, "mlx5"));
    assert_non_null(oneib_hca_find_port(&hcas.items[0], 1));
    assert_null(oneib_hca_find_port(&hcas.items[0], 2));
    const struct oneib_pci address = tree_vf_pci(&second, 1);
    assert_ptr_equal(oneib_hcas_of_vf(&hcas, &address, &vf), &hcas.items[1]);
    assert_int_equal(vf->index, 1);
    assert_null(oneib_hca_find_vf(&hcas.items[0], &address));
    assert_null(oneib_hcas_of_vf(&hcas, &nobodys, &vf));
    assert_null(vf);
    assert_null(oneib_hcas_of_vf(&(struct oneib_hcas){0}, &address, &vf));
    assert_null(vf);
}

static void vfs_are_listed_with_driver_and_numa_node(void **state)
{
    const struct tree_hca hca = {
        .driver = ONEIB_HCA_MLX4, .vfs = 63, .pkeys = 3, .numa_node = 1, .pci = "0000:81:00.0"};
    (void)state;
    tree_add_hca(&hca);
    tree_bind_vf(&hca, 1, NULL);
    tree_bind_vf(&hca, 2, "mlx4_core");
    tree_write("-1", "/sys/bus/pci/devices/0000:81:00.4/numa_node");
    const struct oneib_hca *read = read_one(ONEIB_HCA_VFS);
    assert_int_equal(read->vf_count, 63);
    for (unsigned i = 0; i < 63; i++) {
        const struct oneib_pci address = tree_vf_pci(&hca, i);
        assert_int_equal(read->vfs[i].index, i);
        assert_int_equal(oneib_pci_compare(&read->vfs[i].pci, &address), 0);
        assert_false(read->vfs[i].interface_up);
    }
    assert_string_equal(read->vfs[0].driver, "vfio-pci");
    assert_string_equal(read->vfs[1].driver, "");
    assert_string_equal(read->vfs[2].driver, "mlx4_core");
    assert_int_equal(read->vfs[2].numa_node, 1);
    assert_int_equal(read->vfs[3].numa_node, -1);
}

static void with_sriov_off_there_are_no_vfs(void **state)
{
    const struct tree_hca off = {.driver = ONEIB_HCA_MLX4, .vfs_supported = 63, .pkeys = 4};
    (void)state;
    tree_add_hca(&off);
    const struct oneib_hca *hca = read_one(EVERYTHING);
    assert_int_equal(hca->vf_count, 0);
    assert_int_equal(hca->vfs_supported, 63);
    assert_int_equal(hca->ports[0].pkey_count, 4);
}

static void an_interface_that_is_up_marks_its_vf(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_bind_vf(&mlx4, 0, "mlx4_core");
    tree_add_vf_interface(&mlx4, 0, "ib7", false);
    tree_bind_vf(&mlx4, 1, "mlx4_core");
    tree_add_vf_interface(&mlx4, 1, "ib8", false);
    tree_add_vf_interface(&mlx4, 1, "ib9", true);
    const struct oneib_hca *hca = read_one(ONEIB_HCA_VFS);
    assert_false(hca->vfs[0].interface_up);
    assert_true(hca->vfs[1].interface_up);
    assert_false(hca->vfs[2].interface_up);
}

static void an_interface_that_is_being_renamed_counts_as_up(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_make_directory("/sys/bus/pci/devices/0000:81:00.1/net/ib7");
    assert_true(read_one(ONEIB_HCA_VFS)->vfs[0].interface_up);
}

static void a_vf_that_a_host_driver_holds_is_no_adapter(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_bind_vf(&mlx4, 0, "mlx4_core");
    tree_add_vf_device(&mlx4, 0, "mlx4_1");
    assert_string_equal(read_one(EVERYTHING)->name, "mlx4_0");
}

static void software_devices_are_left_out(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_write("1: CA", "/sys/devices/virtual/infiniband/rxe0/node_type");
    tree_write("Ethernet", "/sys/devices/virtual/infiniband/rxe0/ports/1/link_layer");
    tree_link("/sys/devices/virtual/infiniband/rxe0", "/sys/class/infiniband/rxe0");
    tree_write("1: CA", "/sys/devices/virtual/infiniband/rxe1/node_type");
    tree_link("/sys/devices/virtual/net/eth0", "/sys/devices/virtual/infiniband/rxe1/device");
    tree_link("/sys/devices/virtual/infiniband/rxe1", "/sys/class/infiniband/rxe1");
    assert_string_equal(read_one(EVERYTHING)->name, "mlx4_0");
}

static void a_device_without_ports_is_left_out(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_remove(DEVICE "/ports/1");
    read_hcas(EVERYTHING);
    assert_int_equal(hcas.count, 0);
}

static void names_that_are_none_of_ours_break_nothing(void **state)
{
    static const char *const names[] = {"mlx4 0", "mlx4_0\nmlx4_1", "$(reboot)", "mlx4:1",
                                        "a-name-of-more-than-31-characters"};
    (void)state;
    tree_add_hca(&mlx4);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tree_make_directory("/sys/class/infiniband/%s", names[i]);
        assert_string_equal(read_one(EVERYTHING)->name, "mlx4_0");
        assert_int_equal(hcas.refused.code, ONEIB_ERROR_INPUT);
        assert_null(strchr(hcas.refused.text, '\n'));
        tree_remove("/sys/class/infiniband/%s", names[i]);
    }
    read_one(EVERYTHING);
    assert_int_equal(hcas.refused.code, ONEIB_ERROR_NONE);
}

static void of_a_dual_port_adapter_both_ports_are_read(void **state)
{
    const struct tree_hca dual = {.driver = ONEIB_HCA_MLX4, .vfs = 2, .pkeys = 3, .ports = 2};
    (void)state;
    tree_add_hca(&dual);
    tree_set_pkey(&dual, 2, 1, 0x0009);
    const struct oneib_hca *hca = read_one(EVERYTHING);
    assert_int_equal(hca->port_count, 2);
    assert_int_equal(hca->ports[1].number, 2);
    assert_int_equal(hca->ports[1].lid, 8);
    assert_int_equal(hca->ports[0].pkeys[1], 0);
    assert_int_equal(hca->ports[1].pkeys[1], 9);
    assert_true(hca->ports[1].guid == tree_port_guid(&dual, 2));
}

static void of_an_ethernet_port_nothing_of_a_subnet_is_told(void **state)
{
    const struct tree_hca dual = {
        .driver = ONEIB_HCA_MLX4, .vfs = 2, .pkeys = 3, .ports = 2, .ethernet_ports = 1u << 2};
    (void)state;
    tree_add_hca(&dual);
    const struct oneib_hca *hca = read_one(EVERYTHING);
    assert_int_equal(hca->ports[0].link_layer, ONEIB_LINK_INFINIBAND);
    assert_int_equal(hca->ports[0].pkey_count, 3);
    assert_int_equal(hca->ports[1].link_layer, ONEIB_LINK_ETHERNET);
    assert_int_equal(hca->ports[1].state, 4);
    assert_int_equal(hca->ports[1].rate_gbps, 40);
    assert_int_equal(hca->ports[1].pkey_count, 0);
    assert_true(hca->ports[1].guid == 0);
    assert_int_equal(hca->ports[1].lid, 0);
}

static void a_port_that_is_down_may_have_neither_lid_guid_nor_rate(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_write("1: DOWN", DEVICE "/ports/1/state");
    tree_write("0x0", DEVICE "/ports/1/lid");
    tree_write("0000:0000:0000:0000:0000:0000:0000:0000", DEVICE "/ports/1/gids/0");
    tree_set_mode(0, DEVICE "/ports/1/rate");
    const struct oneib_port *port = &read_one(EVERYTHING)->ports[0];
    assert_int_equal(port->state, 1);
    assert_int_equal(port->lid, 0);
    assert_true(port->guid == 0);
    assert_int_equal(port->rate_gbps, 0);
}

static void halves_of_gigabits_are_dropped(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_write("2.5 Gb/sec (1X SDR)", DEVICE "/ports/1/rate");
    assert_int_equal(read_one(0)->ports[0].rate_gbps, 2);
}

static void every_state_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(oneib_port_state_name(0), "unknown");
    assert_string_equal(oneib_port_state_name(1), "down");
    assert_string_equal(oneib_port_state_name(2), "init");
    assert_string_equal(oneib_port_state_name(3), "armed");
    assert_string_equal(oneib_port_state_name(4), "active");
    assert_string_equal(oneib_port_state_name(5), "unknown");
    assert_string_equal(oneib_port_state_name(255), "unknown");
}

static void directories_of_the_iov_are_told_by_their_alias(void **state)
{
    struct tree_hca odd = mlx4;
    (void)state;
    odd.odd_directories = true;
    tree_add_hca(&odd);
    const struct oneib_hca *hca = read_one(ONEIB_HCA_VFS);
    for (unsigned i = 0; i < odd.vfs; i++) {
        char directory[ONEIB_PCI_TEXT_SIZE], pci[ONEIB_PCI_TEXT_SIZE];
        tree_vf_directory(&odd, i, directory);
        oneib_pci_format(&hca->vfs[i].pci, pci);
        assert_string_equal(hca->vfs[i].iov_directory, directory);
        assert_string_not_equal(hca->vfs[i].iov_directory, pci);
    }
}

static void a_vf_of_the_second_port_only_has_its_directory(void **state)
{
    struct tree_hca dual = mlx4;
    (void)state;
    dual.ports = 2;
    tree_add_hca(&dual);
    tree_remove(DEVICE "/iov/0000:81:00.2/ports/1");
    assert_string_equal(read_one(ONEIB_HCA_VFS)->vfs[1].iov_directory, "0000:81:00.2");
}

static void a_vf_without_a_directory_has_none(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_remove(DEVICE "/iov/0000:81:00.2");
    const struct oneib_hca *hca = read_one(ONEIB_HCA_VFS);
    assert_string_equal(hca->vfs[0].iov_directory, "0000:81:00.1");
    assert_string_equal(hca->vfs[1].iov_directory, "");
}

static void two_directories_of_one_vf_are_a_fault(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_write("1", DEVICE "/iov/0000:81:00.2/ports/1/gid_idx/0");
    read_broken("virtual function 0");
}

static void an_alias_beyond_the_vfs_is_nobodys(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_write("8", DEVICE "/iov/0000:81:02.7/ports/1/gid_idx/0");
    read_one(ONEIB_HCA_VFS);
}

/* ---- what else mlx5's driver makes of an adapter --------------------------------------------- */

/* It stands on a device of the auxiliary bus below the PF, and has an RDMA device like any other.
 */
static void a_sub_function_is_no_adapter_and_no_vf(void **state)
{
#define SUB_FUNCTION "/sys/bus/pci/devices/0000:05:00.0/mlx5_core.sf.4"
    (void)state;
    tree_add_hca(&second);
    tree_write("1: CA", SUB_FUNCTION "/infiniband/mlx5_7/node_type");
    tree_write("0200:0700:0000:2a01", SUB_FUNCTION "/infiniband/mlx5_7/node_guid");
    tree_write("InfiniBand", SUB_FUNCTION "/infiniband/mlx5_7/ports/1/link_layer");
    tree_write("4: ACTIVE", SUB_FUNCTION "/infiniband/mlx5_7/ports/1/state");
    tree_link(SUB_FUNCTION, SUB_FUNCTION "/infiniband/mlx5_7/device");
    tree_link(SUB_FUNCTION "/infiniband/mlx5_7", "/sys/class/infiniband/mlx5_7");
    const struct oneib_hca *read = read_one(EVERYTHING);
    assert_string_equal(read->name, "mlx5_0");
    assert_int_equal(read->vf_count, 2);
}

/* In switchdev mode the RDMA device has a port for each function's representor, all Ethernet. */
static void an_adapter_in_switchdev_mode_has_no_port_for_anybody(void **state)
{
    const struct tree_hca uplink = {
        .driver = ONEIB_HCA_MLX5, .vfs = 2, .pkeys = 4, .ethernet_ports = 1u << 1};
    const struct oneib_hca *chosen;
    const struct oneib_port *port;
    struct oneib_error err = {0};
    (void)state;
    tree_add_hca(&uplink);
    for (unsigned i = 2; i <= 40; i++) {
        tree_write("Ethernet", "/sys/class/infiniband/mlx5_0/ports/%u/link_layer", i);
        tree_write("4: ACTIVE", "/sys/class/infiniband/mlx5_0/ports/%u/state", i);
        tree_write("100 Gb/sec (4X EDR)", "/sys/class/infiniband/mlx5_0/ports/%u/rate", i);
    }
    const struct oneib_hca *read = read_one(EVERYTHING);
    assert_int_equal(read->port_count, 40);
    assert_false(oneib_hca_has_infiniband(read));
    assert_int_equal(oneib_hcas_find_port(&hcas, "mlx5_0", 40, &chosen, &port, &err), -1);
    assert_null(port);
}

static void of_more_than_127_vfs_each_has_its_own_address(void **state)
{
    const struct tree_hca many = {.driver = ONEIB_HCA_MLX5, .vfs = 254, .pkeys = 4};
    (void)state;
    tree_add_hca(&many);
    const struct oneib_hca *read = read_one(ONEIB_HCA_VFS);
    assert_int_equal(read->vf_count, 254);
    for (unsigned i = 0; i < 254; i++) {
        const struct oneib_pci address = tree_vf_pci(&many, i);
        assert_int_equal(read->vfs[i].index, i);
        assert_int_equal(oneib_pci_compare(&read->vfs[i].pci, &address), 0);
        assert_ptr_equal(oneib_hca_find_vf(read, &address), &read->vfs[i]);
    }
}

static void mlx5_has_no_iov_directories(void **state)
{
    (void)state;
    tree_add_hca(&second);
    assert_string_equal(read_one(ONEIB_HCA_VFS)->vfs[0].iov_directory, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HCA_TEST(a_host_without_adapters_has_an_empty_list),
        HCA_TEST(a_class_that_cannot_be_listed_is_an_error),
        HCA_TEST(an_adapter_is_read_with_its_port),
        HCA_TEST(what_is_not_asked_for_is_not_read),
        HCA_TEST(drivers_are_told_apart),
        HCA_TEST(adapters_are_found_by_name_and_vfs_by_address),
        HCA_TEST(vfs_are_listed_with_driver_and_numa_node),
        HCA_TEST(with_sriov_off_there_are_no_vfs),
        HCA_TEST(an_interface_that_is_up_marks_its_vf),
        HCA_TEST(an_interface_that_is_being_renamed_counts_as_up),
        HCA_TEST(a_vf_that_a_host_driver_holds_is_no_adapter),
        HCA_TEST(software_devices_are_left_out),
        HCA_TEST(a_device_without_ports_is_left_out),
        HCA_TEST(names_that_are_none_of_ours_break_nothing),
        HCA_TEST(of_a_dual_port_adapter_both_ports_are_read),
        HCA_TEST(of_an_ethernet_port_nothing_of_a_subnet_is_told),
        HCA_TEST(a_port_that_is_down_may_have_neither_lid_guid_nor_rate),
        HCA_TEST(halves_of_gigabits_are_dropped),
        HCA_TEST(every_state_has_its_name),
        HCA_TEST(directories_of_the_iov_are_told_by_their_alias),
        HCA_TEST(a_vf_of_the_second_port_only_has_its_directory),
        HCA_TEST(a_vf_without_a_directory_has_none),
        HCA_TEST(two_directories_of_one_vf_are_a_fault),
        HCA_TEST(an_alias_beyond_the_vfs_is_nobodys),
        HCA_TEST(a_sub_function_is_no_adapter_and_no_vf),
        HCA_TEST(an_adapter_in_switchdev_mode_has_no_port_for_anybody),
        HCA_TEST(of_more_than_127_vfs_each_has_its_own_address),
        HCA_TEST(mlx5_has_no_iov_directories),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
