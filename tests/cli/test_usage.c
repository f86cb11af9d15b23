// SPDX-License-Identifier: Apache-2.0
#include "run.h"
#include <stdio.h>
#include <string.h>

/* One line on standard error, nothing on standard output, exit status 2. */
static void refused(const struct outcome *outcome, const char *part)
{
    assert_int_equal(outcome->status, 2);
    assert_string_equal(outcome->out, "");
    assert_int_equal(strncmp(outcome->err, "oneib: ", 7), 0);
    assert_contains(outcome->err, part);
    assert_contains(outcome->err, "--help'");
    assert_ptr_equal(strchr(outcome->err, '\n'), outcome->err + strlen(outcome->err) - 1);
}

static void no_verb_is_a_usage_error(void **state)
{
    (void)state;
    refused(run_words((const char *const[]){NULL}), "missing verb; see 'oneib --help'");
    refused(RUN("--json=1"), "takes no value");
    refused(RUN(""), "unknown verb ''");
}

static void an_unknown_verb_is_a_usage_error(void **state)
{
    (void)state;
    refused(RUN("frobnicate"), "unknown verb 'frobnicate'");
    refused(RUN("help", "frobnicate"), "unknown verb 'frobnicate'");
}

static void a_mistyped_verb_gets_a_hint(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"LIST", "list"}, {"verfiy", "verify"}, {"hcas", "hca"},         {"shwo", "show"},
        {"sycn", "sync"}, {"chekc", "check"},   {"topolgy", "topology"}, {"hepl", "help"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char hint[64];
        snprintf(hint, sizeof hint, "unknown verb '%s', did you mean '%s'?", words[i][0],
                 words[i][1]);
        refused(RUN(words[i][0]), hint);
        refused(RUN("help", words[i][0]), hint);
    }
    assert_lacks(RUN("frobnicate")->err, "did you mean");
    assert_lacks(RUN("x")->err, "did you mean");
    assert_lacks(RUN("listlistlistlistlistlistlistlistlistlist")->err, "did you mean");
}

static void an_unknown_option_is_a_usage_error(void **state)
{
    (void)state;
    refused(RUN("plan", "--frob"), "unknown option '--frob'; see 'oneib plan --help'");
    refused(RUN("--frob", "plan"), "unknown option '--frob' before the verb");
    refused(RUN("plan", "-f"), "unknown option '-f'; see 'oneib plan");
    refused(RUN("list", "--force"), "unknown option '--force'; see 'oneib list");
}

static void an_option_is_not_abbreviated(void **state)
{
    (void)state;
    refused(RUN("sync", "--forc"), "unknown option '--forc'");
    refused(RUN("--vers"), "unknown option '--vers'");
}

static void a_verbs_option_does_not_go_before_the_verb(void **state)
{
    (void)state;
    refused(RUN("--force", "sync"), "unknown option '--force' before the verb");
}

static void an_option_without_its_value_is_a_usage_error(void **state)
{
    (void)state;
    refused(RUN("list", "--config"), "option '--config' requires a value");
    refused(RUN("list", "--config="), "option '--config' requires a value");
    refused(RUN("mac", "encode", "10.0.0.1", "--index"), "option '--index' requires a value");
    refused(RUN("list", "--no-fabric=yes"), "option '--no-fabric' takes no value");
}

static void unexpected_arguments_are_usage_errors(void **state)
{
    (void)state;
    refused(RUN("list", "all"), "unexpected argument 'all'; see 'oneib list --help'");
    refused(RUN("show", "1", "2"), "unexpected argument '2'");
    refused(RUN("plan", "--", "--force"), "unexpected argument '--force'");
    refused(RUN("guid", "decode", "0x0200000000002a01", "1"), "unexpected argument '1'");
    refused(RUN("mac", "decode", "aa:00:0a:14:00:0a", "x"), "unexpected argument 'x'");
}

static void an_unknown_subcommand_is_named_with_those_that_there_are(void **state)
{
    (void)state;
    refused(RUN("host", "frob"), "invalid argument 'frob': expected forget or accept");
    refused(RUN("daemons", "frob"), "invalid argument 'frob': expected forget; see 'oneib daemons");
    refused(RUN("daemons", "frob", "x"), "invalid argument 'frob': expected forget");
    refused(RUN("qos", "frob"), "invalid argument 'frob': expected move");
    refused(RUN("guid", "frob"), "invalid argument 'frob': expected encode or decode");
    refused(RUN("mac", "frob", "x"), "invalid argument 'frob': expected encode or decode");
}

static void missing_arguments_are_usage_errors(void **state)
{
    (void)state;
    refused(RUN("daemons", "forget"), "missing argument ADDRESS");
    refused(RUN("host", "accept"), "missing argument HOST");
    refused(RUN("show"), "missing argument ID or NAME");
    refused(RUN("mac"), "missing argument encode or decode");
    refused(RUN("mac", "encode"), "missing argument IPV4");
    refused(RUN("mac", "decode"), "missing argument MAC");
    refused(RUN("guid", "encode", "42"), "missing argument NICID");
    refused(RUN("guid", "encode"), "missing argument VMID");
    refused(RUN("guid", "decode"), "missing argument GUID");
    refused(RUN("fence"), "missing argument HOST");
    refused(RUN("unfence"), "missing argument HOST");
    refused(RUN("host"), "missing argument forget or accept");
    refused(RUN("host", "forget"), "missing argument HOST");
    refused(RUN("host", "accept"), "missing argument HOST");
    refused(RUN("keys"), "missing argument DIRECTORY");
    refused(RUN("qos", "move"), "missing argument NETWORK");
}

