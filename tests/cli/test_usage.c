// SPDX-License-Identifier: Apache-2.0
#include "run.h"
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
    refused(run_words((const char *const[]){NULL}), "no verb given; see 'oneib --help'");
    refused(RUN("--json=1"), "takes no value");
    refused(RUN(""), "no verb ''");
}

static void an_unknown_verb_is_a_usage_error(void **state)
{
    (void)state;
    refused(RUN("frobnicate"), "no verb 'frobnicate'");
    refused(RUN("LIST"), "no verb 'LIST'");
    refused(RUN("help"), "no verb 'help'");
    refused(RUN("hcas"), "no verb 'hcas'");
}

static void an_unknown_option_is_a_usage_error(void **state)
{
    (void)state;
    refused(RUN("plan", "--frob"), "'plan' has no option '--frob'; see 'oneib plan --help'");
    refused(RUN("--frob", "plan"), "no option '--frob' before the verb");
    refused(RUN("plan", "-f"), "'plan' has no option '-f'");
    refused(RUN("list", "--force"), "'list' has no option '--force'");
}

static void an_option_is_not_abbreviated(void **state)
{
    (void)state;
    refused(RUN("sync", "--forc"), "no option '--forc'");
    refused(RUN("--vers"), "no option '--vers'");
}

static void a_verbs_option_does_not_go_before_the_verb(void **state)
{
    (void)state;
    refused(RUN("--force", "sync"), "no option '--force' before the verb");
}

static void an_option_without_its_value_is_a_usage_error(void **state)
{
    (void)state;
    refused(RUN("list", "--config"), "option '--config' needs a value");
    refused(RUN("list", "--config="), "option '--config' has an empty value");
    refused(RUN("mac", "encode", "10.0.0.1", "--index"), "option '--index' needs a value");
    refused(RUN("list", "--no-fabric=yes"), "option '--no-fabric' takes no value");
}

static void trailing_words_are_usage_errors(void **state)
{
    (void)state;
    refused(RUN("list", "all"), "'all' is one word too many");
    refused(RUN("show", "1", "2"), "'2' is one word too many");
    refused(RUN("plan", "--", "--force"), "'--force' is one word too many");
    refused(RUN("guid", "decode", "0x0200000000002a01", "1"), "'1' is one word too many");
    refused(RUN("mac", "decode", "aa:00:0a:14:00:0a", "x"), "'x' is one word too many");
}

static void missing_words_are_usage_errors(void **state)
{
    (void)state;
    refused(RUN("show"), "'show' needs more words");
    refused(RUN("mac"), "'mac' needs more words");
    refused(RUN("mac", "encode"), "'mac encode' needs an IPv4 address");
    refused(RUN("mac", "decode"), "'mac decode' needs a MAC");
    refused(RUN("guid", "encode", "42"), "'guid encode' needs a VM id and a NIC id");
    refused(RUN("guid", "decode"), "'guid decode' needs a GUID");
}

static void an_id_must_be_a_number(void **state)
{
    (void)state;
    static const char *const wrong[] = {"x", "-", "+1", "01", " 1", "1 ", "0x1", "2147483648", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(RUN("show", wrong[i]), "ID must be a decimal number 0-2147483647");
    refused(RUN("show", "-1"), "'show' has no option '-1'");
}

static void color_and_format_have_few_values(void **state)
{
    (void)state;
    refused(RUN("list", "--color", "blue"), "--color is auto, always or never");
    refused(RUN("topology", "--format", "png"), "--format is text, dot or svg");
    refused(RUN("topology", "--format=svg", "--color=no"), "--color is");
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
    assert_contains(outcome->out, "exclude each other");
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

static void every_verb_has_help_with_an_example(void **state)
{
    (void)state;
    static const char *const verbs[] = {"list",     "show",  "plan", "sync", "verify",
                                        "topology", "check", "hca",  "mac",  "guid"};
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
        cmocka_unit_test(an_unknown_option_is_a_usage_error),
        cmocka_unit_test(an_option_is_not_abbreviated),
        cmocka_unit_test(a_verbs_option_does_not_go_before_the_verb),
        cmocka_unit_test(an_option_without_its_value_is_a_usage_error),
        cmocka_unit_test(trailing_words_are_usage_errors),
        cmocka_unit_test(missing_words_are_usage_errors),
        cmocka_unit_test(an_id_must_be_a_number),
        cmocka_unit_test(color_and_format_have_few_values),
        cmocka_unit_test(a_usage_error_is_json_too),
        cmocka_unit_test(a_hostile_word_cannot_steer_the_terminal),
        cmocka_unit_test(version_is_one_line),
        cmocka_unit_test(every_verb_has_help_with_an_example),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
