// SPDX-License-Identifier: Apache-2.0
#include "ib/m_key.h"

#include "base/array.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/order.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r"

/* ---- lines ----------------------------------------------------------------------------------- */

struct word {
    const char *start;
    size_t length;
};

/* At most `room` words; more are counted. */
static size_t split(const char *line, size_t length, struct word *words, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < length;) {
        size_t begin = i;
        while (i < length && !memchr(BLANKS, line[i], strlen(BLANKS)))
            i++;
        if (i > begin && count++ < room)
            words[count - 1] = (struct word){line + begin, i - begin};
        if (i == begin)
            i++;
    }
    return count;
}

static bool is_listed(const struct oneib_m_keys *keys, oneib_m_key key)
{
    for (size_t i = 0; i < keys->key_count; i++)
        if (keys->keys[i] == key)
            return true;
    return false;
}

static void add_key(struct oneib_m_keys *keys, oneib_m_key key)
{
    if (key != 0 && keys->key_count < ONEIB_M_KEYS_TRIED && !is_listed(keys, key))
        keys->keys[keys->key_count++] = key;
}

static int refuse_line(size_t number, const char *why, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT, "line %zu %s", number, why);
}

static int take_line(struct oneib_m_keys *keys, const char *line, size_t length, size_t number,
                     struct oneib_error *err)
{
    struct word words[2];
    oneib_guid port;
    oneib_m_key key;
    const size_t count = split(line, length, words, 2);
    if (count == 0 || words[0].start[0] == '#')
        return 0;
    if (count > 2)
        return refuse_line(number, "has more than a port GUID and a key", err);
    const struct word *last = &words[count - 1];
    if (!oneib_parse_hex_n(last->start, last->length, UINT64_MAX, &key))
        return refuse_line(number, "has no key: 0x and 1 to 16 hexadecimal digits", err);
    if (count == 2) {
        if (!oneib_guid_parse_n(words[0].start, words[0].length, &port))
            return refuse_line(number, "does not begin with a port GUID", err);
        ONEIB_APPEND(keys->ports, keys->port_count, keys->port_capacity,
                     (struct oneib_m_key_of_port){port, key});
        return 0;
    }
    if (key == 0)
        return refuse_line(number, "has the key 0, which is none", err);
    if (keys->key_count == ONEIB_M_KEYS_TRIED && !is_listed(keys, key))
        return refuse_line(number, "has one key without a port too many", err);
    add_key(keys, key);
    return 0;
}

static int take_lines(struct oneib_m_keys *keys, const char *text, size_t length,
                      struct oneib_error *err)
{
    size_t number = 0;
    for (size_t begin = 0; begin < length;) {
        const char *line = text + begin;
        const char *end = memchr(line, '\n', length - begin);
        const size_t line_length = end ? (size_t)(end - line) : length - begin;
        if (take_line(keys, line, line_length, ++number, err) < 0)
            return -1;
        begin += line_length + 1;
    }
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

ONEIB_ORDER_BY(compare_ports, struct oneib_m_key_of_port, port);

static int sort_ports(struct oneib_m_keys *keys, struct oneib_error *err)
{
    ONEIB_SORT(keys->ports, keys->port_count, compare_ports);
    for (size_t i = 1; i < keys->port_count; i++)
        if (keys->ports[i].port == keys->ports[i - 1].port)
            return oneib_fail(err, ONEIB_ERROR_INPUT, "the port 0x%016llx is there twice",
                              (unsigned long long)keys->ports[i].port);
    return 0;
}

/* The key of most of the sorted `all` that is not listed yet; 0: there is none. */
static oneib_m_key most_frequent(const struct oneib_m_keys *keys, const oneib_m_key *all)
{
    oneib_m_key found = 0;
    size_t most = 0;
    for (size_t begin = 0, end = 0; begin < keys->port_count; begin = end) {
        while (end < keys->port_count && all[end] == all[begin])
            end++;
        if (all[begin] != 0 && end - begin > most && !is_listed(keys, all[begin])) {
            most = end - begin;
            found = all[begin];
        }
    }
    return found;
}

static void list_frequent(struct oneib_m_keys *keys)
{
    if (keys->port_count == 0)
        return;
    oneib_m_key *all = oneib_alloc(keys->port_count, sizeof *all);
    for (size_t i = 0; i < keys->port_count; i++)
        all[i] = keys->ports[i].key;
    ONEIB_SORT(all, keys->port_count, oneib_compare_u64);
    while (keys->key_count < ONEIB_M_KEYS_TRIED) {
        const oneib_m_key key = most_frequent(keys, all);
        if (key == 0)
            break;
        add_key(keys, key);
    }
    free(all);
}

int oneib_m_keys_parse(const char *text, size_t length, struct oneib_m_keys *keys,
                       struct oneib_error *err)
{
    *keys = (struct oneib_m_keys){0};
    if (take_lines(keys, text, length, err) == 0 && sort_ports(keys, err) == 0) {
        list_frequent(keys);
        return 0;
    }
    oneib_m_keys_clear(keys);
    return -1;
}

void oneib_m_keys_clear(struct oneib_m_keys *keys)
{
    free(keys->ports);
    *keys = (struct oneib_m_keys){0};
}

/* ---- which one ------------------------------------------------------------------------------- */

static const struct oneib_m_key_of_port *find(const struct oneib_m_keys *keys, oneib_guid port)
{
    const struct oneib_m_key_of_port wanted = {.port = port};
    if (port == 0 || keys->port_count == 0)
        return NULL;
    return ONEIB_FIND(&wanted, keys->ports, keys->port_count, compare_ports);
}

size_t oneib_m_keys_for(const struct oneib_m_keys *keys, oneib_guid port)
{
    const struct oneib_m_key_of_port *own = find(keys, port);
    const size_t count = keys->key_count + (own && !is_listed(keys, own->key));
    return count ? count : 1;
}

oneib_m_key oneib_m_key_to_try(const struct oneib_m_keys *keys, oneib_guid port, size_t attempt)
{
    const struct oneib_m_key_of_port *own = find(keys, port);
    size_t turn = attempt % oneib_m_keys_for(keys, port);
    if (own && turn == 0)
        return own->key;
    for (size_t i = 0; i < keys->key_count; i++)
        if ((!own || keys->keys[i] != own->key) && turn-- == (own ? 1 : 0))
            return keys->keys[i];
    return 0;
}
