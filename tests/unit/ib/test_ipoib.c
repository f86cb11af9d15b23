// SPDX-License-Identifier: Apache-2.0
#include "ib/ipoib.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void mtus_have_their_codes(void **state)
{
    (void)state;
    assert_int_equal(oneib_mtu_code(256), 1);
    assert_int_equal(oneib_mtu_code(512), 2);
    assert_int_equal(oneib_mtu_code(1024), 3);
    assert_int_equal(oneib_mtu_code(2048), 4);
    assert_int_equal(oneib_mtu_code(4096), 5);
    for (uint8_t code = 1; code <= 5; code++)
        assert_int_equal(oneib_mtu_code(oneib_mtu_bytes(code)), code);
}

static void anything_else_is_no_mtu(void **state)
{
    (void)state;
    static const unsigned wrong[] = {0, 1, 128, 255, 257, 1500, 2044, 4095, 4097, 8192, 65536};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(oneib_mtu_code(wrong[i]), 0);
    assert_int_equal(oneib_mtu_bytes(0), 0);
    for (unsigned code = 6; code <= UINT8_MAX; code++)
        assert_int_equal(oneib_mtu_bytes((uint8_t)code), 0);
}

static void an_ip_mtu_gets_the_smallest_that_holds_it(void **state)
{
    (void)state;
    assert_int_equal(oneib_mtu_code_for_ip(0), 0);
    assert_int_equal(oneib_mtu_code_for_ip(1), 1);
    assert_int_equal(oneib_mtu_code_for_ip(252), 1);
    assert_int_equal(oneib_mtu_code_for_ip(253), 2);
    assert_int_equal(oneib_mtu_code_for_ip(1500), 4);
    assert_int_equal(oneib_mtu_code_for_ip(2044), 4);
    assert_int_equal(oneib_mtu_code_for_ip(2045), 5);
    assert_int_equal(oneib_mtu_code_for_ip(4092), 5);
}

static void connected_mode_gets_the_largest(void **state)
{
    (void)state;
    assert_int_equal(oneib_mtu_code_for_ip(4093), 5);
    assert_int_equal(oneib_mtu_code_for_ip(65520), 5);
    assert_int_equal(oneib_mtu_code_for_ip(UINT32_MAX), 5);
}

static const struct {
    unsigned gbps;
    uint8_t code;
} rates[] = {
    {2, 2},    {5, 5},    {10, 3},   {14, 11},  {20, 6},   {25, 15},  {28, 19},   {30, 4},
    {40, 7},   {50, 20},  {56, 12},  {60, 8},   {80, 9},   {100, 16}, {112, 13},  {120, 10},
    {168, 14}, {200, 17}, {300, 18}, {400, 21}, {600, 22}, {800, 23}, {1200, 24},
};
#define RATES (sizeof rates / sizeof rates[0])

static void rates_have_their_codes_and_nothing_else_has(void **state)
{
    (void)state;
    for (size_t i = 0; i < RATES; i++) {
        assert_int_equal(oneib_rate_code(rates[i].gbps), rates[i].code);
        assert_int_equal(oneib_rate_gbps(rates[i].code), rates[i].gbps);
    }
    size_t known = 0;
    for (unsigned gbps = 0; gbps <= 2000; gbps++)
        known += oneib_rate_code(gbps) != 0;
    assert_int_equal(known, RATES);
    assert_int_equal(oneib_rate_gbps(0), 0);
    assert_int_equal(oneib_rate_gbps(1), 0);
    for (unsigned code = ONEIB_RATE_CODE_MAX + 1; code <= UINT8_MAX; code++)
        assert_int_equal(oneib_rate_gbps((uint8_t)code), 0);
}

static void rates_are_compared_by_speed_not_by_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < RATES; i++)
        for (size_t j = 0; j < RATES; j++) {
            int order = oneib_rate_compare(rates[i].code, rates[j].code);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    assert_true(oneib_rate_compare(0, 2) < 0);
    assert_true(oneib_rate_compare(2, 200) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mtus_have_their_codes),
        cmocka_unit_test(anything_else_is_no_mtu),
        cmocka_unit_test(an_ip_mtu_gets_the_smallest_that_holds_it),
        cmocka_unit_test(connected_mode_gets_the_largest),
        cmocka_unit_test(rates_have_their_codes_and_nothing_else_has),
        cmocka_unit_test(rates_are_compared_by_speed_not_by_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
