// SPDX-License-Identifier: Apache-2.0
/* Reading what ports do with service levels: lanes, SL to VL, arbitration (IBA 1.2.1, 14.2.5.8 and
 * 9). */
#include "fabric/qos_read.h"
#include "base/array.h"
#include "fabric/fabric_internal.h"
#include "fabric/mad_jobs.h"

#define ENTRIES_PER_BLOCK 32
/* Blocks of VLArbitrationTable, in the modifier's upper half: 1 and 2 are the low-priority table's,
 * 3 and 4 the high-priority one's. */
#define LOW_BLOCK 1u
#define SECOND_LOW_BLOCK 2u
#define HIGH_BLOCK 3u
#define LINK_UP 5 /* PortPhysicalState */

/* Whom to ask about a port. */
struct place {
    uint16_t lid;
    oneib_guid to;
};

struct reader {
    struct oneib_fabric *fabric;
    const struct oneib_qos *qos;
    struct oneib_qos_reading *reading;
    struct place *places; /* parallel to reading->items */
    size_t place_capacity;
    struct oneib_mad_jobs jobs;
};

static void add_job(struct reader *reader, size_t port, uint16_t attribute, uint32_t modifier)
{
    const struct oneib_mad_job job = {.lid = reader->places[port].lid,
                                      .to = reader->places[port].to,
                                      .attribute = attribute,
                                      .modifier = modifier,
                                      .tag = port};
    oneib_mad_jobs_add(&reader->jobs, &job);
}

static void add_port(struct reader *reader, const struct oneib_subnet_port *end, uint8_t number)
{
    struct oneib_qos_reading *reading = reader->reading;
    const bool is_switch = end->node_type == ONEIB_NODE_SWITCH;
    const size_t index = reading->count;
    ONEIB_RESERVE(reader->places, reader->place_capacity, index + 1);
    ONEIB_APPEND(reading->items, reading->count, reading->capacity,
                 (struct oneib_qos_port){.guid = end->guid,
                                         .number = number,
                                         .is_switch = is_switch,
                                         .answered = true,
                                         .high_is_empty = true});
    reader->places[index] = (struct place){.lid = end->lid, .to = end->guid};
    /* An adapter's own port is meant where no number is given. */
    const uint32_t low = is_switch ? number : 0;
    add_job(reader, index, IB_ATTR_PORT_INFO, number);
    /* A block that the port's table does not have is an error to ask for. */
    add_job(reader, index, IB_ATTR_VL_ARBITRATION, LOW_BLOCK << 16 | low);
    add_job(reader, index, IB_ATTR_VL_ARBITRATION, HIGH_BLOCK << 16 | low);
    if (reader->qos->entry_count > ENTRIES_PER_BLOCK)
        add_job(reader, index, IB_ATTR_VL_ARBITRATION, SECOND_LOW_BLOCK << 16 | low);
    if (!is_switch)
        add_job(reader, index, IB_ATTR_SLVL_TABLE, 0);
}

static void add_adapters(struct reader *reader, const struct oneib_subnet *subnet)
{
    for (size_t i = 0; i < subnet->port_count; i++)
        if (subnet->ports[i].node_type == ONEIB_NODE_CA && !subnet->ports[i].owner)
            add_port(reader, &subnet->ports[i], subnet->ports[i].port_number);
}

static bool is_linked(const struct oneib_switch_link *link, const struct oneib_subnet_port *end)
{
    return link->physical == LINK_UP && link->switch_guid == end->node_guid;
}

/* From each linked port of the switch to the one at hand. */
static void ask_from_all(struct reader *reader, const struct oneib_fabric_links *links,
                         const struct oneib_subnet_port *end, size_t port)
{
    const uint32_t out = reader->reading->items[port].number;
    for (size_t i = 0; i < links->count; i++)
        if (is_linked(&links->items[i], end) && links->items[i].switch_port != out)
            add_job(reader, port, IB_ATTR_SLVL_TABLE,
                    (uint32_t)links->items[i].switch_port << 8 | out);
}

