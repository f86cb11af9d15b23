// SPDX-License-Identifier: Apache-2.0
/*
 * The quick start of the operator's guide, command by command: what it calls of ours is there and
 * takes the options, and what it has written is accepted. What is others' is known by name.
 */
#include "run.h"

#include "base/text.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUIDE ONEIB_SOURCES "/docs/operator.md"
#define HEADING "\n## Quick start\n"
#define LINE_SIZE 512
#define WORDS_MAX 32
#define HELP_SIZE 16384

struct command {
    char text[LINE_SIZE]; /* cut into its words */
    const char *words[WORDS_MAX + 1];
    size_t count;
};

/* Not ours; OpenNebula's of the command line are all called so. */
static const char *const others[] = {
    "apt-get", "cat", "cd",       "chmod",     "echo",   "install",          "ln",
    "lspci",   "ls",  "modprobe", "mstconfig", "ibstat", "update-initramfs", "tar",
    "mv",      "rm",  NULL};
static const char *const opennebulas[] = {"oneuser",     "onehost", "oneimage", "onevnet",
                                          "onetemplate", "onevm",   NULL};

static char *quick_start(void)
{
    FILE *file = fopen(GUIDE, "r");
    assert_non_null(file);
    struct oneib_text text = {0};
    char buffer[4096];
    size_t length;
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        oneib_text_append_bytes(&text, buffer, length);
    fclose(file);
    char *start = strstr(text.data, HEADING);
    assert_non_null(start);
    char *end = strstr(start + 1, "\n## ");
    assert_non_null(end);
    char *section = strndup(start, (size_t)(end - start) + 1);
    assert_non_null(section);
    oneib_text_clear(&text);
    return section;
}

