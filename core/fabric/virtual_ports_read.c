// SPDX-License-Identifier: Apache-2.0
#include "fabric/virtual_ports_read.h"
#include "base/array.h"
#include "base/memory.h"
#include "fabric/fabric_internal.h"
#include "fabric/mad_jobs.h"

#define VIRTUALIZATION_INFO 0xffb0
#define VNODE_INFO 0xffb2
#define KEYS_PER_BLOCK 32

/* VirtualizationInfo: be16 cap, be16 highest index, u8 of which the top bit says that it is on. */
#define INDEX_TOP 2
#define ENABLED 4
#define ENABLED_BIT 0x80
/* VNodeInfo begins with be16 the table's size. */

/* VPortInfo: u8 whose upper half is the state, ..., be64 port GUID. */
#define PORT_GUID 12

oneib_guid oneib_vport_info_guid(const uint8_t *info)
{
    return oneib_get64(info + PORT_GUID);
}

uint8_t oneib_vport_info_state(const uint8_t *info)
{
    return info[0] >> 4;
}

struct reader {
    struct oneib_fabric *fabric;
    struct oneib_vport_reading *reading;
    struct oneib_mad_jobs jobs;
};

/* Which virtual port a question is about. */
struct subject {
    size_t owner, vport;
};

static size_t tag_of(const struct subject *subject)
{
    return subject->owner * ONEIB_VPORTS_MAX + subject->vport;
}

static struct subject subject_of(size_t tag)
{
    return (struct subject){.owner = tag / ONEIB_VPORTS_MAX, .vport = tag % ONEIB_VPORTS_MAX};
}

static struct oneib_vport *vport_of(const struct reader *reader, const struct subject *subject)
{
    return &reader->reading->items[subject->owner].items[subject->vport];
}

