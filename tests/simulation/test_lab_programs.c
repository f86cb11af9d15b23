// SPDX-License-Identifier: Apache-2.0
/* Where the lab finds programs, and what it says of those that it cannot start. */
#include "lab_internal.h"
#include "lab_node.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct oneib_error err;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

static int open_one(void **state)
{
    struct lab_options options = {.leaves = 1, .hosts_per_leaf = 1};
    *state = lab_open(&options, &err);
    return *state ? 0 : -1;
}

static int close_one(void **state)
{
    lab_close(*state);
    return 0;
}

static void assert_said(const char *text)
{
    if (!strstr(err.text, text))
        fail_msg("\"%s\" does not say \"%s\"", err.text, text);
}

/* A user's of Debian. */
#define USERS_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"

static void programs_of_sbin_are_found_whatever_the_callers_path(void **state)
{
    struct lab *lab = *state;
    char *before = strdup(getenv("PATH") ? getenv("PATH") : "");
    assert_non_null(before);
    assert_int_equal(setenv("PATH", USERS_PATH, 1), 0);
    assert_null(lab_missing());
    ok(lab_fabric_start(lab, &err));
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    assert_int_equal(setenv("PATH", before, 1), 0);
    free(before);
}

static void a_program_that_is_nowhere_is_told_with_directories_and_package(void **state)
{
    (void)state;
    char found[PATH_MAX];
    assert_int_equal(lab_find_program("opensm", "/nowhere:/proc/self", found, &err), -1);
    assert_said("starting opensm: it is in no directory of /nowhere:/proc/self");
    assert_said("Debian's package opensm");
    assert_int_equal(lab_find_program("smpquery", "", found, &err), -1);
    assert_said("Debian's package infiniband-diags");
    assert_int_equal(lab_find_program("no-such-program", LAB_PATH, found, &err), -1);
    assert_null(strstr(err.text, "package"));
}

static void a_name_of_a_directory_is_passed_over(void **state)
{
    struct lab *lab = *state;
    char found[PATH_MAX], directories[256];
    const char *directory = lab_path(lab, "first/sh");
    snprintf(directories, sizeof directories, "%s/first:%s/bin:/bin", lab_directory(lab),
             lab_directory(lab));
    assert_int_equal(mkdir(lab_path(lab, "first"), 0755), 0);
    assert_int_equal(mkdir(directory, 0755), 0);
    ok(lab_find_program("sh", directories, found, &err));
    assert_string_equal(found, "/bin/sh");
}

static void a_program_that_cannot_be_executed_is_an_error_that_says_why(void **state)
{
    struct lab *lab = *state;
    struct lab_output output;
    ok(lab_write(lab, "closed", 0600, "#!/bin/sh\n", &err));
    const char *argv[] = {lab_path(lab, "closed"), NULL};
    assert_int_equal(lab_run(lab, NULL, argv, 1000, &output, &err), -1);
    assert_said("/closed: Permission denied");
    const char *missing[] = {"no-such-program", NULL};
    assert_int_equal(lab_run(lab, NULL, missing, 1000, &output, &err), -1);
    assert_said("starting no-such-program: it is in no directory of /usr/local/sbin:");
}

/* The log is gone with the lab when somebody reads this. */
static void what_a_program_said_before_its_end_is_in_the_error(void **state)
{
    struct lab *lab = *state;
    const char *argv[] = {"sh", "-c", "echo this is why >&2", NULL};
    pid_t pid;
    ok(lab_spawn(lab, "talker", NULL, argv, &pid, &err));
    assert_int_equal(lab_await_text(lab, "talker.log", 0, "ready", pid, 10000, &err), -1);
    assert_said("talker.log ends with:\nthis is why");
    assert_null(strstr(err.text, lab_directory(lab)));
}

static void a_program_that_said_nothing_is_told_so(void **state)
{
    struct lab *lab = *state;
    pid_t pid;
    ok(lab_spawn(lab, "silent", NULL, (const char *[]){"true", NULL}, &pid, &err));
    assert_int_equal(lab_await_text(lab, "silent.log", 0, "ready", pid, 10000, &err), -1);
    assert_said("it has said nothing");
}

static void the_end_of_a_long_log_begins_with_a_line(void **state)
{
    struct lab *lab = *state;
    char text[6000] = "";
    for (unsigned line = 0; line < 200; line++)
        snprintf(text + strlen(text), 32, "line number %u\n", line);
    ok(lab_write(lab, "long.log", 0600, text, &err));
    char *end = lab_log_end(lab, "long.log");
    assert_non_null(end);
    assert_non_null(strstr(end, "ends with:\nline number 1"));
    assert_string_equal(end + strlen(end) - strlen("line number 199"), "line number 199");
    assert_in_range(strlen(end), 300, 450);
    free(end);
}

/* nobody, as whom they run when root runs the lab, may not enter the build. */
static void programs_of_a_node_are_started_from_the_labs_directory(void **state)
{
    struct lab *lab = *state;
    struct lab_node_options options = LAB_NODES_DEFAULTS;
    char link[64], place[PATH_MAX] = "";
    ok(lab_fabric_start(lab, &err));
    ok(lab_nodes_start(lab, &options, &err));
    snprintf(link, sizeof link, "/proc/%d/exe", lab_child_pid(lab, "node-standin"));
    assert_true(readlink(link, place, sizeof place - 1) > 0);
    assert_memory_equal(place, lab_directory(lab), strlen(lab_directory(lab)));
}

/* A root's $TMPDIR may be closed to nobody; blanks end paths in LD_PRELOAD. */
static void a_directory_for_temporary_files_that_does_not_do_is_passed_over(void **state)
{
    struct lab *first = *state;
    struct lab_options options = {.leaves = 1, .hosts_per_leaf = 1};
    const char *blank = lab_path(first, "a b");
    assert_int_equal(mkdir(blank, 0755), 0);
    char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    assert_int_equal(setenv("TMPDIR", blank, 1), 0);
    struct lab *second = lab_open(&options, &err);
    assert_non_null(second);
    assert_null(strstr(lab_directory(second), "a b"));
    lab_close(second);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_one, close_one)

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        TEST(programs_of_sbin_are_found_whatever_the_callers_path),
        TEST(a_program_that_is_nowhere_is_told_with_directories_and_package),
        TEST(a_name_of_a_directory_is_passed_over),
        TEST(a_program_that_cannot_be_executed_is_an_error_that_says_why),
        TEST(what_a_program_said_before_its_end_is_in_the_error),
        TEST(a_program_that_said_nothing_is_told_so),
        TEST(the_end_of_a_long_log_begins_with_a_line),
        TEST(programs_of_a_node_are_started_from_the_labs_directory),
        TEST(a_directory_for_temporary_files_that_does_not_do_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
