// SPDX-License-Identifier: Apache-2.0
#include "placement/links_text.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/number.h"
#include "xml/values.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "oneib-links 1\n"
#define GUID "0x%016" PRIx64
#define GUID_WORD_LENGTH (sizeof " " - 1 + ONEIB_GUID_TEXT_SIZE - 1)
#define LID_MAX 0xbfff /* the last one of a port's own (IBA 1.2.1, 4.1.3) */
#define SL_MAX 15

/* ---- writing --------------------------------------------------------------------------------- */

/* One that two cables are said to lead to has one LID. */
static void write_ports(const struct oneib_routes *routes, struct oneib_text *text)
{
    oneib_guid last = 0;
    for (size_t i = 0; i < routes->host_count; i++) {
        const struct oneib_subnet_port port = oneib_routes_host(routes, i);
        if (port.guid != last)
            oneib_text_printf(text, "port " GUID " %u\n", port.guid, port.lid);
        last = port.guid;
    }
}

static void write_link(const struct oneib_switch_link *link, struct oneib_text *text)
{
    oneib_text_printf(text, "link " GUID " %u %u " GUID, link->switch_guid, link->switch_port,
                      link->node_type, link->port_guid);
    if (link->node_type == ONEIB_NODE_SWITCH)
        oneib_text_printf(text, " " GUID, link->node_guid);
    oneib_text_append(text, "\n");
}

static void write_routes(const struct oneib_routes *routes, struct oneib_text *text)
{
    write_ports(routes, text);
    for (size_t i = 0; i < routes->hop_count; i++) {
        const struct oneib_switch_link link = oneib_routes_link(routes, i);
        if (!routes->hops[i].from_host)
            write_link(&link, text);
    }
}

static void write_exits(const struct oneib_exits *exits, struct oneib_text *text)
{
    static const char digits[] = "0123456789abcdef";
    oneib_text_printf(text, "exits " GUID " ", exits->switch_guid);
    for (size_t lid = 0; lid < exits->count; lid++) {
        const char pair[] = {digits[exits->ports[lid] >> 4], digits[exits->ports[lid] & 15]};
        oneib_text_append_bytes(text, pair, sizeof pair);
    }
    oneib_text_append(text, "\n");
}

void oneib_links_write(const struct oneib_links *links, struct oneib_text *text)
{
    oneib_text_append(text, HEADER);
    write_routes(&links->routes, text);
    for (size_t i = 0; i < links->routes.switch_count; i++)
        write_exits(oneib_routes_exits(&links->routes, i), text);
    for (size_t i = 0; i < links->port_count; i++)
        oneib_text_printf(text, "host %" PRIu32 " " GUID "\n", links->ports[i].host_id,
                          links->ports[i].guid);
    for (size_t i = 0; i < links->cluster_count; i++) {
        const struct oneib_placed_cluster *cluster = &links->clusters[i];
        oneib_text_printf(text, "cluster %" PRIu32 " %u", cluster->network_id, cluster->sl);
        for (size_t j = 0; j < cluster->port_count; j++)
            oneib_text_printf(text, " " GUID, cluster->ports[j]);
        oneib_text_append(text, "\n");
    }
    oneib_text_append(text, "end\n");
}

/* ---- words of a line ------------------------------------------------------------------------- */

struct line {
    const char *at, *end; /* what is not read yet, without the line break */
};

static bool skip(struct line *line, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(line->end - line->at) < length || memcmp(line->at, word, length) != 0)
        return false;
    line->at += length;
    return true;
}

/* What stands before the next blank, behind the one that the line is at. */
static bool skip_word(struct line *line, const char **word, size_t *length)
{
    if (!skip(line, " "))
        return false;
    const size_t rest = (size_t)(line->end - line->at);
    const char *blank = memchr(line->at, ' ', rest);
    *word = line->at;
    *length = blank ? (size_t)(blank - line->at) : rest;
    line->at += *length;
    return true;
}

static bool skip_number(struct line *line, uint64_t max, uint64_t *number)
{
    const char *word;
    size_t length;
    return skip_word(line, &word, &length) && oneib_parse_decimal_n(word, length, max, number);
}

static bool skip_guid(struct line *line, oneib_guid *guid)
{
    const char *word;
    size_t length;
    return skip_word(line, &word, &length) && length == ONEIB_GUID_TEXT_SIZE - 1 &&
           oneib_guid_parse_n(word, length, guid);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What routes are made of, and what is known only when they are. */
struct reading {
    const char *at, *end;
    size_t number; /* of the line */
    struct oneib_subnet_port *ports;
    size_t port_count, port_capacity;
    struct oneib_switch_link *links;
    size_t link_count, link_capacity;
    struct oneib_exits *exits;
    size_t exit_count, exit_capacity;
    struct oneib_links *result;
};

static int refuse(const struct reading *reading, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT, "line %zu is not as oneibd writes it",
                      reading->number);
}

/* False: the text ends. */
static bool next_line(struct reading *reading, struct line *line)
{
    const char *end = memchr(reading->at, '\n', (size_t)(reading->end - reading->at));
    reading->number++;
    if (!end)
        return false;
    *line = (struct line){reading->at, end};
    reading->at = end + 1;
    return true;
}

/* By GUID, as oneib_subnet_find() wants them. */
static int read_port(struct reading *reading, struct line *line, struct oneib_error *err)
{
    oneib_guid guid;
    uint64_t lid;
    if (!skip_guid(line, &guid) || !skip_number(line, LID_MAX, &lid) || line->at != line->end ||
        (reading->port_count && reading->ports[reading->port_count - 1].guid >= guid))
        return refuse(reading, err);
    ONEIB_APPEND(reading->ports, reading->port_count, reading->port_capacity,
                 (struct oneib_subnet_port){.guid = guid, .lid = (uint16_t)lid});
    return 0;
}

