// SPDX-License-Identifier: Apache-2.0
#include "scene.h"
#include <unistd.h>

#define GUID_OF_FIRST "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/1"

static struct oneib_vf_record give_key(uint32_t vm_id, uint8_t nic_id, bool defer)
{
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(vm_id, nic_id, KEY);
    defer_guid(&wanted, defer);
    give(&wanted, &record);
    return record;
}

static void what_is_right_is_left_alone(void **state)
{
    (void)state;
    give_key(42, 1, false);
    look();
    const struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.closed + changes.opened + changes.reapplied + changes.fresh, 0);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void fresh_vfs_are_closed(void **state)
{
    (void)state;
    const struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.fresh, hca.vfs);
    for (unsigned vf = 0; vf < hca.vfs; vf++)
        assert_closed(&hca, vf);
    assert_int_equal(look().fresh, 0);
}

static void a_fresh_vf_that_cannot_be_closed_is_told_of(void **state)
{
    (void)state;
    set_mode_of_entry(1, 2, 0444);
    look_fails(ONEIB_ERROR_SYSTEM, "virtual function 1");
    set_mode_of_entry(1, 2, 0644);
    look();
    assert_closed(&hca, 1);
}

static void what_somebody_else_mapped_is_left_alone(void **state)
{
    (void)state;
    char text[16];
    tree_set_vf_pkey(&hca, 0, 1, 0, "4");
    look();
    assert_int_equal(open_index(&hca, 0, 1), 4);
    tree_get_vf_pkey(&hca, 0, 1, 1, text, sizeof text);
    assert_string_equal(text, "0");
}

static void a_vf_whose_key_is_gone_is_closed_and_opened_when_it_is_back(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | OTHER_KEY);
    struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.closed, 1);
    assert_int_equal(changes.opened, 0);
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    changes = look();
    assert_int_equal(changes.opened, 1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

static void a_vf_whose_key_has_moved_follows_it(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | OTHER_KEY);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | KEY);
    const struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.closed, 1);
    assert_int_equal(changes.opened, 1);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
    assert_isolated(&hca);
}

/* The table is read up to the first VF's key: that is before the second's. */
static void a_vf_stays_where_it_is_although_another_ones_key_stands_before_its_own(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted other = wanted_of(41, 1, OTHER_KEY);
    tree_set_pkey(&hca, 1, 1, KEY);
    tree_set_pkey(&hca, 1, 2, FULL | OTHER_KEY);
    give(&other, &record);
    assert_int_equal(record.index, 0);
    give_key(42, 1, false);
    look();
    const struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.closed + changes.opened, 0);
    assert_int_equal(open_index(&hca, 0, 1), 2);
    assert_int_equal(open_index(&hca, 1, 1), KEY_INDEX);
}

static void all_vfs_are_closed_when_the_port_becomes_a_full_member(void **state)
{
    (void)state;
    give_key(42, 1, false);
    give_key(43, 0, false);
    tree_set_pkey(&hca, 1, 0, 0xffff);
    const struct oneib_vfs_changes changes =
        look_fails(ONEIB_ERROR_REFUSED, "full member of the default partition");
    assert_int_equal(changes.closed, 2);
    assert_int_equal(changes.failed, 2);
    assert_closed(&hca, 0);
    assert_closed(&hca, 1);
    tree_set_pkey(&hca, 1, 0, 0x7fff);
    assert_int_equal(look().opened, 2);
}

