// SPDX-License-Identifier: Apache-2.0
#include "hca/attribute.h"
#include "tree.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char *value_path;

static int make_value_path(void **state)
{
    tree_reset(state);
    value_path = tree_path("/sys/value");
    return 0;
}

static int free_value_path(void **state)
{
    (void)state;
    free(value_path);
    return 0;
}

/* Exactly these bytes. */
static void hold(const char *bytes, size_t length)
{
    const int fd = open(value_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    close(fd);
}

static void hold_text(const char *text)
{
    hold(text, strlen(text));
}

static void assert_error(int result, const struct oneib_error *err, enum oneib_error_code code)
{
    assert_int_equal(result, -1);
    assert_int_equal(err->code, code);
    assert_non_null(strstr(err->text, value_path));
}

static void assert_reads(const char *held, const char *expected)
{
    char text[ONEIB_ATTRIBUTE_SIZE];
    struct oneib_error err;
    hold_text(held);
    if (oneib_attribute_read(value_path, text, sizeof text, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(text, expected);
}

static void blanks_at_the_end_are_no_part_of_a_value(void **state)
{
    (void)state;
    assert_reads("4: ACTIVE\n", "4: ACTIVE");
    assert_reads("4: ACTIVE", "4: ACTIVE");
    assert_reads("none \t\n\n", "none");
    assert_reads(" x", " x");
    assert_reads("\n", "");
    assert_reads("", "");
}

static void a_value_may_fill_the_room_but_not_exceed_it(void **state)
{
    char text[8];
    struct oneib_error err = {0};
    (void)state;
    hold_text("1234567");
    assert_int_equal(oneib_attribute_read(value_path, text, sizeof text, &err), 0);
    assert_string_equal(text, "1234567");
    hold_text("12345678");
    assert_error(oneib_attribute_read(value_path, text, sizeof text, &err), &err,
                 ONEIB_ERROR_INPUT);
}

static void a_missing_file_is_told_from_an_unreadable_one(void **state)
{
    char text[8];
    struct oneib_error err = {0};
    (void)state;
    assert_error(oneib_attribute_read(value_path, text, sizeof text, &err), &err,
                 ONEIB_ERROR_NOT_FOUND);
    hold_text("1");
    tree_set_mode(0, "/sys/value");
    assert_error(oneib_attribute_read(value_path, text, sizeof text, &err), &err,
                 ONEIB_ERROR_SYSTEM);
}

static void a_value_with_a_nul_byte_is_refused(void **state)
{
    char text[8];
    struct oneib_error err = {0};
    (void)state;
    hold("7\0008", 3);
    assert_error(oneib_attribute_read(value_path, text, sizeof text, &err), &err,
                 ONEIB_ERROR_INPUT);
}

static void decimals_are_strict(void **state)
{
    static const char *const wrong[] = {"", "-1", "+1", " 1", "07", "0x1", "1 2", "none", "301"};
    struct oneib_error err = {0};
    uint64_t value = 4711;
    (void)state;
    hold_text("300\n");
    assert_int_equal(oneib_attribute_decimal(value_path, 300, &value, &err), 0);
    assert_int_equal(value, 300);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hold_text(wrong[i]);
        assert_error(oneib_attribute_decimal(value_path, 300, &value, &err), &err,
                     ONEIB_ERROR_INPUT);
        assert_int_equal(value, 300);
    }
}

static void hexadecimals_may_have_a_prefix(void **state)
{
    static const char *const right[] = {"0x8005\n", "0X8005", "8005\n", "0x0000000000008005"};
    static const char *const wrong[] = {"",     "0x",   "x8005",    "80 05", "-1",
                                        "none", "800g", "0x0x8005", "10000", "00000000000008005"};
    struct oneib_error err = {0};
    uint64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        hold_text(right[i]);
        value = 4711;
        assert_int_equal(oneib_attribute_hex(value_path, UINT16_MAX, &value, &err), 0);
        assert_int_equal(value, 0x8005);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hold_text(wrong[i]);
        assert_error(oneib_attribute_hex(value_path, UINT16_MAX, &value, &err), &err,
                     ONEIB_ERROR_INPUT);
        assert_int_equal(value, 0x8005);
    }
    hold_text("ffffffffffffffff\n");
    assert_int_equal(oneib_attribute_hex(value_path, UINT64_MAX, &value, &err), 0);
    assert_true(value == UINT64_MAX);
}

static void a_wrong_value_is_shown_and_steers_no_terminal(void **state)
{
    struct oneib_error err = {0};
    uint64_t value;
    (void)state;
    hold_text("no\033[2J\nnumber");
    assert_error(oneib_attribute_decimal(value_path, 9, &value, &err), &err, ONEIB_ERROR_INPUT);
    assert_non_null(strstr(err.text, "no\\x1b[2J\\x0anumber"));
    assert_null(strchr(err.text, '\033'));
    assert_null(strchr(err.text, '\n'));
}

static void a_write_leaves_only_the_new_value(void **state)
{
    char text[16];
    struct oneib_error err = {0};
    (void)state;
    hold_text("0000:81:00.1\n");
    assert_int_equal(oneib_attribute_write(value_path, "none", &err), 0);
    assert_int_equal(oneib_attribute_read(value_path, text, sizeof text, &err), 0);
    assert_string_equal(text, "none");
}

static void a_file_that_is_not_there_is_not_made(void **state)
{
    struct oneib_error err = {0};
    (void)state;
    assert_error(oneib_attribute_write(value_path, "1", &err), &err, ONEIB_ERROR_NOT_FOUND);
    assert_false(tree_exists("/sys/value"));
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
    struct oneib_error err = {0};
    (void)state;
    hold_text("1");
    tree_set_mode(0444, "/sys/value");
    assert_error(oneib_attribute_write(value_path, "2", &err), &err, ONEIB_ERROR_SYSTEM);
}

/* A limit of the file's size lets the first bytes through. */
static void a_write_of_a_part_is_an_error(void **state)
{
    struct rlimit before, three;
    struct oneib_error err = {0};
    (void)state;
    hold_text("");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    three = before;
    three.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &three), 0);
    const int result = oneib_attribute_write(value_path, "12345", &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_error(result, &err, ONEIB_ERROR_INPUT);
}

