// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "scene.h"
#include <sys/stat.h>
#include <time.h>

#define LOST "0000:99:00.1" /* of no adapter */

static void a_nic_gets_a_vf_that_is_open_for_its_key_alone(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    assert_int_equal(record.index, 0);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_int_equal(record.guid, ONEIB_VF_GUID_SET);
    assert_string_equal(record.device, "mlx4_0");
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_int_equal(read_guid(0), oneib_guid_encode(7, 42, 1));
    const struct oneib_vf_record written = record_of(42, 1);
    assert_int_equal(written.stage, ONEIB_VF_OPEN);
    assert_int_equal(written.pkey, KEY);
    assert_isolated(&hca);
}

static void entries_that_are_none_are_closed_before_the_vf_is_opened(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    char text[16];
    give(&wanted, &record);
    for (unsigned entry = 1; entry < hca.pkeys; entry++) {
        tree_get_vf_pkey(&hca, 0, 1, entry, text, sizeof text);
        assert_string_equal(text, "0");
    }
}

static void a_key_that_comes_late_is_waited_for(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 5000;
    const double start = oneib_now_ms();
    sm_put_key_in(50, 1, OTHER_INDEX, FULL | OTHER_KEY);
    give(&wanted, &record);
    assert_true(oneib_now_ms() - start >= 50);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
}

static void a_key_that_never_comes_leaves_the_vf_closed_and_free(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT,
                      "P_Key 0x0006 (full or limited) is not in the table of mlx4_0 port 1");
    assert_int_equal(count_records(), 0);
    assert_closed(&hca, 0);
    assert_false(has_guid(0));
}

static void a_limited_nic_does_not_take_a_full_entry(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    wanted.grant.limited = true;
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "P_Key 0x0005 (limited)");
    tree_set_pkey(&hca, 1, OTHER_INDEX, KEY);
    give(&wanted, &record);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
}

static void the_default_partition_is_nobodys_key(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, 0x7fff);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "oneibd's grant is not valid");
    assert_int_equal(count_records(), 0);
}

static struct timespec last_written(const char *file)
{
    struct stat status;
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&hca, 0, directory);
    char *path =
        tree_path("/sys/class/infiniband/mlx4_0/iov/%s/ports/1/pkey_idx/%s", directory, file);
    assert_int_equal(stat(path, &status), 0);
    free(path);
    return status.st_mtim;
}

static void a_second_call_touches_nothing(void **state)
{
    (void)state;
    struct oneib_vf_record first, second;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &first);
    const struct timespec before = last_written("0");
    give(&wanted, &second);
    const struct timespec after = last_written("0");
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(oneib_pci_compare(&first.vf, &second.vf), 0);
    assert_int_equal(second.stage, ONEIB_VF_OPEN);
    assert_int_equal(count_records(), 1);
}

static void the_same_nic_with_another_key_is_opened_for_that_one(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    wanted.grant.pkey = OTHER_KEY;
    wanted.pkey_wait_ms = 5000;
    sm_put_key_in(50, 1, OTHER_INDEX, FULL | OTHER_KEY);
    give(&wanted, &record);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
    assert_int_equal(record.pkey, OTHER_KEY);
    assert_int_equal(count_records(), 1);
    assert_isolated(&hca);
}

static void a_nic_whose_new_key_does_not_come_stays_closed_with_that_key_noted(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    wanted.grant.pkey = OTHER_KEY;
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "0x0006");
    record = record_of(42, 1);
    assert_int_equal(record.stage, ONEIB_VF_CLOSED);
    assert_int_equal(record.pkey, OTHER_KEY);
    assert_closed(&hca, 0);
    assert_true(has_guid(0));
}

static void a_deferred_guid_is_set_by_a_later_call(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    defer_guid(&wanted, true);
    give(&wanted, &record);
    assert_int_equal(record.guid, ONEIB_VF_GUID_DEFERRED);
    assert_false(has_guid(0));
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    defer_guid(&wanted, false);
    give(&wanted, &record);
    assert_int_equal(record.guid, ONEIB_VF_GUID_SET);
    assert_int_equal(read_guid(0), oneib_guid_encode(7, 42, 1));
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

/* With the key that is another one now the VF is prepared anew, and its GUID is here. */
static void of_a_vf_that_is_opened_anew_the_guid_is_deferred_only_when_it_is_another(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    wanted.grant.pkey = OTHER_KEY;
    defer_guid(&wanted, true);
    give(&wanted, &record);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
    assert_int_equal(record.guid, ONEIB_VF_GUID_SET);
    assert_int_equal(read_guid(0), oneib_guid_encode(7, 42, 1));
    wanted.grant.guid = oneib_guid_encode(8, 42, 1); /* of another site */
    give(&wanted, &record);
    assert_int_equal(record.site, 8);
    assert_int_equal(record.guid, ONEIB_VF_GUID_DEFERRED);
    assert_false(has_guid(0));
}

static void a_guid_that_is_set_already_is_not_deferred(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    defer_guid(&wanted, true);
    give(&wanted, &record);
    assert_int_equal(record.guid, ONEIB_VF_GUID_SET);
    assert_true(has_guid(0));
}

static void a_guid_that_the_sm_does_not_accept_is_taken_back(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    wanted.guid_wait_ms = 100;
    sm_accept_guids(false);
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "has not accepted GUID 0x0200070000002a01");
    assert_int_equal(count_records(), 0);
    assert_false(has_guid(0));
    assert_closed(&hca, 0);
}

