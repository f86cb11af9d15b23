// SPDX-License-Identifier: Apache-2.0
/*
 * fabric-reach FILE: measures which VF can reach which on the (simulated) fabric. It is told at
 * which ports VFs are and how they are mapped, never who should reach whom.
 *
 * FILE has a line a VF: ID PORT_GUID MAP. MAP is one of
 *   map I,I,...  the VF's map, as its host's adapter has it: for each entry the index of the port's
 *                table that it points to, or "none", which an mlx4 takes for the last one
 *   key KEY      a P_Key (15 bits, hexadecimal): entry 0 points to where the port's table has it
 *                now, nowhere when it is not there, and all others to index 0
 *   vport N      it is the port's virtual port N (mlx5), with a table of its own
 * What an entry is worth is read from the port itself, by SMP.
 *
 * Output: "row ID TABLES SA" a VF, each a string of 0 and 1, one digit a VF in the order of FILE:
 * reachable by what the tables hold, and by what the subnet administrator answers when it is asked
 * for a path under that P_Key; "sa ASKED DISAGREED": path queries for (port, port, P_Key), and how
 * many answers differ from the tables; "vport ID GUID" a virtual port, 0 while it is down or has
 * none; before these "absent ID" a VF whose port does not answer: it reaches nothing. The SA of the simulated fabric knows no virtual ports, so where there are some it is not
 * asked: SA is all 0, and so is ASKED. Nor is the reading proved (partitions/virtual_ports.h): the
 * adapters are a stand-in's that answers as oneib asks. A table shows a change before its port has
 * answered the subnet manager: where the two differ, everything is read again, for AGREE_MS at
 * most.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "fabric/fabric.h"
#include "fabric/virtual_ports_read.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VFS_MAX 512
#define KEYS_MAX 8 /* that differ, of one VF */
#define LINE_SIZE 1024
#define AGREE_MS 5000
#define STATE_DOWN 1 /* PortInfo.PortState (IBA 1.2.1, 14.2.5.6) */

struct vf {
    unsigned id;
    oneib_guid port_guid;
    const struct oneib_subnet_port *port;
    uint16_t raw[KEYS_MAX]; /* what it can send with */
    size_t key_count;
    bool is_absent; /* its port is not on the fabric, or does not answer */
    bool is_virtual;
    oneib_guid guid; /* of a virtual port */
};

struct measurement {
    struct vf vfs[VFS_MAX];
    size_t count;
    struct oneib_subnet subnet;
    struct oneib_vport_reading virtual_ports;
    bool are_virtual;
    struct oneib_path_query *queries;
    size_t query_count;
};

static int fail(const char *what)
{
    fprintf(stderr, "fabric-reach: %s\n", what);
    return EXIT_FAILURE;
}

static bool add_key(struct vf *vf, uint16_t raw)
{
    for (size_t i = 0; i < vf->key_count; i++)
        if (vf->raw[i] == raw)
            return true;
    if (vf->key_count == KEYS_MAX)
        return false;
    if (raw)
        vf->raw[vf->key_count++] = raw;
    return true;
}

static bool take_map(char *map, struct vf *vf)
{
    char *rest = NULL;
    for (char *entry = strtok_r(map, ",", &rest); entry; entry = strtok_r(NULL, ",", &rest)) {
        uint64_t index = vf->port->partition_cap - 1u;
        if ((strcmp(entry, "none") != 0 &&
             !oneib_parse_decimal(entry, vf->port->partition_cap - 1u, &index)) ||
            !add_key(vf, vf->port->pkeys[index]))
            return false;
    }
    return true;
}

static bool take_key(const char *text, struct vf *vf)
{
    uint64_t key;
    if (!oneib_parse_hex(text, ONEIB_PKEY_DEFAULT, &key))
        return false;
    for (uint16_t i = 0; i < vf->port->partition_cap; i++)
        if (oneib_pkey_base(vf->port->pkeys[i]) == key) {
            add_key(vf, vf->port->pkeys[i]);
            break;
        }
    return add_key(vf, vf->port->pkeys[0]);
}

