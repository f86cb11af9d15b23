// SPDX-License-Identifier: Apache-2.0
/*
 * The command line of a program that has few options, all of which are here; `oneib`, which has
 * verbs, reads its own (oneib/options.h). Strict: nothing is abbreviated or taken silently.
 */
#ifndef ONEIB_BASE_PROGRAM_H
#define ONEIB_BASE_PROGRAM_H

#include "base/exit.h"
#include <stdbool.h>

struct oneib_program {
    const char *name;
    const char *help;  /* the text of --help; it takes --version too */
    bool takes_config; /* --config FILE */
    const char *word;  /* the name of its one argument, "PLACER"; NULL: it takes none */
};

/* Borrowed from argv; NULL: not given. */
struct oneib_given {
    const char *config, *word;
};

/*
 * -1: go on, with what was given. Else the exit status: help or version was printed, or what is
 * wrong with the command line, in one line on standard error.
 */
int oneib_program_begin(const struct oneib_program *program, int argc, char *const *argv,
                        struct oneib_given *given);

#endif
