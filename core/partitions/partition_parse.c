// SPDX-License-Identifier: Apache-2.0
/*
 * One pass over the text. Every refusal names file and line. What opensm would take otherwise than
 * it reads is refused here, so the checks follow what opensm does with the same bytes, not only the
 * grammar.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/order.h"
#include "ib/ipoib.h"
#include "partitions/partition.h"
#include <stdlib.h>
#include <string.h>

struct parser {
    const char *at, *end;
    size_t line;
    const char *file;
    struct oneib_partition_table *table;
    size_t *lines; /* where each partition of the table begins */
    size_t line_capacity;
    struct oneib_error *err;
};

/* A run of bytes of the text. */
struct word {
    const char *bytes;
    size_t length;
};

#define fail_at(parser, number, format, ...)                                                       \
    oneib_fail((parser)->err, ONEIB_ERROR_INPUT, "line %zu of %s: " format, number,                \
               (parser)->file __VA_OPT__(, ) __VA_ARGS__)
#define fail_here(parser, ...) fail_at(parser, (parser)->line, __VA_ARGS__)
/* printf arguments of a word, cut so that a long one leaves room for the rest of the message. */
#define SHOW(word) (int)((word).length < 64 ? (word).length : 64), (word).bytes

static bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '+';
}

static bool word_is(struct word word, const char *string)
{
    return word.length == strlen(string) && memcmp(word.bytes, string, word.length) == 0;
}

/* The next byte, '\0' at the end of the text (a NUL within it was refused before). */
static char peek(const struct parser *parser)
{
    return parser->at < parser->end ? *parser->at : '\0';
}

static void skip_blanks(struct parser *parser)
{
    while (peek(parser) == ' ' || peek(parser) == '\t')
        parser->at++;
}

static void skip_comment(struct parser *parser)
{
    while (parser->at < parser->end && *parser->at != '\n')
        parser->at++;
}

/* Blanks, comments and newlines. */
static void skip_space(struct parser *parser)
{
    for (;;) {
        skip_blanks(parser);
        if (peek(parser) == '#')
            skip_comment(parser);
        if (peek(parser) != '\n')
            return;
        parser->at++;
        parser->line++;
    }
}

static bool accept(struct parser *parser, char c)
{
    if (peek(parser) != c)
        return false;
    parser->at++;
    return true;
}

static struct word read_word(struct parser *parser)
{
    struct word word = {.bytes = parser->at};
    while (parser->at < parser->end && is_word_character(*parser->at))
        parser->at++;
    word.length = (size_t)(parser->at - word.bytes);
    return word;
}

/* What stands where something else was expected. */
static int fail_unexpected(struct parser *parser, const char *expected)
{
    char c = peek(parser);
    if (parser->at == parser->end)
        return fail_here(parser, "the file ends where %s is expected", expected);
    if (c == '\n' || c == '#')
        return fail_here(parser, "the line ends where %s is expected", expected);
    if (c == '\r')
        return fail_here(parser,
                         "a carriage return where %s is expected: opensm takes it as part "
                         "of the word before it; write the file with Unix line ends",
                         expected);
    if (c > ' ' && c < 0x7f)
        return fail_here(parser, "'%c' where %s is expected", c, expected);
    return fail_here(parser, "byte 0x%02x where %s is expected", (unsigned)(unsigned char)c,
                     expected);
}

/* As opensm's strtoul() with base 0 takes it, less what it takes by surprise: octal, signs,
 * overflow. */
static bool parse_number(struct word word, uint64_t max, uint64_t *value)
{
    return oneib_parse_decimal_n(word.bytes, word.length, max, value) ||
           oneib_parse_hex_n(word.bytes, word.length, max, value);
}

static bool parse_membership(struct word word, uint8_t *membership)
{
    for (int each = ONEIB_LIMITED; each <= ONEIB_BOTH; each++)
        if (word_is(word, oneib_membership_name((enum oneib_membership)each))) {
            *membership = (uint8_t)each;
            return true;
        }
    return false;
}