static void a_link_is_named_by_what_it_points_to(void **state)
{
    char name[16];
    struct oneib_error err = {0};
    (void)state;
    tree_link("/sys/bus/pci/drivers/vfio-pci", "/sys/value");
    assert_int_equal(oneib_attribute_link(value_path, name, sizeof name, &err), 0);
    assert_string_equal(name, "vfio-pci");
    unlink(value_path);
    assert_int_equal(symlink("plain", value_path), 0);
    assert_int_equal(oneib_attribute_link(value_path, name, sizeof name, &err), 0);
    assert_string_equal(name, "plain");
}

static void a_missing_link_is_told_from_what_is_none(void **state)
{
    char name[16];
    struct oneib_error err = {0};
    (void)state;
    assert_error(oneib_attribute_link(value_path, name, sizeof name, &err), &err,
                 ONEIB_ERROR_NOT_FOUND);
    hold_text("vfio-pci");
    assert_error(oneib_attribute_link(value_path, name, sizeof name, &err), &err,
                 ONEIB_ERROR_SYSTEM);
}

static void a_link_to_a_name_that_does_not_fit_is_refused(void **state)
{
    char name[9];
    struct oneib_error err = {0};
    (void)state;
    tree_link("/sys/vfio-pci", "/sys/value");
    assert_int_equal(oneib_attribute_link(value_path, name, sizeof name, &err), 0);
    assert_error(oneib_attribute_link(value_path, name, sizeof name - 1, &err), &err,
                 ONEIB_ERROR_INPUT);
    unlink(value_path);
    assert_int_equal(symlink("directory/", value_path), 0);
    assert_error(oneib_attribute_link(value_path, name, sizeof name, &err), &err,
                 ONEIB_ERROR_INPUT);
}