/* A host's virtual port N. Down, it has nothing to send with. */
static bool take_vport(const char *text, const struct oneib_vport_reading *reading, struct vf *vf)
{
    uint64_t number;
    size_t owner = 0;
    while (owner < reading->count && reading->items[owner].guid != vf->port_guid)
        owner++;
    if (owner == reading->count ||
        !oneib_parse_decimal(text, reading->items[owner].count - 1, &number))
        return false;
    const struct oneib_vport *vport = &reading->items[owner].items[number];
    if (vport->state == STATE_DOWN || !vport->pkeys || vport->blocks_due > 0)
        return vport->state == STATE_DOWN;
    vf->guid = vport->guid == UINT64_MAX ? 0 : vport->guid; /* all ones: it has none */
    for (uint16_t i = 0; i < vport->pkey_cap; i++)
        if (!add_key(vf, vport->pkeys[i]))
            return false;
    return true;
}

static bool parse_vf(char *line, const struct measurement *m, struct vf *vf)
{
    char *rest = NULL;
    const char *id = strtok_r(line, " \n", &rest);
    const char *guid = strtok_r(NULL, " \n", &rest);
    const char *form = strtok_r(NULL, " \n", &rest);
    char *map = strtok_r(NULL, " \n", &rest);
    uint64_t number;
    if (!oneib_parse_decimal(id, UINT32_MAX, &number) || !guid ||
        !oneib_guid_parse(guid, &vf->port_guid) || !form || !map)
        return false;
    vf->id = (unsigned)number;
    vf->port = oneib_subnet_find(&m->subnet, vf->port_guid);
    vf->is_virtual = strcmp(form, "vport") == 0;
    vf->is_absent = !vf->port || !vf->port->answered || vf->port->partition_cap == 0;
    if (vf->is_absent)
        return true;
    if (vf->is_virtual)
        return take_vport(map, &m->virtual_ports, vf);
    return strcmp(form, "map") == 0 ? take_map(map, vf)
                                    : strcmp(form, "key") == 0 && take_key(map, vf);
}

static bool read_vfs(FILE *file, struct measurement *m)
{
    char line[LINE_SIZE];
    while (fgets(line, sizeof line, file)) {
        if (m->count == VFS_MAX || !strchr(line, '\n') || !parse_vf(line, m, &m->vfs[m->count]))
            return false;
        m->are_virtual |= m->vfs[m->count++].is_virtual;
    }
    return true;
}

/* Of the ports that the file names, where it names virtual ports. */
static int read_vports(struct oneib_fabric *fabric, FILE *file, struct measurement *m,
                       struct oneib_error *err)
{
    char line[LINE_SIZE], guid[32];
    struct oneib_vport_report reports[VFS_MAX] = {0};
    size_t count = 0;
    while (count < VFS_MAX && fgets(line, sizeof line, file))
        if (strstr(line, " vport ") && sscanf(line, "%*u %31s", guid) == 1 &&
            oneib_guid_parse(guid, &reports[count].port))
            count++;
    rewind(file);
    return count == 0 ? 0
                      : oneib_fabric_read_vports(fabric, &m->subnet, reports, count,
                                                 &m->virtual_ports, err);
}

static bool keys_match(uint16_t a, uint16_t b)
{
    return a && b && oneib_pkey_base(a) == oneib_pkey_base(b) &&
           (oneib_pkey_is_full(a) || oneib_pkey_is_full(b));
}

static bool tables_agree(const struct vf *a, const struct vf *b)
{
    for (size_t i = 0; i < a->key_count; i++)
        for (size_t j = 0; j < b->key_count; j++)
            if (keys_match(a->raw[i], b->raw[j]))
                return true;
    return false;
}

static int compare_queries(const void *left, const void *right)
{
    const struct oneib_path_query *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return (int)a->pkey - (int)b->pkey;
}

/* Every key of every VF, towards every port: one question each, whoever asks it. */
static void collect_queries(struct measurement *m)
{
    for (size_t a = 0; a < m->count; a++)
        for (size_t b = 0; b < m->count; b++)
            for (size_t i = 0; i < m->vfs[a].key_count && !m->vfs[b].is_absent; i++)
                m->queries[m->query_count++] =
                    (struct oneib_path_query){.from = m->vfs[a].port_guid,
                                              .to = m->vfs[b].port_guid,
                                              .pkey = m->vfs[a].raw[i]};

    qsort(m->queries, m->query_count, sizeof *m->queries, compare_queries);
    size_t kept = 0;
    for (size_t i = 0; i < m->query_count; i++)
        if (kept == 0 || compare_queries(&m->queries[i], &m->queries[kept - 1]) != 0)
            m->queries[kept++] = m->queries[i];
    m->query_count = kept;
}

