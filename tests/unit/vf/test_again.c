// SPDX-License-Identifier: Apache-2.0
/* A NIC that is asked for once more: while that is under way, for another network, attached anew.
 */
#include "scene.h"

static struct oneib_vf_record give_key(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(vm_id, nic_id, KEY);
    give(&wanted, &record);
    return record;
}

/* For a key that is not there. */
static struct wanted waiting_of(uint32_t vm_id, uint8_t nic_id)
{
    struct wanted wanted = wanted_of(vm_id, nic_id, OTHER_KEY);
    wanted.pkey_wait_ms = 30000;
    return wanted;
}

static void put_other_key(void)
{
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
}

static void assert_ends_open(oneib_vfs_ticket ticket)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record = {0};
    if (finish(ticket, &record, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
}

static void assert_ends_refused(oneib_vfs_ticket ticket, const char *words)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, words);
}

static enum oneib_vfs_progress progress_of(oneib_vfs_ticket ticket)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    return oneib_vfs_progress(vfs, ticket, &record, &err);
}

/* ---- while it is under way ------------------------------------------------------------------- */

static void two_that_want_the_same_end_alike(void **state)
{
    (void)state;
    const struct wanted wanted = waiting_of(42, 1);
    const oneib_vfs_ticket first = begin(&wanted), second = begin(&wanted);
    assert_true(first != second);
    put_other_key();
    assert_ends_open(first);
    assert_int_equal(progress_of(second), ONEIB_VFS_DONE);
    assert_int_equal(count_records(), 1);
}

static void two_that_want_the_same_fail_alike(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = waiting_of(42, 1);
    wanted.pkey_wait_ms = 100;
    const oneib_vfs_ticket first = begin(&wanted), second = begin(&wanted);
    assert_int_equal(finish(first, &record, &err), -1);
    assert_int_equal(finish(second, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_TIMEOUT, "P_Key 0x0006");
}

static void one_that_gives_up_leaves_the_other_its_vf(void **state)
{
    (void)state;
    const struct wanted wanted = waiting_of(42, 1);
    const oneib_vfs_ticket first = begin(&wanted), second = begin(&wanted);
    oneib_vfs_forget(vfs, first);
    assert_int_equal(progress_of(second), ONEIB_VFS_BUSY);
    put_other_key();
    assert_ends_open(second);
}

static void what_is_not_due_yet_is_not_looked_at(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    const struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    const oneib_vfs_ticket ticket = begin(&wanted);
    const double later = oneib_now_ms() + 60000;
    vfs->works[0].due = later;
    oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err);
    assert_true(vfs->works[0].due == later);
    oneib_vfs_step(vfs, ONEIB_VFS_GLANCE, &changes, &err);
    assert_true(vfs->works[0].due < later);
    oneib_vfs_forget(vfs, ticket);
    settle();
}

static void the_newer_wish_wins(void **state)
{
    (void)state;
    const struct wanted wanted = waiting_of(42, 1);
    struct wanted newer = waiting_of(42, 1);
    newer.request.network_id++;
    newer.grant.pkey = KEY;
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    const oneib_vfs_ticket first = begin(&wanted), second = begin(&newer);
    assert_int_equal(oneib_vfs_due_ms(vfs), 0);
    assert_ends_refused(first, "VM 42 NIC 1 (0000:81:00.1): a newer request replaced it");
    put_other_key();
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    assert_ends_open(second);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_int_equal(record_of(42, 1).network_id, NETWORK + 1);
    assert_int_equal(count_records(), 1);
}

static void an_old_ticket_that_is_forgotten_undoes_nothing_of_the_newer_one(void **state)
{
    (void)state;
    const struct wanted wanted = waiting_of(42, 1);
    struct wanted newer = waiting_of(42, 1);
    newer.grant.limited = true;
    const oneib_vfs_ticket first = begin(&wanted), second = begin(&newer);
    oneib_vfs_forget(vfs, first);
    assert_int_equal(progress_of(second), ONEIB_VFS_BUSY);
    tree_set_pkey(&hca, 1, OTHER_INDEX, OTHER_KEY);
    assert_ends_open(second);
}