static void names_are_sorted_as_the_numbers_that_they_are(void **state)
{
    static const char *const expected[] = {"0", "2", "10", "100", "01", "1x", "a"};
    char **names;
    size_t count;
    struct oneib_error err;
    (void)state;
    for (size_t i = sizeof expected / sizeof *expected; i-- > 0;)
        tree_write("", "/sys/value/%s", expected[i]);
    tree_write("", "/sys/value/.hidden");
    assert_int_equal(oneib_attribute_list(value_path, &names, &count, &err), 0);
    assert_int_equal(count, 8);
    assert_string_equal(names[4], ".hidden");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(names[i + (i >= 4)], expected[i]);
    assert_null(names[count]);
    free(names);
}

static void an_absent_directory_has_no_names(void **state)
{
    char **names;
    size_t count = 4711;
    struct oneib_error err;
    (void)state;
    assert_int_equal(oneib_attribute_list(value_path, &names, &count, &err), 0);
    assert_int_equal(count, 0);
    assert_non_null(names);
    assert_null(names[0]);
    free(names);
}

static void a_directory_that_cannot_be_read_is_not_an_empty_one(void **state)
{
    char **names;
    size_t count;
    struct oneib_error err = {0};
    (void)state;
    tree_write("", "/sys/value/0");
    tree_set_mode(0, "/sys/value");
    assert_error(oneib_attribute_list(value_path, &names, &count, &err), &err, ONEIB_ERROR_SYSTEM);
    assert_null(names);
    tree_remove("/sys/value");
    hold_text("no directory");
    assert_error(oneib_attribute_list(value_path, &names, &count, &err), &err, ONEIB_ERROR_SYSTEM);
    assert_null(names);
}

static void a_directory_without_end_is_refused(void **state)
{
    char **names;
    size_t count;
    struct oneib_error err = {0};
    (void)state;
    for (unsigned i = 0; i < 4096; i++)
        tree_write("", "/sys/value/%u", i);
    assert_int_equal(oneib_attribute_list(value_path, &names, &count, &err), 0);
    assert_int_equal(count, 4096);
    assert_string_equal(names[4095], "4095");
    free(names);
    tree_write("", "/sys/value/x");
    assert_error(oneib_attribute_list(value_path, &names, &count, &err), &err, ONEIB_ERROR_INPUT);
    assert_null(names);
}

static void make_table(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        tree_write("7", "/sys/value/%u", i);
}

static int open_and_count(size_t max, size_t *count, struct oneib_error *err)
{
    oneib_autoattributes struct oneib_attribute_table table;
    if (oneib_attribute_table_open(value_path, &table, err) < 0)
        return -1;
    return oneib_attribute_table_count(&table, max, count, err);
}

static void a_table_is_counted_read_and_written(void **state)
{
    oneib_autoattributes struct oneib_attribute_table table;
    char text[ONEIB_ATTRIBUTE_SIZE];
    size_t count;
    uint64_t value;
    struct oneib_error err;
    (void)state;
    make_table(12);
    assert_int_equal(oneib_attribute_table_open(value_path, &table, &err), 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(oneib_attribute_table_count(&table, 12, &count, &err), 0);
        assert_int_equal(count, 12);
        assert_int_equal(oneib_attribute_table_write(&table, 11, "1f", &err), 0);
        assert_int_equal(oneib_attribute_table_read(&table, 11, text, sizeof text, &err), 0);
        assert_string_equal(text, "1f");
        assert_int_equal(oneib_attribute_table_hex(&table, 11, 31, &value, &err), 0);
        assert_int_equal(value, 31);
        assert_int_equal(oneib_attribute_table_read(&table, 1, text, sizeof text, &err), 0);
        assert_string_equal(text, "7");
    }
}

