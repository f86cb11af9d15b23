// SPDX-License-Identifier: Apache-2.0
/*
 * The operator's page of messages is made of the table of findings, and the pages name every key and
 * line that the programs know.
 */
#include "run.h"

#include "base/text.h"
#include "config/config_keys.h"
#include "opennebula/restrictions.h"
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MESSAGES ONEIB_SOURCES "/docs/operator-messages.md"
#define SETTING_UP ONEIB_SOURCES "/docs/operator-opensm.md"
#define PROOFS ONEIB_SOURCES "/docs/design/security.md"
#define CONFIG_PAGE ONEIB_SOURCES "/share/man/oneib.conf.5"

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be opened", path);
    struct oneib_text text = {0};
    char buffer[4096];
    size_t length;
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        oneib_text_append_bytes(&text, buffer, length);
    fclose(file);
    assert_non_null(text.data);
    return text.data;
}

/* ---- docs/operator-messages.md, whose entries are made of core/base/findings.def ---------------- */

#define ENTRIES                                                                                    \
    "## Messages about networks\n" /* the first group's heading, and what follows them */
#define AFTER_ENTRIES "## Messages in a VM's log\n"

static void append_group(struct oneib_text *page, const char *heading, const char *introduction)
{
    oneib_text_printf(page, "## %s\n\n%s%s", heading, introduction, *introduction ? "\n" : "");
}

/* The severity's word begins the text's first sentence, or is one. */
static void append_entry(struct oneib_text *page, const char *code, const char *severity,
                         const char *fix, const char *text)
{
    oneib_text_printf(page, "### %s\n\n%c", code, severity[0]);
    for (const char *at = severity + 1; *at; at++)
        oneib_text_printf(page, "%c", tolower((unsigned char)*at));
    oneib_text_printf(page, "%s%s", strchr(" ,;", text[0]) ? "" : ". ", text);
    if (!strstr(text, "*Do:*"))
        oneib_text_printf(page, "*Do:* %s.\n", fix);
    oneib_text_append(page, "\n");
}

static void append_entries(struct oneib_text *page)
{
#define GROUP(heading, introduction) append_group(page, heading, introduction);
#define FINDING(symbol, code, severity, fix, text) append_entry(page, code, #severity, fix, text);
#include "base/findings.def"
#undef GROUP
#undef FINDING
}

/* The page with entries as they are to be; what is before and behind them stays. */
static char *make_messages(const char *page)
{
    struct oneib_text made = {0};
    const char *entries = strstr(page, ENTRIES), *after = strstr(page, AFTER_ENTRIES);
    assert_non_null(entries);
    assert_non_null(after);
    oneib_text_append_bytes(&made, page, (size_t)(entries - page));
    append_entries(&made);
    oneib_text_append(&made, after);
    return made.data;
}

static void the_page_of_messages_is_made_of_the_table(void **state)
{
    (void)state;
    char *page = read_whole(MESSAGES);
    char *made = make_messages(page);
    if (strcmp(page, made) != 0)
        fail_msg("docs/operator-messages.md is not made of core/base/findings.def: run "
                 "build/dev/tests/cli/test_docs_cli --write");
    free(made);
    free(page);
}

static void must_say_what_to_do(const char *code, const char *fix, const char *text)
{
    if (!fix && !strstr(text, "*Do:*"))
        fail_msg("%s: findings.def does not say what to do", code);
}

static void every_entry_says_what_to_do(void **state)
{
    (void)state;
#define GROUP(heading, introduction)
#define FINDING(symbol, code, severity, fix, text) must_say_what_to_do(code, fix, text);
#include "base/findings.def"
#undef GROUP
#undef FINDING
}

/* ---- what gives findings ---------------------------------------------------------------------- */

struct finding_use {
    const char *symbol;
    bool is_used;
};

static struct finding_use finding_uses[] = {
#define GROUP(heading, introduction)
#define FINDING(symbol, code, severity, fix, text) {"ONEIB_FINDING_" #symbol, false},
#include "base/findings.def"
#undef GROUP
#undef FINDING
};

static bool has_word(const char *source, const char *word)
{
    for (const char *at = strstr(source, word); at; at = strstr(at + 1, word)) {
        const char after = at[strlen(word)];
        if (!isalnum((unsigned char)after) && after != '_')
            return true;
    }
    return false;
}

static void look_for_uses(const char *path)
{
    const size_t length = strlen(path);
    if (length < 2 || strcmp(path + length - 2, ".c") != 0)
        return;
    char *source = read_whole(path);
    for (size_t i = 0; i < sizeof finding_uses / sizeof *finding_uses; i++)
        finding_uses[i].is_used |= has_word(source, finding_uses[i].symbol);
    free(source);
}

static void look_into(const char *path, unsigned depth)
{
    DIR *directory = opendir(path);
    if (!directory)
        fail_msg("%s cannot be opened", path);
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        char inner[4096];
        struct stat status;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (depth > 0 && stat(inner, &status) == 0 && S_ISDIR(status.st_mode))
            look_into(inner, depth - 1);
        else
            look_for_uses(inner);
    }
    closedir(directory);
}