static void a_vf_that_a_reset_emptied_gets_its_guid_and_map_again(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_write("0", "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/1");
    tree_set_vf_pkey(&hca, 0, 1, 0, "0");
    tree_set_vf_pkey(&hca, 0, 1, 1, "none");
    const struct oneib_vfs_changes changes = look();
    assert_true(changes.reapplied > 0); /* again where the SM has not answered by the second look */
    assert_int_equal(changes.opened, 1);
    assert_int_equal(read_guid(0), oneib_guid_encode(7, 42, 1));
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void a_vf_that_has_lost_its_guid_alone_gets_it_again(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_write("0", GUID_OF_FIRST);
    assert_true(look().reapplied > 0);
    assert_int_equal(read_guid(0), oneib_guid_encode(7, 42, 1));
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

#define SHOWN_BY_FIRST "/sys/class/infiniband/mlx4_0/iov/ports/1/gids/1"
#define NO_GID "fe80:0000:0000:0000:0000:0000:0000:0000"

/* As a guest may have it do: mlx4's driver does not ask for it again. */
static void a_guid_that_the_subnet_manager_takes_away_is_asked_for_again(void **state)
{
    (void)state;
    char gid[64];
    give_key(42, 1, false);
    look(); /* adapters are new at the first one, and looked at whole */
    sm_accept_guids(false);
    tree_read(gid, sizeof gid, SHOWN_BY_FIRST);
    tree_write(NO_GID, SHOWN_BY_FIRST);
    for (unsigned i = 0; i < 2; i++) {
        vfs->next_in_turn = 1; /* another one is looked at whole */
        const struct oneib_vfs_changes changes = glance();
        assert_int_equal(changes.reapplied, 1);
        assert_int_equal(changes.closed + changes.opened + changes.failed, 0);
    }
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    tree_write(gid, SHOWN_BY_FIRST);
    assert_int_equal(look().reapplied, 0);
}

/* ---- at a glance ----------------------------------------------------------------------------- */

static void a_glance_leaves_what_is_right_alone(void **state)
{
    (void)state;
    give_key(42, 1, false);
    give_key(43, 1, true);
    look();
    const struct oneib_vfs_changes changes = glance();
    assert_int_equal(changes.closed + changes.opened + changes.reapplied + changes.fresh, 0);
}

/* An entry of the VF's map that only a whole look reads would fail now. */
static void assert_a_glance_is_enough(void)
{
    vfs->next_in_turn = hca.vfs; /* none is looked at whole in its turn */
    set_mode_of_entry(0, 2, 0);
    const struct oneib_vfs_changes changes = glance();
    set_mode_of_entry(0, 2, 0644);
    assert_int_equal(changes.closed + changes.opened + changes.reapplied + changes.failed, 0);
}

static void a_glance_reads_little_of_what_is_open_as_it_should_be(void **state)
{
    (void)state;
    give_key(42, 1, false);
    look();
    assert_a_glance_is_enough();
}

static void a_glance_reads_little_of_what_is_open_before_its_guid_may_be_set(void **state)
{
    (void)state;
    give_key(42, 1, true);
    look();
    assert_a_glance_is_enough();
}

static void a_glance_reads_little_of_what_is_closed_while_its_key_is_gone(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    look();
    assert_a_glance_is_enough();
}

static void a_glance_reads_little_of_what_is_closed_because_it_is_not_granted(void **state)
{
    (void)state;
    give_key(42, 1, false);
    drop_grant(42, 1);
    tell_grants(true);
    look();
    assert_a_glance_is_enough();
}

/* As after each start of the service. */
static void a_glance_reads_little_of_what_is_open_before_the_first_list(void **state)
{
    (void)state;
    give_key(42, 1, false);
    stop_engine();
    start_engine_alone();
    look();
    assert_a_glance_is_enough();
}

static void a_glance_reads_little_of_what_has_ended(void **state)
{
    (void)state;
    const struct oneib_vf_record record = give_key(42, 1, false);
    tell_of_domain(42, true, &record.vf);
    tell_of_no_domains();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_ENDED);
    look();
    assert_a_glance_is_enough();
}

static void a_glance_sees_a_key_that_goes_and_comes(void **state)
{
    (void)state;
    give_key(42, 1, false);
    look();
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | OTHER_KEY);
    assert_int_equal(glance().closed, 1);
    assert_closed(&hca, 0);
    assert_int_equal(glance().closed, 0);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    assert_int_equal(glance().opened, 1);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | KEY);
    assert_int_equal(glance().opened, 1);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
}

static void a_glance_sees_a_port_that_becomes_a_full_member(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    give_key(42, 1, false);
    look();
    tree_set_pkey(&hca, 1, 0, 0xffff);
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_GLANCE, &changes, &err), -1);
    assert_int_equal(changes.closed, 1);
    assert_closed(&hca, 0);
    /* And goes on telling that while it is so. */
    vfs->next_in_turn = hca.vfs;
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_GLANCE, &changes, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "full member of the default partition");
}

