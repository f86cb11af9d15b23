// SPDX-License-Identifier: Apache-2.0
/* Running the command. Each test has a directory of its own for files, which is also $HOME. */
#ifndef ONEIB_TESTS_CLI_RUN_H
#define ONEIB_TESTS_CLI_RUN_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct outcome {
    int status;      /* exit status; -1: it did not exit */
    char out[65536]; /* standard output, NUL terminated */
    char err[65536]; /* standard error */
};

/* Setup and teardown of a cmocka test: the directory. */
int make_directory(void **state);
int remove_directory(void **state);
/* The path of a file in the directory; valid until the next call but three. */
const char *in_directory(const char *name);
void write_file(const char *name, const char *content);

/* Runs `oneib` with these words (NULL at the end) in a clean environment, output through pipes. */
#define RUN(...) run_words((const char *const[]){__VA_ARGS__, NULL})
const struct outcome *run_words(const char *const *words);
/* The same with a terminal as standard output. */
#define RUN_ON_TERMINAL(...) run_on_terminal((const char *const[]){__VA_ARGS__, NULL})
const struct outcome *run_on_terminal(const char *const *words);
/* The same with a file as standard output. */
#define RUN_INTO(path, ...) run_into(path, (const char *const[]){__VA_ARGS__, NULL})
const struct outcome *run_into(const char *path, const char *const *words);
/* One more environment variable, "NAME=VALUE", for the runs of this test; NULL: none. */
void set_variable(const char *assignment);
/* What `oneib check` prints where the directory is a self-contained front-end. */
const char *check_front_end(void);
/* Another program than `oneib`, for all runs from now on. */
void set_program(const char *path);

void assert_contains(const char *text, const char *part);
void assert_lacks(const char *text, const char *part);
/* Parses what was written; fails when it is not exactly one document. The caller decrefs. */
json_t *parse_json(const char *text);

#endif
