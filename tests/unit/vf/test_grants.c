// SPDX-License-Identifier: Apache-2.0
/* A VF is open for what oneibd has granted, and for nothing else. */
#include "scene.h"
#include <sys/stat.h>

static struct oneib_vf_record give_key(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_of(vm_id, nic_id, KEY);
    give(&wanted, &record);
    return record;
}

/* Asked for, whatever is granted. */
static void assert_refused(const struct oneib_request *request, const char *words)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    oneib_vfs_ticket ticket;
    assert_false(oneib_vfs_is_granted(vfs, request));
    assert_int_equal(oneib_vfs_have(vfs, request, &record, &ticket, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, words);
}

static void regrant(uint32_t vm_id, uint8_t nic_id, oneib_pkey pkey)
{
    const struct oneib_grant grant = grant_of(vm_id, nic_id, pkey);
    put_grant(&grant);
    tell_grants(true);
}

static void take_back(uint32_t vm_id, uint8_t nic_id)
{
    drop_grant(vm_id, nic_id);
    tell_grants(true);
}

static void assert_closed_without_key(void)
{
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    assert_int_equal(record_of(42, 1).pkey, 0);
}

/* ---- giving ---------------------------------------------------------------------------------- */

static void without_a_grant_nothing_is_given(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    regrant(42, 2, KEY);
    regrant(43, 1, KEY);
    assert_refused(&wanted.request, "VM 42 NIC 1: oneibd has not granted it");
    assert_nothing_is_left();
}

/* Not at the time at which it would have been looked at next. */
static void what_waits_for_a_key_is_looked_at_once_a_list_comes(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 20000;
    const oneib_vfs_ticket ticket = begin(&wanted);
    for (unsigned i = 0; i < 6; i++)
        take_step();
    assert_true(oneib_vfs_due_ms(vfs) > 0);
    tell_grants(true);
    assert_int_equal(oneib_vfs_due_ms(vfs), 0);
    oneib_vfs_forget(vfs, ticket);
    settle();
}

static void before_the_first_list_nothing_is_given(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    stop_engine();
    start_engine_alone();
    assert_refused(&wanted.request, "oneibd has not granted it");
    assert_nothing_is_left();
}

static void what_is_granted_for_another_network_is_not_given(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    grant(&wanted);
    wanted.request.network_id = 8;
    assert_refused(&wanted.request, "granted it network 7, and not network 8");
    assert_nothing_is_left();
}

static void the_guid_is_the_one_that_is_granted(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    wanted.grant.guid = oneib_guid_encode(9, 42, 1);
    give(&wanted, &record);
    assert_int_equal(read_guid(0), oneib_guid_encode(9, 42, 1));
    wanted = wanted_of(43, 1, KEY);
    wanted.grant.guid = oneib_guid_encode(SITE, 42, 1);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "oneibd's grant is not valid");
}

static void what_no_vf_can_have_is_given_to_none(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    static const oneib_pkey impossible[] = {0, ONEIB_PKEY_LAST + 1, 0x8000 | KEY};
    struct wanted wanted = wanted_of(43, 1, KEY);
    wanted.grant.guid = oneib_guid_encode(SITE, 43, 2);
    assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "oneibd's grant is not valid");
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        wanted = wanted_of(43, 1, impossible[i]);
        assert_give_fails(&wanted, ONEIB_ERROR_REFUSED, "oneibd's grant is not valid");
    }
    assert_int_equal(count_records(), 0);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | ONEIB_PKEY_LAST);
    wanted = wanted_of(43, 1, ONEIB_PKEY_LAST);
    give(&wanted, &record);
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
}

