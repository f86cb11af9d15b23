// SPDX-License-Identifier: Apache-2.0
#include "node/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_reported(const char *reason, const char *expected)
{
    struct oneib_text text = {0};
    struct oneib_error failure = {.code = ONEIB_ERROR_REFUSED};
    snprintf(failure.text, sizeof failure.text, "%s", reason);
    oneib_report_failure(&failure, &text);
    assert_string_equal(text.data, expected);
    oneib_text_clear(&text);
}

static void a_reason_is_told_as_it_is(void **state)
{
    (void)state;
    assert_reported("VM 42 NIC 1: mlx4_0 has no free \"virtual\" function",
                    "VM 42 NIC 1: mlx4_0 has no free \"virtual\" function\n");
}

static void a_reason_is_one_line(void **state)
{
    (void)state;
    assert_reported("one\ntwo\r\nthree\x1b[2J\xff", "one two  three [2J \n");
}

static void what_opennebula_takes_for_a_log_message_is_hidden(void **state)
{
    (void)state;
    assert_reported("ERROR: gone", "infiniband: ERROR: gone\n");
    assert_reported("INFO: gone", "infiniband: INFO: gone\n");
    assert_reported("WARN: gone", "infiniband: WARN: gone\n");
    assert_reported("DEBUG: gone", "infiniband: DEBUG: gone\n");
    assert_reported("ERRORS are many: two", "ERRORS are many: two\n");
    assert_reported("E: short", "E: short\n");
}

static void blanks_in_front_hide_nothing(void **state)
{
    (void)state;
    assert_reported(" \n\tERROR: gone", "infiniband: ERROR: gone\n");
    assert_reported("\n7 VFs", "infiniband: 7 VFs\n");
}

static void a_reason_does_not_begin_with_a_number(void **state)
{
    (void)state;
    assert_reported("7 virtual functions", "infiniband: 7 virtual functions\n");
}

static void a_warning_is_a_line_of_the_log(void **state)
{
    (void)state;
    struct oneib_text text = {0};
    struct oneib_error left = {.code = ONEIB_ERROR_REFUSED, .text = "7 VFs are\nnot there"};
    oneib_report_warning(&left, &text);
    assert_string_equal(text.data, "WARN: infiniband: 7 VFs are not there\n");
    oneib_text_clear(&text);
}

static void no_reason_is_still_a_line(void **state)
{
    (void)state;
    assert_reported("", "infiniband: \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reason_is_told_as_it_is),
        cmocka_unit_test(a_reason_is_one_line),
        cmocka_unit_test(what_opennebula_takes_for_a_log_message_is_hidden),
        cmocka_unit_test(blanks_in_front_hide_nothing),
        cmocka_unit_test(a_reason_does_not_begin_with_a_number),
        cmocka_unit_test(a_warning_is_a_line_of_the_log),
        cmocka_unit_test(no_reason_is_still_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