static void a_deferred_guid_that_the_sm_does_not_accept_leaves_the_nic_its_vf(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give_before_guid_that_is_refused(&wanted);
    wanted.guid_wait_ms = 100;
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "has not accepted GUID");
    const struct oneib_vf_record record = record_of(42, 1);
    assert_int_equal(record.stage, ONEIB_VF_CLOSED);
    assert_int_equal(record.guid, ONEIB_VF_GUID_NONE);
    assert_closed(&hca, 0);
}

/* ---- which VF -------------------------------------------------------------------------------- */

static void restart_engine_with(const struct oneib_vfs_options *options)
{
    struct oneib_error err = {0};
    stop_engine();
    if (oneib_vfs_open(options, &vfs, &err) < 0)
        fail_msg("%s", err.text);
    tell_domains();
    tell_grants(true);
}

static void vfs_of_domains_and_of_the_host_are_passed_over(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_pci in_use = tree_vf_pci(&hca, 0), hosts = tree_vf_pci(&hca, 1);
    const struct oneib_vfs_options options = {.host_vfs = &hosts, .host_vf_count = 1};
    restart_engine_with(&options);
    tell_of_domain(-1, false, &in_use);
    tree_add_vf_interface(&hca, 2, "ib1", true);
    give(&wanted, &record);
    assert_int_equal(record.index, 3);
    wanted = wanted_of(42, 2, KEY);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "mlx4_0 has no free virtual function");
}

static void a_key_is_waited_for_as_long_as_the_options_say(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    oneib_vfs_ticket ticket;
    const struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    const struct oneib_vfs_options options = {.pkey_wait_ms = 300, .guid_wait_ms = GUID_WAIT_MS};
    restart_engine_with(&options);
    grant(&wanted);
    assert_int_equal(oneib_vfs_have(vfs, &wanted.request, &record, &ticket, &err), 0);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_TIMEOUT, "300 ms");
    settle();
}

static void a_vf_that_somebody_mapped_by_hand_is_left_as_it_is(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    tree_set_vf_pkey(&hca, 0, 1, 0, "4");
    give(&wanted, &record);
    assert_int_equal(record.index, 1);
    assert_int_equal(open_index(&hca, 0, 1), 4);
}

static void a_vf_that_has_an_old_guid_is_passed_over(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    tree_write("0200000000001234", "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/1");
    tree_set_alias(&hca, 0, 1, 0x0200000000001234);
    give(&wanted, &record);
    assert_int_equal(record.index, 1);
}

static void a_guid_that_the_driver_only_wishes_for_is_no_obstacle(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    sm_accept_guids(false);
    tree_write("0014050000001234", "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/1");
    defer_guid(&wanted, true);
    give(&wanted, &record);
    assert_int_equal(record.index, 0);
    assert_false(has_guid(0));
    release(42, 1);
    tree_write("0014050000001234", "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/1");
    sm_accept_guids(true);
    defer_guid(&wanted, false);
    give(&wanted, &record);
    assert_int_equal(read_guid(record.index), oneib_guid_encode(7, 42, 1));
}

