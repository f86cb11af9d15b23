// SPDX-License-Identifier: Apache-2.0
#include "ib/device.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_phydev(const char *text, const char *name, uint8_t number)
{
    char device[ONEIB_DEVICE_NAME_SIZE] = "before";
    uint8_t port = 77;
    if (!oneib_phydev_parse(text, strlen(text), device, &port))
        fail_msg("\"%s\" is refused", text);
    assert_string_equal(device, name);
    assert_int_equal(port, number);
}

static void assert_no_phydev(const char *bytes, size_t length)
{
    char device[ONEIB_DEVICE_NAME_SIZE] = "before";
    uint8_t port = 77;
    if (oneib_phydev_parse(bytes, length, device, &port))
        fail_msg("\"%s\" is taken", bytes);
    assert_string_equal(device, "before");
    assert_int_equal(port, 77);
}

static void names_that_the_kernel_gives_are_valid(void **state)
{
    static const char *const names[] = {"mlx4_0", "mlx5_bond_0", "ibp129s0f1", "rocep1s0.v2",
                                        "hfi1-0", "A",           "...",        ".a"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(oneib_device_name_is_valid(names[i], strlen(names[i])));
}

static void names_that_steer_a_path_or_a_shell_are_not(void **state)
{
    static const char *const names[] = {"",   ".",   "..", "a/b", "/", "a b", "a;b", "a:b",
                                        "$a", "a\n", "\"", "a\\", "ä", "a*",  "~"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (oneib_device_name_is_valid(names[i], strlen(names[i])))
            fail_msg("\"%s\" is valid", names[i]);
    assert_false(oneib_device_name_is_valid("mlx4\0000", 6));
}

static void every_byte_that_is_no_letter_digit_or_sign_is_refused(void **state)
{
    size_t valid = 0;
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        const char name[2] = {'a', (char)byte};
        valid += oneib_device_name_is_valid(name, 2);
    }
    assert_int_equal(valid, 26 + 26 + 10 + 3);
}

static void a_name_has_at_most_31_bytes(void **state)
{
    char name[ONEIB_DEVICE_NAME_SIZE];
    (void)state;
    memset(name, 'x', sizeof name);
    assert_true(oneib_device_name_is_valid(name, ONEIB_DEVICE_NAME_SIZE - 1));
    assert_false(oneib_device_name_is_valid(name, ONEIB_DEVICE_NAME_SIZE));
}

static void only_the_length_that_is_said_counts(void **state)
{
    char device[ONEIB_DEVICE_NAME_SIZE];
    uint8_t port;
    (void)state;
    assert_true(oneib_device_name_is_valid("mlx4_0/x", 6));
    assert_true(oneib_phydev_parse("mlx4_0:25", 8, device, &port));
    assert_int_equal(port, 2);
    assert_true(oneib_phydev_parse("mlx4_0:25", 6, device, &port));
    assert_string_equal(device, "mlx4_0");
    assert_int_equal(port, 0);
}

static void a_phydev_may_name_a_port(void **state)
{
    (void)state;
    assert_phydev("mlx4_0", "mlx4_0", 0);
    assert_phydev("mlx5_1:2", "mlx5_1", 2);
    assert_phydev("x:1", "x", 1);
    assert_phydev("x:254", "x", 254);
    assert_phydev("a-name-of-exactly-31-characters:1", "a-name-of-exactly-31-characters", 1);
}

static void other_phydevs_are_refused_and_change_nothing(void **state)
{
    static const char *const texts[] = {
        "",       ":",    ":1",   "x:",           "x:0",
        "x:255",  "x:01", "x:+1", "x: 1",         "x:1 ",
        "x:1:2",  "x:a",  "x::1", " x",           "x\n",
        "../x:1", "..:1", ".",    "x:4294967297", "a-name-of-more-than-31-characters"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_no_phydev(texts[i], strlen(texts[i]));
    assert_no_phydev("x:1\000", 4);
    assert_no_phydev("x\000y", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_the_kernel_gives_are_valid),
        cmocka_unit_test(names_that_steer_a_path_or_a_shell_are_not),
        cmocka_unit_test(every_byte_that_is_no_letter_digit_or_sign_is_refused),
        cmocka_unit_test(a_name_has_at_most_31_bytes),
        cmocka_unit_test(only_the_length_that_is_said_counts),
        cmocka_unit_test(a_phydev_may_name_a_port),
        cmocka_unit_test(other_phydevs_are_refused_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