static void errors_name_the_entry_of_a_table(void **state)
{
    oneib_autoattributes struct oneib_attribute_table table;
    char text[ONEIB_ATTRIBUTE_SIZE];
    uint64_t value;
    struct oneib_error err = {0};
    (void)state;
    make_table(2);
    assert_int_equal(oneib_attribute_table_open(value_path, &table, &err), 0);
    assert_error(oneib_attribute_table_read(&table, 2, text, sizeof text, &err), &err,
                 ONEIB_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/sys/value/2"));
    assert_error(oneib_attribute_table_write(&table, 2, "0", &err), &err, ONEIB_ERROR_NOT_FOUND);
    assert_error(oneib_attribute_table_hex(&table, 1, 6, &value, &err), &err, ONEIB_ERROR_INPUT);
    assert_non_null(strstr(err.text, "/sys/value/1 reads"));
}

static void a_table_whose_directory_was_made_anew_is_not_the_new_one(void **state)
{
    oneib_autoattributes struct oneib_attribute_table table;
    char text[ONEIB_ATTRIBUTE_SIZE];
    struct oneib_error err = {0};
    (void)state;
    make_table(2);
    assert_int_equal(oneib_attribute_table_open(value_path, &table, &err), 0);
    tree_remove("/sys/value");
    make_table(2);
    assert_error(oneib_attribute_table_read(&table, 0, text, sizeof text, &err), &err,
                 ONEIB_ERROR_NOT_FOUND);
}

static void only_a_whole_table_is_counted(void **state)
{
    size_t count;
    struct oneib_error err = {0};
    (void)state;
    assert_error(open_and_count(8, &count, &err), &err, ONEIB_ERROR_NOT_FOUND);
    make_table(8);
    assert_int_equal(open_and_count(8, &count, &err), 0);
    assert_error(open_and_count(7, &count, &err), &err, ONEIB_ERROR_INPUT);
    tree_remove("/sys/value/5");
    assert_error(open_and_count(8, &count, &err), &err, ONEIB_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "has no entry 5"));
    tree_write("7", "/sys/value/x");
    assert_error(open_and_count(8, &count, &err), &err, ONEIB_ERROR_NOT_FOUND);
    tree_write("7", "/sys/value/05");
    assert_error(open_and_count(9, &count, &err), &err, ONEIB_ERROR_NOT_FOUND);
    tree_remove("/sys/value");
    tree_write("7", "/sys/value/0");
    tree_remove("/sys/value/0");
    assert_error(open_and_count(8, &count, &err), &err, ONEIB_ERROR_NOT_FOUND);
}

#define VALUE_TEST(name) cmocka_unit_test_setup_teardown(name, make_value_path, free_value_path)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VALUE_TEST(blanks_at_the_end_are_no_part_of_a_value),
        VALUE_TEST(a_value_may_fill_the_room_but_not_exceed_it),
        VALUE_TEST(a_missing_file_is_told_from_an_unreadable_one),
        VALUE_TEST(a_value_with_a_nul_byte_is_refused),
        VALUE_TEST(decimals_are_strict),
        VALUE_TEST(hexadecimals_may_have_a_prefix),
        VALUE_TEST(a_wrong_value_is_shown_and_steers_no_terminal),
        VALUE_TEST(a_write_leaves_only_the_new_value),
        VALUE_TEST(a_file_that_is_not_there_is_not_made),
        VALUE_TEST(a_file_that_cannot_be_written_is_an_error),
        VALUE_TEST(a_write_of_a_part_is_an_error),
        VALUE_TEST(a_link_is_named_by_what_it_points_to),
        VALUE_TEST(a_missing_link_is_told_from_what_is_none),
        VALUE_TEST(a_link_to_a_name_that_does_not_fit_is_refused),
        VALUE_TEST(names_are_sorted_as_the_numbers_that_they_are),
        VALUE_TEST(an_absent_directory_has_no_names),
        VALUE_TEST(a_directory_that_cannot_be_read_is_not_an_empty_one),
        VALUE_TEST(a_directory_without_end_is_refused),
        VALUE_TEST(a_table_is_counted_read_and_written),
        VALUE_TEST(errors_name_the_entry_of_a_table),
        VALUE_TEST(a_table_whose_directory_was_made_anew_is_not_the_new_one),
        VALUE_TEST(only_a_whole_table_is_counted),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
