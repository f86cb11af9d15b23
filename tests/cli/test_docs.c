// SPDX-License-Identifier: Apache-2.0
/*
 * The operator's guide has one entry for each message, and the pages name every key and line that
 * the programs know.
 */
#include "run.h"

#include "base/text.h"
#include "config/config_keys.h"
#include "opennebula/restrictions.h"
#include "partitions/subnet.h"
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

#define CODE_SIZE 64
#define CODES_MAX 256
#define ENTRY "\n### "

struct codes {
    char items[CODES_MAX][CODE_SIZE];
    size_t count;
};

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

static bool has_code(const struct codes *codes, const char *code)
{
    for (size_t i = 0; i < codes->count; i++)
        if (strcmp(codes->items[i], code) == 0)
            return true;
    return false;
}

static void add_code(struct codes *codes, const char *code, size_t length)
{
    char copy[CODE_SIZE];
    assert_true(length < sizeof copy);
    memcpy(copy, code, length);
    copy[length] = '\0';
    if (has_code(codes, copy))
        return;
    assert_true(codes->count < CODES_MAX);
    strcpy(codes->items[codes->count++], copy);
}

/* A code is lower-case words joined by '-'. */
static bool looks_like_a_code(const char *bytes, size_t length)
{
    bool joined = false;
    for (size_t i = 0; i < length; i++) {
        const bool inside = i > 0 && i + 1 < length && bytes[i - 1] != '-';
        if (bytes[i] == '-' && inside)
            joined = true;
        else if (!islower((unsigned char)bytes[i]) && !isdigit((unsigned char)bytes[i]))
            return false;
    }
    return joined && length < CODE_SIZE;
}

/* The literal is an argument, and neither what a table holds nor what a function returns. */
static bool is_argument(const char *start, const char *quote)
{
    while (quote > start && isspace((unsigned char)quote[-1]))
        quote--;
    return quote > start && strchr(",(?:", quote[-1]);
}

static const char *end_of_literal(const char *quote)
{
    const char *end = quote + 1;
    while (*end && *end != *quote)
        end += *end == '\\' && end[1] ? 2 : 1;
    return end;
}

/* Every literal of this form that some function is given. */
static void collect_from_source(const char *source, struct codes *codes)
{
    for (const char *at = source; *at; at++) {
        if (strncmp(at, "//", 2) == 0) {
            at += strcspn(at, "\n") - 1;
        } else if (strncmp(at, "/*", 2) == 0) {
            const char *end = strstr(at, "*/");
            assert_non_null(end);
            at = end + 1;
        } else if (*at == '"' || *at == '\'') {
            const char *end = end_of_literal(at);
            const size_t length = (size_t)(end - at) - 1;
            if (*at == '"' && looks_like_a_code(at + 1, length) && is_argument(source, at))
                add_code(codes, at + 1, length);
            if (!*end)
                return;
            at = end;
        }
    }
}

static void collect_from_file(const char *path, struct codes *codes)
{
    const size_t length = strlen(path);
    if (length < 2 || strcmp(path + length - 2, ".c") != 0)
        return;
    char *source = read_whole(path);
    collect_from_source(source, codes);
    free(source);
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Words of this form are libvirt's there: these parts make no findings. */
static bool speaks_libvirts_language(const char *name)
{
    return strcmp(name, "domain") == 0 || strcmp(name, "live") == 0;
}

static void collect_from_directory(const char *path, unsigned depth, struct codes *codes)
{
    DIR *directory = opendir(path);
    if (!directory)
        fail_msg("%s cannot be opened", path);
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        char inner[4096];
        if (entry->d_name[0] == '.' || speaks_libvirts_language(entry->d_name))
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (depth > 0 && is_directory(inner))
            collect_from_directory(inner, depth - 1, codes);
        else
            collect_from_file(inner, codes);
    }
    closedir(directory);
}

static void collect_deviations(struct codes *codes)
{
    for (int kind = 0; kind < ONEIB_DEVIATION_KINDS; kind++) {
        const char *name = oneib_deviation_name((enum oneib_deviation_kind)kind);
        add_code(codes, name, strlen(name));
    }
}

static struct codes *codes_of_the_sources(void)
{
    struct codes *codes = calloc(1, sizeof *codes);
    assert_non_null(codes);
    collect_from_directory(ONEIB_SOURCES "/core", 1, codes);
    collect_from_directory(ONEIB_SOURCES "/oneib", 0, codes);
    collect_from_directory(ONEIB_SOURCES "/oneibd", 0, codes);
    collect_deviations(codes);
    return codes;
}

static struct codes *codes_of_the_guide(const char *guide)
{
    struct codes *codes = calloc(1, sizeof *codes);
    assert_non_null(codes);
    for (const char *at = strstr(guide, ENTRY); at; at = strstr(at + 1, ENTRY)) {
        const char *code = at + strlen(ENTRY);
        const size_t length = strcspn(code, "\n");
        if (!looks_like_a_code(code, length))
            fail_msg("the entry \"%.*s\" is no code", (int)length, code);
        const size_t before = codes->count;
        add_code(codes, code, length);
        if (codes->count == before)
            fail_msg("there are two entries for %.*s", (int)length, code);
    }
    return codes;
}

static void every_message_has_an_entry_and_every_entry_a_message(void **state)
{
    (void)state;
    char *guide = read_whole(MESSAGES);
    struct codes *told = codes_of_the_guide(guide);
    struct codes *said = codes_of_the_sources();
    size_t wrong = 0;
    for (size_t i = 0; i < said->count; i++)
        if (!has_code(told, said->items[i])) {
            print_error("docs/operator-messages.md has no entry for %s\n", said->items[i]);
            wrong++;
        }
    for (size_t i = 0; i < told->count; i++)
        if (!has_code(said, told->items[i])) {
            print_error("docs/operator-messages.md explains %s, which no source says\n",
                        told->items[i]);
            wrong++;
        }
    assert_int_equal(wrong, 0);
    assert_true(said->count > 40);
    free(said);
    free(told);
    free(guide);
}

static void every_entry_says_how_bad_it_is_and_what_to_do(void **state)
{
    (void)state;
    static const char *const severities[] = {"Notice", "Warning", "Violation", "Difference"};
    char *guide = read_whole(MESSAGES);
    for (const char *at = strstr(guide, ENTRY); at; at = strstr(at + 1, ENTRY)) {
        const char *code = at + strlen(ENTRY);
        const int length = (int)strcspn(code, "\n");
        const char *text = code + length + strspn(code + length, "\n");
        const char *next = strstr(text, "\n#");
        bool graded = false;
        for (size_t i = 0; i < sizeof severities / sizeof *severities; i++)
            graded |= strncmp(text, severities[i], strlen(severities[i])) == 0;
        if (!graded)
            fail_msg("the entry of %.*s does not begin with a severity", length, code);
        const char *fix = strstr(text, "*Do:*");
        if (!fix || (next && fix > next))
            fail_msg("the entry of %.*s does not say what to do", length, code);
    }
    free(guide);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_has_an_entry_and_every_entry_a_message),
        cmocka_unit_test(every_entry_says_how_bad_it_is_and_what_to_do),
        cmocka_unit_test(the_guide_lists_exactly_the_attributes_to_restrict),
        cmocka_unit_test(the_manual_has_every_key_of_the_configuration),
        cmocka_unit_test(every_test_that_shows_a_sentence_about_security_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