static bool is_among(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Up to a comment, a pipe or the next command. Who runs it is no word of it. */
static void cut(const char *line, size_t length, struct command *command)
{
    static const char as_oneadmin[] = "oneadmin$ ";
    assert_true(length < sizeof command->text);
    memcpy(command->text, line, length);
    command->text[length] = '\0';
    command->text[strcspn(command->text, ";")] = '\0';
    command->count = 0;
    char *rest = command->text;
    if (begins(rest, as_oneadmin))
        rest += strlen(as_oneadmin);
    for (char *word = strtok(rest, " "); word; word = strtok(NULL, " ")) {
        if (*word == '#' || *word == '|')
            break;
        assert_true(command->count < WORDS_MAX);
        command->words[command->count++] = word;
    }
    command->words[command->count] = NULL;
}

static void read_help_of_script(const char *path, char help[HELP_SIZE])
{
    char line[LINE_SIZE * 3];
    snprintf(line, sizeof line, "'%s' --help", path);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    help[fread(help, 1, HELP_SIZE - 1, pipe)] = '\0';
    if (pclose(pipe) != 0)
        fail_msg("%s ends with a failure", line);
}

static void check_options(const struct command *command, size_t first, const char *help)
{
    for (size_t i = first; i < command->count; i++)
        if (begins(command->words[i], "--") && !strstr(help, command->words[i]))
            fail_msg("the quick start has %s %s, which is no option there", command->words[0],
                     command->words[i]);
}

static void check_script(const struct command *command, const char *name)
{
    char path[LINE_SIZE * 2], help[HELP_SIZE];
    snprintf(path, sizeof path, "%s/%s", ONEIB_SOURCES, name);
    if (access(path, X_OK) != 0)
        fail_msg("the quick start calls %s, and there is no program %s", command->words[0], path);
    read_help_of_script(path, help);
    check_options(command, 1, help);
}

static void check_verb(const struct command *command)
{
    assert_true(command->count > 1);
    const bool is_verb = command->words[1][0] != '-';
    const struct outcome *outcome = is_verb ? RUN(command->words[1], "--help") : RUN("--help");
    if (outcome->status != 0)
        fail_msg("the quick start has oneib %s, which is no verb", command->words[1]);
    check_options(command, is_verb ? 2 : 1, outcome->out);
}

static void check_unit(const struct command *command)
{
    const char *unit = command->words[command->count - 1];
    if (!begins(unit, "oneib"))
        return;
    char path[LINE_SIZE * 2];
    snprintf(path, sizeof path, ONEIB_SOURCES "/share/systemd/%s.service.in", unit);
    if (access(path, R_OK) != 0)
        fail_msg("the quick start has the unit %s, and there is no %s", unit, path);
}

static void check_command(const struct command *command)
{
    static const char installed[] = "/usr/share/oneib/";
    const char *program = command->words[0];
    char name[LINE_SIZE];
    if (begins(program, installed)) {
        snprintf(name, sizeof name, "share/%s", program + strlen(installed));
        check_script(command, name);
    } else if (strcmp(program, "./install.sh") == 0 || strcmp(program, "oneib/install.sh") == 0) {
        check_script(command, "install.sh");
    } else if (strcmp(program, "tests/packages") == 0) {
        check_script(command, program);
    } else if (strcmp(program, "oneib") == 0) {
        check_verb(command);
    } else if (strcmp(program, "systemctl") == 0) {
        check_unit(command);
    } else if (!is_among(program, others) && !is_among(program, opennebulas)) {
        fail_msg("the quick start calls %s, of which this test knows nothing", program);
    }
}

/* Behind a line that ends in <<'END'. */
static const char *end_of_document(const char *line)
{
    const char *end = strstr(line, "\nEND\n");
    assert_non_null(end);
    return end + 1;
}

/* Both kinds of lines that a reader types: those of blocks, and what stands in a check. */
static void each_line_of_a_block_is_a_command_that_works(void **state)
{
    (void)state;
    char *guide = quick_start();
    bool inside = false;
    size_t count = 0;
    for (const char *line = guide; *line; line += strcspn(line, "\n") + (*line != '\0')) {
        struct command command;
        if (begins(line, "```"))
            inside = !inside;
        else if (inside && *line != '\n') {
            cut(line, strcspn(line, "\n"), &command);
            check_command(&command);
            count++;
            const char *document = strstr(line, "<<'END'\n");
            if (document && document < strchr(line, '\n'))
                line = end_of_document(line);
        }
    }
    assert_true(count > 25);
    free(guide);
}

static bool is_command_of_a_check(const char *span)
{
    return begins(span, "oneib ") || begins(span, "oneadmin$ ") || begins(span, "systemctl ");
}

static void each_check_names_what_there_is(void **state)
{
    (void)state;
    char *guide = quick_start();
    size_t count = 0;
    for (const char *check = strstr(guide, "\nCheck:"); check;
         check = strstr(check + 1, "\nCheck:")) {
        const char *end = strstr(check + 1, "\n\n");
        const char *span = strchr(check, '`');
        while (span && span < end) {
            const size_t length = strcspn(span + 1, "`");
            struct command command;
            if (is_command_of_a_check(span + 1)) {
                cut(span + 1, length, &command);
                check_command(&command);
                count++;
            }
            span = strchr(span + 1 + length + 1, '`');
        }
    }
    assert_true(count > 8);
    free(guide);
}

static void the_configuration_is_accepted(void **state)
{
    (void)state;
    static const char start[] = "cat > /etc/oneib/oneib.conf <<'END'\n";
    char *guide = quick_start();
    char *body = strstr(guide, start);
    assert_non_null(body);
    body += strlen(start);
    body[end_of_document(body) - body] = '\0';
    write_file("oneib.conf", body);
    const struct outcome *outcome =
        RUN("--config", in_directory("oneib.conf"), "check", "--config");
    if (outcome->status != 0)
        fail_msg("%s", outcome->err);
    assert_contains(outcome->out, "\"/var/lib/oneib/partitions.conf\"");
    free(guide);
}

/* The reader counts on it: from nothing to the first VM within some screens. */
static void it_is_no_longer_than_three_screens(void **state)
{
    (void)state;
    char *guide = quick_start();
    size_t lines = 0;
    for (const char *at = guide; *at; at++)
        lines += *at == '\n';
    assert_true(lines < 165);
    free(guide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_of_a_block_is_a_command_that_works),
        cmocka_unit_test(each_check_names_what_there_is),
        cmocka_unit_test(the_configuration_is_accepted),
        cmocka_unit_test(it_is_no_longer_than_three_screens),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
