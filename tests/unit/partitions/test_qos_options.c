// SPDX-License-Identifier: Apache-2.0
#include "partitions/qos_options.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct oneib_qos_class gold = {.name = "gold", .weight = 64, .sls = 1 << 1};
static struct oneib_qos qos;
static struct oneib_text lines, names;

static int begin(void **state)
{
    struct oneib_error err;
    const struct oneib_qos_wish wish = {
        .classes = &gold, .class_count = 1, .others = 16, .vls = 4, .entries = 8};
    (void)state;
    if (oneib_qos_make(&wish, &qos, &err) < 0)
        return -1;
    oneib_qos_render(&qos, &lines);
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_text_clear(&lines);
    oneib_text_clear(&names);
    return 0;
}

static size_t differ(const char *text)
{
    return oneib_qos_options_differ(&qos, text, strlen(text), &names);
}

/* The lines, with what follows them in the file. */
static size_t differ_after(const char *more)
{
    oneib_text_append(&lines, more);
    return differ(lines.data);
}

static void the_lines_that_are_printed_are_as_they_should_be(void **state)
{
    (void)state;
    assert_int_equal(differ_after("# qos FALSE\nm_key 0x1\n"), 0);
    assert_null(names.data);
}

static void of_two_lines_the_last_counts(void **state)
{
    (void)state;
    assert_int_equal(differ_after("qos_ca_sl2vl 0,0\n"), 1);
    assert_string_equal(names.data, "qos_ca_sl2vl");
}

/* opensm takes nothing but TRUE for true. */
static void what_opensm_takes_for_false_is_named(void **state)
{
    (void)state;
    assert_int_equal(differ_after("qos true\n"), 1);
    assert_string_equal(names.data, "qos");
}

static void an_sl_of_the_subnet_managers_own_is_named(void **state)
{
    (void)state;
    assert_int_equal(differ_after("sm_sl 1\nqos FALSE\n"), 2);
    assert_string_equal(names.data, "qos, sm_sl");
}

/* qos and five options each of adapters, both kinds of switches' ports, and routers. */
static void of_an_empty_file_all_is_missing_but_what_is_opensms_default(void **state)
{
    (void)state;
    assert_int_equal(differ(""), 1 + 4 * 5);
    assert_null(strstr(names.data, "sm_sl"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_lines_that_are_printed_are_as_they_should_be, begin,
                                        end),
        cmocka_unit_test_setup_teardown(of_two_lines_the_last_counts, begin, end),
        cmocka_unit_test_setup_teardown(what_opensm_takes_for_false_is_named, begin, end),
        cmocka_unit_test_setup_teardown(an_sl_of_the_subnet_managers_own_is_named, begin, end),
        cmocka_unit_test_setup_teardown(of_an_empty_file_all_is_missing_but_what_is_opensms_default,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