static uint16_t block_count(const struct oneib_vport *vport)
{
    return (uint16_t)((vport->pkey_cap + KEYS_PER_BLOCK - 1u) / KEYS_PER_BLOCK);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void ask_blocks(struct reader *reader, const struct subject *subject, uint16_t attribute,
                       uint32_t modifier, unsigned blocks)
{
    const struct oneib_vport_owner *owner = &reader->reading->items[subject->owner];
    const struct oneib_mad_job job = {.lid = owner->lid,
                                      .to = owner->guid,
                                      .attribute = attribute,
                                      .modifier = modifier,
                                      .blocks = blocks,
                                      .tag = tag_of(subject)};
    oneib_mad_jobs_add(&reader->jobs, &job);
}

static void ask(struct reader *reader, const struct subject *subject, uint16_t attribute)
{
    ask_blocks(reader, subject, attribute, (uint32_t)subject->vport, 0);
}

static void ask_for_table(struct reader *reader, const struct subject *subject)
{
    ask_blocks(reader, subject, ONEIB_VPORT_PKEY_TABLE, oneib_vport_table_modifier(subject->vport),
               block_count(vport_of(reader, subject)));
}

static bool next_job(void *context, struct oneib_mad_request *request)
{
    struct reader *reader = context;
    return oneib_mad_jobs_next(&reader->jobs, request);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void take_virtualization(struct reader *reader, const struct subject *subject,
                                const uint8_t *data)
{
    struct oneib_vport_owner *owner = &reader->reading->items[subject->owner];
    const size_t count = oneib_get16(data + INDEX_TOP) + (size_t)1;
    if (!(data[ENABLED] & ENABLED_BIT) || count > ONEIB_VPORTS_MAX || owner->items)
        return;
    owner->items = oneib_alloc(count, sizeof *owner->items);
    owner->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct subject each = {subject->owner, i};
        ask(reader, &each, ONEIB_VPORT_INFO);
    }
}

static void take_vport(struct reader *reader, const struct subject *subject, const uint8_t *data)
{
    struct oneib_vport *vport = vport_of(reader, subject);
    vport->state = oneib_vport_info_state(data);
    vport->guid = oneib_vport_info_guid(data);
    ask(reader, subject, VNODE_INFO);
}

static void take_vnode(struct reader *reader, const struct subject *subject, const uint8_t *data)
{
    struct oneib_vport *vport = vport_of(reader, subject);
    const uint16_t cap = oneib_get16(data);
    if (cap == 0 || cap > ONEIB_VPORT_PKEYS_MAX || vport->pkeys)
        return;
    vport->pkeys = oneib_alloc(cap, sizeof *vport->pkeys);
    vport->pkey_cap = cap;
    vport->blocks_due = block_count(vport);
    ask_for_table(reader, subject);
}

static void take_block(struct reader *reader, const struct subject *subject, size_t block,
                       const uint8_t *data)
{
    struct oneib_vport *vport = vport_of(reader, subject);
    const size_t begin = block * KEYS_PER_BLOCK;
    for (size_t i = begin; i < begin + KEYS_PER_BLOCK && i < vport->pkey_cap; i++)
        vport->pkeys[i] = oneib_get16(data + 2 * (i - begin));
    vport->blocks_due--;
}

static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct reader *reader = context;
    const struct oneib_mad_request *request = answer->request;
    const struct subject subject = subject_of(request->tag);
    (void)err;
    if (answer->error || answer->status)
        return 0;
    const uint8_t *data = oneib_smp_data(answer);
    switch (request->attribute) {
    case VIRTUALIZATION_INFO:
        take_virtualization(reader, &subject, data);
        return 0;
    case ONEIB_VPORT_INFO:
        take_vport(reader, &subject, data);
        return 0;
    case VNODE_INFO:
        take_vnode(reader, &subject, data);
        return 0;
    default:
        take_block(reader, &subject, request->subtag, data);
        return 0;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_owner(struct reader *reader, const struct oneib_subnet_port *port)
{
    struct oneib_vport_reading *reading = reader->reading;
    ONEIB_APPEND(reading->items, reading->count, reading->capacity,
                 (struct oneib_vport_owner){
                     .guid = port->guid, .node_guid = port->node_guid, .lid = port->lid});
    ask(reader, &(struct subject){.owner = reading->count - 1}, VIRTUALIZATION_INFO);
}

/* Who has not said that virtual ports are on there is none of them. */
static void drop_others(struct oneib_vport_reading *reading)
{
    size_t kept = 0;
    for (size_t i = 0; i < reading->count; i++)
        if (reading->items[i].items)
            reading->items[kept++] = reading->items[i];
    reading->count = kept;
}

static bool has_owner(const struct reader *reader, oneib_guid port)
{
    for (size_t i = 0; i < reader->reading->count; i++)
        if (reader->reading->items[i].guid == port)
            return true;
    return false;
}

static int read_all(struct reader *reader, const struct oneib_subnet *subnet,
                    const struct oneib_vport_report *reports, size_t report_count,
                    struct oneib_error *err)
{
    const struct oneib_mad_exchange exchange = {next_job, take_answer, reader};
    for (size_t i = 0; i < report_count; i++) {
        const struct oneib_subnet_port *port = oneib_subnet_find(subnet, reports[i].port);
        if (port && port->answered && !has_owner(reader, port->guid))
            add_owner(reader, port);
    }
    return oneib_mad_run(&reader->fabric->port, &exchange, err);
}

int oneib_fabric_read_vports(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                             const struct oneib_vport_report *reports, size_t report_count,
                             struct oneib_vport_reading *reading, struct oneib_error *err)
{
    struct reader reader = {.fabric = fabric, .reading = reading};
    *reading = (struct oneib_vport_reading){0};
    const int status = read_all(&reader, subnet, reports, report_count, err);
    oneib_mad_jobs_clear(&reader.jobs);
    drop_others(reading);
    if (status == 0)
        return 0;
    oneib_vport_reading_clear(reading);
    return oneib_wrap(err, "reading virtual ports");
}