static int parse_name(struct parser *parser, struct oneib_partition *partition)
{
    struct word name = read_word(parser);
    if (name.length == 0)
        return fail_unexpected(parser, "the name of a partition");
    if (name.length >= sizeof partition->name)
        return fail_here(parser, "the name \"%.*s\" has more than %zu bytes: shorten it",
                         SHOW(name), sizeof partition->name - 1);
    memcpy(partition->name, name.bytes, name.length);
    if (!oneib_partition_name_valid(partition->name))
        return fail_here(parser,
                         "\"%s\" is not a name for a partition: letters, digits, '_', '-' and '.' "
                         "are, and no digit first",
                         partition->name);
    return 0;
}

static int parse_key(struct parser *parser, struct oneib_partition *partition)
{
    skip_blanks(parser);
    if (!accept(parser, '='))
        return fail_here(parser,
                         "partition \"%s\" has no key, and opensm would choose one: write %s=%s",
                         partition->name, partition->name,
                         strcmp(partition->name, "Default") == 0 ? "0x7fff" : "0x... and the key");

    skip_blanks(parser);
    struct word key = read_word(parser);
    uint64_t value;
    if (key.length == 0)
        return fail_unexpected(parser, "a key such as 0x0005");
    if (!parse_number(key, UINT16_MAX, &value) || (value & ~(uint64_t)ONEIB_PKEY_FULL_BIT) == 0)
        return fail_here(parser,
                         "\"%.*s\" is not the key of a partition: 0x0001 to 0x7fff are (decimal "
                         "without leading zeros)",
                         SHOW(key));
    if (value & ONEIB_PKEY_FULL_BIT)
        return fail_here(parser,
                         "key 0x%04x has the membership bit set: write 0x%04x, and =full behind "
                         "the members that are",
                         (unsigned)value, (unsigned)value & 0x7fff);
    partition->pkey = (oneib_pkey)value;

    if (strcmp(partition->name, "Default") == 0 && partition->pkey != ONEIB_PKEY_DEFAULT)
        return fail_here(parser,
                         "\"Default\" is opensm's name for key 0x7fff, not for 0x%04x: choose "
                         "another name",
                         partition->pkey);
    return 0;
}

/* A flag whose value is a number: where it goes and what it may be. */
struct number_flag {
    const char *name;
    uint64_t min, max;
    void (*set)(struct oneib_partition *partition, uint64_t value);
};

static void set_mtu(struct oneib_partition *partition, uint64_t value)
{
    partition->mtu = (uint8_t)value;
}

static void set_rate(struct oneib_partition *partition, uint64_t value)
{
    partition->rate = (uint8_t)value;
}

static void set_sl(struct oneib_partition *partition, uint64_t value)
{
    partition->sl = (uint8_t)value;
    partition->has_sl = true;
}

static void add_scope(struct oneib_partition *partition, uint64_t value)
{
    partition->scopes |= (uint16_t)(1u << value);
}

static void set_q_key(struct oneib_partition *partition, uint64_t value)
{
    partition->q_key = (uint32_t)value;
}

static void set_t_class(struct oneib_partition *partition, uint64_t value)
{
    partition->t_class = (uint8_t)value;
}

static void set_flow_label(struct oneib_partition *partition, uint64_t value)
{
    partition->flow_label = (uint32_t)value;
}

enum { MTU_FLAG, RATE_FLAG, SCOPE_FLAG = 3 /* the one that may be repeated */ };
static const struct number_flag number_flags[] = {
    [MTU_FLAG] = {"mtu", 1, 5, set_mtu},
    [RATE_FLAG] = {"rate", 2, ONEIB_RATE_CODE_MAX, set_rate},
    {"sl", 0, 15, set_sl},
    [SCOPE_FLAG] = {"scope", 1, 15, add_scope},
    {"Q_Key", 1, UINT32_MAX, set_q_key},
    {"TClass", 0, UINT8_MAX, set_t_class},
    {"FlowLabel", 0, 0xfffff, set_flow_label},
};
#define NUMBER_FLAGS (sizeof number_flags / sizeof number_flags[0])
/* Bits of the flags without a number, behind those of number_flags in `seen`. */
#define SEEN_INDX0 (1u << NUMBER_FLAGS)
#define SEEN_IPOIB (1u << (NUMBER_FLAGS + 1))
#define SEEN_DEFMEMBER (1u << (NUMBER_FLAGS + 2))

