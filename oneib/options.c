// SPDX-License-Identifier: Apache-2.0
#include "oneib/options.h"
#include "base/number.h"
#include "oneib/help.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    bool takes_value;
} rules[ONEIB_OPTION_COUNT] = {
    [ONEIB_OPTION_CONFIG] = {"config", true},
    [ONEIB_OPTION_JSON] = {"json", false},
    [ONEIB_OPTION_COLOR] = {"color", true},
    [ONEIB_OPTION_HELP] = {"help", false},
    [ONEIB_OPTION_VERSION] = {"version", false},
    [ONEIB_OPTION_INDEX] = {"index", true},
    [ONEIB_OPTION_SITE] = {"site", true},
    [ONEIB_OPTION_FORCE] = {"force", false},
    [ONEIB_OPTION_EXIT_CODE] = {"exit-code", false},
    [ONEIB_OPTION_NO_FABRIC] = {"no-fabric", false},
    [ONEIB_OPTION_FORMAT] = {"format", true},
    [ONEIB_OPTION_REPAIR] = {"repair", false},
    [ONEIB_OPTION_ADOPT] = {"adopt", false},
    [ONEIB_OPTION_TRUST] = {"trust", true},
    [ONEIB_OPTION_PORT] = {"port", true},
    [ONEIB_OPTION_KEY] = {"key", true},
    [ONEIB_OPTION_ALL] = {"all", false},
    [ONEIB_OPTION_LINKS] = {"links", false},
    [ONEIB_OPTION_CLUSTER] = {"cluster", true},
    [ONEIB_OPTION_NO_DAEMON] = {"no-daemon", false},
};

/* Where the parser is. */
struct cursor {
    int count;
    char *const *words;
    int next;
};