static void the_wanted_numa_node_comes_first(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    char vf[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_pci pci = tree_vf_pci(&hca, 2);
    oneib_pci_format(&pci, vf);
    tree_write("1", "/sys/bus/pci/devices/%s/numa_node", vf);
    restart_engine();
    wanted.request.numa_node = 1;
    give(&wanted, &record);
    assert_int_equal(record.index, 2);
}

static void a_certain_vf_is_given_or_refused_by_name(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    want_vf(&wanted, tree_vf_pci(&hca, 2));
    give(&wanted, &record);
    assert_int_equal(record.index, 2);
    struct wanted second = wanted_of(43, 0, KEY);
    want_vf(&second, tree_vf_pci(&hca, 2));
    assert_give_fails(&second, ONEIB_ERROR_REFUSED, "cannot be assigned: reserved");
    want_vf(&second, tree_vf_pci(&hca, 3));
    tell_of_domain(43, true, &second.grant.vf);
    assert_give_fails(&second, ONEIB_ERROR_REFUSED, "cannot be assigned: domain");
}

static void what_is_no_vf_of_an_infiniband_adapter_is_refused(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    want_vf(&wanted, (struct oneib_pci){0});
    oneib_pci_parse("0000:81:00.0", &wanted.grant.vf); /* the adapter itself */
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED,
                      "0000:81:00.0 is not a virtual function of an InfiniBand");
    oneib_pci_parse("0000:00:02.0", &wanted.grant.vf);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED,
                      "0000:00:02.0 is not a virtual function of an InfiniBand");
    assert_int_equal(count_records(), 0);
}

static void an_adapter_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    strcpy(wanted.grant.device, "mlx4_7");
    assert_give_fails(&wanted, ONEIB_ERROR_NOT_FOUND, "VM 42 NIC 1: this host has no adapter");
}

static void an_adapter_with_sriov_off_is_refused(void **state)
{
    (void)state;
    const struct tree_hca second = {
        .name = "mlx4_1", .pci = "0000:04:00.0", .driver = ONEIB_HCA_MLX4, .vfs_supported = 8};
    struct wanted wanted = wanted_of(42, 1, KEY);
    tree_add_hca(&second);
    strcpy(wanted.grant.device, "mlx4_1");
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "SR-IOV is off");
}

static void a_vf_with_an_ethernet_port_is_refused(void **state)
{
    (void)state;
    const struct tree_hca vpi = {.name = "mlx4_1",
                                 .pci = "0000:04:00.0",
                                 .driver = ONEIB_HCA_MLX4,
                                 .vfs = 2,
                                 .ports = 2,
                                 .pkeys = 7,
                                 .ethernet_ports = 1u << 2};
    struct wanted wanted = wanted_of(42, 1, KEY);
    tree_add_hca(&vpi);
    strcpy(wanted.grant.device, "mlx4_1");
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "2 with an Ethernet port");
    wanted.grant.port = 2;
    assert_give_fails(&wanted, ONEIB_ERROR_INPUT, "port 2 is not InfiniBand");
    assert_int_equal(count_records(), 0);
}

static void a_port_that_is_a_full_member_of_the_default_partition_hands_out_nothing(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    tree_set_pkey(&hca, 1, 0, 0xffff);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "full member of the default partition");
    assert_int_equal(count_records(), 0);
    assert_int_equal(open_index(&hca, 0, 1), 0);
}

static void a_nic_keeps_to_the_adapter_that_it_is_on(void **state)
{
    (void)state;
    const struct tree_hca second = {
        .name = "mlx4_1", .pci = "0000:04:00.0", .driver = ONEIB_HCA_MLX4, .vfs = 2, .pkeys = 7};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    tree_add_hca(&second);
    tree_set_pkey(&second, 1, 2, FULL | KEY);
    give(&wanted, &record); /* not named: where it is */
    assert_string_equal(record.device, "mlx4_0");
    strcpy(wanted.grant.device, "mlx4_1");
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "virtual function of mlx4_0 port 1 already");
    record = record_of(42, 1);
    assert_int_equal(record.stage, ONEIB_VF_CLOSED);
    assert_int_equal(record.pkey, 0);
    assert_closed(&hca, 0);
    tree_remove_hca(&second);
}

static void the_other_port_is_opened_when_it_is_named(void **state)
{
    (void)state;
    const struct tree_hca dual = {.name = "mlx4_1",
                                  .pci = "0000:04:00.0",
                                  .driver = ONEIB_HCA_MLX4,
                                  .vfs = 2,
                                  .ports = 2,
                                  .pkeys = 7};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    tree_add_hca(&dual);
    tree_set_pkey(&dual, 2, 2, FULL | KEY);
    strcpy(wanted.grant.device, "mlx4_1");
    wanted.grant.port = 2;
    defer_guid(&wanted, true);
    give(&wanted, &record);
    assert_int_equal(record.port, 2);
    assert_int_equal(open_index(&dual, 0, 2), 2);
    assert_int_equal(open_index(&dual, 0, 1), 0);
    tree_remove_hca(&dual);
}

static void put_record_of_lost_vf(enum oneib_vf_stage stage)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record = {.index = 9,
                                     .port = 1,
                                     .device = "mlx4_0",
                                     .vm_id = 42,
                                     .nic_id = 1,
                                     .network_id = NETWORK,
                                     .pkey = KEY,
                                     .stage = stage};
    oneib_pci_parse(LOST, &record.vf);
    assert_int_equal(oneib_vfs_put(vfs, &record, &err), 0);
}

