// SPDX-License-Identifier: Apache-2.0
#include "opennebula/sched_conf.h"
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\n"

/* The next word: a name, a sign, or what stands between quotes. */
struct word {
    const char *at;
    size_t length;
    bool is_quoted;
};

struct rest {
    const char *at, *end;
};

static void skip_blanks_and_comments(struct rest *rest)
{
    while (rest->at < rest->end)
        if (memchr(BLANKS, *rest->at, strlen(BLANKS))) {
            rest->at++;
        } else if (*rest->at == '#') {
            const char *line = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
            rest->at = line ? line : rest->end;
        } else {
            return;
        }
}

static struct word take_quoted(struct rest *rest)
{
    const char *first = ++rest->at;
    const char *end = memchr(first, '"', (size_t)(rest->end - first));
    rest->at = end ? end + 1 : rest->end;
    return (struct word){first, (size_t)((end ? end : rest->end) - first), true};
}

static struct word take_name(struct rest *rest)
{
    const char *first = rest->at;
    while (rest->at < rest->end && !memchr(BLANKS "#=[],\"", *rest->at, strlen(BLANKS) + 6))
        rest->at++;
    if (rest->at == first)
        rest->at++;
    return (struct word){first, (size_t)(rest->at - first), false};
}

/* Empty, and not quoted: the text ends. */
static struct word next_word(struct rest *rest)
{
    skip_blanks_and_comments(rest);
    if (rest->at == rest->end)
        return (struct word){rest->at, 0, false};
    return *rest->at == '"' ? take_quoted(rest) : take_name(rest);
}

static bool is(const struct word *word, const char *name)
{
    return !word->is_quoted && word->length == strlen(name) &&
           strncasecmp(word->at, name, word->length) == 0;
}

static bool ends(const struct word *word)
{
    return word->length == 0 && !word->is_quoted;
}

/* Behind its "[": to the value of SERVER. */
static bool find_server(struct rest *rest, char server[ONEIB_SCHED_SERVER_SIZE])
{
    for (struct word word = next_word(rest); !ends(&word) && !is(&word, "]");
         word = next_word(rest)) {
        if (!is(&word, "SERVER"))
            continue;
        const struct word sign = next_word(rest), value = next_word(rest);
        if (!is(&sign, "=") || value.length >= ONEIB_SCHED_SERVER_SIZE)
            return false;
        memcpy(server, value.at, value.length);
        server[value.length] = '\0';
        return true;
    }
    return false;
}

bool oneib_sched_conf_server(const char *text, size_t length, char server[ONEIB_SCHED_SERVER_SIZE])
{
    struct rest rest = {text, text + length};
    for (struct word word = next_word(&rest); !ends(&word); word = next_word(&rest)) {
        if (!is(&word, "EXTERNAL_SCHEDULER"))
            continue;
        const struct word sign = next_word(&rest), bracket = next_word(&rest);
        return is(&sign, "=") && is(&bracket, "[") && find_server(&rest, server);
    }
    return false;
}
