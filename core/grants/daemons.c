// SPDX-License-Identifier: Apache-2.0
#include "grants/daemons.h"
#include "base/number.h"
#include "grants/seal.h"
#include <stdbool.h>
#include <string.h>

#define SCHEME "tcp://"
#define WORDS 3

struct word {
    const char *start;
    size_t length;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* ---- an address ------------------------------------------------------------------------------ */

static bool is_one_of(const char *bytes, size_t length, const char *allowed)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] == '\0' || !strchr(allowed, bytes[i]))
            return false;
    return length > 0;
}

#define LETTERS_AND_DIGITS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A name, an IPv4 address, or an IPv6 address in brackets: what libzmq refuses would keep a node
 * from all of its daemons. A colon lies behind it. */
static bool is_host(const char *bytes, size_t length)
{
    if (bytes[0] == '[')
        return bytes[length - 1] == ']' &&
               is_one_of(bytes + 1, length - 2, "0123456789abcdefABCDEF:.");
    return is_one_of(bytes, 1, LETTERS_AND_DIGITS) &&
           is_one_of(bytes, length, LETTERS_AND_DIGITS ".-");
}

static bool is_address(const struct word *word)
{
    const size_t scheme = strlen(SCHEME);
    uint64_t number;
    if (word->length >= ONEIB_ADDRESS_SIZE || word->length <= scheme ||
        memcmp(word->start, SCHEME, scheme) != 0)
        return false;
    const char *host = word->start + scheme, *end = word->start + word->length;
    const char *colon = memrchr(host, ':', (size_t)(end - host));
    return colon && is_host(host, (size_t)(colon - host)) &&
           oneib_parse_decimal_n(colon + 1, (size_t)(end - colon - 1), UINT16_MAX, &number) &&
           number > 0;
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* How many words there are; more than WORDS are counted, not kept. */
static size_t split(const char *line, size_t length, struct word words[WORDS])
{
    size_t count = 0;
    for (size_t at = 0; at < length;) {
        const size_t start = at;
        while (at < length && !is_blank(line[at]))
            at++;
        if (at > start && count++ < WORDS)
            words[count - 1] = (struct word){line + start, at - start};
        while (at < length && is_blank(line[at]))
            at++;
    }
    return count;
}

static bool take_key(const struct word *word, uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    char text[ONEIB_KEY_TEXT_SIZE];
    if (word->length != sizeof text - 1)
        return false;
    memcpy(text, word->start, word->length);
    text[word->length] = '\0';
    return oneib_key_parse(text, key);
}

static int take_words(const struct word words[WORDS], struct oneib_ledger_daemon *daemon,
                      struct oneib_error *err)
{
    if (!is_address(&words[0]))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the address is not tcp://HOST:PORT");
    memcpy(daemon->address, words[0].start, words[0].length);
    if (!take_key(&words[1], daemon->curve) || !take_key(&words[2], daemon->sign))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "a key is not 64 hexadecimal digits");
    return 0;
}

static bool are_of_one(const struct oneib_ledger_daemon *a, const struct oneib_ledger_daemon *b)
{
    return strcmp(a->address, b->address) == 0 ||
           memcmp(a->curve, b->curve, sizeof a->curve) == 0 ||
           memcmp(a->sign, b->sign, sizeof a->sign) == 0;
}

static int add(struct oneib_daemons *daemons, const struct oneib_ledger_daemon *daemon,
               struct oneib_error *err)
{
    for (size_t i = 0; i < daemons->count; i++)
        if (are_of_one(&daemons->items[i], daemon))
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "its address, or a key of it, is an earlier line's");
    if (daemons->count == ONEIB_DAEMONS_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "more than %d daemons", ONEIB_DAEMONS_MAX);
    daemons->items[daemons->count++] = *daemon;
    return 0;
}

static int take_line(const char *line, size_t length, struct oneib_daemons *daemons,
                     struct oneib_error *err)
{
    struct oneib_ledger_daemon daemon = {0};
    struct word words[WORDS];
    const char *comment = memchr(line, '#', length);
    const size_t count = split(line, comment ? (size_t)(comment - line) : length, words);
    if (count == 0)
        return 0;
    if (count != WORDS)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "%zu words, and not three: the address and two public keys", count);
    return take_words(words, &daemon, err) < 0 ? -1 : add(daemons, &daemon, err);
}

/* ---- the file -------------------------------------------------------------------------------- */

int oneib_daemons_parse(const char *text, size_t length, const char *name,
                        struct oneib_daemons *daemons, struct oneib_error *err)
{
    unsigned number = 0;
    *daemons = (struct oneib_daemons){0};
    for (size_t at = 0; at < length;) {
        const char *line = text + at, *end = memchr(line, '\n', length - at);
        const size_t line_length = end ? (size_t)(end - line) : length - at;
        number++;
        at += line_length + 1;
        if (take_line(line, line_length, daemons, err) < 0) {
            daemons->count = 0;
            return oneib_wrap(err, "%s, line %u", name, number);
        }
    }
    return 0;
}

bool oneib_daemons_have(const struct oneib_daemons *daemons,
                        const struct oneib_ledger_daemon *daemon)
{
    for (size_t i = 0; i < daemons->count; i++) {
        const struct oneib_ledger_daemon *item = &daemons->items[i];
        if (strcmp(item->address, daemon->address) == 0 &&
            memcmp(item->curve, daemon->curve, sizeof item->curve) == 0 &&
            memcmp(item->sign, daemon->sign, sizeof item->sign) == 0)
            return true;
    }
    return false;
}

void oneib_daemons_render(const struct oneib_daemons *daemons, struct oneib_text *text)
{
    char curve[ONEIB_KEY_TEXT_SIZE], sign[ONEIB_KEY_TEXT_SIZE];
    for (size_t i = 0; i < daemons->count; i++) {
        oneib_key_format(daemons->items[i].curve, curve);
        oneib_key_format(daemons->items[i].sign, sign);
        oneib_text_printf(text, "%s %s %s\n", daemons->items[i].address, curve, sign);
    }
}