enum oneib_exit oneib_usage(const struct oneib_verb *verb, struct oneib_error *err,
                            const char *format, ...)
{
    char text[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    oneib_fail(err, ONEIB_ERROR_INPUT, "%s; see 'oneib %s%s--help'", text, verb ? verb->name : "",
               verb ? " " : "");
    return ONEIB_EXIT_USAGE;
}

enum oneib_exit oneib_usage_number(const struct oneib_verb *verb, const char *what,
                                   const char *string, uint64_t max, uint64_t *value,
                                   struct oneib_error *err)
{
    if (oneib_parse_decimal(string, max, value))
        return ONEIB_EXIT_DONE;
    return oneib_usage(verb, err, "invalid %s '%s': expected a number from 0 to %" PRIu64, what,
                       string, max);
}

enum oneib_exit oneib_usage_unexpected(const struct oneib_run *run, size_t word,
                                       struct oneib_error *err)
{
    return oneib_usage(run->verb, err, "unexpected argument '%s'", run->words[word]);
}

enum oneib_exit oneib_usage_invalid(const struct oneib_run *run, size_t word, const char *expected,
                                    struct oneib_error *err)
{
    return oneib_usage(run->verb, err, "invalid argument '%s': expected %s", run->words[word],
                       expected);
}

/* ONEIB_OPTION_COUNT when there is no such option for the verb. */
static enum oneib_option find_option(const struct oneib_verb *verb, const char *name, size_t length)
{
    const unsigned taken = ONEIB_TAKES_ALWAYS | (verb ? verb->options : 0);
    for (unsigned i = 0; i < ONEIB_OPTION_COUNT; i++)
        if (strlen(rules[i].name) == length && strncmp(rules[i].name, name, length) == 0 &&
            (taken & ONEIB_TAKES(i)))
            return (enum oneib_option)i;
    return ONEIB_OPTION_COUNT;
}

static enum oneib_exit refuse_option(const struct oneib_verb *verb, const char *word,
                                     struct oneib_error *err)
{
    return oneib_usage(verb, err, "unknown option '%s'%s", word, verb ? "" : " before the verb");
}

/* In `check --config` the file is optional, and check takes no words: what follows and is no option
 * is the file. */
static bool stands_alone(const struct oneib_run *run, enum oneib_option option,
                         const struct cursor *cursor)
{
    return option == ONEIB_OPTION_CONFIG && run->verb && run->verb->lone_config &&
           (cursor->next == cursor->count || cursor->words[cursor->next][0] == '-');
}

static enum oneib_exit take_value(struct oneib_run *run, enum oneib_option option,
                                  const char *equals, struct cursor *cursor,
                                  struct oneib_error *err)
{
    if (equals) {
        run->values[option] = equals + 1;
    } else if (stands_alone(run, option, cursor)) {
        run->shows_config = true;
        return ONEIB_EXIT_DONE;
    } else if (cursor->next < cursor->count) {
        run->values[option] = cursor->words[cursor->next++];
    }
    if (!run->values[option] || *run->values[option] == '\0')
        return oneib_usage(run->verb, err, "option '--%s' requires a value", rules[option].name);
    return ONEIB_EXIT_DONE;
}

static enum oneib_exit take_option(struct oneib_run *run, const char *word, struct cursor *cursor,
                                   struct oneib_error *err)
{
    if (strcmp(word, "-h") == 0) {
        run->values[ONEIB_OPTION_HELP] = "";
        return ONEIB_EXIT_DONE;
    }
    if (word[1] != '-')
        return refuse_option(run->verb, word, err);

    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const enum oneib_option option = find_option(run->verb, name, length);

    if (option == ONEIB_OPTION_COUNT)
        return refuse_option(run->verb, word, err);
    if (rules[option].takes_value)
        return take_value(run, option, equals, cursor, err);
    if (equals)
        return oneib_usage(run->verb, err, "option '--%s' takes no value", rules[option].name);
    run->values[option] = "";
    return ONEIB_EXIT_DONE;
}

static enum oneib_exit take_word(struct oneib_run *run, const char *word, struct oneib_error *err)
{
    if (!run->verb) {
        run->verb = oneib_find_verb(word);
        return run->verb ? ONEIB_EXIT_DONE : oneib_refuse_verb(word, err);
    }
    if (run->word_count == run->verb->words_max)
        return oneib_usage(run->verb, err, "unexpected argument '%s'", word);
    run->words[run->word_count++] = word;
    return ONEIB_EXIT_DONE;
}

static enum oneib_exit decide_color(struct oneib_run *run, struct oneib_error *err)
{
    const char *when = run->values[ONEIB_OPTION_COLOR];
    if (!when || strcmp(when, "auto") == 0) {
        /* https://no-color.org: set and not empty means none. */
        const char *no_color = getenv("NO_COLOR");
        const char *terminal = getenv("TERM");
        const bool wanted =
            !(no_color && *no_color) && !(terminal && strcmp(terminal, "dumb") == 0);
        run->color_out = wanted && isatty(STDOUT_FILENO);
        run->color_err = wanted && isatty(STDERR_FILENO);
        return ONEIB_EXIT_DONE;
    }
    if (strcmp(when, "always") != 0 && strcmp(when, "never") != 0)
        return oneib_usage(run->verb, err, "invalid --color '%s': expected auto, always or never",
                           when);
    run->color_out = run->color_err = strcmp(when, "always") == 0;
    return ONEIB_EXIT_DONE;
}

static enum oneib_exit check_completeness(const struct oneib_run *run, struct oneib_error *err)
{
    if (oneib_given(run, ONEIB_OPTION_HELP) || oneib_given(run, ONEIB_OPTION_VERSION))
        return ONEIB_EXIT_DONE;
    if (!run->verb)
        return oneib_usage(NULL, err, "missing verb");
    const char *missing =
        run->word_count < ONEIB_WORDS_MAX ? run->verb->required[run->word_count] : NULL;
    if (missing)
        return oneib_usage(run->verb, err, "missing argument %s", missing);
    return ONEIB_EXIT_DONE;
}

/* Known before the rest, so that a refusal of the rest is JSON too. */
static bool asks_for_json(int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

enum oneib_exit oneib_options_parse(int argc, char *const *argv, struct oneib_run *run,
                                    struct oneib_error *err)
{
    struct cursor cursor = {argc, argv, 1};
    bool only_words = false;
    enum oneib_exit status = ONEIB_EXIT_DONE;

    run->json = asks_for_json(argc, argv);
    run->interactive = isatty(STDERR_FILENO);
    while (status == ONEIB_EXIT_DONE && cursor.next < cursor.count) {
        const char *word = cursor.words[cursor.next++];
        if (only_words || word[0] != '-' || word[1] == '\0')
            status = take_word(run, word, err);
        else if (strcmp(word, "--") == 0)
            only_words = true;
        else
            status = take_option(run, word, &cursor, err);
    }
    if (status == ONEIB_EXIT_DONE)
        status = decide_color(run, err);
    if (status == ONEIB_EXIT_DONE)
        status = check_completeness(run, err);
    return status;
}
