// SPDX-License-Identifier: Apache-2.0
#include "scene.h"

#define GUID_OF_FIRST "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/1"

static void give_key(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(vm_id, nic_id, KEY);
    give(&wanted, &record);
}

static void assert_release_fails(uint32_t vm_id, enum oneib_error_code code, const char *words)
{
    struct oneib_error err = {0};
    struct oneib_released released;
    const struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, vm_id, -1);
    vfs->guid_wait_ms = 100;
    assert_int_equal(try_to_release(&request, &released, &err), -1);
    assert_is_about(&err, code, words);
}

static void a_released_vf_is_closed_without_guid_and_free(void **state)
{
    (void)state;
    give_key(42, 1);
    assert_int_equal(release(42, 1), 1);
    assert_closed(&hca, 0);
    assert_false(has_guid(0));
    assert_int_equal(count_records(), 0);
    give_key(43, 0);
    assert_int_equal(record_of(43, 0).index, 0);
}

static void having_none_is_success(void **state)
{
    (void)state;
    assert_int_equal(release(42, 1), 0);
    assert_int_equal(release(42, -1), 0);
    tree_set_mode(0, "/sys/class/infiniband"); /* and costs no look there */
    assert_int_equal(release(42, -1), 0);
    tree_set_mode(0755, "/sys/class/infiniband");
}

static void vfs_that_are_free_at_once_keep_no_other_from_being_released(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct oneib_released released;
    oneib_vfs_ticket ticket;
    const struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, 42, -1);
    for (uint8_t nic_id = 1; nic_id <= 3; nic_id++) {
        struct wanted wanted = wanted_of(42, nic_id, KEY);
        defer_guid(&wanted, true);
        give(&wanted, &record);
    }
    assert_int_equal(oneib_vfs_release(vfs, &request, &released, &ticket, &err), 0);
    assert_int_equal(released.freed, 3);
    assert_int_equal(ticket, 0);
    assert_nothing_is_left();
}

static void a_release_closes_by_what_was_read_when_no_adapter_can_be_found(void **state)
{
    (void)state;
    give_key(42, 1);
    tree_set_mode(0111, "/sys/class/infiniband");
    assert_release_fails(42, ONEIB_ERROR_SYSTEM, "infiniband");
    assert_closed(&hca, 0);
    tree_set_mode(0755, "/sys/class/infiniband");
}

static void all_nics_of_a_vm_are_released_and_no_others(void **state)
{
    (void)state;
    give_key(42, 0);
    give_key(43, 0);
    give_key(42, 255);
    assert_int_equal(release(42, -1), 2);
    assert_int_equal(count_records(), 1);
    assert_closed(&hca, 0);
    assert_int_equal(open_index(&hca, 1, 1), KEY_INDEX);
    assert_closed(&hca, 2);
}

static void only_the_nic_that_is_named_is_released(void **state)
{
    (void)state;
    give_key(42, 0);
    give_key(42, 1);
    assert_int_equal(release(42, 1), 1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_closed(&hca, 1);
    give_key(42, 1);
    assert_int_equal(release(42, 0), 1);
    assert_closed(&hca, 0);
    assert_int_equal(open_index(&hca, 1, 1), KEY_INDEX);
}

static void a_guid_of_which_nobody_knows_whether_it_is_gone_is_told_of(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    int result = 0;
    give_key(42, 1);
    sm_let_guids_go(false);
    assert_release_fails(42, ONEIB_ERROR_TIMEOUT, "let go");
    tree_set_mode(0, GUID_OF_FIRST);
    vfs->works[0].due = 0;
    result = oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err);
    tree_set_mode(0644, GUID_OF_FIRST);
    assert_int_equal(result, -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "admin_guids/1");
}

static void a_vf_whose_guid_the_sm_keeps_is_closed_and_not_free(void **state)
{
    (void)state;
    give_key(42, 1);
    sm_let_guids_go(false);
    assert_release_fails(42, ONEIB_ERROR_TIMEOUT, "VM 42 NIC 1 (0000:81:00.1): ");
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
    /* oneibd keeps a key on the port, and from everybody else, while a record has it. */
    assert_int_equal(record_of(42, 1).pkey, 0);
    give_key(43, 0);
    assert_int_equal(record_of(43, 0).index, 1);
    sm_let_guids_go(true);
    assert_int_equal(release(42, 1), 1);
}

