// SPDX-License-Identifier: Apache-2.0
#include "opennebula/cache.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_work_queue_is_empty_until_something_is_named(void **state)
{
    struct oneib_work_queue queue = {0};
    (void)state;
    assert_true(oneib_work_queue_is_empty(&queue));
    oneib_work_queue_host(&queue, 3);
    assert_false(oneib_work_queue_is_empty(&queue));
    oneib_work_queue_clear(&queue);
    assert_true(oneib_work_queue_is_empty(&queue));
    oneib_work_queue_network(&queue, 3);
    assert_false(oneib_work_queue_is_empty(&queue));
    oneib_work_queue_clear(&queue);
    oneib_work_queue_vm(&queue, 3);
    assert_false(oneib_work_queue_is_empty(&queue));
    oneib_work_queue_clear(&queue);
    assert_false(oneib_work_queue_is_empty(&(struct oneib_work_queue){.new_vms = true}));
    assert_false(oneib_work_queue_is_empty(&(struct oneib_work_queue){.everything = true}));
}

static void names_are_kept_by_kind_as_they_come(void **state)
{
    struct oneib_work_queue queue = {0};
    (void)state;
    oneib_work_queue_vm(&queue, 5);
    oneib_work_queue_vm(&queue, 4);
    oneib_work_queue_vm(&queue, 5);
    oneib_work_queue_network(&queue, 6);
    oneib_work_queue_host(&queue, 7);
    assert_int_equal(queue.vms.count, 3);
    assert_int_equal(queue.vms.items[1], 4);
    assert_int_equal(queue.networks.count, 1);
    assert_int_equal(queue.networks.items[0], 6);
    assert_int_equal(queue.hosts.items[0], 7);
    oneib_work_queue_clear(&queue);
}

/* One VM with two NICs in that state. *preparing: as told. True: it is named, once. */
static bool is_unsettled(int vm_state, int lcm_state, bool *preparing)
{
    struct oneib_attachment nics[2] = {0};
    for (int i = 0; i < 2; i++)
        nics[i] = (struct oneib_attachment){
            .vm_id = 9,
            .nic_id = (uint8_t)i,
            .state = (int16_t)vm_state,
            .lcm_state = (int16_t)lcm_state,
            .phase = (uint8_t)oneib_vm_phase(vm_state, lcm_state),
        };
    const struct oneib_cloud cloud = {.attachments = nics, .attachment_count = 2};
    struct oneib_work_queue queue = {0};
    oneib_work_queue_unsettled(&cloud, &queue);
    *preparing = oneib_cloud_is_preparing(&cloud);
    assert_true(queue.vms.count <= 1);
    assert_true(queue.vms.count == 0 || queue.vms.items[0] == 9);
    bool named = queue.vms.count == 1;
    oneib_work_queue_clear(&queue);
    return named;
}

static void vms_whose_state_cannot_last_are_unsettled(void **state)
{
    static const struct {
        int state, lcm_state;
        bool unsettled, preparing;
    } cases[] = {
        {0, 0, true, false},   /* INIT */
        {1, 0, true, false},   /* PENDING */
        {2, 0, false, false},  /* HOLD */
        {10, 0, true, false},  /* CLONING */
        {11, 0, false, false}, /* CLONING_FAILURE */
        {3, 0, true, false},   /* LCM_INIT */
        {3, 1, true, true},    /* PROLOG */
        {3, 3, false, false},  /* RUNNING */
        {3, 16, false, false}, /* UNKNOWN */
        {3, 25, false, false}, /* HOTPLUG_NIC */
        {3, 4, true, true},    /* MIGRATE */
        {3, 12, true, false},  /* SHUTDOWN */
        {3, 900, true, false}, /* a number of a later release */
        {8, 0, false, false},  /* POWEROFF */
        {4, 0, false, false},  /* STOPPED */
        {3, 11, false, false}, /* EPILOG */
        {-1, -1, true, false}, /* a state that could not be read */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool preparing;
        if (is_unsettled(cases[i].state, cases[i].lcm_state, &preparing) != cases[i].unsettled ||
            preparing != cases[i].preparing)
            fail_msg("state %d/%d", cases[i].state, cases[i].lcm_state);
    }
}

static void an_empty_cloud_is_settled(void **state)
{
    const struct oneib_cloud cloud = {0};
    struct oneib_work_queue queue = {0};
    (void)state;
    oneib_work_queue_unsettled(&cloud, &queue);
    assert_false(oneib_cloud_is_preparing(&cloud));
    assert_true(oneib_work_queue_is_empty(&queue));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_work_queue_is_empty_until_something_is_named),
        cmocka_unit_test(names_are_kept_by_kind_as_they_come),
        cmocka_unit_test(vms_whose_state_cannot_last_are_unsettled),
        cmocka_unit_test(an_empty_cloud_is_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
