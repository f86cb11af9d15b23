// SPDX-License-Identifier: Apache-2.0
/* Many requests at once, as OpenNebula sends them. */
#include "scene.h"

#define CALLERS 200
#define VFS 63
#define STORM_MS 1500

static const struct tree_hca large = {.driver = ONEIB_HCA_MLX4, .vfs = VFS, .pkeys = 7};

static int open_large(void **state)
{
    (void)state;
    return open_scene_with(&large);
}

/* Every record is another VF's and another VM's: the table says so itself. */
static void two_hundred_callers_get_63_vfs_and_clear_refusals(void **state)
{
    (void)state;
    oneib_vfs_ticket tickets[CALLERS];
    size_t count = 0;
    for (uint32_t vm_id = 0; vm_id < CALLERS; vm_id++) {
        struct wanted wanted = wanted_of(vm_id, 0, KEY);
        struct oneib_vf_record record;
        struct oneib_error err = {0};
        oneib_vfs_ticket ticket;
        wanted.guid_wait_ms = 20000;
        if (have(&wanted, &record, &ticket, &err) == 0) {
            tickets[count++] = ticket;
            continue;
        }
        assert_is_about(&err, ONEIB_ERROR_REFUSED,
                        "mlx4_0 has no free virtual function: 63 in all, 63 reserved");
    }
    assert_int_equal(count, VFS);
    for (size_t i = 0; i < count; i++) {
        struct oneib_vf_record record = {.stage = ONEIB_VF_OPEN};
        struct oneib_error err = {0};
        if (finish(tickets[i], &record, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(record.stage, ONEIB_VF_OPEN);
    }
    assert_int_equal(count_records(), VFS);
    for (unsigned vf = 0; vf < VFS; vf++)
        assert_int_equal(open_index(&large, vf, 1), KEY_INDEX);
    assert_isolated(&large);
}

static void the_same_nic_many_times_gets_one_vf(void **state)
{
    (void)state;
    oneib_vfs_ticket tickets[16];
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 20000;
    sm_put_key_in(50, 1, OTHER_INDEX, FULL | OTHER_KEY);
    for (size_t i = 0; i < 16; i++)
        tickets[i] = begin(&wanted);
    assert_int_equal(count_records(), 1);
    for (size_t i = 0; i < 16; i++) {
        struct oneib_vf_record record = {0};
        struct oneib_error err = {0};
        if (finish(tickets[i], &record, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(record.stage, ONEIB_VF_OPEN);
        assert_int_equal(record.index, 0);
    }
    assert_int_equal(count_records(), 1);
    assert_isolated(&hca);
}

static void a_release_does_not_wait_for_the_key(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_error err = {0};
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 30000;
    const oneib_vfs_ticket ticket = begin(&wanted);
    take_step();
    const double start_ms = oneib_now_ms();
    assert_int_equal(release(42, -1), 1);
    assert_true(oneib_now_ms() - start_ms < 5000);
    assert_int_equal(finish(ticket, &record, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "VM 42 NIC 1 (0000:81:00.1): the VF was released");
    assert_nothing_is_left();
}

static void waiting_for_a_key_keeps_nobody_else_waiting(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted waiting = wanted_of(42, 1, OTHER_KEY);
    const struct wanted wanted = wanted_of(43, 0, KEY);
    waiting.pkey_wait_ms = 30000;
    begin(&waiting);
    const double start_ms = oneib_now_ms();
    give(&wanted, &record);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_true(oneib_now_ms() - start_ms < 5000);
}

static void more_requests_than_the_service_remembers_are_refused(void **state)
{
    (void)state;
    struct wanted wanted = wanted_of(42, 1, OTHER_KEY);
    struct oneib_vf_record record;
    struct oneib_error err = {0};
    oneib_vfs_ticket ticket;
    wanted.pkey_wait_ms = 30000;
    const oneib_vfs_ticket first = begin(&wanted);
    oneib_vfs_ticket last = 0;
    for (size_t i = 1; i < ONEIB_VF_TICKETS_MAX; i++)
        last = begin(&wanted);
    assert_int_equal(have(&wanted, &record, &ticket, &err), -1);
    assert_is_about(&err, ONEIB_ERROR_REFUSED, "4096 requests wait on this host already");
    assert_int_equal(oneib_vfs_progress(vfs, last, &record, &err), ONEIB_VFS_BUSY);
    oneib_vfs_forget(vfs, first);
    assert_int_equal(have(&wanted, &record, &ticket, &err), 0);
    assert_true(ticket != first);
    assert_int_equal(oneib_vfs_progress(vfs, first, &record, &err), ONEIB_VFS_FAILED);
    assert_int_equal(oneib_vfs_progress(vfs, ticket, &record, &err), ONEIB_VFS_BUSY);
}

/* ---- everything at once ---------------------------------------------------------------------- */

#define VMS 5

/* Some fail, because another one has released their VF: what counts is what is open meanwhile. */
static void ask_for_one(unsigned *random, uint32_t vm_id, oneib_vfs_ticket *last)
{
    struct oneib_error err;
    struct oneib_vf_record record;
    oneib_vfs_ticket ticket;
    struct wanted wanted = wanted_of(vm_id, 0, rand_r(random) % 2 ? KEY : OTHER_KEY);
    defer_guid(&wanted, rand_r(random) % 2);
    wanted.request.network_id = wanted.grant.pkey;
    if (rand_r(random) % 4 == 0)
        wanted.request.flags |= ONEIB_HAVE_ATTACH;
    if (rand_r(random) % 4 == 0)
        want_vf(&wanted, tree_vf_pci(&hca, (unsigned)rand_r(random) % hca.vfs));
    wanted.pkey_wait_ms = 60;
    if (have(&wanted, &record, &ticket, &err) < 0)
        return;
    if (*last)
        oneib_vfs_forget(vfs, *last);
    *last = ticket;
}

static void change_domains(unsigned *random)
{
    domains.count = 0;
    domains.known = rand_r(random) % 4 != 0;
    for (uint32_t vm_id = 0; vm_id < VMS; vm_id++) {
        const struct oneib_vf_record *record = oneib_vf_table_of_nic(&vfs->table, vm_id, 0);
        if (record && rand_r(random) % 2)
            add_domain(vm_id, rand_r(random) % 4, &record->vf);
    }
    tell_domains();
}

static void do_anything(unsigned *random, oneib_vfs_ticket last[VMS])
{
    struct oneib_error err;
    struct oneib_released released;
    struct oneib_vfs_changes changes;
    oneib_vfs_ticket ticket;
    const uint32_t vm_id = (uint32_t)rand_r(random) % VMS;
    struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, vm_id, -1);
    switch (rand_r(random) % 10) {
    case 0:
    case 1:
    case 2:
        ask_for_one(random, vm_id, &last[vm_id]);
        break;
    case 3:
        request.flags = rand_r(random) % 2 ? ONEIB_RELEASE_NIC_GONE : 0;
        if (oneib_vfs_release(vfs, &request, &released, &ticket, &err) == 0)
            oneib_vfs_forget(vfs, ticket);
        break;
    case 4:
        change_domains(random);
        break;
    case 5:
        oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err);
        break;
    case 6:
        if (rand_r(random) % 8 == 0) {
            restart_engine();
            memset(last, 0, VMS * sizeof *last);
        }
        break;
    default:
        take_step();
        break;
    }
}

static void whatever_is_asked_no_vf_is_open_for_another_key(void **state)
{
    (void)state;
    unsigned random = 1;
    oneib_vfs_ticket last[VMS] = {0};
    const double end = oneib_now_ms() + STORM_MS;
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    while (oneib_now_ms() < end) {
        do_anything(&random, last);
        assert_isolated(&hca);
        assert_true(vfs->work_count <= hca.vfs);
    }
    tell_of_no_domains();
    for (uint32_t vm_id = 0; vm_id < VMS; vm_id++)
        release(vm_id, -1);
    assert_nothing_is_left();
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_hundred_callers_get_63_vfs_and_clear_refusals,
                                        open_large, close_scene),
        IN_SCENE(the_same_nic_many_times_gets_one_vf),
        IN_SCENE(a_release_does_not_wait_for_the_key),
        IN_SCENE(waiting_for_a_key_keeps_nobody_else_waiting),
        IN_SCENE(more_requests_than_the_service_remembers_are_refused),
        IN_SCENE(whatever_is_asked_no_vf_is_open_for_another_key),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
