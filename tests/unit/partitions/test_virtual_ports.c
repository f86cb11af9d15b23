// SPDX-License-Identifier: Apache-2.0
/* Which of what was read of virtual ports is believed; how it is read, and the proof as a whole, is
 * in tests/unit/fabric. */
#include "partitions/virtual_ports.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HOST UINT64_C(0x0002c90300000001)
#define STRANGER UINT64_C(0x0002c90300000002)
#define VM_A UINT64_C(0x0200070000000100)
#define VM_B UINT64_C(0x0200070000000200)
#define VM_C UINT64_C(0x0200070000000300)
#define ACTIVE 4

/* Of a port that was read though no host has reported anything of it. */
static void a_port_that_nobody_reported_is_not_believed(void **state)
{
    uint16_t a[] = {0x8005}, b[] = {0x8006}, c[] = {0x8005};
    struct oneib_vport proven[] = {
        {.guid = VM_A, .state = ACTIVE, .pkey_cap = 1, .pkeys = a},
        {.guid = VM_B, .state = ACTIVE, .pkey_cap = 1, .pkeys = b},
    };
    struct oneib_vport strange[] = {{.guid = VM_C, .state = ACTIVE, .pkey_cap = 1, .pkeys = c}};
    struct oneib_vport_owner owners[] = {
        {.guid = HOST, .items = proven, .count = 2},
        {.guid = STRANGER, .items = strange, .count = 1},
    };
    const struct oneib_vport_reading reading = {.items = owners, .count = 2};
    const struct oneib_vport_report reports[] = {{HOST, VM_A, 5}, {HOST, VM_B, 6}};
    struct oneib_subnet subnet = {0};
    struct oneib_vport_result result;
    (void)state;
    oneib_vports_add(&reading, reports, 2, &subnet, &result);
    assert_int_equal(result.proof, ONEIB_VPORTS_PROVEN);
    assert_int_equal(result.believed, 1);
    assert_int_equal(result.added, 2);
    assert_null(oneib_subnet_find(&subnet, VM_C));
    oneib_subnet_clear(&subnet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_that_nobody_reported_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