static void what_fails_of_the_one_that_is_looked_at_in_turn_is_told(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    give_key(42, 1, false);
    look();
    vfs->next_in_turn = 0;
    set_mode_of_entry(0, 2, 0);
    const int status = oneib_vfs_step(vfs, ONEIB_VFS_GLANCE, &changes, &err);
    set_mode_of_entry(0, 2, 0644);
    assert_int_equal(status, -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "VM 42 NIC 1 (0000:81:00.1)");
}

static void a_glance_sees_a_guid_that_is_lost_alone(void **state)
{
    (void)state;
    give_key(42, 1, false);
    look();
    tree_write("0", GUID_OF_FIRST);
    vfs->next_in_turn = hca.vfs;
    assert_int_equal(glance().reapplied, 1);
    assert_int_equal(read_guid(0), oneib_guid_encode(7, 42, 1));
}

static void a_glance_sees_what_a_reset_has_emptied(void **state)
{
    (void)state;
    give_key(42, 1, false);
    look();
    tree_write("0", "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/1");
    tree_set_vf_pkey(&hca, 0, 1, 0, "0");
    for (unsigned vf = 0; vf < hca.vfs; vf++)
        for (unsigned entry = 1; entry < hca.pkeys; entry++)
            tree_set_vf_pkey(&hca, vf, 1, entry, "none");
    vfs->next_in_turn = hca.vfs; /* not twice: the SM may let go of the old GUID between */
    const struct oneib_vfs_changes changes = glance();
    assert_int_equal(changes.reapplied, 1);
    assert_int_equal(changes.opened, 1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    /* What is nobody's has time. */
    for (unsigned vf = 0; vf < hca.vfs; vf++)
        glance();
    for (unsigned vf = 1; vf < hca.vfs; vf++)
        assert_closed(&hca, vf);
}

static void a_glance_sees_a_closed_vf_that_was_opened_by_hand(void **state)
{
    (void)state;
    give_key(42, 1, false);
    drop_grant(42, 1);
    tell_grants(true);
    look();
    tree_set_vf_pkey(&hca, 0, 1, 0, "3");
    assert_int_equal(glance().closed, 1);
    assert_closed(&hca, 0);
}

static void glances_look_at_all_in_turn(void **state)
{
    (void)state;
    size_t closed = 0;
    give_key(42, 1, false);
    look();
    tree_set_vf_pkey(&hca, 0, 1, 5, "4");
    for (unsigned i = 0; i < hca.vfs; i++)
        closed += glance().closed;
    assert_int_equal(closed, 1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void an_adapter_that_is_new_is_looked_at_whole(void **state)
{
    (void)state;
    look();
    tree_remove_hca(&hca);
    glance();
    tree_add_hca(&hca);
    tree_set_vf_pkey(&hca, 0, 1, 1, "0");
    assert_int_equal(glance().fresh, hca.vfs);
    assert_closed(&hca, 0);
}

/* ---- and whole ------------------------------------------------------------------------------- */

static void a_deferred_guid_is_not_set(void **state)
{
    (void)state;
    give_key(42, 1, true);
    const struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.reapplied, 0);
    assert_false(has_guid(0));
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void a_nic_whose_key_came_too_late_is_opened(void **state)
{
    (void)state;
    give_key(42, 1, false);
    const struct wanted changed = wanted_of(42, 1, OTHER_KEY);
    assert_give_fails(&changed, ONEIB_ERROR_TIMEOUT, "0x0006");
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    assert_int_equal(look().opened, 1);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
    look();
    assert_int_equal(record_of(42, 1).guid, ONEIB_VF_GUID_SET);
}

/* It would follow its key if it had been open there. */
static void a_nic_whose_key_came_too_late_is_not_opened_by_an_old_list(void **state)
{
    (void)state;
    give_key(42, 1, false);
    const struct wanted changed = wanted_of(42, 1, OTHER_KEY);
    assert_give_fails(&changed, ONEIB_ERROR_TIMEOUT, "0x0006");
    look();
    tell_grants(false);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    assert_int_equal(look().opened, 0);
    assert_closed(&hca, 0);
}

static void what_another_vm_will_have_at_its_start_is_not_opened_by_itself(void **state)
{
    (void)state;
    const struct oneib_vf_record record = give_key(42, 1, false);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    look();
    tell_of_domain(43, false, &record.vf);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    assert_int_equal(look().opened, 0);
    assert_closed(&hca, 0);
    tell_of_no_domains();
    assert_int_equal(look().opened, 1);
}

static void a_nic_without_key_stays_closed(void **state)
{
    (void)state;
    give_key(42, 1, false);
    drop_grant(42, 1);
    tell_grants(true);
    look();
    tree_set_vf_pkey(&hca, 0, 1, 0, "3");
    assert_int_equal(look().closed, 1);
    assert_closed(&hca, 0);
}

static void an_entry_that_was_mapped_besides_is_closed(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_set_vf_pkey(&hca, 0, 1, 5, "4");
    const struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.closed, 1);
    assert_int_equal(changes.opened, 1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void what_a_dead_assignment_left_open_is_closed(void **state)
{
    (void)state;
    give_key(42, 1, false);
    leave_record(42, 1, ONEIB_VF_PREPARING, 0);
    assert_int_equal(look().closed, 1);
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_PREPARING);
}

static void what_a_dead_release_left_is_released(void **state)
{
    (void)state;
    give_key(42, 1, false);
    leave_record(42, 1, ONEIB_VF_RELEASING, 0);
    assert_int_equal(look().closed, 1);
    assert_closed(&hca, 0);
    for (int looks = 0; count_records() > 0 && looks < 200; looks++) {
        usleep(5000);
        look();
    }
    assert_int_equal(count_records(), 0);
}

/* The service finds it so: the adapter's driver was loaded with another port type meanwhile. */
static void a_vf_whose_port_is_ethernet_now_is_told_of(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_write("Ethernet", "/sys/class/infiniband/mlx4_0/ports/1/link_layer");
    restart_engine();
    look_fails(ONEIB_ERROR_NOT_FOUND, "mlx4_0 has no such InfiniBand port any more");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
}

static void a_vf_whose_port_is_gone_is_closed_and_told_of(void **state)
{
    (void)state;
    struct oneib_vf_table table;
    give_key(42, 1, false);
    table = read_table();
    table.items[0].port = 2;
    write_table(&table);
    oneib_vf_table_clear(&table);
    grants.items[0].port = 2;
    restart_engine();
    look_fails(ONEIB_ERROR_NOT_FOUND, "mlx4_0 has no such InfiniBand port any more");
    assert_closed(&hca, 0);
}

static void one_vf_that_fails_keeps_no_other_from_being_closed(void **state)
{
    (void)state;
    char directory[ONEIB_PCI_TEXT_SIZE];
    give_key(42, 1, false);
    give_key(43, 0, false);
    tree_vf_directory(&hca, 0, directory);
    tree_set_mode(0444, "/sys/class/infiniband/mlx4_0/iov/%s/ports/1/pkey_idx/0", directory);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    look_fails(ONEIB_ERROR_SYSTEM, "VM 42 NIC 1 (0000:81:00.1): closing virtual function 0");
    assert_closed(&hca, 1);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

static void a_table_that_cannot_be_read_closes_the_vfs_of_its_port(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_write("nonsense", "/sys/class/infiniband/mlx4_0/ports/1/pkeys/%d", KEY_INDEX);
    look_fails(ONEIB_ERROR_INPUT, "pkeys/3");
    assert_closed(&hca, 0);
}

static void a_vf_that_cannot_be_read_is_closed_and_told_of(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    give_key(42, 1, false);
    tree_set_mode(0, GUID_OF_FIRST);
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err), -1);
    tree_set_mode(0644, GUID_OF_FIRST);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "admin_guids/1");
    assert_null(strstr(err.text, "besides"));
    assert_closed(&hca, 0);
}

static void one_that_can_be_neither_read_nor_closed_is_told_as_both(void **state)
{
    (void)state;
    give_key(42, 1, false);
    set_mode_of_entry(0, 2, 0);
    look_fails(ONEIB_ERROR_SYSTEM, "besides, closing virtual function 0");
    set_mode_of_entry(0, 2, 0644);
}

static void a_vf_whose_guid_cannot_be_set_again_stays_closed_and_is_told_of(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_set_vf_pkey(&hca, 0, 1, 0, "none");
    tree_write("0000000000000000", GUID_OF_FIRST);
    tree_set_mode(0444, GUID_OF_FIRST);
    look_fails(ONEIB_ERROR_SYSTEM, "admin_guids/1");
    tree_set_mode(0644, GUID_OF_FIRST);
    assert_closed(&hca, 0);
}

static void that_a_guid_was_accepted_and_cannot_be_recorded_is_told_of(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record = give_key(42, 1, false);
    record.guid = ONEIB_VF_GUID_NONE;
    assert_int_equal(oneib_vfs_put(vfs, &record, &err), 0);
    tree_set_mode(0555, "/run/oneib");
    look_fails(ONEIB_ERROR_SYSTEM, "/run/oneib");
    tree_set_mode(0755, "/run/oneib");
    look();
    assert_int_equal(record_of(42, 1).guid, ONEIB_VF_GUID_SET);
}

static void one_that_is_closed_and_cannot_be_recorded_so_is_told_of(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    tree_set_mode(0555, "/run/oneib");
    look_fails(ONEIB_ERROR_SYSTEM, "/run/oneib");
    tree_set_mode(0755, "/run/oneib");
    assert_closed(&hca, 0);
}

static void an_mlx5_vf_that_a_reset_emptied_gets_its_guid_and_link_again(void **state)
{
    (void)state;
    const struct tree_hca mlx5 = {.driver = ONEIB_HCA_MLX5, .pci = "0000:04:00.0", .vfs = 2};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    char text[64];
    tree_add_hca(&mlx5);
    strcpy(wanted.grant.device, "mlx5_0");
    give(&wanted, &record);
    tree_write("Down", "/sys/class/infiniband/mlx5_0/device/sriov/0/policy");
    tree_write("00:00:00:00:00:00:00:00", "/sys/class/infiniband/mlx5_0/device/sriov/0/port");
    const struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.reapplied, 1);
    assert_int_equal(changes.opened, 1);
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx5_0/device/sriov/0/policy");
    assert_string_equal(text, "Follow");
    tree_remove_hca(&mlx5);
}

