// SPDX-License-Identifier: Apache-2.0
/* What the man page shows is what the command does. */
#include "run.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PROMPT "$ oneib "
#define WORDS_MAX 12

struct example {
    char command[512];
    char output[4096];
};

static void run_example(const struct example *example)
{
    char copy[512];
    const char *words[WORDS_MAX] = {NULL};
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", example->command);
    for (char *word = strtok(copy, " "); word && count < WORDS_MAX - 1; word = strtok(NULL, " "))
        words[count++] = word;

    const struct outcome *outcome = run_words(words);
    assert_int_equal(outcome->status, 0);
    if (strcmp(outcome->out, example->output) != 0)
        fail_msg("oneib %s says %s and not %s", example->command, outcome->out, example->output);
}

/* An example begins at its prompt and ends at the next one, or at the end of the display. */
static size_t run_examples(FILE *page)
{
    struct example example = {"", ""};
    char line[512];
    size_t count = 0;
    while (fgets(line, sizeof line, page)) {
        const bool prompt = strncmp(line, PROMPT, strlen(PROMPT)) == 0;
        if (*example.command && (prompt || line[0] == '.')) {
            run_example(&example);
            count++;
            example.command[0] = '\0';
        }
        if (prompt) {
            snprintf(example.command, sizeof example.command, "%s", line + strlen(PROMPT));
            example.command[strcspn(example.command, "\n")] = '\0';
            example.output[0] = '\0';
        } else if (*example.command) {
            strncat(example.output, line, sizeof example.output - strlen(example.output) - 1);
        }
    }
    return count;
}

static void the_examples_of_the_man_page_are_true(void **state)
{
    (void)state;
    FILE *page = fopen(ONEIB_MAN_PAGE, "r");
    assert_non_null(page);
    const size_t count = run_examples(page);
    fclose(page);
    assert_int_equal(count, 5);
}

/* Whether a form of the verb in the synopsis has the option; "": whether there is a form. */
static bool synopsis_has(const char *synopsis, const char *verb, const char *option)
{
    char begin[64], wanted[64] = "";
    snprintf(begin, sizeof begin, ".Nm\n.Cm %s", verb);
    if (*option)
        snprintf(wanted, sizeof wanted, "Fl -%s", option);
    for (const char *at = synopsis; (at = strstr(at, begin)); at++) {
        const char *found = strstr(at, wanted), *end = strstr(at + 1, "\n.Nm");
        if (!isalpha((unsigned char)at[strlen(begin)]) && found && (!end || found < end))
            return true;
    }
    return false;
}

/* Every option of the verb's usage, --json aside, which is everybody's. */
static void assert_synopsis_has_usage(const char *synopsis, const char *verb)
{
    char option[32];
    if (!synopsis_has(synopsis, verb, ""))
        fail_msg("the synopsis lacks the verb %s", verb);
    const struct outcome *outcome = RUN("help", verb);
    const char *end = strstr(outcome->out, "\n\n");
    for (const char *at = outcome->out; (at = strstr(at, "[--")) && at < end; at++) {
        assert_int_equal(sscanf(at, "[--%31[a-z-]", option), 1);
        if (strcmp(option, "json") != 0 && !synopsis_has(synopsis, verb, option))
            fail_msg("the synopsis of %s lacks --%s", verb, option);
    }
}

static void the_synopsis_has_every_verb_and_option(void **state)
{
    (void)state;
    static char text[65536];
    FILE *page = fopen(ONEIB_MAN_PAGE, "r");
    assert_non_null(page);
    text[fread(text, 1, sizeof text - 1, page)] = '\0';
    fclose(page);
    char *description = strstr(text, ".Sh DESCRIPTION");
    assert_non_null(description);
    *description = '\0';

    const struct outcome *outcome = RUN("--help");
    const char *verbs = strstr(outcome->out, "verbs:\n");
    assert_non_null(verbs);
    char copy[4096], name[32], *rest = NULL;
    assert_true(strlen(verbs) < sizeof copy);
    strcpy(copy, strchr(verbs, '\n') + 1);
    for (char *line = strtok_r(copy, "\n", &rest); line && line[0] == ' ';
         line = strtok_r(NULL, "\n", &rest)) {
        assert_int_equal(sscanf(line, "%31s", name), 1);
        assert_synopsis_has_usage(text, name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_man_page_are_true),
        cmocka_unit_test(the_synopsis_has_every_verb_and_option),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