/* The word behind "FLAG="; a word of length 0 when it is missing. */
static struct word read_value(struct parser *parser)
{
    skip_blanks(parser);
    if (!accept(parser, '='))
        return (struct word){0};
    skip_blanks(parser);
    return read_word(parser);
}

/* The code of an MTU in bytes, or the value as it is: no number is both. */
static uint64_t mtu_code(uint64_t value)
{
    const uint8_t code = value <= UINT16_MAX ? oneib_mtu_code((unsigned)value) : 0;
    return code ? code : value;
}

static int refuse_gbps(struct parser *parser, uint64_t gbps)
{
    return fail_here(parser, "flag rate takes a code of InfiniBand's: for %u Gb/s write rate=%u",
                     (unsigned)gbps, oneib_rate_code((unsigned)gbps));
}

static int parse_number_flag(struct parser *parser, const struct number_flag *flag,
                             struct oneib_partition *partition)
{
    struct word word = read_value(parser);
    uint64_t value;
    const bool is_number = parse_number(word, UINT32_MAX, &value);
    if (is_number && flag == &number_flags[MTU_FLAG])
        value = mtu_code(value);
    if (is_number && value >= flag->min && value <= flag->max) {
        flag->set(partition, value);
        return 0;
    }
    if (is_number && flag == &number_flags[RATE_FLAG] && value <= UINT16_MAX &&
        oneib_rate_code((unsigned)value))
        return refuse_gbps(parser, value);
    return fail_here(parser,
                     "flag %s needs a number from %llu to %llu%s, in decimal without leading "
                     "zeros or as 0x..., not \"%.*s\"",
                     flag->name, (unsigned long long)flag->min, (unsigned long long)flag->max,
                     flag == &number_flags[MTU_FLAG] ? ", or the bytes (256 to 4096)" : "",
                     SHOW(word));
}

static int parse_defmember(struct parser *parser, struct oneib_partition *partition)
{
    struct word word = read_value(parser);
    if (!parse_membership(word, &partition->default_membership))
        return fail_here(parser, "defmember is full, limited or both, not \"%.*s\"", SHOW(word));
    return 0;
}

static int check_repetition(struct parser *parser, struct word flag, unsigned bit, unsigned *seen)
{
    if (*seen & bit)
        return fail_here(parser, "flag %.*s is given twice: opensm takes the last; keep one",
                         SHOW(flag));
    *seen |= bit;
    return 0;
}

static int parse_flag(struct parser *parser, struct oneib_partition *partition, unsigned *seen)
{
    skip_blanks(parser);
    struct word flag = read_word(parser);
    if (flag.length == 0)
        return fail_unexpected(parser, "a flag");

    for (unsigned i = 0; i < NUMBER_FLAGS; i++) {
        if (!word_is(flag, number_flags[i].name))
            continue;
        if (i != SCOPE_FLAG && check_repetition(parser, flag, 1u << i, seen) < 0)
            return -1;
        return parse_number_flag(parser, &number_flags[i], partition);
    }
    if (word_is(flag, "indx0")) {
        partition->indx0 = true;
        return check_repetition(parser, flag, SEEN_INDX0, seen);
    }
    if (word_is(flag, "ipoib")) {
        partition->ipoib = true;
        return check_repetition(parser, flag, SEEN_IPOIB, seen);
    }
    if (word_is(flag, "defmember")) {
        if (check_repetition(parser, flag, SEEN_DEFMEMBER, seen) < 0)
            return -1;
        return parse_defmember(parser, partition);
    }
    return fail_here(parser,
                     "\"%.*s\" is not a flag of a partition: opensm would skip it or take it for "
                     "another; indx0, ipoib, mtu, rate, sl, scope, Q_Key, TClass, FlowLabel and "
                     "defmember are",
                     SHOW(flag));
}

