// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_decodes(const char *text, const char *expected, size_t length)
{
    size_t decoded = 4711;
    char *bytes = oneib_base64_decode(text, strlen(text), &decoded);
    if (!bytes)
        fail_msg("\"%s\" is refused", text);
    assert_int_equal(decoded, length);
    assert_memory_equal(bytes, expected, length + 1);
    free(bytes);
}

static void assert_refused(const char *text, size_t length)
{
    size_t decoded = 4711;
    char *bytes = oneib_base64_decode(text, length, &decoded);
    if (bytes)
        fail_msg("\"%s\" is taken", text);
    assert_int_equal(decoded, 0);
}

/* RFC 4648, section 10. */
static void the_standards_examples_are_decoded(void **state)
{
    (void)state;
    assert_decodes("Zg==", "f", 1);
    assert_decodes("Zm8=", "fo", 2);
    assert_decodes("Zm9v", "foo", 3);
    assert_decodes("Zm9vYg==", "foob", 4);
    assert_decodes("Zm9vYmE=", "fooba", 5);
    assert_decodes("Zm9vYmFy", "foobar", 6);
}

static void every_byte_can_be_written(void **state)
{
    (void)state;
    assert_decodes("AAEC/f7/", "\x00\x01\x02\xfd\xfe\xff", 6);
    assert_decodes("+/+/", "\xfb\xff\xbf", 3);
    assert_decodes("AA==", "\0", 1);
}

static void line_breaks_may_be_anywhere(void **state)
{
    (void)state;
    assert_decodes("Zm9v\nYmFy\n", "foobar", 6);
    assert_decodes("Zm9v\r\nYmFy\r\n", "foobar", 6);
    assert_decodes("\nZ\nm\n9\nv\n", "foo", 3);
    assert_decodes("Zg=\n=\n", "f", 1);
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    assert_refused("", 0);
    assert_refused("\n\r\n", 3);
    assert_refused("====", 4);
    assert_refused("=", 1);
}

static void what_is_no_base64_is_refused(void **state)
{
    static const char *const texts[] = {"Z",     "Zg",        "Zg=",      "Zg===",       "Zm9",
                                        "Zm9v=", "Zm9v==",    "=Zg=",     "Zg==Zg==",    "Zg=g",
                                        "Z===",  "Zm9v Zm8=", "Zm9v\t",   "Zm9-",        "Zm9_",
                                        "Zm9*",  "<VM>",      "Zm9v====", "Z\xc3\xa4==", "Zm9v\\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_refused(texts[i], strlen(texts[i]));
    assert_refused("Zm9v\000mFy", 8);
}

static void every_byte_that_is_not_of_the_alphabet_is_refused(void **state)
{
    size_t accepted = 0;
    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        const char text[] = {'Z', 'm', '9', (char)byte};
        size_t decoded;
        char *bytes = oneib_base64_decode(text, sizeof text, &decoded);
        accepted += bytes != NULL;
        free(bytes);
    }
    assert_int_equal(accepted, 64 + 1);
}

static void only_the_length_that_is_said_is_read(void **state)
{
    size_t decoded;
    const char text[] = {'Z', 'm', '9', 'v', '*'};
    (void)state;
    char *bytes = oneib_base64_decode(text, 4, &decoded);
    assert_non_null(bytes);
    assert_string_equal(bytes, "foo");
    free(bytes);
}

static void ten_mebibytes_are_decoded(void **state)
{
    const size_t length = 10u << 20;
    size_t decoded;
    char *text = malloc(length);
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < length; i += 4)
        memcpy(text + i, "Zm9v", 4);
    char *bytes = oneib_base64_decode(text, length, &decoded);
    assert_non_null(bytes);
    assert_int_equal(decoded, length / 4 * 3);
    assert_memory_equal(bytes + decoded - 3, "foo", 4);
    free(bytes);
    free(text);
}

static void must_have_groups(const char *text, size_t length, size_t wanted, const char *bytes)
{
    char decoded[16];
    assert_int_equal(oneib_base64_decode_groups(text, length, decoded), wanted);
    assert_memory_equal(decoded, bytes, wanted / 4 * 3);
}

static void whole_groups_are_decoded_up_to_the_first_that_is_none(void **state)
{
    (void)state;
    must_have_groups("Zm9vYmFy", 8, 8, "foobar");
    must_have_groups("Zm9vYmFy", 7, 4, "foo");
    must_have_groups("Zm9v+/+/", 8, 8, "foo\xfb\xff\xbf");
    must_have_groups("Zm9vYmE=Zm9v", 12, 4, "foo");
    must_have_groups("Zm9vY\nmFy", 9, 4, "foo");
    must_have_groups("Zm9v\xff\xff\xff\xff", 8, 4, "foo");
    must_have_groups("?m9v", 4, 0, "");
    must_have_groups("", 0, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_standards_examples_are_decoded),
        cmocka_unit_test(every_byte_can_be_written),
        cmocka_unit_test(line_breaks_may_be_anywhere),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(what_is_no_base64_is_refused),
        cmocka_unit_test(every_byte_that_is_not_of_the_alphabet_is_refused),
        cmocka_unit_test(only_the_length_that_is_said_is_read),
        cmocka_unit_test(ten_mebibytes_are_decoded),
        cmocka_unit_test(whole_groups_are_decoded_up_to_the_first_that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
