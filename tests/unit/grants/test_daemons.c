// SPDX-License-Identifier: Apache-2.0
/* The file of daemons. */
#include "grants/daemons.h"
#include "grants/seal.h"
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KEY_1 "1111111111111111111111111111111111111111111111111111111111111111"
#define KEY_2 "2222222222222222222222222222222222222222222222222222222222222222"
#define KEY_3 "33333333333333333333333333333333333333333333333333333333333333aB"
#define KEY_4 "4444444444444444444444444444444444444444444444444444444444444444"

static struct oneib_daemons daemons;
static struct oneib_error err;

static int parse(const char *text)
{
    return oneib_daemons_parse(text, strlen(text), "daemons", &daemons, &err);
}

static void assert_refused(const char *text, const char *why)
{
    daemons.count = 4711;
    assert_int_equal(parse(text), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_int_equal(daemons.count, 0);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void lines_are_daemons(void **state)
{
    (void)state;
    static const char text[] = "# of site 3\n"
                               "\n"
                               "tcp://10.0.0.1:9678 " KEY_1 " " KEY_2 " # the first\n"
                               "\ttcp://sm-2.example.org:9678\t" KEY_3 "  " KEY_4;
    assert_int_equal(parse(text), 0);
    assert_int_equal(daemons.count, 2);
    assert_string_equal(daemons.items[0].address, "tcp://10.0.0.1:9678");
    assert_string_equal(daemons.items[1].address, "tcp://sm-2.example.org:9678");
    assert_int_equal(daemons.items[0].curve[0], 0x11);
    assert_int_equal(daemons.items[0].sign[31], 0x22);
    assert_int_equal(daemons.items[1].curve[31], 0xab);
    assert_int_equal(daemons.items[0].since, 0);
}

static void an_empty_file_has_none(void **state)
{
    (void)state;
    assert_int_equal(parse(""), 0);
    assert_int_equal(daemons.count, 0);
    assert_int_equal(parse("\n \t \n# nothing\n"), 0);
    assert_int_equal(daemons.count, 0);
}

static void what_is_rendered_is_parsed_again(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text text = {0};
    static const char canonical[] = "tcp://[fe80::1]:1 " KEY_1 " " KEY_2 "\n"
                                    "tcp://sm:65535 " KEY_2 " " KEY_1 "\n";
    assert_int_equal(parse(canonical), 0);
    oneib_daemons_render(&daemons, &text);
    assert_string_equal(text.data, canonical);
}

static void an_address_that_nobody_can_connect_to_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "10.0.0.1:2633",      "tcp://10.0.0.1",       "tcp://10.0.0.1:",
        "tcp://10.0.0.1:0",   "tcp://10.0.0.1:65536", "tcp://10.0.0.1:02",
        "tcp://:9678",        "tcp://*:9678",         "tcp://a/b:9678",
        "tcp://a;b:9678",     "ipc:///tmp/x:2633",    "tcp://",
        "tcp://[]:9678",      "tcp://[:9678",         "tcp://[fe80::1:9678",
        "tcp://fe80::1:9678", "udp://a:2633",         "tcp://a:9678;tcp://b:1",
        "tcp://eth0;a:1",     "tcp://-a:1",           "tcp://.a:1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[512];
        snprintf(line, sizeof line, "%s " KEY_1 " " KEY_2 "\n", wrong[i]);
        assert_refused(line, "daemons, line 1: the address");
    }
    char longest[ONEIB_ADDRESS_SIZE + 256];
    snprintf(longest, sizeof longest, "tcp://%0*d:9678 " KEY_1 " " KEY_2, ONEIB_ADDRESS_SIZE - 12,
             0);
    assert_int_equal(parse(longest), 0);
    snprintf(longest, sizeof longest, "tcp://%0*d:9678 " KEY_1 " " KEY_2, ONEIB_ADDRESS_SIZE - 11,
             0);
    assert_refused(longest, "address");
}

static void a_key_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    char line[512];
    assert_refused("tcp://a:1 1111 " KEY_2, "key");
    assert_refused("tcp://a:1 " KEY_1 "1 " KEY_2, "key");
    assert_refused("tcp://a:1 " KEY_1 " x" KEY_2, "key");
    snprintf(line, sizeof line, "tcp://a:1 %s " KEY_2, zeros);
    assert_refused(line, "key");
    snprintf(line, sizeof line, "tcp://a:1 %.63sg " KEY_2, KEY_1);
    assert_refused(line, "key");
}

static void another_number_of_words_is_refused(void **state)
{
    (void)state;
    assert_refused("\ntcp://a:1 " KEY_1 "\n", "line 2: 2 words");
    assert_refused("tcp://a:1 " KEY_1 " " KEY_2 " more\n", "4 words");
}

static void what_two_lines_have_in_common_is_refused(void **state)
{
    (void)state;
    assert_refused("tcp://a:1 " KEY_1 " " KEY_2 "\ntcp://a:1 " KEY_3 " " KEY_4 "\n", "line 2");
    assert_refused("tcp://a:1 " KEY_1 " " KEY_2 "\ntcp://b:1 " KEY_1 " " KEY_4 "\n", "line 2");
    assert_refused("tcp://a:1 " KEY_1 " " KEY_2 "\ntcp://b:1 " KEY_3 " " KEY_2 "\n", "line 2");
}

static void more_than_can_be_known_are_refused(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text text = {0};
    for (int i = 0; i < ONEIB_DAEMONS_MAX; i++)
        oneib_text_printf(&text, "tcp://a:%d %064d %064d\n", i + 1, i + 1, i + 11);
    assert_int_equal(parse(text.data), 0);
    assert_int_equal(daemons.count, ONEIB_DAEMONS_MAX);
    oneib_text_printf(&text, "tcp://a:9 %064d %064d\n", 9, 19);
    assert_refused(text.data, "more than 4");
}

static void bytes_that_are_no_text_are_refused(void **state)
{
    (void)state;
    static const char text[] = "tcp://a\0b:1 " KEY_1 " " KEY_2;
    assert_int_equal(oneib_daemons_parse(text, sizeof text - 1, "daemons", &daemons, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_daemons),
        cmocka_unit_test(an_empty_file_has_none),
        cmocka_unit_test(what_is_rendered_is_parsed_again),
        cmocka_unit_test(an_address_that_nobody_can_connect_to_is_refused),
        cmocka_unit_test(a_key_that_is_none_is_refused),
        cmocka_unit_test(another_number_of_words_is_refused),
        cmocka_unit_test(what_two_lines_have_in_common_is_refused),
        cmocka_unit_test(more_than_can_be_known_are_refused),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
