// SPDX-License-Identifier: Apache-2.0
/*
 * fabric-reach FILE: measures which VM can reach which on the (simulated) fabric. It is told where
 * VMs are and how their VFs are mapped, never who should reach whom.
 *
 * FILE has a line a VM: ID PORT_GUID KEY INDEX
 *   KEY    P_Key (15 bits, hexadecimal) that the host maps the VF's index 0 to
 *   INDEX  where in the port's table the map points; "-": look for KEY in the port's table now, as
 * a host does that opens a VF, and leave the VF closed when it is not there The VF map itself is
 * simulated: ibsim has no virtual functions. As on mlx4, every other index of a VF points to index
 * 0 of the port's table. The tables are the ports' own, read by SMP.
 *
 * Output: "vm ID INDEX RAW" a VM; "row ID TABLES SA" a VM, each a string of 0 and 1, one digit a VM
 * in the order of FILE: reachable by what the tables hold, and by what the subnet administrator
 * answers when it is asked for a path under that P_Key; "sa ASKED DISAGREED": path queries for
 * (port, port, P_Key), and how many answers differ from the tables.
 */
#include "base/cleanup.h"
#include "base/number.h"
#include "fabric/fabric.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VMS_MAX 512
#define CLOSED 0xffff
#define KEYS_OF_A_VF 2

struct vm {
    unsigned id;
    oneib_guid port_guid;
    oneib_pkey key;
    uint16_t index; /* CLOSED: the map points to index 0 only */
    const struct oneib_subnet_port *port;
    uint16_t raw[KEYS_OF_A_VF]; /* what the VF can send with; 0: nothing */
};

struct measurement {
    struct vm vms[VMS_MAX];
    size_t count;
    struct oneib_subnet subnet;
    struct oneib_path_query *queries;
    size_t query_count;
};

static int fail(const char *what)
{
    fprintf(stderr, "fabric-reach: %s\n", what);
    return EXIT_FAILURE;
}

static bool parse_vm(char *line, struct vm *vm, bool *to_open)
{
    char *rest = NULL;
    const char *id = strtok_r(line, " \n", &rest);
    const char *guid = strtok_r(NULL, " \n", &rest);
    const char *key = strtok_r(NULL, " \n", &rest);
    const char *index = strtok_r(NULL, " \n", &rest);
    uint64_t id_value, key_value, index_value = CLOSED;

    if (!oneib_parse_decimal(id, UINT32_MAX, &id_value) || !guid ||
        !oneib_guid_parse(guid, &vm->port_guid) ||
        !oneib_parse_hex(key, ONEIB_PKEY_DEFAULT, &key_value) || !index)
        return false;
    *to_open = strcmp(index, "-") == 0;
    if (!*to_open && !oneib_parse_decimal(index, CLOSED, &index_value))
        return false;
    vm->id = (unsigned)id_value;
    vm->key = (oneib_pkey)key_value;
    vm->index = (uint16_t)index_value;
    return true;
}

static uint16_t index_of_key(const struct oneib_subnet_port *port, oneib_pkey key)
{
    for (uint16_t i = 0; i < port->partition_cap; i++)
        if (oneib_pkey_base(port->pkeys[i]) == key)
            return i;
    return CLOSED;
}

static bool place_vm(const struct oneib_subnet *subnet, struct vm *vm, bool to_open)
{
    vm->port = oneib_subnet_find(subnet, vm->port_guid);
    if (!vm->port || !vm->port->answered)
        return false;
    if (to_open)
        vm->index = index_of_key(vm->port, vm->key);
    vm->raw[0] = vm->index < vm->port->partition_cap ? vm->port->pkeys[vm->index] : 0;
    vm->raw[1] = vm->port->pkeys[0];
    return true;
}

static bool read_vms(FILE *file, struct measurement *m)
{
    char line[128];
    while (fgets(line, sizeof line, file)) {
        bool to_open;
        if (m->count == VMS_MAX || !parse_vm(line, &m->vms[m->count], &to_open) ||
            !place_vm(&m->subnet, &m->vms[m->count], to_open))
            return false;
        m->count++;
    }
    return true;
}

static bool keys_match(uint16_t a, uint16_t b)
{
    return a && b && oneib_pkey_base(a) == oneib_pkey_base(b) &&
           (oneib_pkey_is_full(a) || oneib_pkey_is_full(b));
}

static bool tables_agree(const struct vm *a, const struct vm *b)
{
    for (size_t i = 0; i < KEYS_OF_A_VF; i++)
        for (size_t j = 0; j < KEYS_OF_A_VF; j++)
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
            for (size_t i = 0; i < KEYS_OF_A_VF; i++)
                if (m->vms[a].raw[i])
                    m->queries[m->query_count++] = (struct oneib_path_query){
                        m->vms[a].port_guid, m->vms[b].port_guid, m->vms[a].raw[i], false};

    qsort(m->queries, m->query_count, sizeof *m->queries, compare_queries);
    size_t kept = 0;
    for (size_t i = 0; i < m->query_count; i++)
        if (kept == 0 || compare_queries(&m->queries[i], &m->queries[kept - 1]) != 0)
            m->queries[kept++] = m->queries[i];
    m->query_count = kept;
}

static bool sa_gives_path(const struct measurement *m, oneib_guid from, oneib_guid to, uint16_t raw)
{
    const struct oneib_path_query wanted = {from, to, raw, false};
    const struct oneib_path_query *found =
        bsearch(&wanted, m->queries, m->query_count, sizeof wanted, compare_queries);
    return found && found->reachable;
}

/* b's VF must be able to receive under the key, and the SA must give a path under it. */
static bool sa_agrees(const struct measurement *m, const struct vm *a, const struct vm *b)
{
    for (size_t i = 0; i < KEYS_OF_A_VF; i++)
        for (size_t j = 0; j < KEYS_OF_A_VF; j++)
            if (a->raw[i] && b->raw[j] &&
                oneib_pkey_base(a->raw[i]) == oneib_pkey_base(b->raw[j]) &&
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
        printf("vm %u %u 0x%04x\n", m->vms[a].id, m->vms[a].index, m->vms[a].raw[0]);
    for (size_t a = 0; a < m->count; a++) {
        printf("row %u ", m->vms[a].id);
        for (size_t b = 0; b < m->count; b++)
            putchar(tables_agree(&m->vms[a], &m->vms[b]) ? '1' : '0');
        putchar(' ');
        for (size_t b = 0; b < m->count; b++)
            putchar(sa_agrees(m, &m->vms[a], &m->vms[b]) ? '1' : '0');
        putchar('\n');
    }
    printf("sa %zu %zu\n", m->query_count, count_disagreements(m));
}

static int measure(struct oneib_fabric *fabric, FILE *file, struct measurement *m)
{
    struct oneib_error err = {0};
    if (oneib_fabric_read(fabric, &m->subnet, &err) < 0)
        return fail(err.text);
    if (!read_vms(file, m))
        return fail("a line is not of the form ID PORT_GUID KEY INDEX, or its port is not there");

    m->queries = calloc(m->count * m->count * KEYS_OF_A_VF + 1, sizeof *m->queries);
    if (!m->queries)
        return fail("out of memory");
    collect_queries(m);
    if (oneib_fabric_paths(fabric, m->queries, m->query_count, &err) < 0)
        return fail(err.text);
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
    if (m) {
        oneib_subnet_clear(&m->subnet);
        free(m->queries);
    }
    oneib_fabric_close(fabric);
    return status;
}
