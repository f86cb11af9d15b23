// SPDX-License-Identifier: Apache-2.0
/*
 * The command line. Strict: options are not abbreviated (a script that says --forc must not get
 * --force one day and an error the next), nothing is taken silently, and every refusal is one line
 * that says where to look.
 */
#ifndef ONEIB_ONEIB_OPTIONS_H
#define ONEIB_ONEIB_OPTIONS_H

#include "oneib/verb.h"
#include <stdint.h>

/* *run is zeroed before. Returns DONE or USAGE. Also decides about colour, from the terminal and
 * the environment. */
enum oneib_exit oneib_options_parse(int argc, char *const *argv, struct oneib_run *run,
                                    struct oneib_error *err);

/* Sets *err to the text and a hint at the verb's help (verb NULL: the command's). Returns USAGE
 * always. */
enum oneib_exit oneib_usage(const struct oneib_verb *verb, struct oneib_error *err,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Of run->words[word], which is one too many. */
enum oneib_exit oneib_usage_unexpected(const struct oneib_run *run, size_t word,
                                       struct oneib_error *err);

/* "invalid argument": run->words[word] is not one of the expected words, as in "encode or decode". */
enum oneib_exit oneib_usage_invalid(const struct oneib_run *run, size_t word, const char *expected,
                                    struct oneib_error *err);

/* A strict decimal number 0-max; `what` names it in the refusal. Returns DONE or USAGE. */
enum oneib_exit oneib_usage_number(const struct oneib_verb *verb, const char *what,
                                   const char *string, uint64_t max, uint64_t *value,
                                   struct oneib_error *err);

static inline bool oneib_given(const struct oneib_run *run, enum oneib_option option)
{
    return run->values[option] != NULL;
}

#endif
