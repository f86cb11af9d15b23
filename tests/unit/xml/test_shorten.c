// SPDX-License-Identifier: Apache-2.0
/* Long sections are cut, from both sides of each limit, whatever users have written into them. */
#include "xml/reader.h"
#include "xml/shorten.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEPT ONEIB_SECTION_MAX
#define SURELY_CUT (ONEIB_SECTION_MAX / 2 * 3) /* 192 KiB */

#define BEFORE "<VM><ID>7</ID><TEMPLATE><A><![CDATA["
#define AFTER "]]></A><NAME><![CDATA[behind]]></NAME></TEMPLATE></VM>"

static struct oneib_error err;

/* A section of `length` bytes that begins with `words`; freed by the caller. */
static struct oneib_text document(const char *front, const char *words, size_t length)
{
    struct oneib_text text = {0};
    char *content = malloc(length + 1);
    assert_non_null(content);
    memset(content, 'x', length);
    memcpy(content, words, strlen(words));
    oneib_text_append(&text, front);
    oneib_text_append(&text, BEFORE);
    oneib_text_append_bytes(&text, content, length);
    oneib_text_append(&text, AFTER);
    free(content);
    return text;
}

static struct oneib_text shortened(const struct oneib_text *text)
{
    struct oneib_text copy = {0};
    oneib_shorten_sections(text->data, text->length, &copy);
    return copy;
}

/* What the reader makes of it: the name that stands behind the section; to be freed. NULL: it
 * refuses the document. */
static char *name_behind(const struct oneib_text *text)
{
    struct oneib_reader *reader = oneib_reader_open(text->data, text->length, &err);
    struct oneib_value value = {0};
    char *name = NULL;
    assert_non_null(reader);
    if (oneib_reader_root(reader, &err) < 0) {
        oneib_reader_close(reader);
        return NULL;
    }
    struct oneib_element vm = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &vm, &err)) > 0) {
        if (!oneib_reader_at(reader, ONEIB_NAME_TEMPLATE))
            continue;
        struct oneib_element template = oneib_reader_enter(reader);
        while ((outcome = oneib_reader_child(reader, &template, &err)) > 0)
            if (oneib_reader_at(reader, ONEIB_NAME_NAME) &&
                oneib_reader_value(reader, 64, &value, &err) == 0)
                name = strdup(value.text);
        if (outcome < 0)
            break;
    }
    oneib_reader_close(reader);
    if (outcome < 0) {
        free(name);
        return NULL;
    }
    return name;
}

static void must_read(const struct oneib_text *text)
{
    char *name = name_behind(text);
    if (!name)
        fail_msg("%s", err.text);
    assert_string_equal(name, "behind");
    free(name);
}

/* How much of the section is left, when all around it is as it was. */
static size_t left_of_section(const struct oneib_text *copy)
{
    const size_t around = strlen(BEFORE) + strlen(AFTER);
    assert_memory_equal(copy->data, BEFORE, strlen(BEFORE));
    assert_string_equal(copy->data + copy->length - strlen(AFTER), AFTER);
    return copy->length - around;
}

static void sections_are_cut_from_192_kib_on_whatever_they_begin_with(void **state)
{
    (void)state;
    static const char *const words[] = {"", "<!--", "<?", "<!-- --><?x?>", "<![CDATA[", "<VM>"};
    static const size_t lengths[] = {KEPT - 1,   KEPT,           KEPT + 1,       SURELY_CUT - 1,
                                     SURELY_CUT, SURELY_CUT + 1, 2 * SURELY_CUT, 8 * SURELY_CUT};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            struct oneib_text text = document("", words[i], lengths[j]);
            struct oneib_text copy = shortened(&text);
            if (copy.data)
                assert_int_equal(left_of_section(&copy), lengths[j] < KEPT ? lengths[j] : KEPT);
            assert_true(copy.data || lengths[j] < SURELY_CUT);
            must_read(&text);
            oneib_text_clear(&text);
            oneib_text_clear(&copy);
        }
}

/* What such markup hides nobody knows, and oned writes none. */
static void from_markup_outside_of_sections_on_nothing_is_cut(void **state)
{
    (void)state;
    static const char *const fronts[] = {"<POOL><!-- -->", "<POOL><?x?>"};
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
        struct oneib_text text = document(fronts[i], "", SURELY_CUT + 1);
        struct oneib_text copy = shortened(&text);
        assert_int_equal(copy.length, text.length);
        assert_memory_equal(copy.data, text.data, text.length);
        oneib_text_clear(&text);
        oneib_text_clear(&copy);
    }
}

/* A character of several bytes is not cut in two. */
static void no_character_is_cut_in_two(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        struct oneib_text text = document("", "", SURELY_CUT + 8);
        memcpy(text.data + strlen(BEFORE) + KEPT - shift, "\xf0\x9f\x90\xa7", 4);
        struct oneib_text copy = shortened(&text);
        assert_int_equal(left_of_section(&copy), KEPT - shift);
        must_read(&text);
        oneib_text_clear(&text);
        oneib_text_clear(&copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_are_cut_from_192_kib_on_whatever_they_begin_with),
        cmocka_unit_test(from_markup_outside_of_sections_on_nothing_is_cut),
        cmocka_unit_test(no_character_is_cut_in_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
