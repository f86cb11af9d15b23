// SPDX-License-Identifier: Apache-2.0
/* Many processes at once, as OpenNebula starts them. */
#include "../../valgrind.h"
#include "assign_scene.h"
#include "base/clock.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLERS 200
#define CALLERS_ON_VALGRIND 80 /* they queue for one lock */
#define VFS 63
#define STORM_MS 1500
#define STORMERS 6

enum { GIVEN, REFUSED, FAILED };

static const struct tree_hca large = {.driver = ONEIB_HCA_MLX4, .vfs = VFS, .pkeys = 7};

static int open_large(void **state)
{
    tree_reset(state);
    tree_add_hca(&large);
    tree_set_pkey(&large, 1, KEY_INDEX, FULL | KEY);
    sm_start(&large);
    return 0;
}

static pid_t start(int (*deed)(unsigned), unsigned number)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(deed(number));
    return child;
}

static int end_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int try_to_assign(const struct oneib_assignment *wanted, const char *refusal)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    if (oneib_assign(wanted, &record, &err) == 0)
        return record.stage == ONEIB_VF_OPEN ? GIVEN : FAILED;
    if (err.code == ONEIB_ERROR_REFUSED && strstr(err.text, refusal))
        return REFUSED;
    print_error("%s\n", err.text);
    return FAILED;
}

static int assign_one_of_many(unsigned number)
{
    struct oneib_assignment wanted = assignment_of(number, 0, KEY);
    wanted.guid_wait_ms = 20000;
    return try_to_assign(&wanted, "mlx4_0 has no free virtual function: 63 in all, 63 reserved");
}

static unsigned count_callers(void)
{
    return on_valgrind() ? CALLERS_ON_VALGRIND : CALLERS;
}

/* Every record is another VF's and another VM's: the table says so itself. */
static void two_hundred_callers_get_63_vfs_and_clear_refusals(void **state)
{
    (void)state;
    pid_t children[CALLERS];
    unsigned ends[3] = {0};
    const unsigned callers = count_callers();
    for (unsigned i = 0; i < callers; i++)
        children[i] = start(assign_one_of_many, i);
    for (unsigned i = 0; i < callers; i++)
        ends[end_of(children[i])]++;
    assert_int_equal(ends[FAILED], 0);
    assert_int_equal(ends[GIVEN], VFS);
    assert_int_equal(ends[REFUSED], callers - VFS);
    assert_int_equal(count_records(), VFS);
    for (unsigned vf = 0; vf < VFS; vf++)
        assert_int_equal(open_index(&large, vf, 1), KEY_INDEX);
    assert_isolated(&large);
}

static int assign_the_same(unsigned number)
{
    struct oneib_assignment wanted = assignment_of(42, 1, KEY);
    wanted.guid_wait_ms = 20000;
    (void)number;
    return try_to_assign(&wanted, "not at all");
}

static void the_same_nic_at_once_gets_one_vf(void **state)
{
    (void)state;
    pid_t children[16];
    for (unsigned i = 0; i < 16; i++)
        children[i] = start(assign_the_same, i);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(end_of(children[i]), GIVEN);
    assert_int_equal(count_records(), 1);
    assert_isolated(&hca);
}

