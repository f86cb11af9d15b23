// SPDX-License-Identifier: Apache-2.0
#include "oneibd/stream_health.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct oneib_stream_health begun(void)
{
    struct oneib_stream_health health;
    oneib_stream_health_begin(&health);
    return health;
}

static void a_change_that_no_message_tells_within_2_s_costs_the_trust(void **state)
{
    (void)state;
    struct oneib_stream_health health = begun();
    oneib_stream_health_read(&health, 1000, 0, true);
    assert_int_equal(oneib_stream_health_judge(&health, 2999, 0), ONEIB_STREAM_HEALTH_SAME);
    assert_true(health.trusted);
    assert_int_equal(oneib_stream_health_judge(&health, 3000, 0), ONEIB_STREAM_HEALTH_LOST);
    assert_false(health.trusted);
    assert_int_equal(oneib_stream_health_judge(&health, 4000, 0), ONEIB_STREAM_HEALTH_SAME);
}

static void a_message_that_comes_late_keeps_the_trust(void **state)
{
    (void)state;
    struct oneib_stream_health health = begun();
    oneib_stream_health_read(&health, 1000, 5, false);
    oneib_stream_health_read(&health, 2000, 5, true);
    assert_int_equal(oneib_stream_health_judge(&health, 2500, 6), ONEIB_STREAM_HEALTH_SAME);
    assert_int_equal(oneib_stream_health_judge(&health, 9000, 6), ONEIB_STREAM_HEALTH_SAME);
    assert_true(health.trusted);
}

static void a_message_that_came_before_the_poll_keeps_the_trust(void **state)
{
    (void)state;
    struct oneib_stream_health health = begun();
    oneib_stream_health_read(&health, 1000, 5, false);
    oneib_stream_health_read(&health, 2000, 6, true);
    assert_int_equal(oneib_stream_health_judge(&health, 9000, 6), ONEIB_STREAM_HEALTH_SAME);
    assert_true(health.trusted);
}

static void silence_where_nothing_changes_is_no_reason_for_doubt(void **state)
{
    (void)state;
    struct oneib_stream_health health = begun();
    oneib_stream_health_read(&health, 1000, 0, false);
    assert_int_equal(oneib_stream_health_judge(&health, 100000, 0), ONEIB_STREAM_HEALTH_SAME);
    assert_true(health.trusted);
}

static void the_next_message_brings_the_trust_back(void **state)
{
    (void)state;
    struct oneib_stream_health health = begun();
    oneib_stream_health_read(&health, 1000, 0, true);
    oneib_stream_health_judge(&health, 3000, 0);
    oneib_stream_health_read(&health, 8000, 0, true);
    assert_int_equal(oneib_stream_health_judge(&health, 8001, 1), ONEIB_STREAM_HEALTH_REGAINED);
    assert_true(health.trusted);
    assert_int_equal(oneib_stream_health_judge(&health, 9000, 1), ONEIB_STREAM_HEALTH_SAME);
}

static uint64_t fingerprint_of(struct oneib_attachment *attachments, size_t count, uint32_t vm_end)
{
    const struct oneib_cloud cloud = {
        .attachments = attachments, .attachment_count = count, .vm_end = vm_end};
    return oneib_stream_health_fingerprint(&cloud);
}

static void the_fingerprint_follows_places_networks_and_new_vms(void **state)
{
    (void)state;
    struct oneib_attachment vm[2] = {
        {.vm_id = 1, .network_id = 2, .host_id = 3, .phase = ONEIB_SETTLED},
        {.vm_id = 4, .network_id = 2, .host_id = 3, .phase = ONEIB_ABSENT},
    };
    const uint64_t before = fingerprint_of(vm, 2, 5);
    assert_true(before == fingerprint_of(vm, 2, 5));
    assert_true(before != fingerprint_of(vm, 2, 6));
    vm[1].host_id = 7; /* of a VM that is on no host */
    assert_true(before == fingerprint_of(vm, 2, 5));
    vm[0].host_id = 7;
    assert_true(before != fingerprint_of(vm, 2, 5));
    vm[0].host_id = 3;
    vm[0].phase = ONEIB_LEAVING;
    assert_true(before != fingerprint_of(vm, 2, 5));
    vm[0].phase = ONEIB_SETTLED;
    vm[0].network_id = 9;
    assert_true(before != fingerprint_of(vm, 2, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_that_no_message_tells_within_2_s_costs_the_trust),
        cmocka_unit_test(a_message_that_comes_late_keeps_the_trust),
        cmocka_unit_test(a_message_that_came_before_the_poll_keeps_the_trust),
        cmocka_unit_test(silence_where_nothing_changes_is_no_reason_for_doubt),
        cmocka_unit_test(the_next_message_brings_the_trust_back),
        cmocka_unit_test(the_fingerprint_follows_places_networks_and_new_vms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