static void a_vf_that_has_only_the_other_port_is_refused(void **state)
{
    (void)state;
    const struct tree_hca dual = {.name = "mlx4_1",
                                  .pci = "0000:04:00.0",
                                  .driver = ONEIB_HCA_MLX4,
                                  .vfs = 1,
                                  .ports = 2,
                                  .pkeys = 7};
    char directory[ONEIB_PCI_TEXT_SIZE];
    struct wanted wanted = wanted_of(42, 1, KEY);
    tree_add_hca(&dual);
    tree_set_pkey(&dual, 2, 2, FULL | KEY);
    tree_vf_directory(&dual, 0, directory);
    tree_remove("/sys/class/infiniband/mlx4_1/iov/%s/ports/2", directory);
    strcpy(wanted.grant.device, "mlx4_1");
    wanted.grant.port = 2;
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "1 without the port");
    tree_remove_hca(&dual);
}

static void a_nic_whose_vf_is_gone_from_the_host_gets_another(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    put_record_of_lost_vf(ONEIB_VF_OPEN);
    give(&wanted, &record);
    assert_int_equal(record.index, 0);
    assert_int_equal(count_records(), 1);
}

static void remove_from_bus(unsigned vf)
{
    char address[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_pci pci = tree_vf_pci(&hca, vf);
    oneib_pci_format(&pci, address);
    tree_remove("/sys/bus/pci/devices/%s", address);
}

static void a_vf_that_left_the_bus_is_given_to_nobody(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    remove_from_bus(0);
    give(&wanted, &record);
    assert_int_equal(record.index, 1);
    for (unsigned vf = 2; vf < hca.vfs; vf++)
        remove_from_bus(vf);
    wanted = wanted_of(43, 1, KEY);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "1 reserved, 3 not on the PCI bus");
}

static void a_nic_whose_vf_left_the_bus_gets_another_and_the_old_one_is_closed(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    remove_from_bus(0);
    give(&wanted, &record);
    assert_int_equal(record.index, 1);
    assert_closed(&hca, 0);
    assert_false(has_guid(0));
    assert_int_equal(count_records(), 1);
}

/* Its place is where it is, whatever it was called. */
static void a_record_names_the_adapter_as_it_is_called_now(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    give(&wanted, &record);
    strcpy(record.device, "mlx4_9");
    assert_int_equal(oneib_vfs_put(vfs, &record, &err), 0);
    give(&wanted, &record);
    assert_string_equal(record.device, "mlx4_0");
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
}

static void who_waits_for_a_vf_that_is_gone_is_told_when_its_nic_gets_another(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct oneib_pci lost;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    put_record_of_lost_vf(ONEIB_VF_PREPARING);
    oneib_pci_parse(LOST, &lost);
    oneib_vfs_begin(vfs, &lost, ONEIB_VF_PREPARE)->wish = 77;
    const oneib_vfs_ticket ticket = oneib_vfs_ticket_of_wish(vfs, 77);
    give(&wanted, &record);
    assert_int_equal(record.index, 0);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "a newer request replaced it");
}

static void a_vf_that_is_there_and_that_no_adapter_shows_is_not_given(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    tree_make_directory("/sys/bus/pci/devices/" LOST);
    put_record_of_lost_vf(ONEIB_VF_CLOSED);
    assert_give_fails(&wanted, ONEIB_ERROR_NOT_FOUND, "no InfiniBand adapter of this host shows");
    assert_int_equal(count_records(), 1);
}

static void a_nic_has_a_number_from_0_to_255(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    oneib_vfs_ticket ticket;
    struct wanted wanted = wanted_of(42, 1, KEY);
    grant(&wanted);
    for (int32_t nic_id = -255; nic_id <= 257; nic_id += 512) {
        wanted.request.nic_id = nic_id;
        assert_int_equal(oneib_vfs_have(vfs, &wanted.request, &record, &ticket, &err), -1);
        assert_is_about(&err, ONEIB_ERROR_INPUT, "which NIC?");
    }
    assert_int_equal(count_records(), 0);
    wanted = wanted_of(42, UINT8_MAX, KEY);
    give(&wanted, &record);
    assert_int_equal(record.nic_id, UINT8_MAX);
}

