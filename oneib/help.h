// SPDX-License-Identifier: Apache-2.0
/* The help of the command and of its verbs, and hints at mistyped ones. */
#ifndef ONEIB_ONEIB_HELP_H
#define ONEIB_ONEIB_HELP_H

#include "oneib/verb.h"

/* The command's, on standard output. */
void oneib_print_help(void);
/* NULL: there is none of that name. */
const struct oneib_verb *oneib_find_verb(const char *name);
/* Sets *err: there is no such verb, and which one may be meant. Returns USAGE always. */
enum oneib_exit oneib_refuse_verb(const char *word, struct oneib_error *err);

#endif
