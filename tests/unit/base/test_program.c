// SPDX-License-Identifier: Apache-2.0
#include "base/program.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct oneib_program daemon_like = {"oneibd", "help\n", true, NULL};
static const struct oneib_program placer_like = {"place", "help\n", true, "PLACER"};
static const struct oneib_program node_like = {"oneib-node", "help\n", false, NULL};
static struct oneib_given given;

#define BEGIN(program, ...)                                                                        \
    begin(&(program), (const char *const[]){"x", __VA_ARGS__},                                     \
          sizeof((const char *const[]){"x", __VA_ARGS__}) / sizeof(char *))
static int begin(const struct oneib_program *program, const char *const *argv, size_t argc)
{
    return oneib_program_begin(program, (int)argc, (char *const *)(uintptr_t)argv, &given);
}

static void what_was_given_is_told(void **state)
{
    (void)state;
    assert_int_equal(begin(&daemon_like, (const char *const[]){"x"}, 1), -1);
    assert_null(given.config);
    assert_int_equal(BEGIN(daemon_like, "--config", "a"), -1);
    assert_string_equal(given.config, "a");
    assert_int_equal(BEGIN(daemon_like, "--config=b"), -1);
    assert_string_equal(given.config, "b");
    assert_int_equal(BEGIN(placer_like, "/rank"), -1);
    assert_null(given.config);
    assert_string_equal(given.word, "/rank");
    assert_int_equal(BEGIN(placer_like, "--config", "a", "/rank"), -1);
    assert_string_equal(given.config, "a");
    assert_string_equal(given.word, "/rank");
}

static void nothing_else_is_taken(void **state)
{
    (void)state;
    assert_int_equal(BEGIN(daemon_like, "--config"), ONEIB_EXIT_USAGE);
    assert_int_equal(BEGIN(daemon_like, "--conf", "a"), ONEIB_EXIT_USAGE);
    assert_int_equal(BEGIN(daemon_like, "--configs=a"), ONEIB_EXIT_USAGE);
    assert_int_equal(BEGIN(daemon_like, "a"), ONEIB_EXIT_USAGE);
    assert_int_equal(BEGIN(daemon_like, "--help", "a"), ONEIB_EXIT_USAGE);
    assert_int_equal(BEGIN(daemon_like, "--help", "--version"), ONEIB_EXIT_USAGE);
    assert_int_equal(BEGIN(node_like, "--config", "a"), ONEIB_EXIT_USAGE);
    assert_int_equal(BEGIN(placer_like, "a", "b"), ONEIB_EXIT_USAGE);
    assert_int_equal(BEGIN(placer_like, "-a"), ONEIB_EXIT_USAGE);
    assert_int_equal(BEGIN(placer_like, "--config", "a"), ONEIB_EXIT_USAGE);
}

static void help_and_version_need_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(BEGIN(placer_like, "--help"), ONEIB_EXIT_DONE);
    assert_int_equal(BEGIN(daemon_like, "--version"), ONEIB_EXIT_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_is_told),
        cmocka_unit_test(nothing_else_is_taken),
        cmocka_unit_test(help_and_version_need_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
