// SPDX-License-Identifier: Apache-2.0
/* What oneib-node makes of its words, what it is linked with, and how it ends when it cannot begin.
 */
#include "../skip.h"
#include "hca/tree.h"
#include "run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int reset(void **state)
{
    static char root[512];
    snprintf(root, sizeof root, "ONEIB_NODE_ROOT=%s", tree_root());
    set_variable(root);
    return tree_reset(state);
}

/* One line that names the program. */
static void assert_complaint(const struct outcome *outcome, int status, const char *why)
{
    assert_string_equal(outcome->out, "");
    if (strncmp(outcome->err, "oneib-node: ", 12) != 0 ||
        strchr(outcome->err, '\n') != outcome->err + strlen(outcome->err) - 1)
        fail_msg("this is not one line of oneib-node: %s", outcome->err);
    assert_contains(outcome->err, why);
    assert_int_equal(outcome->status, status);
}

static void assert_usage(const struct outcome *outcome, const char *why)
{
    assert_complaint(outcome, 2, why);
    assert_contains(outcome->err, "; see 'oneib-node --help'\n");
}

/* ---- words ----------------------------------------------------------------------------------- */

static void help_and_version_are_told(void **state)
{
    (void)state;
    const struct outcome *outcome = RUN("--version");
    assert_string_equal(outcome->err, "");
    assert_string_equal(outcome->out, "oneib-node " ONEIB_VERSION "\n");
    assert_int_equal(outcome->status, 0);
    outcome = RUN("--help");
    assert_int_equal(outcome->status, 0);
    assert_contains(outcome->out, "usage: oneib-node\n");
    assert_contains(outcome->out, "oneib-node(8)");
}

static void the_man_page_tells_of_every_option_and_signal(void **state)
{
    (void)state;
    static char page[65536];
    FILE *file = fopen(ONEIB_NODE_MAN_PAGE, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    static const char *const words[] = {"Fl -help",
                                        "Fl -version",
                                        "Dv SIGHUP",
                                        "Dv SIGUSR1",
                                        "Dv SIGTERM",
                                        "/run/oneib/node.sock",
                                        "/run/oneib/node-read.sock"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_contains(page, words[i]);
}

static void other_arguments_are_usage_errors(void **state)
{
    (void)state;
    assert_usage(RUN(""), "unexpected argument \"\"");
    assert_usage(RUN("watch"), "unexpected argument \"watch\"");
    assert_usage(RUN("-h"), "unknown option \"-h\"");
    assert_usage(RUN("--"), "unknown option \"--\"");
    assert_usage(RUN("--help", "x"), "unexpected argument \"x\"");
    assert_usage(RUN("--version", "--help"), "unknown option \"--help\"");
}

static void what_is_shown_of_a_word_forges_no_line_and_steers_no_terminal(void **state)
{
    (void)state;
    assert_usage(RUN("1\noneib-node: all is well\x1b[2J\""),
                 "\"1\\x0aoneib-node: all is well\\x1b[2J\\x22\"");
    static char word[5000];
    memset(word, 'x', sizeof word - 1);
    assert_true(strlen(RUN(word)->err) < 200);
}

static void wrong_words_end_before_anything_is_looked_at(void **state)
{
    (void)state;
    tree_write("this is no configuration", "/etc/oneib/oneib.conf");
    assert_usage(RUN("serve"), "unexpected argument \"serve\"");
    assert_false(tree_exists("/run/oneib"));
}

static void output_that_nobody_takes_is_a_failure(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) < 0) {
        skip_because("there is no /dev/full here");
    }
    const struct outcome *outcome = RUN_INTO("/dev/full", "--help");
    assert_int_equal(outcome->status, 3);
    assert_string_equal(outcome->err,
                        "oneib-node: writing to standard output: No space left on device\n");
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void a_wrong_configuration_is_a_failure(void **state)
{
    (void)state;
    tree_write("node = { pkey_wait = 1; };", "/etc/oneib/oneib.conf");
    assert_complaint(RUN(NULL), 3, "pkey_wait");
    tree_write("node = { host_vfs = [ \"eth0\" ]; };", "/etc/oneib/oneib.conf");
    assert_complaint(RUN(NULL), 3, "host_vfs");
    assert_false(tree_exists("/run/oneib"));
}

static void nobody_but_root_serves_a_real_node(void **state)
{
    (void)state;
    set_variable(NULL);
    assert_complaint(RUN(NULL), 3, "only root may change virtual functions");
}

/* What parses what users wrote has no place in a process of root's, and neither has what speaks
 * with the world. The loader says what it would load, and no more. */
static void it_is_linked_with_nothing_that_it_does_not_need(void **state)
{
    (void)state;
    static const char *const unwanted[] = {"libvirt", "libxml2",   "libibverbs", "libssl",
                                           "libzmq",  "libxmlrpc", "libsystemd"};
    set_variable("LD_TRACE_LOADED_OBJECTS=1");
    const struct outcome *outcome = RUN(NULL);
    assert_contains(outcome->out, "libcap-ng");
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        assert_lacks(outcome->out, unwanted[i]);
}

#define ON_NODE(test) cmocka_unit_test_setup(test, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODE(help_and_version_are_told),
        ON_NODE(the_man_page_tells_of_every_option_and_signal),
        ON_NODE(other_arguments_are_usage_errors),
        ON_NODE(what_is_shown_of_a_word_forges_no_line_and_steers_no_terminal),
        ON_NODE(wrong_words_end_before_anything_is_looked_at),
        ON_NODE(output_that_nobody_takes_is_a_failure),
        ON_NODE(a_wrong_configuration_is_a_failure),
        ON_NODE(nobody_but_root_serves_a_real_node),
        ON_NODE(it_is_linked_with_nothing_that_it_does_not_need),
    };
    tree_open();
    set_program(ONEIB_NODE_BINARY);
    return tree_close(cmocka_run_group_tests(tests, make_directory, remove_directory));
}