/* A reload of the driver (devlink): the RDMA device goes, and comes back with the VFs' GUIDs and
 * links forgotten. */
static void a_vf_is_its_nics_while_the_driver_is_reloaded_and_comes_back_as_it_was(void **state)
{
    (void)state;
    const struct tree_hca mlx5 = {.driver = ONEIB_HCA_MLX5, .pci = "0000:04:00.0", .vfs = 2};
    struct oneib_error err = {0};
    struct oneib_vf_record record, other;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY), next = wanted_of(43, 1, OTHER_KEY);
    char text[64];
    tree_add_hca(&mlx5);
    strcpy(wanted.grant.device, "mlx5_0");
    strcpy(next.grant.device, "mlx5_0");
    give(&wanted, &record);
    tree_remove("/sys/class/infiniband/mlx5_0");
    look_fails(ONEIB_ERROR_NOT_FOUND, "no InfiniBand adapter of this host shows");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    assert_int_equal(try_to_give(&next, &other, &err), -1);
    tree_remove_hca(&mlx5);
    tree_add_hca(&mlx5);
    const struct oneib_vfs_changes changes = look();
    assert_int_equal(changes.reapplied, 1);
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx5_0/device/sriov/0/policy");
    assert_string_equal(text, "Follow");
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx5_0/device/sriov/0/port");
    assert_string_equal(text, "02:00:07:00:00:00:2a:01");
    tree_remove_hca(&mlx5);
}