static void giving_up_leaves_a_nic_the_vf_that_it_had(void **state)
{
    (void)state;
    const struct wanted wanted = waiting_of(42, 1);
    give_key(42, 1);
    oneib_vfs_forget(vfs, begin(&wanted));
    const struct oneib_vf_record record = record_of(42, 1);
    assert_int_equal(record.stage, ONEIB_VF_CLOSED);
    assert_int_equal(record.pkey, OTHER_KEY);
    assert_closed(&hca, 0);
    put_other_key();
    assert_int_equal(look().opened, 1);
}

/* Who gives up is gone: it is told with the next step. */
static void what_was_wrong_with_the_adapters_when_somebody_gave_up_is_told(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    const struct wanted wanted = waiting_of(42, 1);
    const oneib_vfs_ticket ticket = begin(&wanted);
    tree_set_mode(0, "/sys/class/infiniband");
    oneib_vfs_forget(vfs, ticket);
    tree_set_mode(0755, "/sys/class/infiniband");
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "class/infiniband");
    settle();
    assert_nothing_is_left();
}

static void a_ticket_that_is_forgotten_is_nobodys(void **state)
{
    (void)state;
    const struct wanted wanted = waiting_of(42, 1), other = waiting_of(43, 1);
    const oneib_vfs_ticket first = begin(&wanted);
    oneib_vfs_forget(vfs, first);
    const oneib_vfs_ticket second = begin(&other);
    assert_true(first != second);
    oneib_vfs_forget(vfs, first);
    oneib_vfs_forget(vfs, 0);
    assert_int_equal(progress_of(first), ONEIB_VFS_FAILED);
    assert_int_equal(progress_of(second), ONEIB_VFS_BUSY);
}

/* ---- another network ------------------------------------------------------------------------- */

static void a_nic_of_another_network_is_closed_before_anything_else(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give_key(42, 1);
    wanted.request.network_id = 8;
    strcpy(wanted.grant.device, "mlx4_9");
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "another one is wanted now");
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).pkey, 0);
    assert_int_equal(record_of(42, 1).network_id, 8);
    look();
    assert_closed(&hca, 0);
}

static void the_same_key_of_another_network_is_opened_anew(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give_key(42, 1);
    wanted.request.network_id = 8;
    give(&wanted, &record);
    assert_int_equal(record.network_id, 8);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_int_equal(record_of(42, 1).network_id, 8);
}

/* ---- attached -------------------------------------------------------------------------------- */

static struct wanted attaching_of(uint32_t vm_id, uint8_t nic_id, oneib_pkey pkey)
{
    struct wanted wanted = wanted_of(vm_id, nic_id, pkey);
    wanted.request.flags |= ONEIB_HAVE_ATTACH;
    return wanted;
}

static void a_nic_that_is_attached_gets_a_vf_as_any_other(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = attaching_of(42, 1, KEY);
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
}

static void what_a_failed_attach_left_is_closed_at_once_and_used_again(void **state)
{
    (void)state;
    struct wanted wanted = attaching_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 30000;
    give_key(42, 1);
    const oneib_vfs_ticket ticket = begin(&wanted);
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_PREPARING);
    put_other_key();
    assert_ends_open(ticket);
    assert_int_equal(record_of(42, 1).index, 0);
    assert_int_equal(count_records(), 1);
}

/* It was not the NIC's before, whoever had it. */
/* Nothing is open, meanwhile, that nobody has asked to be. */
static void what_an_attach_left_open_is_closed_first(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const struct wanted wanted = attaching_of(42, 1, KEY);
    give_key(42, 1);
    set_mode_of_entry(0, 0, 0444);
    assert_int_equal(try_to_give(&wanted, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "closing virtual function 0");
    set_mode_of_entry(0, 0, 0644);
}

static void an_attach_that_fails_again_leaves_nothing(void **state)
{
    (void)state;
    const struct wanted wanted = attaching_of(42, 1, OTHER_KEY);
    give_key(42, 1);
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "P_Key 0x0006");
    assert_nothing_is_left();
}

