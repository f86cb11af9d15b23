// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "node/hooks.h"
#include "scratch.h"

static struct oneib_error err;

static int run_with(const char *input, char *const *arguments)
{
    err = (struct oneib_error){0};
    return oneib_hooks_run(in_scratch("pre.d"), arguments, input, strlen(input), &err);
}

static int run(void)
{
    char *none[] = {NULL};
    return run_with("document", none);
}

/* A hook that notes its call in "calls", and goes on with `more`. */
static void write_hook(const char *name, const char *more)
{
    char path[300], script[1024];
    snprintf(path, sizeof path, "pre.d/%s", name);
    snprintf(script, sizeof script, "#!/bin/sh\necho \"$(basename \"$0\")\" >>'%s'\n%s\n",
             in_scratch("calls"), more);
    write_scratch(path, script, 0755);
}

static int make_hooks(void **state)
{
    return make_scratch(state) == 0 ? mkdir(in_scratch("pre.d"), 0755) : -1;
}

static void an_absent_directory_has_no_hooks(void **state)
{
    (void)state;
    rmdir(in_scratch("pre.d"));
    assert_int_equal(run(), 0);
}

static void an_empty_directory_has_no_hooks(void **state)
{
    (void)state;
    assert_int_equal(run(), 0);
}

static void what_is_no_directory_is_an_error(void **state)
{
    (void)state;
    rmdir(in_scratch("pre.d"));
    write_scratch("pre.d", "", 0755);
    assert_int_equal(run(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
}

static void hooks_run_by_name(void **state)
{
    (void)state;
    write_hook("20-b", "");
    write_hook("10-a", "");
    write_hook("Z", "");
    write_hook("a", "");
    assert_int_equal(run(), 0);
    assert_string_equal(read_scratch("calls"), "10-a\n20-b\nZ\na\n");
}

static void only_executable_files_run(void **state)
{
    (void)state;
    write_scratch("pre.d/README", "#!/bin/sh\nexit 1\n", 0644);
    write_scratch("pre.d/.hidden", "#!/bin/sh\nexit 1\n", 0755);
    assert_int_equal(mkdir(in_scratch("pre.d/directory"), 0755), 0);
    assert_int_equal(symlink("/nowhere", in_scratch("pre.d/dangling")), 0);
    write_hook("hook", "");
    assert_int_equal(run(), 0);
    assert_string_equal(read_scratch("calls"), "hook\n");
}

static void arguments_stay_single_words(void **state)
{
    (void)state;
    char *arguments[] = {(char[]){"a b"}, (char[]){"$(touch x); 'q'\n*"}, (char[]){""}, NULL};
    write_hook("hook", "printf '[%s]' \"$@\" >>\"$(dirname \"$0\")/../arguments\"");
    assert_int_equal(run_with("", arguments), 0);
    assert_string_equal(read_scratch("arguments"), "[a b][$(touch x); 'q'\n*][]");
}

static void every_hook_gets_the_input_as_it_came(void **state)
{
    (void)state;
    char *none[] = {NULL};
    write_hook("1", "cat >\"$(dirname \"$0\")/../input1\"");
    write_hook("2", "cat >\"$(dirname \"$0\")/../input2\"");
    assert_int_equal(run_with("PFZN\nPg==\n", none), 0);
    assert_string_equal(read_scratch("input1"), "PFZN\nPg==\n");
    assert_string_equal(read_scratch("input2"), "PFZN\nPg==\n");
}

static void a_hook_need_not_read_a_long_input(void **state)
{
    (void)state;
    char *none[] = {NULL};
    char *input = malloc(1 << 20);
    assert_non_null(input);
    memset(input, 'A', 1 << 20);
    input[(1 << 20) - 1] = '\0';
    write_hook("hook", "exit 0");
    assert_int_equal(run_with(input, none), 0);
    free(input);
}

static void the_first_failure_ends_it_and_is_quoted(void **state)
{
    (void)state;
    write_hook("1", "");
    write_hook("2", "echo 'no\tmore' >&2; exit 7");
    write_hook("3", "");
    assert_int_equal(run(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_string_equal(err.text, "hook \"2\" ended with exit status 7, \"no\\x09more\"");
    assert_string_equal(read_scratch("calls"), "1\n2\n");
}

static void a_hook_that_is_killed_is_an_error(void **state)
{
    (void)state;
    write_hook("hook", "kill -9 $$");
    assert_int_equal(run(), -1);
    assert_non_null(strstr(err.text, "running a hook"));
}

static void a_hook_without_an_interpreter_is_an_error(void **state)
{
    (void)state;
    write_scratch("pre.d/hook", "#!/no/such/interpreter\n", 0755);
    assert_int_equal(run(), -1);
    assert_non_null(strstr(err.text, "hook"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_hooks, remove_scratch)
    const struct CMUnitTest tests[] = {
        TEST(an_absent_directory_has_no_hooks),
        TEST(an_empty_directory_has_no_hooks),
        TEST(what_is_no_directory_is_an_error),
        TEST(hooks_run_by_name),
        TEST(only_executable_files_run),
        TEST(arguments_stay_single_words),
        TEST(every_hook_gets_the_input_as_it_came),
        TEST(a_hook_need_not_read_a_long_input),
        TEST(the_first_failure_ends_it_and_is_quoted),
        TEST(a_hook_that_is_killed_is_an_error),
        TEST(a_hook_without_an_interpreter_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