/* Name, key and flags up to the ':', all on one line: opensm looks no further for the ':'. */
static int parse_head(struct parser *parser, struct oneib_partition *partition)
{
    if (parse_name(parser, partition) < 0 || parse_key(parser, partition) < 0)
        return -1;

    unsigned seen = 0;
    skip_blanks(parser);
    while (accept(parser, ',')) {
        if (parse_flag(parser, partition, &seen) < 0)
            return -1;
        skip_blanks(parser);
    }
    if (!accept(parser, ':'))
        return fail_unexpected(parser, "',' and a flag, or ':' and the members (on the line of the "
                                       "partition's name),");
    return 0;
}

static bool find_wildcard(struct word word, uint8_t *kind)
{
    for (int each = ONEIB_MEMBER_ALL; each < ONEIB_MEMBER_GUID; each++)
        if (word_is(word, oneib_member_kind_name((enum oneib_member_kind)each))) {
            *kind = (uint8_t)each;
            return true;
        }
    return false;
}

static int parse_member_port(struct parser *parser, struct oneib_member *member)
{
    struct word word = read_word(parser);
    if (word.length == 0)
        return fail_unexpected(parser, "a member");
    if (oneib_guid_parse_n(word.bytes, word.length, &member->guid)) {
        member->kind = ONEIB_MEMBER_GUID;
        return 0;
    }
    if (find_wildcard(word, &member->kind))
        return 0;
    if (word_is(word, "mgid"))
        return fail_here(parser,
                         "multicast groups (mgid=) are not supported; remove the line: the subnet "
                         "manager makes a group when its first member joins, and flag ipoib makes "
                         "IPoIB's broadcast group");
    return fail_here(parser,
                     "\"%.*s\" is not a member: port GUIDs as 0x0002c90300112233, ALL, ALL_CAS, "
                     "ALL_SWITCHES, ALL_ROUTERS and SELF are",
                     SHOW(word));
}

static int parse_member(struct parser *parser, struct oneib_partition *partition)
{
    struct oneib_member member = {.membership = partition->default_membership};
    if (parse_member_port(parser, &member) < 0)
        return -1;

    skip_blanks(parser);
    if (accept(parser, '=')) {
        skip_blanks(parser);
        struct word suffix = read_word(parser);
        if (!parse_membership(suffix, &member.membership))
            return fail_here(parser,
                             "a member is full, limited or both, not \"%.*s\": opensm would take "
                             "it for limited",
                             SHOW(suffix));
    }
    oneib_partition_add_member(partition, member);
    return 0;
}

/* The ';' of a partition whose text so far ends on line `last`. */
static int parse_semicolon(struct parser *parser, size_t last)
{
    if (!accept(parser, ';'))
        return fail_unexpected(parser, "',' and another member, or ';',");
    if (parser->line != last)
        return fail_here(parser,
                         "a ';' that begins a line makes opensm read beyond the line: put it "
                         "behind what it ends");
    return 0;
}

static int parse_members(struct parser *parser, struct oneib_partition *partition)
{
    size_t last = parser->line;
    skip_space(parser);
    if (peek(parser) == ';')
        return parse_semicolon(parser, last);

    do {
        skip_space(parser);
        if (parse_member(parser, partition) < 0)
            return -1;
        last = parser->line;
        skip_space(parser);
    } while (accept(parser, ','));
    return parse_semicolon(parser, last);
}

static int parse_partition(struct parser *parser)
{
    ONEIB_RESERVE(parser->lines, parser->line_capacity, parser->table->count + 1);
    struct oneib_partition *partition = oneib_partition_table_add(parser->table);
    parser->lines[parser->table->count - 1] = parser->line;

    if (parse_head(parser, partition) < 0)
        return -1;
    return parse_members(parser, partition);
}