static void a_nic_that_is_attached_elsewhere_gets_another_vf_when_its_old_one_is_free(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    oneib_vfs_ticket ticket;
    struct wanted wanted = attaching_of(42, 1, KEY);
    want_vf(&wanted, tree_vf_pci(&hca, 2));
    give_key(42, 1);
    sm_let_guids_go(false);
    assert_int_equal(have(&wanted, &record, &ticket, &err), 0);
    assert_int_equal(record.stage, ONEIB_VF_RELEASING);
    assert_closed(&hca, 0);
    for (int i = 0; i < 4; i++)
        take_step();
    assert_int_equal(progress_of(ticket), ONEIB_VFS_BUSY);
    assert_int_equal(count_records(), 1);
    sm_let_guids_go(true);
    assert_int_equal(finish(ticket, &record, &err), 0);
    assert_int_equal(record.index, 2);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_int_equal(count_records(), 1);
    assert_false(has_guid(0));
}

static void an_old_vf_that_is_not_let_go_of_ends_such_an_attach(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_error err = {0};
    struct wanted wanted = attaching_of(42, 1, KEY);
    want_vf(&wanted, tree_vf_pci(&hca, 2));
    give_key(42, 1);
    sm_let_guids_go(false);
    wanted.guid_wait_ms = 100;
    assert_int_equal(try_to_give(&wanted, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_TIMEOUT, "VM 42 NIC 1: the subnet manager has not let go");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_RELEASING);
    sm_let_guids_go(true);
    settle();
    assert_nothing_is_left();
}

static void why_an_attach_elsewhere_cannot_begin_is_told(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = attaching_of(42, 1, KEY);
    give(&wanted, &record);
    want_vf(&wanted, tree_vf_pci(&hca, 2));
    tree_set_mode(0555, "/run/oneib");
    assert_give_fails(&wanted, ONEIB_ERROR_SYSTEM, "/run/oneib");
    tree_set_mode(0755, "/run/oneib");
    assert_int_equal(count_records(), 1);
    assert_int_equal(record_of(42, 1).index, 0);
}

static void an_attach_elsewhere_that_is_given_up_chooses_nothing(void **state)
{
    (void)state;
    struct wanted wanted = attaching_of(42, 1, KEY);
    want_vf(&wanted, tree_vf_pci(&hca, 2));
    give_key(42, 1);
    sm_let_guids_go(false);
    const oneib_vfs_ticket first = begin(&wanted), second = begin(&wanted);
    oneib_vfs_forget(vfs, first);
    oneib_vfs_forget(vfs, second);
    sm_let_guids_go(true);
    settle();
    assert_nothing_is_left();
}

static void a_release_ends_an_attach_elsewhere(void **state)
{
    (void)state;
    struct wanted wanted = attaching_of(42, 1, KEY);
    want_vf(&wanted, tree_vf_pci(&hca, 2));
    give_key(42, 1);
    sm_let_guids_go(false);
    const oneib_vfs_ticket ticket = begin(&wanted);
    sm_let_guids_go(true);
    assert_int_equal(release(42, 1), 1);
    assert_ends_refused(ticket, "the VF was released meanwhile");
    assert_nothing_is_left();
}

static void an_attach_elsewhere_where_nothing_is_free_says_so(void **state)
{
    (void)state;
    struct wanted wanted = attaching_of(42, 1, KEY);
    want_vf(&wanted, tree_vf_pci(&hca, 0));
    give_key(43, 1);
    give_key(42, 1);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "VM 42 NIC 1: 0000:81:00.1, virtual function");
    assert_int_equal(count_records(), 1);
}

