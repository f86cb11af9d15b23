// SPDX-License-Identifier: Apache-2.0
#include "config/config_source.h"
#include "base/number.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Where the walk through the source is. The source ends in a NUL, so that looking one byte ahead is
 * always allowed. */
struct walk {
    const char *path;
    const char *at;
    const char *end;
    unsigned line;
};

static int refuse(const struct walk *walk, struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_CONFIG, "%s:%u: %s", walk->path, walk->line, what);
}

static void step(struct walk *walk)
{
    if (*walk->at++ == '\n')
        walk->line++;
}

static bool is_next(const struct walk *walk, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(walk->end - walk->at) >= length && memcmp(walk->at, word, length) == 0;
}

static void skip_line(struct walk *walk)
{
    while (walk->at < walk->end && *walk->at != '\n')
        step(walk);
}

static int skip_comment(struct walk *walk, struct oneib_error *err)
{
    struct walk begin = *walk;
    walk->at += 2;
    while (walk->at < walk->end) {
        if (is_next(walk, "*/")) {
            walk->at += 2;
            return 0;
        }
        step(walk);
    }
    return refuse(&begin, err, "the comment that begins here has no end: add */");
}

static int skip_string(struct walk *walk, struct oneib_error *err)
{
    struct walk begin = *walk;
    step(walk);
    while (walk->at < walk->end && *walk->at != '"') {
        if (is_next(walk, "\\x00"))
            return refuse(walk, err, "a string cannot hold a NUL byte");
        if (*walk->at == '\\' && walk->at + 1 < walk->end)
            step(walk);
        step(walk);
    }
    if (walk->at == walk->end)
        return refuse(&begin, err, "the string that begins here has no end: add \"");
    step(walk);
    return 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_name(struct walk *walk)
{
    while (is_letter(*walk->at) || is_digit(*walk->at) || *walk->at == '-' || *walk->at == '_' ||
           *walk->at == '*')
        step(walk);
}

static bool is_fraction(const char *word, size_t length)
{
    char *end;
    if (!memchr(word, '.', length) && !memchr(word, 'e', length) && !memchr(word, 'E', length))
        return false;
    strtod(word, &end);
    return end == word + length;
}

static bool is_whole_number(const char *word, size_t length)
{
    uint64_t value;
    if (length > 0 && word[0] == '-') {
        word++;
        length--;
    }
    return oneib_parse_decimal_n(word, length, INT32_MAX, &value) ||
           oneib_parse_hex_n(word, length, INT32_MAX, &value);
}

static int check_number(struct walk *walk, struct oneib_error *err)
{
    const char *word = walk->at;
    while (is_letter(*walk->at) || is_digit(*walk->at) || *walk->at == '.' || *walk->at == '_' ||
           *walk->at == '+' || *walk->at == '-')
        step(walk);

    size_t length = (size_t)(walk->at - word);
    if (is_whole_number(word, length) || is_fraction(word, length))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_CONFIG,
                      "%s:%u: \"%.*s\" is not a number that can be used here: decimal without "
                      "leading zeros or 0x and hexadecimal digits, up to %d",
                      walk->path, walk->line, length > 64 ? 64 : (int)length, word, INT32_MAX);
}

static int check_next(struct walk *walk, struct oneib_error *err)
{
    char c = *walk->at;
    if (c == '#' || is_next(walk, "//"))
        skip_line(walk);
    else if (is_next(walk, "/*"))
        return skip_comment(walk, err);
    else if (c == '"')
        return skip_string(walk, err);
    else if (is_next(walk, "@include"))
        return refuse(walk, err, "@include is not supported: keep everything in this file");
    else if (is_letter(c) || c == '*')
        skip_name(walk);
    else if (is_digit(c) || c == '+' || c == '-' || c == '.')
        return check_number(walk, err);
    else
        step(walk);
    return 0;
}

int oneib_config_check_source(const char *path, const char *source, size_t length,
                              struct oneib_error *err)
{
    struct walk walk = {.path = path, .at = source, .end = source + length, .line = 1};
    const char *nul = memchr(source, '\0', length);
    if (nul) {
        /* Anywhere, even in a comment: libconfig would take it for the end. */
        while (walk.at < nul)
            step(&walk);
        return refuse(&walk, err, "a NUL byte: this is not a text file");
    }
    while (walk.at < walk.end)
        if (check_next(&walk, err) < 0)
            return -1;
    return 0;
}
