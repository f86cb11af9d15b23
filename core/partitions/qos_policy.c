// SPDX-License-Identifier: Apache-2.0
#include "partitions/qos_policy.h"
#include "base/number.h"
#include <string.h>

#define HEAD ONEIB_QOS_POLICY_MARK "\nqos-ulps\n    default : 0\n"
#define HEAD_LINES 3
#define END "end-qos-ulps\n"

void oneib_qos_policy_render(const struct oneib_partition_table *table, struct oneib_text *text)
{
    oneib_text_append(text, HEAD);
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].has_sl)
            oneib_text_printf(text, "    any, pkey 0x%04x : %u\n", table->items[i].pkey,
                              table->items[i].sl);
    oneib_text_append(text, END);
}

/* ---- reading it again ------------------------------------------------------------------------ */

struct lines {
    const char *next, *end;
    size_t number; /* of the line that was taken last */
};

/* The next line without its end; at the end an empty one. */
static void take_line(struct lines *lines, const char **line, size_t *length)
{
    const char *stop = memchr(lines->next, '\n', (size_t)(lines->end - lines->next));
    *line = lines->next;
    *length = (size_t)((stop ? stop : lines->end) - lines->next);
    lines->next = stop ? stop + 1 : lines->end;
    lines->number++;
}

static bool begins_with(const char **line, size_t *length, const char *words)
{
    const size_t size = strlen(words);
    if (*length < size || memcmp(*line, words, size) != 0)
        return false;
    *line += size;
    *length -= size;
    return true;
}

static bool takes_rule(struct lines *lines, const struct oneib_partition *partition)
{
    const char *line;
    size_t length;
    uint64_t pkey, sl;
    take_line(lines, &line, &length);
    if (!begins_with(&line, &length, "    any, pkey "))
        return false;
    const char *colon = memchr(line, ':', length);
    if (!colon || colon == line || colon[-1] != ' ' ||
        !oneib_parse_hex_n(line, (size_t)(colon - line) - 1, 0x7fff, &pkey))
        return false;
    length -= (size_t)(colon - line);
    return begins_with(&colon, &length, ": ") && oneib_parse_decimal_n(colon, length, 15, &sl) &&
           pkey == partition->pkey && sl == partition->sl;
}

static bool takes_head(struct lines *lines)
{
    size_t length = (size_t)(lines->end - lines->next);
    lines->number = HEAD_LINES;
    return begins_with(&lines->next, &length, HEAD);
}

static bool is_at_the_end(struct lines *lines)
{
    lines->number++;
    return (size_t)(lines->end - lines->next) == strlen(END) &&
           memcmp(lines->next, END, strlen(END)) == 0;
}

static bool says_the_levels_of(struct lines *lines, const struct oneib_partition_table *table)
{
    if (!takes_head(lines))
        return false;
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].has_sl && !takes_rule(lines, &table->items[i]))
            return false;
    return is_at_the_end(lines);
}

int oneib_qos_policy_check(const char *data, size_t length,
                           const struct oneib_partition_table *table, struct oneib_error *err)
{
    struct lines lines = {data, data + length, 0};
    if (says_the_levels_of(&lines, table))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "the new QoS policy, at line %zu, is not what was to be written: it is not "
                      "put into force; please report this with the output of 'oneib plan --json'",
                      lines.number);
}

bool oneib_qos_policy_is_ours(const char *data, size_t length)
{
    const size_t mark = sizeof ONEIB_QOS_POLICY_MARK - 1;
    return length > mark && memcmp(data, ONEIB_QOS_POLICY_MARK, mark) == 0 && data[mark] == '\n';
}