/* The bytes of one line at a time, before anything is made of them. */
static int check_lines(struct parser *parser)
{
    for (const char *line = parser->at; line < parser->end; parser->line++) {
        const char *newline = memchr(line, '\n', (size_t)(parser->end - line));
        size_t length = (size_t)((newline ? newline : parser->end) - line);
        if (memchr(line, '\0', length))
            return fail_here(parser, "a NUL byte: this is not a text file");
        if (length > ONEIB_PARTITIONS_LINE_MAX)
            return fail_here(
                parser,
                "%zu bytes: opensm cuts a line of more than %d in two; break it behind a comma",
                length, ONEIB_PARTITIONS_LINE_MAX);
        line += length + (newline != NULL);
    }
    parser->line = 1;
    return 0;
}

struct definition {
    struct oneib_partition *partition;
    size_t line;
};

ONEIB_ORDER_BY(compare_by_key, struct definition, partition->pkey, partition);

ONEIB_ORDER(compare_by_name, struct definition,
            strcmp(left->partition->name, right->partition->name)
                ?: ONEIB_COMPARE(left->line, right->line));

/* By name two partitions of one key are the same one. */
static int check_names(struct parser *parser, struct definition *definitions, size_t count)
{
    ONEIB_SORT(definitions, count, compare_by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(definitions[i].partition->name, definitions[i - 1].partition->name) == 0 &&
            definitions[i].partition->pkey != definitions[i - 1].partition->pkey)
            return fail_at(parser, definitions[i].line,
                           "the name \"%s\" is used already in line %zu: choose another",
                           definitions[i].partition->name, definitions[i - 1].line);
    return 0;
}

/* Members are stored resolved. */
static bool flags_equal(const struct oneib_partition *a, const struct oneib_partition *b)
{
    struct oneib_partition like = *b;
    memcpy(like.name, a->name, sizeof like.name);
    like.default_membership = a->default_membership;
    return oneib_partition_heads_equal(a, &like);
}

/* What was moved has the key 0. */
static void drop_merged(struct oneib_partition_table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].pkey)
            table->items[kept++] = table->items[i];
        else
            free(table->items[i].members);
    table->count = kept;
}

/* As opensm does: the members of later definitions come behind those of the first. */
static int merge_keys(struct parser *parser, struct definition *definitions, size_t count)
{
    ONEIB_SORT(definitions, count, compare_by_key);
    for (size_t i = 1, first = 0; i < count; i++) {
        struct oneib_partition *into = definitions[first].partition;
        struct oneib_partition *from = definitions[i].partition;
        if (into->pkey != from->pkey) {
            first = i;
            continue;
        }
        if (!flags_equal(into, from))
            return fail_at(parser, definitions[i].line,
                           "key 0x%04x is defined in line %zu with other flags: give both "
                           "definitions the same flags, or list all members in one",
                           from->pkey, definitions[first].line);
        oneib_partition_add_members(into, from->members, from->member_count);
        from->pkey = 0;
    }
    drop_merged(parser->table);
    return 0;
}

static int settle_definitions(struct parser *parser)
{
    size_t count = parser->table->count;
    oneib_autofree struct definition *definitions = oneib_alloc(count + 1, sizeof *definitions);
    for (size_t i = 0; i < count; i++)
        definitions[i] = (struct definition){&parser->table->items[i], parser->lines[i]};
    return check_names(parser, definitions, count) < 0 ? -1
                                                       : merge_keys(parser, definitions, count);
}

static int parse_file(struct parser *parser)
{
    if (check_lines(parser) < 0)
        return -1;
    for (skip_space(parser); parser->at < parser->end; skip_space(parser))
        if (parse_partition(parser) < 0)
            return -1;
    return settle_definitions(parser);
}

int oneib_partitions_parse(const char *data, size_t length, const char *name,
                           struct oneib_partition_table *table, struct oneib_error *err)
{
    if (length == 0) {
        oneib_partition_table_clear(table);
        return 0;
    }

    struct oneib_partition_table parsed = {0};
    struct parser parser = {
        .at = data, .end = data + length, .line = 1, .file = name, .table = &parsed, .err = err};
    int result = parse_file(&parser);
    free(parser.lines);
    if (result < 0) {
        oneib_partition_table_clear(&parsed);
        return -1;
    }
    oneib_partition_table_clear(table);
    *table = parsed;
    return 0;
}