static void an_id_must_be_a_number(void **state)
{
    (void)state;
    static const char *const wrong[] = {"01", "2147483648", "00"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(RUN("show", wrong[i]), "invalid ID '");
    refused(RUN("show", "-1"), "unknown option '-1'");
    refused(RUN("show", ""), "missing argument ID or NAME");
}

static void color_and_format_have_few_values(void **state)
{
    (void)state;
    refused(RUN("list", "--color", "blue"),
            "invalid --color 'blue': expected auto, always or never");
    refused(RUN("topology", "--format", "png"),
            "invalid --format 'png': expected text, dot or svg");
    refused(RUN("topology", "--format=svg", "--color=no"), "invalid --color 'no'");
    refused(RUN("topology", "--cluster", "red"),
            "option '--cluster' is valid only with '--format svg' or '--format dot'");
}

static void a_usage_error_is_json_too(void **state)
{
    (void)state;
    const struct outcome *outcome = RUN("plan", "--frob", "--json");
    assert_int_equal(outcome->status, 2);
    json_t *document = parse_json(outcome->out);
    json_t *error = json_object_get(document, "error");
    assert_string_equal(json_string_value(json_object_get(error, "code")), "usage");
    assert_contains(json_string_value(json_object_get(error, "text")), "--frob");
    json_decref(document);

    outcome = RUN("topology", "--json", "--format", "dot");
    assert_int_equal(outcome->status, 2);
    assert_contains(outcome->out, "mutually exclusive");
    outcome = RUN("check", "--config", "--json");
    assert_int_equal(outcome->status, 2);
}

static void a_hostile_word_cannot_steer_the_terminal(void **state)
{
    (void)state;
    const struct outcome *outcome = RUN("\033[31mred\nlist");
    assert_int_equal(outcome->status, 2);
    assert_contains(outcome->err, "\\x1b[31mred\\x0alist");
    assert_lacks(outcome->err, "\033");
}

static void version_is_one_line(void **state)
{
    (void)state;
    assert_string_equal(RUN("--version")->out, "oneib " ONEIB_VERSION "\n");
    assert_string_equal(RUN("list", "--version")->out, "oneib " ONEIB_VERSION "\n");
    assert_int_equal(RUN("--version")->status, 0);
}

static void help_is_asked_for_in_five_ways(void **state)
{
    (void)state;
    char help[sizeof RUN("help")->out];
    snprintf(help, sizeof help, "%s", RUN("--help")->out);
    assert_string_equal(RUN("-h")->out, help);
    assert_string_equal(RUN("help")->out, help);
    snprintf(help, sizeof help, "%s", RUN("help", "verify")->out);
    assert_contains(help, "usage: oneib verify");
    assert_string_equal(RUN("verify", "-h")->out, help);
    assert_string_equal(RUN("verify", "--help")->out, help);
    static const char *const asking[][2] = {{"-h", NULL},     {"help", NULL},     {"list", "-h"},
                                            {"help", "help"}, {"show", "--help"}, {"help", "sync"}};
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
        const struct outcome *outcome = RUN(asking[i][0], asking[i][1]);
        assert_int_equal(outcome->status, 0);
        assert_string_equal(outcome->err, "");
    }
    refused(RUN("help", "list", "show"), "unexpected argument 'show'");
}

static void the_help_fits_a_terminal(void **state)
{
    (void)state;
    static const char *const verbs[] = {"--help",   "list",  "show", "plan", "sync", "verify",
                                        "topology", "check", "hca",  "mac",  "guid", "help"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const char *line = RUN(verbs[i], "--help")->out;
        for (size_t length; *line; line += length + (line[length] == '\n')) {
            length = strcspn(line, "\n");
            if (length > 80)
                fail_msg("'%s --help' has a line of %zu columns: %.*s", verbs[i], length,
                         (int)length, line);
        }
    }
}

static void every_verb_has_help_with_an_example(void **state)
{
    (void)state;
    static const char *const verbs[] = {"list",  "show", "plan", "sync", "verify", "topology",
                                        "check", "hca",  "mac",  "guid", "help"};
    const struct outcome *outcome = RUN("--help");
    assert_int_equal(outcome->status, 0);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        assert_contains(outcome->out, verbs[i]);

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        outcome = RUN(verbs[i], "--help");
        assert_int_equal(outcome->status, 0);
        assert_string_equal(outcome->err, "");
        assert_contains(outcome->out, "usage: oneib ");
        assert_contains(outcome->out, verbs[i]);
        assert_contains(outcome->out, "example:\n  $ oneib ");
        assert_string_equal(RUN("--help", verbs[i])->out, RUN(verbs[i], "--help")->out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_verb_is_a_usage_error),
        cmocka_unit_test(an_unknown_verb_is_a_usage_error),
        cmocka_unit_test(a_mistyped_verb_gets_a_hint),
        cmocka_unit_test(help_is_asked_for_in_five_ways),
        cmocka_unit_test(the_help_fits_a_terminal),
        cmocka_unit_test(an_unknown_option_is_a_usage_error),
        cmocka_unit_test(an_option_is_not_abbreviated),
        cmocka_unit_test(a_verbs_option_does_not_go_before_the_verb),
        cmocka_unit_test(an_option_without_its_value_is_a_usage_error),
        cmocka_unit_test(unexpected_arguments_are_usage_errors),
        cmocka_unit_test(an_unknown_subcommand_is_named_with_those_that_there_are),
        cmocka_unit_test(missing_arguments_are_usage_errors),
        cmocka_unit_test(an_id_must_be_a_number),
        cmocka_unit_test(color_and_format_have_few_values),
        cmocka_unit_test(a_usage_error_is_json_too),
        cmocka_unit_test(a_hostile_word_cannot_steer_the_terminal),
        cmocka_unit_test(version_is_one_line),
        cmocka_unit_test(every_verb_has_help_with_an_example),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