static bool read_ends(struct line *line, struct oneib_switch_link *link)
{
    uint64_t port, type;
    if (!skip_guid(line, &link->switch_guid) || !skip_number(line, UINT8_MAX, &port) ||
        !skip_number(line, ONEIB_NODE_ROUTER, &type) || !skip_guid(line, &link->port_guid))
        return false;
    link->switch_port = (uint8_t)port;
    link->node_type = (uint8_t)type;
    return type != ONEIB_NODE_SWITCH || skip_guid(line, &link->node_guid);
}

static int read_link(struct reading *reading, struct line *line, struct oneib_error *err)
{
    struct oneib_switch_link link = {.physical = ONEIB_PHYSICAL_LINK_UP};
    if (!read_ends(line, &link) || line->at != line->end)
        return refuse(reading, err);
    ONEIB_APPEND(reading->links, reading->link_count, reading->link_capacity, link);
    return 0;
}

static bool read_ports_of(struct line *line, struct oneib_exits *exits)
{
    while (line->end - line->at >= 2) {
        const unsigned high = oneib_hex_digit(line->at[0]), low = oneib_hex_digit(line->at[1]);
        if (high > 15 || low > 15)
            return false;
        exits->ports[exits->count++] = (uint8_t)(high << 4 | low);
        line->at += 2;
    }
    return line->at == line->end;
}

/* By GUID, as they are written. */
static int read_exits(struct reading *reading, struct line *line, struct oneib_error *err)
{
    oneib_guid guid;
    if (!skip_guid(line, &guid) || !skip(line, " ") ||
        (reading->exit_count && reading->exits[reading->exit_count - 1].switch_guid >= guid))
        return refuse(reading, err);
    struct oneib_exits *exits =
        ONEIB_ADD(reading->exits, reading->exit_count, reading->exit_capacity);
    *exits = (struct oneib_exits){.switch_guid = guid,
                                  .ports = oneib_alloc((size_t)(line->end - line->at) / 2 + 1, 1)};
    return read_ports_of(line, exits) ? 0 : refuse(reading, err);
}

static int read_host(struct reading *reading, struct line *line, struct oneib_error *err)
{
    struct oneib_links *links = reading->result;
    uint64_t id;
    oneib_guid guid;
    if (!skip_number(line, ONEIB_ID_MAX, &id) || !skip_guid(line, &guid) || line->at != line->end ||
        (links->port_count && links->ports[links->port_count - 1].host_id > id))
        return refuse(reading, err);
    ONEIB_APPEND(links->ports, links->port_count, links->port_capacity,
                 (struct oneib_host_port_guid){.host_id = (uint32_t)id, .guid = guid});
    return 0;
}

static int read_members(struct reading *reading, struct line *line, oneib_guid *ports,
                        struct oneib_error *err)
{
    uint64_t id, sl;
    size_t count = 0;
    if (!skip_number(line, ONEIB_ID_MAX, &id) || !skip_number(line, SL_MAX, &sl) || sl == 0)
        return refuse(reading, err);
    while (line->at < line->end)
        if (!skip_guid(line, &ports[count++]))
            return refuse(reading, err);
    oneib_links_add_cluster(reading->result, (uint32_t)id, (uint8_t)sl, ports, count);
    return 0;
}

static int read_cluster(struct reading *reading, struct line *line, struct oneib_error *err)
{
    oneib_guid *ports =
        oneib_alloc((size_t)(line->end - line->at) / GUID_WORD_LENGTH + 1, sizeof *ports);
    const int status = read_members(reading, line, ports, err);
    free(ports);
    return status;
}

/* Lines that begin so, to the first that does not. */
static int read_lines(struct reading *reading, const char *word,
                      int (*read)(struct reading *, struct line *, struct oneib_error *),
                      struct oneib_error *err)
{
    for (;;) {
        struct line line;
        const struct reading before = *reading;
        if (!next_line(reading, &line) || !skip(&line, word)) {
            reading->at = before.at;
            reading->number = before.number;
            return 0;
        }
        if (read(reading, &line, err) < 0)
            return -1;
    }
}

static int read_all(struct reading *reading, struct oneib_error *err)
{
    struct line line;
    if (!next_line(reading, &line) || !skip(&line, "oneib-links 1") || line.at != line.end)
        return refuse(reading, err);
    if (read_lines(reading, "port", read_port, err) < 0 ||
        read_lines(reading, "link", read_link, err) < 0 ||
        read_lines(reading, "exits", read_exits, err) < 0)
        return -1;
    const struct oneib_subnet subnet = {.ports = reading->ports, .port_count = reading->port_count};
    oneib_routes_make(reading->links, reading->link_count, &subnet, reading->exits,
                      reading->exit_count, &reading->result->routes);
    if (read_lines(reading, "host", read_host, err) < 0 ||
        read_lines(reading, "cluster", read_cluster, err) < 0)
        return -1;
    if (!next_line(reading, &line) || !skip(&line, "end") || line.at != line.end ||
        reading->at != reading->end)
        return refuse(reading, err);
    return 0;
}

int oneib_links_read(const char *text, size_t length, struct oneib_links *links,
                     struct oneib_error *err)
{
    struct reading reading = {.at = text, .end = text + length, .result = links};
    *links = (struct oneib_links){0};
    const int status = read_all(&reading, err);
    for (size_t i = 0; i < reading.exit_count; i++)
        free(reading.exits[i].ports);
    free(reading.exits);
    free(reading.links);
    free(reading.ports);
    if (status < 0)
        oneib_links_clear(links);
    return status;
}