static void every_finding_of_the_table_is_given_somewhere(void **state)
{
    (void)state;
    size_t unused = 0;
    look_into(ONEIB_SOURCES "/core", 1);
    look_into(ONEIB_SOURCES "/oneib", 0);
    look_into(ONEIB_SOURCES "/oneibd", 0);
    for (size_t i = 0; i < sizeof finding_uses / sizeof *finding_uses; i++)
        if (!finding_uses[i].is_used) {
            print_error("findings.def has %s, which no source gives\n", finding_uses[i].symbol);
            unused++;
        }
    assert_int_equal(unused, 0);
}

static void the_guide_lists_exactly_the_attributes_to_restrict(void **state)
{
    (void)state;
    static const char nothing[] = "<OPENNEBULA_CONFIGURATION></OPENNEBULA_CONFIGURATION>";
    struct oneib_error err;
    struct oneib_text lines = {0};
    size_t missing;
    assert_int_equal(
        oneib_restrictions_missing(nothing, sizeof nothing - 1, &lines, &missing, &err), 0);
    char *guide = read_whole(SETTING_UP);
    if (!strstr(guide, lines.data))
        fail_msg("docs/operator-opensm.md does not have these lines:\n%s", lines.data);

    size_t listed = 0;
    for (const char *at = strstr(guide, "_RESTRICTED_ATTR = "); at;
         at = strstr(at + 1, "_RESTRICTED_ATTR = "))
        listed++;
    assert_int_equal(listed, missing);
    free(guide);
    oneib_text_clear(&lines);
}

/* Whether a line ".It Va NAME , NAME" has the name. */
static bool item_has(const char *line, const char *name)
{
    static const char item[] = ".It Va ";
    const size_t end = strcspn(line, "\n");
    if (strncmp(line, item, strlen(item)) != 0)
        return false;
    for (const char *word = line + strlen(item); word < line + end;) {
        const size_t length = strcspn(word, " \n");
        if (length == strlen(name) && strncmp(word, name, length) == 0)
            return true;
        word += length + strspn(word + length, " ");
        if (length == 0)
            break;
    }
    return false;
}

/* The section of a group runs from its heading to the next; keys without one come first. */
static bool section_has(const char *page, const char *group, const char *name)
{
    char heading[64];
    snprintf(heading, sizeof heading, "\n.%s %s\n", group ? "Ss" : "Sh",
             group ? group : "DESCRIPTION");
    const char *line = strstr(page, heading);
    if (!line)
        return false;
    for (line = strchr(line + 1, '\n'); line; line = strchr(line + 1, '\n')) {
        if (strncmp(line, "\n.Ss", 4) == 0 || strncmp(line, "\n.Sh", 4) == 0)
            return false;
        if (item_has(line + 1, name))
            return true;
    }
    return false;
}

static void the_manual_has_every_key_of_the_configuration(void **state)
{
    (void)state;
    char *page = read_whole(CONFIG_PAGE);
    for (const struct oneib_config_key *key = oneib_config_keys; key->name; key++)
        if (!section_has(page, key->group, key->name))
            fail_msg("oneib.conf.5 does not tell of %s%s%s", key->group ? key->group : "",
                     key->group ? "." : "", key->name);
    free(page);
}

/* "`tests/FILE:NAME`" */
static void must_be_there(const char *proof, int length)
{
    const char *colon = memchr(proof, ':', (size_t)length);
    char path[4096], name[256];
    if (!colon)
        fail_msg("`%.*s` names no test", length, proof);
    snprintf(path, sizeof path, ONEIB_SOURCES "/%.*s", (int)(colon - proof), proof);
    snprintf(name, sizeof name, "%.*s", (int)(proof + length - colon - 1), colon + 1);
    char *source = read_whole(path);
    if (*name == '\0' || !strstr(source, name))
        fail_msg("%s has no test called %s", path, name);
    free(source);
}

static void every_test_that_shows_a_sentence_about_security_is_there(void **state)
{
    (void)state;
    static const char begin[] = "`tests/";
    size_t count = 0;
    char *page = read_whole(PROOFS);
    for (const char *at = strstr(page, begin); at; at = strstr(at, begin)) {
        const int length = (int)strcspn(++at, "`");
        must_be_there(at, length);
        count++;
        at += length;
    }
    assert_true(count > 50);
    free(page);
}

static void write_messages(void)
{
    char *page = read_whole(MESSAGES);
    char *made = make_messages(page);
    FILE *file = fopen(MESSAGES, "w");
    if (!file || fputs(made, file) == EOF || fclose(file) == EOF)
        perror(MESSAGES);
    free(made);
    free(page);
}

/* --write: writes docs/operator-messages.md, instead of tests. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_of_messages_is_made_of_the_table),
        cmocka_unit_test(every_entry_says_what_to_do),
        cmocka_unit_test(every_finding_of_the_table_is_given_somewhere),
        cmocka_unit_test(the_guide_lists_exactly_the_attributes_to_restrict),
        cmocka_unit_test(the_manual_has_every_key_of_the_configuration),
        cmocka_unit_test(every_test_that_shows_a_sentence_about_security_is_there),
    };
    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        write_messages();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
