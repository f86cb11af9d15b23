// SPDX-License-Identifier: Apache-2.0
/* What goes wrong while a VF is being assigned. */
#include "assign_scene.h"
#include "base/clock.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

static void set_mode_of_entry(unsigned vf, unsigned entry, mode_t mode)
{
    char folder[ONEIB_PCI_TEXT_SIZE];
    tree_vf_folder(&hca, vf, folder);
    tree_set_mode(mode, "/sys/class/infiniband/mlx4_0/iov/%s/ports/1/pkey_idx/%u", folder, entry);
}

static void a_map_that_cannot_be_opened_leaves_the_vf_free(void **state)
{
    (void)state;
    const struct oneib_assignment wanted = assignment_of(42, 1, KEY);
    set_mode_of_entry(0, 0, 0444);
    assert_assign_fails(&wanted, ONEIB_ERROR_SYSTEM, "opening virtual function 0");
    assert_int_equal(count_records(), 0);
    assert_closed(&hca, 0);
    assert_false(has_guid(&hca, 0));
}

static void a_vf_that_cannot_be_closed_stays_releasing(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_assignment wanted = assignment_of(42, 1, KEY);
    assign(&wanted, &record);
    set_mode_of_entry(0, 0, 0444);
    wanted.pkey = OTHER_KEY;
    assert_assign_fails(&wanted, ONEIB_ERROR_SYSTEM, "besides, closing virtual function 0");
    record = record_of(42, 1);
    assert_int_equal(record.stage, ONEIB_VF_RELEASING);
    assert_int_equal(record.pkey, KEY);
    assert_isolated(&hca);
    set_mode_of_entry(0, 0, 0644);
    assert_int_equal(release(42, 1), 1);
    assert_closed(&hca, 0);
}

static void a_vf_that_cannot_be_read_is_not_handed_out(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct oneib_assignment wanted = assignment_of(42, 1, KEY);
    set_mode_of_entry(0, 2, 0);
    tree_set_vf_pkey(&hca, 1, 1, 2, "x");
    assign(&wanted, &record);
    assert_int_equal(record.index, 2);
    set_mode_of_entry(0, 2, 0644);
}

static void a_damaged_table_hands_out_nothing(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_assignment wanted = assignment_of(42, 1, KEY);
    assign(&wanted, &record);
    tree_write("vf=nonsense", "/run/oneib/vfs");
    wanted.nic_id = 2;
    assert_assign_fails(&wanted, ONEIB_ERROR_INPUT, "damaged");
    assert_int_equal(open_index(&hca, 1, 1), 0);
}

static volatile sig_atomic_t interrupted;

static void *interrupt_soon(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    interrupted = 1;
    return NULL;
}

static void an_interrupted_call_undoes_what_it_did(void **state)
{
    (void)state;
    pthread_t thread;
    struct oneib_assignment wanted = assignment_of(42, 1, OTHER_KEY);
    wanted.pkey_wait_ms = 20000;
    wanted.interrupted = &interrupted;
    interrupted = 0;
    const double start = oneib_now_ms();
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, NULL), 0);
    assert_assign_fails(&wanted, ONEIB_ERROR_TIMEOUT, "interrupted");
    assert_true(oneib_now_ms() - start < 5000);
    pthread_join(thread, NULL);
    assert_closed(&hca, 0);
    /* The SM may not have been fast enough: nobody waited for it. */
    struct oneib_vf_record record;
    if (find_record(42, 1, &record))
        assert_int_equal(record.stage, ONEIB_VF_RELEASING);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        IN_SCENE(a_map_that_cannot_be_opened_leaves_the_vf_free),
        IN_SCENE(a_vf_that_cannot_be_closed_stays_releasing),
        IN_SCENE(a_vf_that_cannot_be_read_is_not_handed_out),
        IN_SCENE(a_damaged_table_hands_out_nothing),
        IN_SCENE(an_interrupted_call_undoes_what_it_did),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