/* The attach before succeeded, and nobody was told. */
static void what_a_domain_has_already_is_not_released_by_an_attach(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = attaching_of(42, 1, KEY);
    const struct oneib_pci vf = give_key(42, 1).vf;
    tell_of_domain(42, true, &vf);
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_int_equal(record.index, 0);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void nothing_is_attached_while_nobody_knows_the_domains(void **state)
{
    (void)state;
    const struct wanted wanted = attaching_of(42, 1, KEY);
    give_key(42, 1);
    tell_of_nothing_known();
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "libvirtd is down");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

/* ---- management packets ---------------------------------------------------------------------- */

static void let_manage(unsigned vf, const char *value)
{
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&hca, vf, directory);
    tree_write(value, "/sys/class/infiniband/mlx4_0/iov/%s/ports/1/enable_smi_admin", directory);
}

static void a_vf_that_may_send_management_packets_is_not_handed_out(void **state)
{
    (void)state;
    let_manage(0, "1");
    let_manage(1, "0");
    assert_int_equal(give_key(42, 1).index, 1);
    struct wanted wanted = wanted_of(43, 1, KEY);
    want_vf(&wanted, tree_vf_pci(&hca, 0));
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "cannot be assigned: management");
}

static void one_whose_right_to_it_cannot_be_read_is_not_handed_out(void **state)
{
    (void)state;
    let_manage(0, "perhaps");
    assert_int_equal(give_key(42, 1).index, 1);
}

static void a_nic_whose_vf_may_send_them_is_closed_until_it_may_not(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    give_key(42, 1);
    let_manage(0, "1");
    look_fails(ONEIB_ERROR_REFUSED, "enable_smi_admin");
    assert_closed(&hca, 0);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "enable_smi_admin");
    assert_closed(&hca, 0);
    let_manage(0, "0");
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(two_that_want_the_same_end_alike),
        IN_SCENE(two_that_want_the_same_fail_alike),
        IN_SCENE(one_that_gives_up_leaves_the_other_its_vf),
        IN_SCENE(what_is_not_due_yet_is_not_looked_at),
        IN_SCENE(the_newer_wish_wins),
        IN_SCENE(an_old_ticket_that_is_forgotten_undoes_nothing_of_the_newer_one),
        IN_SCENE(giving_up_leaves_a_nic_the_vf_that_it_had),
        IN_SCENE(what_was_wrong_with_the_adapters_when_somebody_gave_up_is_told),
        IN_SCENE(a_ticket_that_is_forgotten_is_nobodys),
        IN_SCENE(a_nic_of_another_network_is_closed_before_anything_else),
        IN_SCENE(the_same_key_of_another_network_is_opened_anew),
        IN_SCENE(a_nic_that_is_attached_gets_a_vf_as_any_other),
        IN_SCENE(what_a_failed_attach_left_is_closed_at_once_and_used_again),
        IN_SCENE(what_an_attach_left_open_is_closed_first),
        IN_SCENE(an_attach_that_fails_again_leaves_nothing),
        IN_SCENE(a_nic_that_is_attached_elsewhere_gets_another_vf_when_its_old_one_is_free),
        IN_SCENE(an_old_vf_that_is_not_let_go_of_ends_such_an_attach),
        IN_SCENE(why_an_attach_elsewhere_cannot_begin_is_told),
        IN_SCENE(an_attach_elsewhere_that_is_given_up_chooses_nothing),
        IN_SCENE(a_release_ends_an_attach_elsewhere),
        IN_SCENE(an_attach_elsewhere_where_nothing_is_free_says_so),
        IN_SCENE(what_a_domain_has_already_is_not_released_by_an_attach),
        IN_SCENE(nothing_is_attached_while_nobody_knows_the_domains),
        IN_SCENE(a_vf_that_may_send_management_packets_is_not_handed_out),
        IN_SCENE(one_whose_right_to_it_cannot_be_read_is_not_handed_out),
        IN_SCENE(a_nic_whose_vf_may_send_them_is_closed_until_it_may_not),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