static bool sa_gives_path(const struct measurement *m, oneib_guid from, oneib_guid to, uint16_t raw)
{
    const struct oneib_path_query wanted = {.from = from, .to = to, .pkey = raw};
    const struct oneib_path_query *found =
        bsearch(&wanted, m->queries, m->query_count, sizeof wanted, compare_queries);
    return found && found->reachable;
}

/* b's VF must be able to receive under the key, and the SA must give a path under it. */
static bool sa_agrees(const struct measurement *m, const struct vf *a, const struct vf *b)
{
    for (size_t i = 0; i < a->key_count; i++)
        for (size_t j = 0; j < b->key_count; j++)
            if (oneib_pkey_base(a->raw[i]) == oneib_pkey_base(b->raw[j]) &&
                sa_gives_path(m, a->port_guid, b->port_guid, a->raw[i]))
                return true;
    return false;
}

static bool port_matches(const struct oneib_subnet_port *port, uint16_t raw)
{
    for (uint16_t i = 0; i < port->partition_cap; i++)
        if (keys_match(port->pkeys[i], raw))
            return true;
    return false;
}

static size_t count_disagreements(const struct measurement *m)
{
    size_t wrong = 0;
    for (size_t i = 0; i < m->query_count; i++) {
        const struct oneib_path_query *query = &m->queries[i];
        const struct oneib_subnet_port *to = oneib_subnet_find(&m->subnet, query->to);
        if (query->reachable != port_matches(to, query->pkey))
            wrong++;
    }
    return wrong;
}

static void print(const struct measurement *m)
{
    for (size_t a = 0; a < m->count; a++)
        if (m->vfs[a].is_absent)
            printf("absent %u\n", m->vfs[a].id);
    for (size_t a = 0; a < m->count; a++) {
        printf("row %u ", m->vfs[a].id);
        for (size_t b = 0; b < m->count; b++)
            putchar(tables_agree(&m->vfs[a], &m->vfs[b]) ? '1' : '0');
        putchar(' ');
        for (size_t b = 0; b < m->count; b++)
            putchar(sa_agrees(m, &m->vfs[a], &m->vfs[b]) ? '1' : '0');
        putchar('\n');
        if (m->vfs[a].is_virtual)
            printf("vport %u 0x%016" PRIx64 "\n", m->vfs[a].id, m->vfs[a].guid);
    }
    printf("sa %zu %zu\n", m->query_count, count_disagreements(m));
}

static const char *read_and_ask(struct oneib_fabric *fabric, FILE *file, struct measurement *m,
                                struct oneib_error *err)
{
    if (oneib_fabric_read(fabric, &m->subnet, err) < 0)
        return err->text;
    rewind(file);
    if (read_vports(fabric, file, m, err) < 0)
        return err->text;
    if (!read_vfs(file, m))
        return "a line is not of the form ID PORT_GUID MAP";

    m->queries = calloc(m->count * m->count * KEYS_MAX + 1, sizeof *m->queries);
    if (!m->queries)
        return "out of memory";
    if (m->are_virtual)
        return NULL;
    collect_queries(m);
    return oneib_fabric_paths(fabric, m->queries, m->query_count, err) < 0 ? err->text : NULL;
}

static void forget(struct measurement *m)
{
    oneib_subnet_clear(&m->subnet);
    oneib_vport_reading_clear(&m->virtual_ports);
    free(m->queries);
    *m = (struct measurement){0};
}

static int measure(struct oneib_fabric *fabric, FILE *file, struct measurement *m)
{
    struct oneib_error err = {0};
    const double end_ms = oneib_now_ms() + AGREE_MS;
    for (;;) {
        const char *problem = read_and_ask(fabric, file, m, &err);
        if (problem)
            return fail(problem);
        if (count_disagreements(m) == 0 || oneib_now_ms() > end_ms)
            break;
        forget(m);
    }
    print(m);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fail("usage: fabric-reach FILE");
    oneib_autofclose FILE *file = fopen(argv[1], "r");
    if (!file)
        return fail("the file cannot be read");

    struct oneib_error err = {0};
    const struct oneib_fabric_options options = {.window = 16, .timeout_ms = 500, .retries = 3};
    struct oneib_fabric *fabric = oneib_fabric_open(&options, &err);
    if (!fabric)
        return fail(err.text);

    oneib_autofree struct measurement *m = calloc(1, sizeof *m);
    int status = m ? measure(fabric, file, m) : fail("out of memory");
    if (m)
        forget(m);
    oneib_fabric_close(fabric);
    return status;
}
