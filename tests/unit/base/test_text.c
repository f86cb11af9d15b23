// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_untouched_text_has_no_data(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text text = {0};
    assert_null(text.data);
    assert_int_equal(text.length, 0);
}

static void pieces_are_joined_in_order(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "one");
    oneib_text_append_bytes(&text, "12345", 2);
    oneib_text_printf(&text, "=0x%04x", 0x8005);
    oneib_text_append(&text, "");
    assert_string_equal(text.data, "one12=0x8005");
    assert_int_equal(text.length, strlen("one12=0x8005"));
}

static void appending_nothing_gives_the_empty_string(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append_bytes(&text, NULL, 0);
    assert_string_equal(text.data, "");
    assert_int_equal(text.length, 0);
}

static void nul_bytes_are_bytes_like_others(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append_bytes(&text, "a\0b", 3);
    assert_int_equal(text.length, 3);
    assert_memory_equal(text.data, "a\0b", 4);
}

static void a_long_text_is_whole(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text text = {0};
    for (int i = 0; i < 20000; i++)
        oneib_text_printf(&text, "%05d\n", i);
    assert_int_equal(text.length, 6 * 20000);
    for (int i = 0; i < 20000; i++)
        assert_int_equal(atoi(text.data + (size_t)i * 6), i);
}

static void a_formatted_piece_may_be_of_any_length(void **state)
{
    (void)state;
    for (size_t length = 0; length < 300; length++) {
        oneib_autotext struct oneib_text text = {0};
        oneib_text_printf(&text, "%*s|", (int)length, "");
        assert_int_equal(text.length, length + 1);
        assert_int_equal(text.data[length], '|');
        assert_int_equal(text.data[length + 1], '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_untouched_text_has_no_data),
        cmocka_unit_test(pieces_are_joined_in_order),
        cmocka_unit_test(appending_nothing_gives_the_empty_string),
        cmocka_unit_test(nul_bytes_are_bytes_like_others),
        cmocka_unit_test(a_long_text_is_whole),
        cmocka_unit_test(a_formatted_piece_may_be_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
