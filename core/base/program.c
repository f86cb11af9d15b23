// SPDX-License-Identifier: Apache-2.0
#include "base/program.h"
#include "base/escape.h"
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 64 /* of a word that is not understood */

/* word: NULL, or what is shown behind it. */
static int refuse(const struct oneib_program *program, const char *what, const char *word)
{
    oneib_autotext struct oneib_text shown = {0};
    if (word) {
        oneib_text_append(&shown, "\"");
        oneib_text_append_escaped(&shown, word, SHOWN_MAX);
        oneib_text_append(&shown, "\"");
    }
    fprintf(stderr, "%s: %s%s; see '%s --help'\n", program->name, what,
            shown.data ? shown.data : "", program->name);
    return ONEIB_EXIT_USAGE;
}

static int print(const struct oneib_program *program, const char *option)
{
    if ((strcmp(option, "--help") == 0 ? fputs(program->help, stdout)
                                       : printf("%s " ONEIB_VERSION "\n", program->name)) >= 0 &&
        fflush(stdout) == 0)
        return ONEIB_EXIT_DONE;
    fprintf(stderr, "%s: writing to standard output: %m\n", program->name);
    return ONEIB_EXIT_FAILURE;
}

static bool asks_to_print(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "--version") == 0;
}

int oneib_program_begin(const struct oneib_program *program, int argc, char *const *argv,
                        struct oneib_given *given)
{
    static const char config[] = "--config";
    const size_t length = strlen(config);
    const char *asked = NULL;
    *given = (struct oneib_given){0};
    for (int i = 1; i < argc; i++)
        if (!asked && asks_to_print(argv[i]))
            asked = argv[i];
        else if (program->takes_config && strcmp(argv[i], config) == 0 && i + 1 < argc)
            given->config = argv[++i];
        else if (program->takes_config && strcmp(argv[i], config) == 0)
            return refuse(program, "option '--config' requires a value", NULL);
        else if (program->takes_config && strncmp(argv[i], config, length) == 0 &&
                 argv[i][length] == '=')
            given->config = argv[i] + length + 1;
        else if (program->word && !given->word && argv[i][0] != '-')
            given->word = argv[i];
        else
            return refuse(program, argv[i][0] == '-' ? "unknown option " : "unexpected argument ",
                          argv[i]);
    if (asked)
        return print(program, asked);
    return program->word && !given->word ? refuse(program, "missing argument ", program->word) : -1;
}
