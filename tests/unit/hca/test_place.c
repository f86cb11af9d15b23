// SPDX-License-Identifier: Apache-2.0
#include "hca/place.h"
#include "tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../../skip.h"
#include <cmocka.h>

/* Whether a process that is started with this variable takes `expected` for its root: it is asked
 * once and for all, so that every case needs a process of its own. */
static bool takes(const char *value, const char *expected)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        setenv(ONEIB_NODE_ROOT_VARIABLE, value, 1);
        _exit(strcmp(oneib_node_root(), expected) != 0 ||
              oneib_node_is_simulated() != (expected[0] != '\0'));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Of this test, beside and above itself. */
#define BESIDE "test_place_hca"
#define ABOVE "tests/unit/" BESIDE

/* Whether a process with this root looks for programs around itself. */
static bool looks_around(const char *root)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        char beside[PATH_MAX], above[PATH_MAX], nowhere[PATH_MAX];
        setenv(ONEIB_NODE_ROOT_VARIABLE, root, 1);
        oneib_node_program(BESIDE, "nothing", beside);
        oneib_node_program("nothing", ABOVE, above);
        oneib_node_program("no/thing", "nothing", nowhere);
        if (!strstr(nowhere, "/oneib/no/thing"))
            _exit(2);
        _exit(!strstr(beside, "/" ABOVE) || !strstr(above, "/" ABOVE));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status) == 0;
}

/* Found out before this process becomes nobody. */
static bool was_root, root_is_shown_the_real_machine, root_looks_around;

static void root_ignores_the_variable(void **state)
{
    (void)state;
    if (!was_root)
        skip_because("only root could be shown the real machine");
    assert_true(root_is_shown_the_real_machine);
}

static void on_a_real_node_programs_are_where_they_were_installed(void **state)
{
    (void)state;
    assert_false(looks_around(""));
    if (was_root)
        assert_false(root_looks_around);
}

static void on_a_simulated_one_they_are_around(void **state)
{
    (void)state;
    assert_true(looks_around("/tmp/node-1"));
}

static void anybody_else_may_have_another_root(void **state)
{
    (void)state;
    assert_true(takes("/tmp/node-1", "/tmp/node-1"));
}

static void slashes_at_the_end_are_dropped(void **state)
{
    (void)state;
    assert_true(takes("/tmp/node-1///", "/tmp/node-1"));
    assert_true(takes("/", ""));
    assert_true(takes("///", ""));
}

static void a_root_that_is_no_absolute_path_does_not_count(void **state)
{
    (void)state;
    assert_true(takes("", ""));
    assert_true(takes("node-1", ""));
    assert_true(takes("./node-1", ""));
}

static void a_root_that_is_too_long_does_not_count(void **state)
{
    char name[600];
    (void)state;
    memset(name, 'x', sizeof name);
    name[0] = '/';
    name[511] = '\0';
    assert_true(takes(name, name));
    name[511] = 'x';
    name[512] = '\0';
    assert_true(takes(name, ""));
}

static void the_root_is_fixed_at_the_first_call(void **state)
{
    (void)state;
    assert_string_equal(oneib_node_root(), tree_root());
    setenv(ONEIB_NODE_ROOT_VARIABLE, "/elsewhere", 1);
    assert_string_equal(oneib_node_root(), tree_root());
}

static void paths_lie_below_the_root(void **state)
{
    char path[256], expected[256];
    struct oneib_error err;
    (void)state;
    assert_int_equal(oneib_node_path(path, sizeof path, &err, "/sys/%s/%d", "x", 7), 0);
    snprintf(expected, sizeof expected, "%s/sys/x/7", tree_root());
    assert_string_equal(path, expected);
}

static void a_path_that_does_not_fit_is_an_error(void **state)
{
    char path[256];
    struct oneib_error err = {0};
    const size_t length = strlen(tree_root());
    (void)state;
    assert_int_equal(oneib_node_path(path, length + 5, &err, "/sys"), 0);
    assert_int_equal(oneib_node_path(path, length + 4, &err, "/sys"), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_int_equal(oneib_node_path(path, length, &err, "/sys"), -1);
    assert_int_equal(oneib_node_path(path, 3, &err, "/sys"), -1);
}

static void the_configuration_is_read_below_the_root(void **state)
{
    struct oneib_config config;
    struct oneib_error err;
    (void)state;
    tree_write("site = 77;", "/etc/oneib/oneib.conf");
    if (oneib_node_config(&config, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(config.site, 77);
    oneib_config_clear(&config);
}

static void without_a_configuration_all_has_its_default(void **state)
{
    struct oneib_config config;
    struct oneib_error err;
    (void)state;
    if (oneib_node_config(&config, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(config.site, 0);
    oneib_config_clear(&config);
}

static void a_configuration_that_is_wrong_names_its_file(void **state)
{
    struct oneib_config config;
    struct oneib_error err = {0};
    (void)state;
    tree_write("site = ", "/etc/oneib/oneib.conf");
    assert_int_equal(oneib_node_config(&config, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_CONFIG);
    assert_non_null(strstr(err.text, tree_root()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_ignores_the_variable),
        cmocka_unit_test(on_a_real_node_programs_are_where_they_were_installed),
        cmocka_unit_test(on_a_simulated_one_they_are_around),
        cmocka_unit_test(anybody_else_may_have_another_root),
        cmocka_unit_test(slashes_at_the_end_are_dropped),
        cmocka_unit_test(a_root_that_is_no_absolute_path_does_not_count),
        cmocka_unit_test(a_root_that_is_too_long_does_not_count),
        cmocka_unit_test(the_root_is_fixed_at_the_first_call),
        cmocka_unit_test(paths_lie_below_the_root),
        cmocka_unit_test(a_path_that_does_not_fit_is_an_error),
        cmocka_unit_test_setup(the_configuration_is_read_below_the_root, tree_reset),
        cmocka_unit_test_setup(without_a_configuration_all_has_its_default, tree_reset),
        cmocka_unit_test_setup(a_configuration_that_is_wrong_names_its_file, tree_reset),
    };
    was_root = geteuid() == 0;
    root_is_shown_the_real_machine = was_root && takes("/tmp/node-1", "");
    root_looks_around = was_root && looks_around("/tmp/node-1");
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
