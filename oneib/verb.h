// SPDX-License-Identifier: Apache-2.0
/* What a verb of the command is, and what it is given. */
#ifndef ONEIB_ONEIB_VERB_H
#define ONEIB_ONEIB_VERB_H

#include "base/error.h"
#include "base/exit.h"
#include <stdbool.h>
#include <stddef.h>

enum oneib_option {
    ONEIB_OPTION_CONFIG,
    ONEIB_OPTION_JSON,
    ONEIB_OPTION_COLOR,
    ONEIB_OPTION_HELP,
    ONEIB_OPTION_VERSION,
    ONEIB_OPTION_INDEX,
    ONEIB_OPTION_SITE,
    ONEIB_OPTION_FORCE,
    ONEIB_OPTION_EXIT_CODE,
    ONEIB_OPTION_NO_FABRIC,
    ONEIB_OPTION_FORMAT,
    ONEIB_OPTION_REPAIR,
    ONEIB_OPTION_ADOPT,
    ONEIB_OPTION_TRUST,
    ONEIB_OPTION_PORT,
    ONEIB_OPTION_KEY,
    ONEIB_OPTION_ALL,
    ONEIB_OPTION_LINKS,
    ONEIB_OPTION_CLUSTER,
    ONEIB_OPTION_NO_DAEMON,
    ONEIB_OPTION_COUNT,
};

#define ONEIB_TAKES(option) (1u << (option))
/* Every verb takes these. */
#define ONEIB_TAKES_ALWAYS                                                                         \
    (ONEIB_TAKES(ONEIB_OPTION_CONFIG) | ONEIB_TAKES(ONEIB_OPTION_JSON) |                           \
     ONEIB_TAKES(ONEIB_OPTION_COLOR) | ONEIB_TAKES(ONEIB_OPTION_HELP) |                            \
     ONEIB_TAKES(ONEIB_OPTION_VERSION))

#define ONEIB_WORDS_MAX 3

/* One run: the command line, taken apart, and how to write. Strings are borrowed from argv. */
struct oneib_run {
    const struct oneib_verb *verb;          /* NULL: none was named */
    const char *values[ONEIB_OPTION_COUNT]; /* NULL: not given; a flag's value is "" */
    bool shows_config;                      /* `check --config`, without a file */
    const char *words[ONEIB_WORDS_MAX];     /* after the verb */
    size_t word_count;
    bool json;        /* one JSON document on standard output */
    bool color_out;   /* on standard output */
    bool color_err;   /* on standard error */
    bool interactive; /* progress may be shown on standard error */
};

struct oneib_verb {
    const char *name;
    const char *summary;                   /* one line of `oneib --help` */
    const char *help;                      /* the text of `oneib VERB --help` */
    unsigned options;                      /* ONEIB_TAKES() of those beyond ONEIB_TAKES_ALWAYS */
    const char *required[ONEIB_WORDS_MAX]; /* the words that are always needed, by their names */
    size_t words_max;
    bool lone_config; /* --config without a file is a question of its own */
    /*
     * DONE and DIFFERENCE leave *err alone. USAGE comes from oneib_usage(). FAILURE: *err says why,
     * and nothing was written to standard output in JSON.
     */
    enum oneib_exit (*run)(const struct oneib_run *run, struct oneib_error *err);
};

extern const struct oneib_verb oneib_verb_mac, oneib_verb_guid, oneib_verb_list, oneib_verb_show,
    oneib_verb_plan, oneib_verb_sync, oneib_verb_verify, oneib_verb_topology, oneib_verb_check,
    oneib_verb_hca, oneib_verb_help, oneib_verb_hosts, oneib_verb_host, oneib_verb_daemons,
    oneib_verb_fence, oneib_verb_unfence, oneib_verb_keys, oneib_verb_qos;

/* `oneib qos --links`, which asks oneibd. */
enum oneib_exit oneib_qos_links(const struct oneib_run *run, struct oneib_error *err);

/* NULL-terminated, in the order of the help. */
extern const struct oneib_verb *const oneib_verbs[];

#endif