static void a_start_goes_on_with_the_key_that_is_granted_meanwhile(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 5000;
    const oneib_vfs_ticket ticket = begin(&wanted);
    regrant(42, 1, KEY);
    if (finish(ticket, &record, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(record.pkey, KEY);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void a_start_whose_grant_is_taken_back_fails_and_leaves_nothing(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 5000;
    const oneib_vfs_ticket ticket = begin(&wanted);
    take_back(42, 1);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "revoked the grant");
    settle();
    assert_nothing_is_left();
}

static void a_guid_is_set_once_no_other_host_has_it(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    wanted.grant.may_set_guid = false;
    const oneib_vfs_ticket ticket = begin(&wanted);
    for (int i = 0; i < 5; i++)
        take_step();
    assert_false(has_guid(0));
    assert_int_equal(open_index(&hca, 0, 1), 0);
    regrant(42, 1, KEY);
    if (finish(ticket, &record, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(read_guid(0), oneib_guid_encode(SITE, 42, 1));
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
}

static void a_guid_that_another_host_keeps_is_never_set(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, KEY);
    wanted.grant.may_set_guid = false;
    wanted.guid_wait_ms = 100;
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "another host may still have it");
    assert_nothing_is_left();
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void what_is_not_granted_any_more_is_closed_at_once_and_for_good(void **state)
{
    (void)state;
    give_key(42, 1);
    take_back(42, 1);
    assert_closed_without_key();
    look();
    assert_closed_without_key();
}

static void
what_is_taken_back_is_closed_although_no_adapter_can_be_found_and_that_is_told(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    give_key(42, 1);
    drop_grant(42, 1);
    tree_set_mode(0111, "/sys/class/infiniband");
    const int result = try_to_tell_grants(true, &err);
    tree_set_mode(0755, "/sys/class/infiniband");
    assert_int_equal(result, -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "/sys/class/infiniband");
    assert_closed_without_key();
}

static void what_others_are_granted_stays_open_meanwhile(void **state)
{
    (void)state;
    struct stat before, after;
    char *path = tree_path("/run/oneib/vfs");
    give_key(42, 1);
    give_key(43, 1);
    take_back(42, 1);
    assert_closed_without_key();
    assert_int_equal(open_index(&hca, 1, 1), KEY_INDEX);
    assert_int_equal(record_of(43, 1).stage, ONEIB_VF_OPEN);
    assert_int_equal(stat(path, &before), 0);
    tell_grants(true); /* the same */
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    free(path);
}

/* An attach that OpenNebula has dropped, a VM that was deleted while its host was cut off. */
static void a_running_domain_keeps_nothing_open_that_is_not_granted(void **state)
{
    (void)state;
    const struct oneib_vf_record record = give_key(42, 1);
    tell_of_domain(42, true, &record.vf);
    take_back(42, 1);
    assert_closed_without_key();
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    look();
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    look();
    assert_closed_without_key();
}

static void an_old_list_takes_as_well_as_a_fresh_one(void **state)
{
    (void)state;
    give_key(42, 1);
    drop_grant(42, 1);
    tell_grants(false);
    assert_closed_without_key();
}

static void what_is_granted_again_is_opened_unasked(void **state)
{
    (void)state;
    give_key(42, 1);
    take_back(42, 1);
    regrant(42, 1, KEY);
    assert_int_equal(oneib_vfs_due_ms(vfs), 0);
    take_step();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

static void another_key_is_opened_when_it_is_there_and_the_old_one_is_closed_before(void **state)
{
    (void)state;
    give_key(42, 1);
    regrant(42, 1, OTHER_KEY);
    assert_closed(&hca, 0);
    assert_int_equal(record_of(42, 1).pkey, OTHER_KEY);
    look();
    assert_closed(&hca, 0);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    look();
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
    assert_isolated(&hca);
}

static void a_limited_grant_closes_what_was_full(void **state)
{
    (void)state;
    struct oneib_grant grant = grant_of(42, 1, KEY);
    give_key(42, 1);
    grant.limited = true;
    put_grant(&grant);
    tell_grants(true);
    look();
    assert_closed(&hca, 0);
    tree_set_pkey(&hca, 1, KEY_INDEX, KEY);
    look();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void a_grant_of_another_place_or_network_opens_nothing_unasked(void **state)
{
    (void)state;
    struct oneib_grant others[4];
    for (size_t i = 0; i < 4; i++)
        others[i] = grant_of(42, 1, KEY);
    others[0].network_id = 8;
    others[1].port = 2;
    strcpy(others[2].device, "mlx4_1");
    others[3].has_vf = true;
    others[3].vf = tree_vf_pci(&hca, 2);
    for (size_t i = 0; i < 4; i++) {
        give_key(42, 1);
        put_grant(&others[i]);
        tell_grants(true);
        look();
        assert_closed_without_key();
        release(42, -1);
    }
}

/* As when their driver was loaded anew, and gave them names in the order in which they came. */
static const struct tree_hca renamed = {
    .name = "mlx4_1", .driver = ONEIB_HCA_MLX4, .vfs = 4, .pkeys = 7};
static const struct tree_hca second = {
    .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .pci = "0000:91:00.0", .vfs = 4, .pkeys = 7};

static void exchange_names(void)
{
    tree_remove_hca(&hca);
    tree_add_hca(&renamed);
    tree_set_pkey(&renamed, 1, KEY_INDEX, FULL | KEY);
    tree_add_hca(&second);
    tree_set_pkey(&second, 1, KEY_INDEX, FULL | KEY);
}

/* The attacker: whoever has that key on the fabric of the other adapter. */
static void what_is_granted_at_an_adapter_is_not_open_at_one_that_had_its_name(void **state)
{
    (void)state;
    give_key(42, 1);
    exchange_names();
    tree_set_vf_pkey(&renamed, 0, 1, 0, "3"); /* renamed alone, it would still be open */
    look();
    assert_int_equal(open_index(&renamed, 0, 1), 0);
    struct oneib_vf_record record = record_of(42, 1);
    assert_int_equal(record.stage, ONEIB_VF_CLOSED);
    assert_int_equal(record.pkey, 0);
    assert_string_equal(record.device, "mlx4_1");
    look();
    assert_int_equal(open_index(&renamed, 0, 1), 0);
    struct oneib_grant grant = grant_of(42, 1, KEY);
    strcpy(grant.device, "mlx4_1");
    put_grant(&grant);
    tell_grants(true);
    look();
    assert_int_equal(open_index(&renamed, 0, 1), KEY_INDEX);
}

/* The record keeps the old name, which the grant has too. */
static void nothing_is_open_at_a_renamed_adapter_while_its_record_cannot_be_written(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    give_key(42, 1);
    exchange_names();
    tree_set_vf_pkey(&renamed, 0, 1, 0, "3");
    tree_set_mode(0555, "/run/oneib");
    const int result = oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err);
    tree_set_mode(0755, "/run/oneib");
    assert_int_equal(result, -1);
    assert_string_equal(record_of(42, 1).device, "mlx4_0");
    assert_int_equal(open_index(&renamed, 0, 1), 0);
}

/* The site id was changed: the old GUID may be another port's by now. */
static void a_guid_other_than_the_granted_one_is_not_restored(void **state)
{
    (void)state;
    struct oneib_grant another_site = grant_of(42, 1, KEY);
    give_key(42, 1);
    another_site.guid = oneib_guid_encode(SITE + 1, 42, 1);
    put_grant(&another_site);
    tell_grants(true);
    tree_write("0", "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/1");
    look();
    assert_false(has_guid(0));
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void what_cannot_be_closed_stays_recorded_and_is_tried_again(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    give_key(42, 1);
    drop_grant(42, 1);
    set_mode_of_entry(0, 0, 0444);
    assert_int_equal(try_to_tell_grants(true, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "closing virtual function 0");
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
    assert_int_equal(record_of(42, 1).pkey, KEY);
    assert_true(oneib_vfs_due_ms(vfs) <= 1000);
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_SYSTEM, "closing virtual function 0");
    set_mode_of_entry(0, 0, 0644);
    oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err);
    assert_closed_without_key();
}

/* Whoever asks for it then gets no VF that is open for something else. */
static void what_cannot_be_closed_is_not_given_as_it_is(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    oneib_vfs_ticket ticket;
    struct oneib_grant grants_now[3];
    for (size_t i = 0; i < 3; i++)
        grants_now[i] = grant_of(42, 1, KEY);
    grants_now[0].pkey = OTHER_KEY;
    grants_now[1].limited = true;
    grants_now[2].network_id++;
    for (size_t i = 0; i < 3; i++) {
        struct wanted wanted = wanted_of(42, 1, KEY);
        give_key(42, 1);
        assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
        wanted.request.network_id = grants_now[i].network_id;
        put_grant(&grants_now[i]);
        set_mode_of_entry(0, 0, 0444);
        assert_int_equal(try_to_tell_grants(true, &err), -1);
        assert_int_equal(oneib_vfs_have(vfs, &wanted.request, &record, &ticket, &err), -1);
        set_mode_of_entry(0, 0, 0644);
    }
}

/* Its record says what was before, for it cannot be written: nothing is opened by that. */
static void what_is_granted_another_key_is_not_opened_at_the_old_one_by_its_old_record(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    const struct oneib_grant other = grant_of(42, 1, OTHER_KEY);
    give_key(42, 1);
    put_grant(&other);
    tree_set_mode(0555, "/run/oneib");
    assert_int_equal(try_to_tell_grants(true, &err), -1);
    assert_int_equal(record_of(42, 1).pkey, KEY);
    assert_closed(&hca, 0);
    oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err);
    assert_closed(&hca, 0);
    tree_set_mode(0755, "/run/oneib");
}

/* Likewise of one that waited for its key when its grant went. */
static void what_is_granted_no_more_is_not_opened_by_its_old_record(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    give_key(42, 1);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    look();
    drop_grant(42, 1);
    tree_set_mode(0555, "/run/oneib");
    assert_int_equal(try_to_tell_grants(true, &err), -1);
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    assert_int_equal(record_of(42, 1).pkey, KEY);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err);
    assert_closed(&hca, 0);
    tree_set_mode(0755, "/run/oneib");
    oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err);
    assert_closed_without_key();
}

static void what_waits_for_a_vf_gets_it_by_the_grant_that_there_is_then(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give_key(42, 1);
    sm_let_guids_go(false);
    want_vf(&wanted, tree_vf_pci(&hca, 2));
    wanted.request.flags |= ONEIB_HAVE_ATTACH;
    const oneib_vfs_ticket ticket = begin(&wanted);
    take_back(42, 1);
    sm_let_guids_go(true);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "oneibd has not granted it");
    settle();
    assert_nothing_is_left();
}

