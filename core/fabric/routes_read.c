// SPDX-License-Identifier: Apache-2.0
/* Reading forwarding tables (IBA 1.2.1, 14.2.5.4 and 10). */
#include "fabric/routes_read.h"
#include "base/memory.h"
#include "fabric/fabric_internal.h"
#include "fabric/mad_jobs.h"

#define LIDS_PER_BLOCK 64u
#define LID_LAST 0xbfffu
#define NO_EXIT 0xff

struct reader {
    struct oneib_fabric *fabric;
    struct oneib_exits *exits;
    const struct oneib_subnet_port **ports; /* of the switches; parallel to exits */
    bool *is_silent;
    size_t count;
    struct oneib_mad_jobs jobs; /* tag: a switch's index */
};

static void ask(struct reader *reader, size_t at, uint16_t attribute, unsigned blocks)
{
    const struct oneib_mad_job job = {.lid = reader->ports[at]->lid,
                                      .to = reader->ports[at]->guid,
                                      .attribute = attribute,
                                      .blocks = blocks,
                                      .tag = at};
    oneib_mad_jobs_add(&reader->jobs, &job);
}

static void make_room(struct reader *reader, size_t room)
{
    reader->exits = oneib_alloc(room, sizeof *reader->exits);
    reader->ports = oneib_alloc(room, sizeof *reader->ports);
    reader->is_silent = oneib_alloc(room, sizeof *reader->is_silent);
}

static void list_switches(struct reader *reader, const struct oneib_subnet *subnet)
{
    make_room(reader, subnet->port_count + 1);
    for (size_t i = 0; i < subnet->port_count; i++) {
        const struct oneib_subnet_port *port = &subnet->ports[i];
        if (port->node_type != ONEIB_NODE_SWITCH)
            continue;
        reader->exits[reader->count].switch_guid = port->node_guid;
        reader->ports[reader->count] = port;
        ask(reader, reader->count++, IB_ATTR_SWITCH_INFO, 0);
    }
}

static bool next_job(void *context, struct oneib_mad_request *request)
{
    struct reader *reader = context;
    return oneib_mad_jobs_next(&reader->jobs, request);
}

/* Until a block is there it leads nowhere. */
static void take_switch_info(struct reader *reader, size_t at, uint8_t *info)
{
    const uint32_t top = mad_get_field(info, 0, IB_SW_LINEAR_FDB_TOP_F);
    const uint32_t blocks = (top < LID_LAST ? top : LID_LAST) / LIDS_PER_BLOCK + 1;
    struct oneib_exits *exits = &reader->exits[at];
    exits->ports = oneib_alloc(blocks, LIDS_PER_BLOCK);
    exits->count = (size_t)blocks * LIDS_PER_BLOCK;
    memset(exits->ports, NO_EXIT, exits->count);
    ask(reader, at, IB_ATTR_LINEARFORWTBL, blocks);
}

static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct reader *reader = context;
    const struct oneib_mad_request *request = answer->request;
    const size_t at = request->tag;
    (void)err;
    if (answer->error || answer->status) {
        reader->is_silent[at] = true;
        return 0;
    }
    uint8_t *data = oneib_smp_data(answer);
    if (request->attribute == IB_ATTR_SWITCH_INFO)
        take_switch_info(reader, at, data);
    else
        memcpy(reader->exits[at].ports + request->subtag * LIDS_PER_BLOCK, data, LIDS_PER_BLOCK);
    return 0;
}

static size_t count_silent(const struct reader *reader)
{
    size_t silent = 0;
    for (size_t i = 0; i < reader->count; i++)
        silent += reader->is_silent[i];
    return silent;
}

static void clear(struct reader *reader)
{
    for (size_t i = 0; i < reader->count; i++)
        free(reader->exits[i].ports);
    free(reader->exits);
    free(reader->ports);
    free(reader->is_silent);
    oneib_mad_jobs_clear(&reader->jobs);
}

static int read_all(struct reader *reader, const struct oneib_subnet *subnet,
                    struct oneib_routes *routes, struct oneib_error *err)
{
    oneib_autofabriclinks struct oneib_fabric_links links = {0};
    const struct oneib_mad_exchange exchange = {next_job, take_answer, reader};
    list_switches(reader, subnet);
    if (oneib_mad_run(&reader->fabric->port, &exchange, err) < 0 ||
        oneib_fabric_read_links(reader->fabric, subnet, &links, err) < 0)
        return -1;
    oneib_routes_make(links.items, links.count, subnet, reader->exits, reader->count, routes);
    return 0;
}

int oneib_fabric_read_routes(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                             struct oneib_routes *routes, size_t *silent, struct oneib_error *err)
{
    struct reader reader = {.fabric = fabric};
    *routes = (struct oneib_routes){0};
    const int outcome = read_all(&reader, subnet, routes, err);
    *silent = count_silent(&reader);
    clear(&reader);
    return outcome < 0 ? oneib_wrap(err, "reading the switches' forwarding tables") : 0;
}