static int wait_for_a_key(unsigned number)
{
    struct oneib_assignment wanted = assignment_of(42, 1, OTHER_KEY);
    (void)number;
    wanted.pkey_wait_ms = 30000;
    return try_to_assign(&wanted, "the VF was released meanwhile");
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void a_release_does_not_wait_for_the_key(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const pid_t child = start(wait_for_a_key, 0);
    for (int i = 0; i < 1000 && !find_record(42, 1, &record); i++)
        sleep_ms(5);
    sleep_ms(100);
    const double start_ms = oneib_now_ms();
    assert_int_equal(release(42, -1), 1);
    assert_true(oneib_now_ms() - start_ms < 5000);
    assert_int_equal(end_of(child), REFUSED);
    assert_int_equal(count_records(), 0);
    assert_closed(&hca, 0);
    assert_false(has_guid(&hca, 0));
}

static void waiting_for_a_key_keeps_nobody_else_waiting(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const pid_t child = start(wait_for_a_key, 0);
    for (int i = 0; i < 1000 && !find_record(42, 1, &record); i++)
        sleep_ms(5);
    struct oneib_assignment wanted = assignment_of(43, 0, KEY);
    const double start_ms = oneib_now_ms();
    assign(&wanted, &record);
    assert_true(oneib_now_ms() - start_ms < 5000);
    release(42, 1);
    end_of(child);
}

static int release_and_look(unsigned number)
{
    struct oneib_error err;
    size_t released;
    (void)number;
    if (oneib_release(42, -1, 20000, &released, &err) < 0)
        return FAILED;
    return open_index(&hca, 0, 1) == 0 && count_records() == 0 ? GIVEN : FAILED;
}

static void no_release_ends_before_the_vf_is_closed_and_free(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    pid_t children[16];
    const struct oneib_assignment wanted = assignment_of(42, 1, KEY);
    for (int round = 0; round < 5; round++) {
        assign(&wanted, &record);
        for (unsigned i = 0; i < 16; i++)
            children[i] = start(release_and_look, i);
        for (unsigned i = 0; i < 16; i++)
            assert_int_equal(end_of(children[i]), GIVEN);
    }
}

/* ---- everything at once
 * ------------------------------------------------------------------------- */

/* Some fail, because another one has released their VF: what counts is what is open meanwhile. */
static void do_anything(unsigned *random)
{
    struct oneib_error err;
    struct oneib_vf_record record;
    struct oneib_vf_repairs repairs;
    size_t released;
    const uint32_t vm_id = (uint32_t)rand_r(random) % 5;
    struct oneib_assignment wanted = assignment_of(vm_id, 0, rand_r(random) % 2 ? KEY : OTHER_KEY);
    wanted.defer_guid = rand_r(random) % 2;
    wanted.pkey_wait_ms = 60;
    switch (rand_r(random) % 5) {
    case 0:
    case 1:
    case 2:
        oneib_assign(&wanted, &record, &err);
        break;
    case 3:
        oneib_release(vm_id, -1, 200, &released, &err);
        break;
    default:
        oneib_vfs_reconcile(&repairs, &err);
        break;
    }
}

static int storm(unsigned number)
{
    unsigned random = number + 1;
    const double end = oneib_now_ms() + STORM_MS;
    while (oneib_now_ms() < end)
        do_anything(&random);
    return 0;
}

/* Nobody changes a VF, or its record's key, without its lock. */
static void assert_vf_is_isolated(unsigned vf)
{
    struct oneib_error err = {0};
    int lock;
    const struct oneib_pci pci = tree_vf_pci(&hca, vf);
    if (oneib_vf_lock(&pci, 20000, &lock, &err) < 0)
        fail_msg("%s", err.text);
    assert_isolated_vf(&hca, vf);
    oneib_vf_unlock(lock);
}

static void whatever_runs_at_once_no_vf_is_open_for_another_key(void **state)
{
    (void)state;
    pid_t children[STORMERS];
    const double end = oneib_now_ms() + STORM_MS;
    tree_set_pkey(&hca, 1, OTHER_INDEX, FULL | OTHER_KEY);
    for (unsigned i = 0; i < STORMERS; i++)
        children[i] = start(storm, i);
    for (unsigned vf = 0; oneib_now_ms() < end; vf = (vf + 1) % hca.vfs)
        assert_vf_is_isolated(vf);
    for (unsigned i = 0; i < STORMERS; i++)
        assert_int_equal(end_of(children[i]), 0);
    for (uint32_t vm_id = 0; vm_id < 5; vm_id++)
        release(vm_id, -1);
    assert_int_equal(count_records(), 0);
    for (unsigned vf = 0; vf < hca.vfs; vf++) {
        assert_int_equal(open_index(&hca, vf, 1), 0);
        assert_false(has_guid(&hca, vf));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_hundred_callers_get_63_vfs_and_clear_refusals,
                                        open_large, close_scene),
        cmocka_unit_test_setup_teardown(the_same_nic_at_once_gets_one_vf, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_release_does_not_wait_for_the_key, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(no_release_ends_before_the_vf_is_closed_and_free,
                                        open_scene, close_scene),
        cmocka_unit_test_setup_teardown(waiting_for_a_key_keeps_nobody_else_waiting, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(whatever_runs_at_once_no_vf_is_open_for_another_key,
                                        open_scene, close_scene),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
