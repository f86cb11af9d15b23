// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_failure_has_code_and_text(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    assert_int_equal(oneib_fail(&err, ONEIB_ERROR_INPUT, "VM %d NIC %d", 42, 1), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_int_equal(err.system_errno, 0);
    assert_string_equal(err.text, "VM 42 NIC 1");
}

static void a_failed_system_call_keeps_errno_and_says_it(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    assert_int_equal(oneib_fail_errno(&err, ENOENT, "cannot open %s", "x"), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_int_equal(err.system_errno, ENOENT);
    assert_string_equal(err.text, "cannot open x: No such file or directory");
}

static void a_later_failure_forgets_an_earlier_errno(void **state)
{
    (void)state;
    struct oneib_error err;
    oneib_fail_errno(&err, ENOENT, "first");
    oneib_fail(&err, ONEIB_ERROR_INPUT, "second");
    assert_int_equal(err.system_errno, 0);
    assert_string_equal(err.text, "second");
}

static void wrapping_puts_context_in_front_and_keeps_the_code(void **state)
{
    (void)state;
    struct oneib_error err;
    oneib_fail_errno(&err, EACCES, "open");
    assert_int_equal(oneib_wrap(&err, "line %d", 17), -1);
    assert_int_equal(oneib_wrap(&err, "file"), -1);
    assert_string_equal(err.text, "file: line 17: open: Permission denied");
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_int_equal(err.system_errno, EACCES);
}

static void an_errors_own_text_may_be_among_the_arguments(void **state)
{
    (void)state;
    struct oneib_error err;
    oneib_fail(&err, ONEIB_ERROR_INPUT, "inner");
    oneib_fail(&err, ONEIB_ERROR_CONFIG, "<%s>", err.text);
    assert_string_equal(err.text, "<inner>");
    oneib_wrap(&err, "{%s}", err.text);
    assert_string_equal(err.text, "{<inner>}: <inner>");
    oneib_fail_errno(&err, ENOENT, "(%s)", err.text);
    assert_string_equal(err.text, "({<inner>}: <inner>): No such file or directory");
}

static void assert_cut(const struct oneib_error *err)
{
    size_t length = strlen(err->text);
    assert_in_range(length, sizeof err->text - 5, sizeof err->text - 1);
    assert_string_equal(err->text + length - 3, "...");
}

static void a_long_text_is_cut_and_ends_in_dots(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';

    struct oneib_error err;
    oneib_fail(&err, ONEIB_ERROR_INPUT, "%s", text);
    assert_cut(&err);
    oneib_wrap(&err, "context");
    assert_cut(&err);
    assert_memory_equal(err.text, "context: xxx", 12);
    oneib_fail_errno(&err, ENOENT, "%s", text);
    assert_cut(&err);
}

static void a_text_that_just_fits_is_not_cut(void **state)
{
    (void)state;
    struct oneib_error err;
    char text[sizeof err.text];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    oneib_fail(&err, ONEIB_ERROR_INPUT, "%s", text);
    assert_string_equal(err.text, text);
}

static void a_cut_never_splits_a_character(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        char text[3001] = "ab";
        for (size_t at = shift; at + 3 < sizeof text; at += 3)
            memcpy(text + at, "\xe2\x82\xac", 3); /* the Euro sign */
        struct oneib_error err;
        oneib_fail(&err, ONEIB_ERROR_INPUT, "%s", text);
        assert_cut(&err);
        assert_int_equal((strlen(err.text) - 3 - shift) % 3, 0);
    }
}

static void every_code_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int a = ONEIB_ERROR_NONE; a <= ONEIB_ERROR_REFUSED; a++) {
        const char *name = oneib_error_code_name((enum oneib_error_code)a);
        assert_non_null(name);
        assert_string_not_equal(name, "unknown");
        for (int b = ONEIB_ERROR_NONE; b < a; b++)
            assert_string_not_equal(name, oneib_error_code_name((enum oneib_error_code)b));
    }
    assert_non_null(oneib_error_code_name((enum oneib_error_code)1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_has_code_and_text),
        cmocka_unit_test(a_failed_system_call_keeps_errno_and_says_it),
        cmocka_unit_test(a_later_failure_forgets_an_earlier_errno),
        cmocka_unit_test(wrapping_puts_context_in_front_and_keeps_the_code),
        cmocka_unit_test(an_errors_own_text_may_be_among_the_arguments),
        cmocka_unit_test(a_long_text_is_cut_and_ends_in_dots),
        cmocka_unit_test(a_text_that_just_fits_is_not_cut),
        cmocka_unit_test(a_cut_never_splits_a_character),
        cmocka_unit_test(every_code_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