static void add_switch(struct reader *reader, const struct oneib_fabric_links *links,
                       const struct oneib_subnet_port *end)
{
    for (size_t i = 0; i < links->count; i++)
        if (is_linked(&links->items[i], end)) {
            add_port(reader, end, links->items[i].switch_port);
            ask_from_all(reader, links, end, reader->reading->count - 1);
        }
}

static int add_switches(struct reader *reader, const struct oneib_subnet *subnet,
                        struct oneib_error *err)
{
    oneib_autofabriclinks struct oneib_fabric_links links;
    if (oneib_fabric_read_links(reader->fabric, subnet, &links, err) < 0)
        return -1;
    for (size_t i = 0; i < subnet->port_count; i++)
        if (subnet->ports[i].node_type == ONEIB_NODE_SWITCH)
            add_switch(reader, &links, &subnet->ports[i]);
    return 0;
}

static bool next_job(void *context, struct oneib_mad_request *request)
{
    struct reader *reader = context;
    return oneib_mad_jobs_next(&reader->jobs, request);
}

/* 16 times 4 bits, SL 0 first. */
static void take_sl2vl(const struct oneib_qos *qos, struct oneib_qos_port *port,
                       const uint8_t *data)
{
    for (unsigned sl = 0; sl < ONEIB_QOS_SLS; sl++) {
        const uint8_t vl = sl % 2 ? data[sl / 2] & 0xf : data[sl / 2] >> 4;
        if (vl != qos->sl2vl[sl])
            port->wrong_sls |= (uint16_t)(1u << sl);
    }
}

/* Pairs of bytes: the lane in the lower 4 bits, and the weight. */
static void take_arbitration(struct oneib_qos_port *port, unsigned block, const uint8_t *data)
{
    for (unsigned i = 0; i < ENTRIES_PER_BLOCK; i++) {
        const struct oneib_qos_entry entry = {.vl = data[2 * i] & 0xf, .weight = data[2 * i + 1]};
        if (block == HIGH_BLOCK)
            port->high_is_empty &= entry.weight == 0;
        else
            port->low[(block - LOW_BLOCK) * ENTRIES_PER_BLOCK + i] = entry;
    }
}

static void take_port_info(struct oneib_qos_port *port, uint8_t *info)
{
    port->vls = oneib_qos_vls(mad_get_field(info, 0, IB_PORT_OPER_VLS_F));
    port->entries = (uint8_t)mad_get_field(info, 0, IB_PORT_VL_ARBITRATION_LOW_CAP_F);
}

static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct reader *reader = context;
    struct oneib_qos_port *port = &reader->reading->items[answer->request->tag];
    (void)err;
    if (answer->error || answer->status) {
        port->answered = false;
        return 0;
    }
    uint8_t *data = oneib_smp_data(answer);
    if (answer->request->attribute == IB_ATTR_PORT_INFO)
        take_port_info(port, data);
    else if (answer->request->attribute == IB_ATTR_VL_ARBITRATION)
        take_arbitration(port, answer->request->modifier >> 16, data);
    else
        take_sl2vl(reader->qos, port, data);
    return 0;
}

int oneib_fabric_read_qos(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                          const struct oneib_qos *qos, struct oneib_qos_reading *reading,
                          struct oneib_error *err)
{
    *reading = (struct oneib_qos_reading){0};
    struct reader reader = {.fabric = fabric, .qos = qos, .reading = reading};
    const struct oneib_mad_exchange exchange = {next_job, take_answer, &reader};
    add_adapters(&reader, subnet);
    int outcome = add_switches(&reader, subnet, err);
    if (outcome == 0)
        outcome = oneib_mad_run(&fabric->port, &exchange, err);
    free(reader.places);
    oneib_mad_jobs_clear(&reader.jobs);
    if (outcome < 0) {
        oneib_qos_reading_clear(reading);
        return oneib_wrap(err, "reading the ports' tables for service levels");
    }
    return 0;
}