/* ---- a list that is old ---------------------------------------------------------------------- */

static void by_an_old_list_nothing_new_is_opened(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_of(42, 1, KEY);
    grant(&wanted);
    tell_grants(false);
    assert_refused(&wanted.request, "no message from oneibd for too long");
    tell_grants(true);
    give_key(42, 1);
    take_back(42, 1);
    grants.items[grants.count++] = grant_of(42, 1, KEY);
    tell_grants(false);
    assert_int_equal(look().opened, 0);
    assert_closed(&hca, 0);
    tell_grants(true);
    take_step();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void a_start_waits_for_a_list_that_is_fresh(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 300;
    const oneib_vfs_ticket ticket = begin(&wanted);
    tell_grants(false);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_TIMEOUT, "no message from oneibd for too long");
    assert_int_equal(open_index(&hca, 0, 1), 0);
}

static void by_an_old_list_no_guid_is_set_but_one_that_was(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    const struct oneib_grant granted = grant_of(42, 1, KEY);
    wanted.grant.may_set_guid = false;
    const oneib_vfs_ticket ticket = begin(&wanted);
    put_grant(&granted);
    tell_grants(false);
    for (int i = 0; i < 5; i++)
        take_step();
    assert_false(has_guid(0));
    tell_grants(true);
    if (finish(ticket, &record, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(has_guid(0));
    tell_grants(false);
    tree_write("0", "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/1");
    look();
    assert_true(has_guid(0));
}

static void assert_is_granted(const struct wanted *wanted, bool by_a_fresh_list, bool by_an_old_one)
{
    struct oneib_error ignored;
    try_to_tell_grants(false, &ignored);
    assert_int_equal(oneib_vfs_is_granted(vfs, &wanted->request), by_an_old_one);
    try_to_tell_grants(true, &ignored);
    assert_int_equal(oneib_vfs_is_granted(vfs, &wanted->request), by_a_fresh_list);
}

static void an_old_list_grants_what_is_open_with_its_guid(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_of(42, 1, KEY);
    grant(&wanted);
    assert_is_granted(&wanted, true, false);
    wanted.request.flags |= ONEIB_HAVE_DEFER_GUID;
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_is_granted(&wanted, true, false);
    wanted.request.flags = 0;
    give(&wanted, &record);
    assert_is_granted(&wanted, true, true);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    look();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    assert_is_granted(&wanted, true, false);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    look();
    const struct oneib_grant other = grant_of(42, 1, OTHER_KEY);
    put_grant(&other);
    set_mode_of_entry(0, 0, 0444); /* it stays open at the key that it has */
    assert_is_granted(&wanted, true, false);
    set_mode_of_entry(0, 0, 0644);
    tell_grants(true);
}

static void what_is_open_can_be_asked_for_again_by_an_old_list(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    oneib_vfs_ticket ticket;
    struct wanted wanted = wanted_of(42, 1, KEY);
    give_key(42, 1);
    tell_grants(false);
    assert_true(oneib_vfs_is_granted(vfs, &wanted.request));
    assert_int_equal(oneib_vfs_have(vfs, &wanted.request, &record, &ticket, &err), 0);
    assert_int_equal(ticket, 0);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    wanted.request.flags |= ONEIB_HAVE_ATTACH;
    assert_int_equal(oneib_vfs_have(vfs, &wanted.request, &record, &ticket, &err), -1);
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

static void what_was_open_follows_its_key_by_an_old_list(void **state)
{
    (void)state;
    give_key(42, 1);
    tell_grants(false);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | KEY);
    look();
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
    tree_set_pkey(&hca, 1, OTHER_INDEX, 0);
    look();
    assert_closed(&hca, 0);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    look();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
}

/* It waits for its key, then its grant goes: it was not open by the grant that comes later. */
static void what_was_taken_back_meanwhile_does_not_follow_its_key_by_an_old_list(void **state)
{
    (void)state;
    give_key(42, 1);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    look();
    take_back(42, 1);
    const struct oneib_grant again = grant_of(42, 1, KEY);
    put_grant(&again);
    tell_grants(false);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    look();
    assert_closed(&hca, 0);
}

/* ---- after a restart ------------------------------------------------------------------------- */

static void a_restart_leaves_open_what_is_open_and_opens_nothing(void **state)
{
    (void)state;
    give_key(42, 1);
    stop_engine();
    start_engine_alone();
    look();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | KEY);
    look();
    look();
    assert_closed(&hca, 0);
    tell_grants(true);
    take_step();
    assert_int_equal(open_index(&hca, 0, 1), OTHER_INDEX);
}

static void the_first_list_after_a_restart_closes_what_it_does_not_grant(void **state)
{
    (void)state;
    give_key(42, 1);
    stop_engine();
    grants.count = 0;
    start_engine_alone();
    assert_int_equal(open_index(&hca, 0, 1), KEY_INDEX);
    tell_grants(false);
    assert_closed_without_key();
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(without_a_grant_nothing_is_given),
        IN_SCENE(what_waits_for_a_key_is_looked_at_once_a_list_comes),
        IN_SCENE(before_the_first_list_nothing_is_given),
        IN_SCENE(what_is_granted_for_another_network_is_not_given),
        IN_SCENE(the_guid_is_the_one_that_is_granted),
        IN_SCENE(what_no_vf_can_have_is_given_to_none),
        IN_SCENE(a_start_goes_on_with_the_key_that_is_granted_meanwhile),
        IN_SCENE(a_start_whose_grant_is_taken_back_fails_and_leaves_nothing),
        IN_SCENE(a_guid_is_set_once_no_other_host_has_it),
        IN_SCENE(a_guid_that_another_host_keeps_is_never_set),
        IN_SCENE(what_is_not_granted_any_more_is_closed_at_once_and_for_good),
        IN_SCENE(what_is_taken_back_is_closed_although_no_adapter_can_be_found_and_that_is_told),
        IN_SCENE(what_others_are_granted_stays_open_meanwhile),
        IN_SCENE(a_running_domain_keeps_nothing_open_that_is_not_granted),
        IN_SCENE(an_old_list_takes_as_well_as_a_fresh_one),
        IN_SCENE(what_is_granted_again_is_opened_unasked),
        IN_SCENE(another_key_is_opened_when_it_is_there_and_the_old_one_is_closed_before),
        IN_SCENE(a_limited_grant_closes_what_was_full),
        IN_SCENE(a_grant_of_another_place_or_network_opens_nothing_unasked),
        IN_SCENE(what_is_granted_at_an_adapter_is_not_open_at_one_that_had_its_name),
        IN_SCENE(nothing_is_open_at_a_renamed_adapter_while_its_record_cannot_be_written),
        IN_SCENE(a_guid_other_than_the_granted_one_is_not_restored),
        IN_SCENE(what_cannot_be_closed_stays_recorded_and_is_tried_again),
        IN_SCENE(what_cannot_be_closed_is_not_given_as_it_is),
        IN_SCENE(what_is_granted_another_key_is_not_opened_at_the_old_one_by_its_old_record),
        IN_SCENE(what_is_granted_no_more_is_not_opened_by_its_old_record),
        IN_SCENE(what_waits_for_a_vf_gets_it_by_the_grant_that_there_is_then),
        IN_SCENE(by_an_old_list_nothing_new_is_opened),
        IN_SCENE(a_start_waits_for_a_list_that_is_fresh),
        IN_SCENE(by_an_old_list_no_guid_is_set_but_one_that_was),
        IN_SCENE(an_old_list_grants_what_is_open_with_its_guid),
        IN_SCENE(what_is_open_can_be_asked_for_again_by_an_old_list),
        IN_SCENE(what_was_open_follows_its_key_by_an_old_list),
        IN_SCENE(what_was_taken_back_meanwhile_does_not_follow_its_key_by_an_old_list),
        IN_SCENE(a_restart_leaves_open_what_is_open_and_opens_nothing),
        IN_SCENE(the_first_list_after_a_restart_closes_what_it_does_not_grant),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
