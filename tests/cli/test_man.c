// SPDX-License-Identifier: Apache-2.0
/* What the man page shows is what the command does. */
#include "run.h"
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

static void the_man_page_tells_of_every_verb(void **state)
{
    (void)state;
    static char text[65536];
    FILE *page = fopen(ONEIB_MAN_PAGE, "r");
    assert_non_null(page);
    text[fread(text, 1, sizeof text - 1, page)] = '\0';
    fclose(page);

    const struct outcome *outcome = RUN("--help");
    const char *verbs = strstr(outcome->out, "verbs:\n");
    assert_non_null(verbs);
    char name[32], wanted[64];
    for (const char *line = strchr(verbs, '\n') + 1; line[0] == ' ';
         line = strchr(line, '\n') + 1) {
        assert_int_equal(sscanf(line, "%31s", name), 1);
        snprintf(wanted, sizeof wanted, ".Cm %s", name);
        assert_contains(text, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_man_page_are_true),
        cmocka_unit_test(the_man_page_tells_of_every_verb),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
