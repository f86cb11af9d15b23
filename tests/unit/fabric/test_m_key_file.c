// SPDX-License-Identifier: Apache-2.0
#include "../base/scratch.h"
#include "fabric/m_key_file.h"

static struct oneib_m_key_file file;
static struct oneib_error err;

#define PATH in_scratch("m_key")

static int end(void **state)
{
    oneib_m_key_file_close(&file);
    return remove_scratch(state);
}

/* As an editor does it: another file takes the place of the old one. */
static void replace(const char *text)
{
    FILE *stream = fopen(in_scratch("next"), "w");
    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
    assert_int_equal(rename(in_scratch("next"), PATH), 0);
}

static oneib_m_key first_key(void)
{
    return oneib_m_key_to_try(&file.keys, 0, 0);
}

static void without_a_file_there_is_no_key(void **state)
{
    (void)state;
    assert_int_equal(oneib_m_key_file_open(NULL, &file, &err), 0);
    assert_int_equal(oneib_m_key_file_renew(&file, &err), 0);
    assert_int_equal(first_key(), 0);
}

static void a_changed_file_is_read_again(void **state)
{
    (void)state;
    replace("0x11\n");
    assert_int_equal(oneib_m_key_file_open(PATH, &file, &err), 0);
    assert_int_equal(first_key(), 0x11);
    replace("0x22\n");
    assert_int_equal(first_key(), 0x11);
    assert_int_equal(oneib_m_key_file_renew(&file, &err), 0);
    assert_int_equal(first_key(), 0x22);
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_int_equal(oneib_m_key_file_open(PATH, &file, &err), -1);
    assert_non_null(strstr(err.text, PATH));
    assert_non_null(strstr(err.text, "fabric.m_key_file"));
    assert_null(file.path);
}

static void what_cannot_be_read_any_more_leaves_the_keys_and_is_an_error_each_time(void **state)
{
    (void)state;
    replace("0x11\n");
    assert_int_equal(oneib_m_key_file_open(PATH, &file, &err), 0);
    replace("nonsense\n");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(oneib_m_key_file_renew(&file, &err), -1);
        assert_non_null(strstr(err.text, "line 1"));
        assert_null(strstr(err.text, "nonsense"));
        assert_int_equal(first_key(), 0x11);
    }
    replace("0x33\n");
    assert_int_equal(oneib_m_key_file_renew(&file, &err), 0);
    assert_int_equal(first_key(), 0x33);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_scratch, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_a_file_there_is_no_key),
        CASE(a_changed_file_is_read_again),
        CASE(a_file_that_is_not_there_is_named),
        CASE(what_cannot_be_read_any_more_leaves_the_keys_and_is_an_error_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