static void the_nic_itself_gets_such_a_vf_back(void **state)
{
    (void)state;
    give_key(42, 1);
    sm_let_guids_go(false);
    assert_release_fails(42, ONEIB_ERROR_TIMEOUT, "let go");
    give_key(42, 1);
    assert_int_equal(record_of(42, 1).index, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    assert_int_equal(read_guid(0), oneib_guid_encode(7, 42, 1));
}

static void one_vf_that_cannot_be_closed_keeps_no_other_open(void **state)
{
    (void)state;
    char directory[ONEIB_PCI_TEXT_SIZE];
    give_key(42, 0);
    give_key(42, 1);
    tree_vf_directory(&hca, 0, directory);
    tree_set_mode(0444, "/sys/class/infiniband/mlx4_0/iov/%s/ports/1/pkey_idx/0", directory);
    assert_release_fails(42, ONEIB_ERROR_SYSTEM, "closing virtual function 0");
    assert_int_equal(vfs->ticket_end, 0); /* nobody waits: the next ones must have room for that */
    assert_closed(&hca, 1);
    settle();
    assert_int_equal(count_records(), 1);
    assert_int_equal(record_of(42, 0).stage, ONEIB_VF_RELEASING);
    assert_isolated(&hca);
    tree_set_mode(0644, "/sys/class/infiniband/mlx4_0/iov/%s/ports/1/pkey_idx/0", directory);
    assert_int_equal(release(42, -1), 1);
}

/* What lingers must not look as if it were done. */
static void a_release_that_nobody_can_wait_for_says_so_and_is_done_all_the_same(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE_VF, 43, 0);
    struct oneib_released released;
    give_key(42, 1);
    give_key(43, 1);
    sm_let_guids_go(false);
    while (oneib_vfs_check_tickets(vfs, &err) == 0)
        oneib_vfs_ticket_of_wish(vfs, 77);
    assert_release_fails(42, ONEIB_ERROR_REFUSED, "requests wait on this host already");
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
    request.vf = tree_vf_pci(&hca, 1);
    assert_int_equal(try_to_release(&request, &released, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "requests wait on this host already");
    assert_closed(&hca, 1);
    sm_let_guids_go(true);
    settle();
    assert_nothing_is_left();
}

static void a_vf_that_is_gone_from_the_host_needs_no_closing(void **state)
{
    (void)state;
    give_key(42, 1);
    tree_remove_hca(&hca);
    assert_int_equal(release(42, -1), 1);
    assert_int_equal(count_records(), 0);
    tree_add_hca(&hca);
}

static void a_vf_that_no_adapter_shows_is_not_called_free(void **state)
{
    (void)state;
    give_key(42, 1);
    tree_remove("/sys/class/infiniband/mlx4_0");
    assert_release_fails(42, ONEIB_ERROR_NOT_FOUND, "no InfiniBand adapter of this host shows");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
}

/* It may be there, and open. */
static void a_vf_of_which_nobody_can_say_whether_it_is_there_is_not_called_free(void **state)
{
    (void)state;
    give_key(42, 1);
    tree_remove("/sys/class/infiniband/mlx4_0");
    tree_set_mode(0, "/sys/bus/pci/devices");
    assert_release_fails(42, ONEIB_ERROR_SYSTEM, "examining");
    tree_set_mode(0755, "/sys/bus/pci/devices");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
}

/* ---- who waits for what ---------------------------------------------------------------------- */

/* Without a GUID: free as soon as the domain that has it lets go of it. */
static void give_to_domain(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(vm_id, nic_id, KEY);
    defer_guid(&wanted, true);
    give(&wanted, &record);
    add_domain(vm_id, true, &record.vf);
    tell_domains();
}

/* The first of those that it has. */
static void let_domain_go_of_one(void)
{
    memmove(&domains.items[0], &domains.items[1], --domains.count * sizeof domains.items[0]);
    tell_domains();
    look();
}

static oneib_vfs_ticket begin_release(uint32_t vm_id, int nic_id)
{
    struct oneib_error err = {0};
    struct oneib_released released;
    oneib_vfs_ticket ticket;
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, vm_id, nic_id);
    request.flags = ONEIB_RELEASE_NIC_GONE;
    assert_int_equal(oneib_vfs_release(vfs, &request, &released, &ticket, &err), 0);
    return ticket;
}

