// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define UNTOUCHED UINT64_C(0x5555)

static void assert_decimal(const char *string, uint64_t max, uint64_t expected)
{
    uint64_t value = UNTOUCHED;
    assert_true(oneib_parse_decimal(string, max, &value));
    assert_true(value == expected);
}

static void assert_no_decimal(const char *string, uint64_t max)
{
    uint64_t value = UNTOUCHED;
    assert_false(oneib_parse_decimal(string, max, &value));
    assert_true(value == UNTOUCHED);
}

static void assert_hex(const char *string, uint64_t max, uint64_t expected)
{
    uint64_t value = UNTOUCHED;
    assert_true(oneib_parse_hex(string, max, &value));
    assert_true(value == expected);
}

static void assert_no_hex(const char *string, uint64_t max)
{
    uint64_t value = UNTOUCHED;
    assert_false(oneib_parse_hex(string, max, &value));
    assert_true(value == UNTOUCHED);
}

static void decimal_numbers_up_to_the_largest_are_read(void **state)
{
    (void)state;
    assert_decimal("0", 0, 0);
    assert_decimal("7", 7, 7);
    assert_decimal("32766", 32766, 32766);
    assert_decimal("18446744073709551615", UINT64_MAX, UINT64_MAX);
}

static void a_decimal_above_the_maximum_is_refused(void **state)
{
    (void)state;
    assert_no_decimal("1", 0);
    assert_no_decimal("8", 7);
    assert_no_decimal("70000", 65535);
    assert_no_decimal("18446744073709551615", UINT64_MAX - 1);
}

static void overflow_is_refused(void **state)
{
    (void)state;
    assert_no_decimal("18446744073709551616", UINT64_MAX);
    assert_no_decimal("99999999999999999999", UINT64_MAX);
    assert_no_decimal("184467440737095516150", UINT64_MAX);
    assert_no_hex("0x10000000000000000", UINT64_MAX);
}

static void a_decimal_is_digits_and_nothing_else(void **state)
{
    (void)state;
    const char *const bad[] = {"",   " 1", "1 ",  "+1", "-1",  "-0",  "1.", "1e3", "0x1", "abc",
                               "1a", "00", "007", "1,", "1\n", "\t1", "１", "١",   NULL};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_no_decimal(bad[i], UINT64_MAX);
}

static void hexadecimal_numbers_up_to_the_largest_are_read(void **state)
{
    (void)state;
    assert_hex("0x0", 0, 0);
    assert_hex("0X1f", 0x1f, 0x1f);
    assert_hex("0xFfFf", 0xffff, 0xffff);
    assert_hex("0x0002c90300112233", UINT64_MAX, UINT64_C(0x0002c90300112233));
    assert_hex("0xffffffffffffffff", UINT64_MAX, UINT64_MAX);
}

static void a_hexadecimal_needs_its_prefix_and_1_to_16_digits(void **state)
{
    (void)state;
    const char *const bad[] = {
        "",      "0",    "0x",   "x1",   "1f",   "0x-1", "0x 1",
        " 0x1",  "0x1 ", "0x1g", "00x1", "-0x1", "0xx1", "0x00000000000000001",
        "0x1\n", NULL};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_no_hex(bad[i], UINT64_MAX);
}

static void a_hexadecimal_above_the_maximum_is_refused(void **state)
{
    (void)state;
    assert_no_hex("0x1", 0);
    assert_no_hex("0x8000", 0x7fff);
    assert_no_hex("0xffffffffffffffff", UINT64_MAX - 1);
}

static void bytes_beyond_the_length_are_not_looked_at(void **state)
{
    (void)state;
    uint64_t value = 0;
    const char decimal[] = {'4', '2', '7'};
    const char hex[] = {'0', 'x', '1', 'f'};
    assert_true(oneib_parse_decimal_n(decimal, 2, UINT64_MAX, &value));
    assert_int_equal(value, 42);
    assert_true(oneib_parse_hex_n(hex, 3, UINT64_MAX, &value));
    assert_int_equal(value, 1);
    assert_false(oneib_parse_decimal_n(decimal, 0, UINT64_MAX, &value));
    assert_false(oneib_parse_decimal_n("1\0", 2, UINT64_MAX, &value));
}

static void what_is_printed_is_read_back(void **state)
{
    (void)state;
    uint64_t number = 1;
    for (int i = 0; i < 100000; i++) {
        char text[32];
        /* Numerical Recipes' 64-bit generator, shifted so that all lengths occur. */
        number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t sample = number >> (i % 64);
        snprintf(text, sizeof text, "%" PRIu64, sample);
        assert_decimal(text, sample, sample);
        snprintf(text, sizeof text, "0x%016" PRIx64, sample);
        assert_hex(text, sample, sample);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimal_numbers_up_to_the_largest_are_read),
        cmocka_unit_test(a_decimal_above_the_maximum_is_refused),
        cmocka_unit_test(overflow_is_refused),
        cmocka_unit_test(a_decimal_is_digits_and_nothing_else),
        cmocka_unit_test(hexadecimal_numbers_up_to_the_largest_are_read),
        cmocka_unit_test(a_hexadecimal_needs_its_prefix_and_1_to_16_digits),
        cmocka_unit_test(a_hexadecimal_above_the_maximum_is_refused),
        cmocka_unit_test(bytes_beyond_the_length_are_not_looked_at),
        cmocka_unit_test(what_is_printed_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
