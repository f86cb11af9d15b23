// SPDX-License-Identifier: Apache-2.0
#include "oneib/help.h"
#include "oneib/options.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Longer words are no verb that somebody mistyped. */
#define WORD_MAX 16
#define MISTAKES_MAX 2

void oneib_print_help(void)
{
    puts("usage: oneib [--config FILE] [--json] [--color=WHEN] VERB ...\n"
         "\n"
         "Virtual InfiniBand clusters for OpenNebula.\n"
         "\n"
         "verbs:");
    for (size_t i = 0; oneib_verbs[i]; i++)
        printf("  %-9s  %s\n", oneib_verbs[i]->name, oneib_verbs[i]->summary);
    puts("\n"
         "options of every verb, before or after it:\n"
         "  --config FILE  the configuration, instead of /etc/oneib/oneib.conf\n"
         "  --json         one JSON document on standard output\n"
         "  --color=WHEN   auto (only on a terminal; NO_COLOR is respected), always, never\n"
         "  -h, --help     of the command, or of the verb\n"
         "  --version\n"
         "\n"
         "exit status: 0 done, 1 a difference or a violation, 2 usage, 3 a failure\n"
         "\n"
         "'oneib help VERB' says more; oneib(8) says all.");
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

/* Letters to add, leave out or change until one word is the other; two that changed places count
 * once. Case does not count. */
static size_t mistakes_between(const char *a, const char *b)
{
    size_t rows[WORD_MAX + 1][WORD_MAX + 1];
    const size_t length = strlen(a), other = strlen(b);
    for (size_t i = 0; i <= length; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= other; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= length; i++)
        for (size_t j = 1; j <= other; j++) {
            const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            rows[i][j] =
                smallest(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]) && rows[i - 2][j - 2] + 1 < rows[i][j])
                rows[i][j] = rows[i - 2][j - 2] + 1;
        }
    return rows[length][other];
}

const struct oneib_verb *oneib_find_verb(const char *name)
{
    for (size_t i = 0; oneib_verbs[i]; i++)
        if (strcmp(oneib_verbs[i]->name, name) == 0)
            return oneib_verbs[i];
    return NULL;
}

static const struct oneib_verb *nearest_verb(const char *word)
{
    const struct oneib_verb *nearest = NULL;
    size_t fewest = MISTAKES_MAX + 1;
    if (strlen(word) > WORD_MAX)
        return NULL;
    for (size_t i = 0; oneib_verbs[i]; i++) {
        const size_t mistakes = mistakes_between(word, oneib_verbs[i]->name);
        /* With every letter changed it is another word. */
        if (mistakes < fewest && mistakes < strlen(word)) {
            nearest = oneib_verbs[i];
            fewest = mistakes;
        }
    }
    return nearest;
}

enum oneib_exit oneib_refuse_verb(const char *word, struct oneib_error *err)
{
    const struct oneib_verb *nearest = nearest_verb(word);
    if (nearest)
        return oneib_usage(NULL, err, "unknown verb '%s', did you mean '%s'?", word, nearest->name);
    return oneib_usage(NULL, err, "unknown verb '%s'", word);
}

static enum oneib_exit run_help(const struct oneib_run *run, struct oneib_error *err)
{
    if (run->word_count == 0) {
        oneib_print_help();
        return ONEIB_EXIT_DONE;
    }
    const struct oneib_verb *verb = oneib_find_verb(run->words[0]);
    if (!verb)
        return oneib_refuse_verb(run->words[0], err);
    fputs(verb->help, stdout);
    return ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_help = {
    .name = "help",
    .summary = "what the command does, or what a verb does",
    .help = "usage: oneib help [VERB]\n"
            "\n"
            "Lists the verbs, or says what one of them does and which options it has.\n"
            "\n"
            "example:\n"
            "  $ oneib help show\n",
    .words_max = 1,
    .run = run_help,
};
