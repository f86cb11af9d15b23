// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric_internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define OWN UINT64_C(0x0002c90300000001)
#define OTHER UINT64_C(0x0002c90300000002)

/* A subnet of one port with one key. */
static int check(oneib_guid guid, uint16_t key, bool answered, struct oneib_error *err)
{
    uint16_t keys[] = {key, 0};
    struct oneib_subnet_port port = {.guid = guid, .partition_cap = 2, .answered = answered};
    if (answered)
        port.pkeys = keys;
    const struct oneib_subnet subnet = {.ports = &port, .port_count = 1};
    *err = (struct oneib_error){0};
    return oneib_check_visibility(&subnet, OWN, err);
}

static void a_full_member_of_the_default_partition_sees_all(void **state)
{
    (void)state;
    struct oneib_error err;
    assert_int_equal(check(OWN, 0xffff, true, &err), 0);
}

static void a_limited_member_proves_nothing(void **state)
{
    (void)state;
    struct oneib_error err;
    assert_int_equal(check(OWN, 0x7fff, true, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_non_null(strstr(err.text, "full_members"));
}

static void a_full_member_of_another_partition_proves_nothing(void **state)
{
    (void)state;
    struct oneib_error err;
    assert_int_equal(check(OWN, 0x8101, true, &err), -1);
}

static void a_list_without_the_port_that_asked_is_not_whole(void **state)
{
    (void)state;
    struct oneib_error err;
    assert_int_equal(check(OTHER, 0xffff, true, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
}

static void an_own_port_that_is_silent_is_left_to_the_verification(void **state)
{
    (void)state;
    struct oneib_error err;
    assert_int_equal(check(OWN, 0, false, &err), 0);
}

static void the_master_is_the_port_with_its_lid(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_subnet_port ports[] = {{.guid = OWN, .lid = 1}, {.guid = OTHER, .lid = 2}};
    struct oneib_subnet subnet = {.ports = ports, .port_count = 2};
    assert_int_equal(oneib_note_master(&subnet, 2, &err), 0);
    assert_true(subnet.sm_port_guid == OTHER);
}

/* Its port is a full member of the default partition: VMs there would reach everybody. */
static void a_subnet_whose_master_is_nowhere_is_not_used(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_subnet_port port = {.guid = OWN, .lid = 1};
    struct oneib_subnet subnet = {.ports = &port, .port_count = 1};
    assert_int_equal(oneib_note_master(&subnet, 2, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_member_of_the_default_partition_sees_all),
        cmocka_unit_test(a_limited_member_proves_nothing),
        cmocka_unit_test(a_full_member_of_another_partition_proves_nothing),
        cmocka_unit_test(a_list_without_the_port_that_asked_is_not_whole),
        cmocka_unit_test(an_own_port_that_is_silent_is_left_to_the_verification),
        cmocka_unit_test(the_master_is_the_port_with_its_lid),
        cmocka_unit_test(a_subnet_whose_master_is_nowhere_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
