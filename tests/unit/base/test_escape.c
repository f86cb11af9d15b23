// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_escaped(const char *string, size_t max, const char *expected)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "[");
    oneib_text_append_escaped(&text, string, max);
    assert_string_equal(text.data + 1, expected);
}

static void plain_text_and_letters_of_all_languages_stay(void **state)
{
    (void)state;
    assert_escaped("web-1 (Zürich) 東京 🙂", SIZE_MAX, "web-1 (Zürich) 東京 🙂");
    assert_escaped("", SIZE_MAX, "");
    assert_escaped(NULL, SIZE_MAX, "");
}

static void a_line_cannot_be_forged(void **state)
{
    (void)state;
    assert_escaped("a\nb\rc\td", SIZE_MAX, "a\\x0ab\\x0dc\\x09d");
    assert_escaped("a\xe2\x80\xa8z", SIZE_MAX, "a\\xe2\\x80\\xa8z"); /* U+2028, line separator */
}

static void quotes_cannot_be_ended(void **state)
{
    (void)state;
    assert_escaped("a\"b\\", SIZE_MAX, "a\\x22b\\x5c");
}

static void a_terminal_cannot_be_steered(void **state)
{
    (void)state;
    assert_escaped("\x1b[2J\x7f", SIZE_MAX, "\\x1b[2J\\x7f");
    assert_escaped("\xc2\x9b", SIZE_MAX, "\\xc2\\x9b");          /* U+009B, CSI */
    assert_escaped("\xe2\x80\xae", SIZE_MAX, "\\xe2\\x80\\xae"); /* U+202E, right to left */
    assert_escaped("\xd8\x9c", SIZE_MAX, "\\xd8\\x9c");          /* U+061C, a direction mark */
    assert_escaped("\xef\xbb\xbf", SIZE_MAX, "\\xef\\xbb\\xbf"); /* U+FEFF */
}

/* One of each kind; and the neighbours of ranges, which have a glyph. */
static void a_character_without_a_glyph_is_shown_escaped(void **state)
{
    (void)state;
    static const char *const invisible[] = {
        "\u00a0",     /* no-break space */
        "\u00ad",     /* soft hyphen */
        "\u034f",     /* combining grapheme joiner */
        "\u115f",     /* a filler among letters */
        "\u180b",     /* a variation selector */
        "\u200b",     /* zero width space */
        "\u2060",     /* word joiner */
        "\u2800",     /* blank pattern */
        "\u3164",     /* a filler among letters */
        "\ufe0f",     /* a variation selector */
        "\U0001d159", /* null notehead */
        "\U000e0041", /* tag */
        "\U000e0fff", /* not assigned, and to be ignored */
    };
    for (size_t i = 0; i < sizeof invisible / sizeof *invisible; i++)
        assert_int_equal(oneib_printable_length(invisible[i]), 0);
    assert_escaped("red\u200b", SIZE_MAX, "red\\xe2\\x80\\x8b");
    assert_escaped("\u00a1\u00ac\u00ae\u2010\u2801\U0001d158", SIZE_MAX,
                   "\u00a1\u00ac\u00ae\u2010\u2801\U0001d158");
}

static void what_is_not_utf8_is_escaped(void **state)
{
    (void)state;
    assert_escaped("\xff", SIZE_MAX, "\\xff");
    assert_escaped("\xc3", SIZE_MAX, "\\xc3");
    assert_escaped("\xc0\xaf", SIZE_MAX, "\\xc0\\xaf");                   /* too long a form */
    assert_escaped("\xe0\x80\xaf", SIZE_MAX, "\\xe0\\x80\\xaf");          /* the same */
    assert_escaped("\xed\xa0\x80", SIZE_MAX, "\\xed\\xa0\\x80");          /* a surrogate */
    assert_escaped("\xf4\x90\x80\x80", SIZE_MAX, "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
    assert_escaped("\xe2\x82"
                   "a",
                   SIZE_MAX,
                   "\\xe2\\x82"
                   "a");
}

static void what_is_too_long_is_cut_and_shown_as_cut(void **state)
{
    (void)state;
    assert_escaped("abcdef", 3, "abc...");
    assert_escaped("abc", 3, "abc");
}

static void assert_last_line(const char *said, const char *expected)
{
    struct oneib_text text = {0};
    oneib_text_append_last_line(&text, said);
    assert_string_equal(text.data ? text.data : "", expected);
    oneib_text_clear(&text);
}

static void of_what_a_program_said_the_last_line_is_shown(void **state)
{
    (void)state;
    assert_last_line("first\nsecond \"a\\b\"\n", "second \"a\\b\"");
    assert_last_line("first\nsecond", "second");
    assert_last_line("a\033[2Jb\n", "a\\x1b[2Jb");
    assert_last_line("\n", "");
    assert_last_line("", "");
    assert_last_line(NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_and_letters_of_all_languages_stay),
        cmocka_unit_test(a_line_cannot_be_forged),
        cmocka_unit_test(quotes_cannot_be_ended),
        cmocka_unit_test(a_terminal_cannot_be_steered),
        cmocka_unit_test(a_character_without_a_glyph_is_shown_escaped),
        cmocka_unit_test(what_is_not_utf8_is_escaped),
        cmocka_unit_test(what_is_too_long_is_cut_and_shown_as_cut),
        cmocka_unit_test(of_what_a_program_said_the_last_line_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