static enum oneib_vfs_progress progress_of(oneib_vfs_ticket ticket)
{
    struct oneib_error err;
    struct oneib_vf_record unused;
    return oneib_vfs_progress(vfs, ticket, &unused, &err);
}

/* Each is told of the end of his own, and neither sooner nor later for another one that is under
 * way. */
static void who_releases_a_nic_waits_for_that_one_and_who_releases_a_vm_for_all_of_its(void **state)
{
    (void)state;
    give_to_domain(42, 0);
    give_to_domain(43, 0);
    give_to_domain(42, 1);
    const oneib_vfs_ticket first = begin_release(42, 0), other = begin_release(43, 0);
    const oneib_vfs_ticket second = begin_release(42, 1), all = begin_release(42, -1);
    look();
    assert_int_equal(progress_of(first), ONEIB_VFS_BUSY);
    let_domain_go_of_one();
    assert_int_equal(progress_of(first), ONEIB_VFS_DONE);
    assert_int_equal(progress_of(other), ONEIB_VFS_BUSY);
    let_domain_go_of_one();
    assert_int_equal(progress_of(other), ONEIB_VFS_DONE);
    assert_int_equal(progress_of(second), ONEIB_VFS_BUSY);
    assert_int_equal(progress_of(all), ONEIB_VFS_BUSY);
    let_domain_go_of_one();
    assert_int_equal(progress_of(second), ONEIB_VFS_DONE);
    assert_int_equal(progress_of(all), ONEIB_VFS_DONE);
}

static bool is_looked_at_often(unsigned vf)
{
    const struct oneib_pci pci = tree_vf_pci(&hca, vf);
    return oneib_vfs_work_of(vfs, &pci)->pause_ms <= 375; /* 250 ms, and half of that */
}

/* A VM that does not let go of a VF costs a look every 5 s, and no caller more than his own. */
static void what_nobody_waits_for_is_looked_at_less_often(void **state)
{
    (void)state;
    for (uint32_t vm_id = 42; vm_id <= 44; vm_id++)
        give_to_domain(vm_id, 0);
    oneib_vfs_forget(vfs, begin_release(42, 0));
    begin_release(43, 0);
    oneib_vfs_forget(vfs, begin_release(44, 0));
    for (int i = 0; i < 10; i++)
        look();
    assert_false(is_looked_at_often(0));
    assert_true(is_looked_at_often(1));
    assert_false(is_looked_at_often(2));
}

/* ---- by its address -------------------------------------------------------------------------- */

static int release_vf(unsigned vf, uint32_t vm_id, struct oneib_error *err)
{
    struct oneib_released released;
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE_VF, vm_id, 0);
    request.vf = tree_vf_pci(&hca, vf);
    return try_to_release(&request, &released, err);
}