static void what_a_dead_call_left_is_not_opened_when_a_domain_has_it(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_pci in_use = tree_vf_pci(&hca, 0);
    give(&wanted, &record);
    leave_record(42, 1, ONEIB_VF_PREPARING, 0);
    tell_of_domain(43, true, &in_use);
    /* On a busy machine it may have been released already. */
    struct oneib_error err = {0};
    if (try_to_give(&wanted, &record, &err) < 0) {
        assert_is_about(&err, ONEIB_ERROR_REFUSED, "a libvirt domain names the VF");
        settle();
        assert_closed(&hca, 0);
        give(&wanted, &record);
    }
    assert_int_equal(record.index, 1);
    assert_closed(&hca, 0);
}

/* ---- mlx5 ------------------------------------------------------------------------------------ */

static void an_mlx5_vf_is_opened_without_looking_for_its_key(void **state)
{
    (void)state;
    const struct tree_hca mlx5 = {.driver = ONEIB_HCA_MLX5, .pci = "0000:04:00.0", .vfs = 2};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    char text[64];
    tree_add_hca(&mlx5);
    strcpy(wanted.grant.device, "mlx5_0");
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx5_0/device/sriov/0/policy");
    assert_string_equal(text, "Follow");
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx5_0/device/sriov/0/port");
    assert_string_equal(text, "02:00:07:00:00:00:2a:01");
    assert_int_equal(release(42, 1), 1);
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx5_0/device/sriov/0/policy");
    assert_string_equal(text, "Down");
    tree_remove_hca(&mlx5);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_nic_gets_a_vf_that_is_open_for_its_key_alone),
        IN_SCENE(entries_that_are_none_are_closed_before_the_vf_is_opened),
        IN_SCENE(a_key_that_comes_late_is_waited_for),
        IN_SCENE(a_key_that_never_comes_leaves_the_vf_closed_and_free),
        IN_SCENE(a_limited_nic_does_not_take_a_full_entry),
        IN_SCENE(the_default_partition_is_nobodys_key),
        IN_SCENE(a_second_call_touches_nothing),
        IN_SCENE(the_same_nic_with_another_key_is_opened_for_that_one),
        IN_SCENE(a_nic_whose_new_key_does_not_come_stays_closed_with_that_key_noted),
        IN_SCENE(a_deferred_guid_is_set_by_a_later_call),
        IN_SCENE(of_a_vf_that_is_opened_anew_the_guid_is_deferred_only_when_it_is_another),
        IN_SCENE(a_guid_that_is_set_already_is_not_deferred),
        IN_SCENE(a_guid_that_the_sm_does_not_accept_is_taken_back),
        IN_SCENE(a_deferred_guid_that_the_sm_does_not_accept_leaves_the_nic_its_vf),
        IN_SCENE(vfs_of_domains_and_of_the_host_are_passed_over),
        IN_SCENE(a_key_is_waited_for_as_long_as_the_options_say),
        IN_SCENE(a_vf_that_somebody_mapped_by_hand_is_left_as_it_is),
        IN_SCENE(a_vf_that_has_an_old_guid_is_passed_over),
        IN_SCENE(a_guid_that_the_driver_only_wishes_for_is_no_obstacle),
        IN_SCENE(the_wanted_numa_node_comes_first),
        IN_SCENE(a_certain_vf_is_given_or_refused_by_name),
        IN_SCENE(what_is_no_vf_of_an_infiniband_adapter_is_refused),
        IN_SCENE(an_adapter_that_is_not_there_is_refused),
        IN_SCENE(an_adapter_with_sriov_off_is_refused),
        IN_SCENE(a_vf_with_an_ethernet_port_is_refused),
        IN_SCENE(a_port_that_is_a_full_member_of_the_default_partition_hands_out_nothing),
        IN_SCENE(a_nic_keeps_to_the_adapter_that_it_is_on),
        IN_SCENE(the_other_port_is_opened_when_it_is_named),
        IN_SCENE(a_vf_that_has_only_the_other_port_is_refused),
        IN_SCENE(a_nic_whose_vf_is_gone_from_the_host_gets_another),
        IN_SCENE(a_vf_that_left_the_bus_is_given_to_nobody),
        IN_SCENE(a_nic_whose_vf_left_the_bus_gets_another_and_the_old_one_is_closed),
        IN_SCENE(a_record_names_the_adapter_as_it_is_called_now),
        IN_SCENE(who_waits_for_a_vf_that_is_gone_is_told_when_its_nic_gets_another),
        IN_SCENE(a_vf_that_is_there_and_that_no_adapter_shows_is_not_given),
        IN_SCENE(a_nic_has_a_number_from_0_to_255),
        IN_SCENE(what_a_dead_call_left_is_not_opened_when_a_domain_has_it),
        IN_SCENE(an_mlx5_vf_is_opened_without_looking_for_its_key),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
