// SPDX-License-Identifier: Apache-2.0
#include "ib/pkey.h"
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_key(const char *string, oneib_pkey expected)
{
    oneib_pkey pkey = 0;
    assert_true(oneib_pkey_parse(string, &pkey));
    assert_int_equal(pkey, expected);
}

static void assert_no_key(const char *string)
{
    oneib_pkey pkey = 4711;
    if (oneib_pkey_parse(string, &pkey))
        fail_msg("\"%s\" was taken for key %u", string, pkey);
    assert_int_equal(pkey, 4711);
}

static void every_key_of_a_virtual_network_is_read(void **state)
{
    (void)state;
    for (unsigned key = ONEIB_PKEY_FIRST; key <= ONEIB_PKEY_LAST; key++) {
        char text[8];
        snprintf(text, sizeof text, "%u", key);
        assert_key(text, (oneib_pkey)key);
    }
    assert_key("1", 1);
    assert_key("32766", 32766);
}

static void a_key_of_0_is_refused(void **state)
{
    (void)state;
    assert_no_key("0");
    assert_no_key("00");
}

static void the_default_partition_is_nobodys_key(void **state)
{
    (void)state;
    assert_no_key("32767");
    assert_no_key("65535");
}

static void a_key_of_70000_is_refused(void **state)
{
    (void)state;
    assert_no_key("70000");
    assert_no_key("32768");
    assert_no_key("32769");
    assert_no_key("65537");
    assert_no_key("4294967301");
    assert_no_key("18446744073709551621");
}

static void hexadecimal_and_words_are_refused(void **state)
{
    (void)state;
    assert_no_key("0x8005");
    assert_no_key("0x5");
    assert_no_key("abc");
    assert_no_key("5a");
    assert_no_key("1e3");
}

static void blanks_signs_and_leading_zeros_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", " ", " 5", "5 ", "5\n", "+5", "-5", "05", "5.0", "5,6"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_no_key(wrong[i]);
    oneib_pkey pkey;
    assert_false(oneib_pkey_parse(NULL, &pkey));
}

static void the_top_bit_is_full_membership_alone(void **state)
{
    (void)state;
    assert_int_equal(oneib_pkey_raw(5, ONEIB_FULL), 0x8005);
    assert_int_equal(oneib_pkey_raw(5, ONEIB_LIMITED), 0x0005);
    for (unsigned raw = 0; raw <= UINT16_MAX; raw++) {
        oneib_pkey base = oneib_pkey_base((uint16_t)raw);
        bool full = oneib_pkey_is_full((uint16_t)raw);
        assert_int_equal(base, raw % 0x8000);
        assert_int_equal(full, raw >= 0x8000);
        assert_int_equal(oneib_pkey_raw(base, full ? ONEIB_FULL : ONEIB_LIMITED), raw);
    }
}

static void memberships_are_read_in_either_case(void **state)
{
    (void)state;
    enum oneib_membership membership = ONEIB_BOTH;
    assert_true(oneib_membership_parse("full", &membership) && membership == ONEIB_FULL);
    assert_true(oneib_membership_parse("Limited", &membership) && membership == ONEIB_LIMITED);
    assert_true(oneib_membership_parse("FULL", &membership) && membership == ONEIB_FULL);
}

static void any_other_membership_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",      "both", "ful",    "fulll", " full",
                                        "full ", "lim",  "limite", "1",     "yes"};
    enum oneib_membership membership = ONEIB_LIMITED;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(oneib_membership_parse(wrong[i], &membership));
    assert_false(oneib_membership_parse(NULL, &membership));
    assert_int_equal(membership, ONEIB_LIMITED);
}

static void memberships_have_opensms_names(void **state)
{
    (void)state;
    assert_string_equal(oneib_membership_name(ONEIB_LIMITED), "limited");
    assert_string_equal(oneib_membership_name(ONEIB_FULL), "full");
    assert_string_equal(oneib_membership_name(ONEIB_BOTH), "both");
}

static void a_key_is_shown_without_its_membership_bit(void **state)
{
    (void)state;
    assert_string_equal(oneib_pkey_shown(0x0100).text, "0x0100");
    assert_string_equal(oneib_pkey_raw_shown(0x8100).text, "0x0100 full");
    assert_string_equal(oneib_pkey_raw_shown(0x0100).text, "0x0100 limited");
    assert_string_equal(oneib_pkey_raw_shown(0x7fff).text, "0x7fff limited");
    assert_string_equal(oneib_pkey_raw_shown(0xffff).text, "0x7fff full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_a_virtual_network_is_read),
        cmocka_unit_test(a_key_of_0_is_refused),
        cmocka_unit_test(the_default_partition_is_nobodys_key),
        cmocka_unit_test(a_key_of_70000_is_refused),
        cmocka_unit_test(hexadecimal_and_words_are_refused),
        cmocka_unit_test(blanks_signs_and_leading_zeros_are_refused),
        cmocka_unit_test(the_top_bit_is_full_membership_alone),
        cmocka_unit_test(memberships_are_read_in_either_case),
        cmocka_unit_test(any_other_membership_is_refused),
        cmocka_unit_test(memberships_have_opensms_names),
        cmocka_unit_test(a_key_is_shown_without_its_membership_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