static void assert_release_vf_fails(unsigned vf, uint32_t vm_id, const char *words)
{
    struct oneib_error err = {0};
    assert_int_equal(release_vf(vf, vm_id, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, words);
}

static void a_vf_whose_record_was_lost_is_closed_by_its_address(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    give_key(42, 1);
    tree_remove("/run/oneib/vfs");
    restart_engine();
    assert_int_equal(release_vf(0, 42, &err), 0);
    assert_closed(&hca, 0);
    assert_false(has_guid(0));
}

/* It has no name but that. */
static void a_vf_of_nobody_that_does_not_come_free_is_told_of_by_its_address(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    give_key(42, 1);
    tree_remove("/run/oneib/vfs");
    restart_engine();
    sm_let_guids_go(false);
    vfs->guid_wait_ms = 1;
    assert_int_equal(release_vf(0, 42, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_TIMEOUT, "0000:81:00.1: the virtual function is closed");
}

static void who_releases_a_vf_by_its_address_waits_for_that_one(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE_VF, 43, 0);
    struct oneib_released released;
    struct oneib_vf_record record;
    struct wanted preparing = wanted_of(44, 0, OTHER_KEY);
    oneib_vfs_ticket ticket;
    give_key(43, 0);
    preparing.pkey_wait_ms = 30000;
    begin(&preparing);
    sm_let_guids_go(false);
    vfs->guid_wait_ms = 30000;
    request.vf = tree_vf_pci(&hca, 0);
    assert_int_equal(oneib_vfs_release_vf(vfs, &request, &released, &ticket, &err), 0);
    take_step();
    assert_int_equal(oneib_vfs_progress(vfs, ticket, &record, &err), ONEIB_VFS_BUSY);
    sm_let_guids_go(true);
    for (int i = 0; i < 100 && find_record(43, 0, &record); i++)
        take_step();
    take_step();
    /* Another VM's is being prepared still. */
    assert_int_equal(oneib_vfs_progress(vfs, ticket, &record, &err), ONEIB_VFS_DONE);
}

static void a_recorded_vf_is_released_for_its_own_vm_only(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    give_key(42, 1);
    assert_release_vf_fails(0, 43, "0000:81:00.1: it is VM 42 NIC 1's, not VM 43's");
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_int_equal(release_vf(0, 42, &err), 0);
    assert_closed(&hca, 0);
    assert_int_equal(count_records(), 0);
}

static void what_somebody_uses_is_not_closed_by_its_address(void **state)
{
    (void)state;
    const struct oneib_pci in_use = tree_vf_pci(&hca, 1);
    tree_set_vf_pkey(&hca, 1, 1, 0, "3");
    tell_of_domain(42, false, &in_use);
    assert_release_vf_fails(1, 42, "a libvirt domain has it");
    tell_of_no_domains();
    tree_add_vf_interface(&hca, 1, "ib1", true);
    assert_release_vf_fails(1, 42, "the host uses it");
    tree_add_vf_interface(&hca, 1, "ib1", false);
    tell_of_nothing_known();
    assert_release_vf_fails(1, 42, "libvirtd is down");
    assert_int_equal(open_index(&hca, 1, 1), 3);
}

static void what_is_no_vf_is_not_closed_by_its_address(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_released released;
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE_VF, 42, 0);
    oneib_pci_parse("0000:81:00.0", &request.vf);
    assert_int_equal(try_to_release(&request, &released, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
}

/* Its VF was on its way to a key, and must not get there any more. */
static void a_release_while_no_adapter_can_be_read_is_not_forgotten(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 30000;
    const oneib_vfs_ticket ticket = begin(&wanted);
    tree_set_mode(0, "/sys/class/infiniband");
    assert_release_fails(42, ONEIB_ERROR_SYSTEM, "infiniband");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
    tree_set_mode(0755, "/sys/class/infiniband");
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "the VF was released meanwhile");
    settle();
    assert_nothing_is_left();
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_released_vf_is_closed_without_guid_and_free),
        IN_SCENE(having_none_is_success),
        IN_SCENE(vfs_that_are_free_at_once_keep_no_other_from_being_released),
        IN_SCENE(a_release_closes_by_what_was_read_when_no_adapter_can_be_found),
        IN_SCENE(all_nics_of_a_vm_are_released_and_no_others),
        IN_SCENE(only_the_nic_that_is_named_is_released),
        IN_SCENE(a_guid_of_which_nobody_knows_whether_it_is_gone_is_told_of),
        IN_SCENE(a_vf_whose_guid_the_sm_keeps_is_closed_and_not_free),
        IN_SCENE(the_nic_itself_gets_such_a_vf_back),
        IN_SCENE(one_vf_that_cannot_be_closed_keeps_no_other_open),
        IN_SCENE(a_release_that_nobody_can_wait_for_says_so_and_is_done_all_the_same),
        IN_SCENE(a_vf_that_is_gone_from_the_host_needs_no_closing),
        IN_SCENE(a_vf_that_no_adapter_shows_is_not_called_free),
        IN_SCENE(a_vf_of_which_nobody_can_say_whether_it_is_there_is_not_called_free),
        IN_SCENE(who_releases_a_nic_waits_for_that_one_and_who_releases_a_vm_for_all_of_its),
        IN_SCENE(what_nobody_waits_for_is_looked_at_less_often),
        IN_SCENE(a_vf_whose_record_was_lost_is_closed_by_its_address),
        IN_SCENE(a_vf_of_nobody_that_does_not_come_free_is_told_of_by_its_address),
        IN_SCENE(who_releases_a_vf_by_its_address_waits_for_that_one),
        IN_SCENE(a_recorded_vf_is_released_for_its_own_vm_only),
        IN_SCENE(what_somebody_uses_is_not_closed_by_its_address),
        IN_SCENE(what_is_no_vf_is_not_closed_by_its_address),
        IN_SCENE(a_release_while_no_adapter_can_be_read_is_not_forgotten),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
