// SPDX-License-Identifier: Apache-2.0
/* Pools with many hostile VMs among them: each costs itself alone.
 * tests/bench/bench_opennebula_hostile.c is the same with 100,000. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on
#include "hostile_pool.h"

#define WINDOW 100

static void reads_all(unsigned vms, unsigned every)
{
    char session[] = "oneadmin:open-sesame";
    struct stand_in server;
    struct oneib_cloud cloud = {0};
    struct oneib_findings findings = {0};
    struct oneib_error err = {0};
    const struct oneib_pools_options options = {.vn_mad = "ibrec", .window = WINDOW};
    assert_int_equal(hostile_pool_make(vms, every), 0);
    assert_int_equal(stand_in_start(&server, hostile_pool_answer), 0);
    const struct oneib_credentials credentials = {.endpoint = server.endpoint, .session = session};
    struct oneib_one *one = oneib_one_open(&credentials, 60000, &err);
    assert_non_null(one);
    if (oneib_pools_read(one, &options, &cloud, &findings, &err) < 0)
        fail_msg("%s", err.text);
    const unsigned wrong = hostile_pool_wrong(&cloud, &findings);
    if (wrong != vms)
        fail_msg("of VM %u something else was read than was written", wrong);
    oneib_cloud_clear(&cloud);
    oneib_findings_clear(&findings);
    oneib_one_close(one);
    stand_in_stop(&server);
    hostile_pool_end();
}

static void of_2000_vms_40_that_are_hostile_cost_themselves_alone(void **state)
{
    (void)state;
    reads_all(2000, 50);
}

static void of_500_vms_every_second_one_may_be_hostile(void **state)
{
    (void)state;
    reads_all(500, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_2000_vms_40_that_are_hostile_cost_themselves_alone),
        cmocka_unit_test(of_500_vms_every_second_one_may_be_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