static void a_host_without_adapters_has_nothing_to_repair(void **state)
{
    (void)state;
    give_key(42, 1, false);
    tree_remove_hca(&hca);
    look();
    assert_int_equal(count_records(), 1);
    tree_add_hca(&hca);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(what_is_right_is_left_alone),
        IN_SCENE(fresh_vfs_are_closed),
        IN_SCENE(a_fresh_vf_that_cannot_be_closed_is_told_of),
        IN_SCENE(what_somebody_else_mapped_is_left_alone),
        IN_SCENE(a_vf_whose_key_is_gone_is_closed_and_opened_when_it_is_back),
        IN_SCENE(a_vf_whose_key_has_moved_follows_it),
        IN_SCENE(a_vf_stays_where_it_is_although_another_ones_key_stands_before_its_own),
        IN_SCENE(all_vfs_are_closed_when_the_port_becomes_a_full_member),
        IN_SCENE(a_vf_that_a_reset_emptied_gets_its_guid_and_map_again),
        IN_SCENE(a_vf_that_has_lost_its_guid_alone_gets_it_again),
        IN_SCENE(a_guid_that_the_subnet_manager_takes_away_is_asked_for_again),
        IN_SCENE(a_glance_leaves_what_is_right_alone),
        IN_SCENE(a_glance_reads_little_of_what_is_open_as_it_should_be),
        IN_SCENE(a_glance_reads_little_of_what_is_open_before_its_guid_may_be_set),
        IN_SCENE(a_glance_reads_little_of_what_is_closed_while_its_key_is_gone),
        IN_SCENE(a_glance_reads_little_of_what_is_closed_because_it_is_not_granted),
        IN_SCENE(a_glance_reads_little_of_what_is_open_before_the_first_list),
        IN_SCENE(a_glance_reads_little_of_what_has_ended),
        IN_SCENE(a_glance_sees_a_key_that_goes_and_comes),
        IN_SCENE(a_glance_sees_a_port_that_becomes_a_full_member),
        IN_SCENE(what_fails_of_the_one_that_is_looked_at_in_turn_is_told),
        IN_SCENE(a_glance_sees_a_guid_that_is_lost_alone),
        IN_SCENE(a_glance_sees_what_a_reset_has_emptied),
        IN_SCENE(a_glance_sees_a_closed_vf_that_was_opened_by_hand),
        IN_SCENE(glances_look_at_all_in_turn),
        IN_SCENE(an_adapter_that_is_new_is_looked_at_whole),
        IN_SCENE(a_deferred_guid_is_not_set),
        IN_SCENE(a_nic_whose_key_came_too_late_is_opened),
        IN_SCENE(a_nic_whose_key_came_too_late_is_not_opened_by_an_old_list),
        IN_SCENE(what_another_vm_will_have_at_its_start_is_not_opened_by_itself),
        IN_SCENE(a_nic_without_key_stays_closed),
        IN_SCENE(an_entry_that_was_mapped_besides_is_closed),
        IN_SCENE(what_a_dead_assignment_left_open_is_closed),
        IN_SCENE(what_a_dead_release_left_is_released),
        IN_SCENE(a_vf_whose_port_is_ethernet_now_is_told_of),
        IN_SCENE(a_vf_whose_port_is_gone_is_closed_and_told_of),
        IN_SCENE(one_vf_that_fails_keeps_no_other_from_being_closed),
        IN_SCENE(a_table_that_cannot_be_read_closes_the_vfs_of_its_port),
        IN_SCENE(a_vf_that_cannot_be_read_is_closed_and_told_of),
        IN_SCENE(one_that_can_be_neither_read_nor_closed_is_told_as_both),
        IN_SCENE(a_vf_whose_guid_cannot_be_set_again_stays_closed_and_is_told_of),
        IN_SCENE(that_a_guid_was_accepted_and_cannot_be_recorded_is_told_of),
        IN_SCENE(one_that_is_closed_and_cannot_be_recorded_so_is_told_of),
        IN_SCENE(an_mlx5_vf_that_a_reset_emptied_gets_its_guid_and_link_again),
        IN_SCENE(a_vf_is_its_nics_while_the_driver_is_reloaded_and_comes_back_as_it_was),
        IN_SCENE(a_host_without_adapters_has_nothing_to_repair),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
