// SPDX-License-Identifier: Apache-2.0
/* Reading end ports: who they are, what they can, which P_Keys they hold. */
#include "fabric/fabric_internal.h"

#include "base/array.h"
#include "base/memory.h"
#include "fabric/mad_jobs.h"
#include "fabric/port_info.h"
#include "fabric/virtual_ports_read.h"
#include "ib/ipoib.h"

#define KEYS_PER_BLOCK 32 /* of a P_KeyTable (IBA 1.2.1, 14.2.5.7) */

/* What is still known about a port only while it is being read. */
struct progress {
    oneib_guid claimed;   /* by the SA; 0: it was not asked */
    unsigned blocks_left; /* of its table */
    bool queued;          /* some ports may be named twice */
    bool lid_alias;       /* another LID of a port that has an entry of its own */
};

struct reader {
    struct oneib_fabric *fabric;
    struct oneib_subnet *subnet;
    struct progress *progress; /* parallel to subnet->ports */
    struct oneib_mad_jobs jobs;
};

/* A virtual port is asked through its owner. */
static struct oneib_mad_job job_for(const struct reader *reader, size_t index, uint16_t attribute)
{
    const struct oneib_subnet_port *port = &reader->subnet->ports[index];
    return (struct oneib_mad_job){.lid = port->lid,
                                  .to = port->owner ? port->owner : port->guid,
                                  .attribute = attribute,
                                  .tag = index};
}

static void add_job(struct reader *reader, size_t index, uint16_t attribute)
{
    const struct oneib_mad_job job = job_for(reader, index, attribute);
    oneib_mad_jobs_add(&reader->jobs, &job);
}

static bool next_job(void *context, struct oneib_mad_request *request)
{
    struct reader *reader = context;
    return oneib_mad_jobs_next(&reader->jobs, request);
}

static unsigned block_count(const struct oneib_subnet_port *port)
{
    return (port->partition_cap + KEYS_PER_BLOCK - 1u) / KEYS_PER_BLOCK;
}

static void ask_for_table(struct reader *reader, size_t index)
{
    const struct oneib_subnet_port *port = &reader->subnet->ports[index];
    struct oneib_mad_job job =
        job_for(reader, index, port->owner ? ONEIB_VPORT_PKEY_TABLE : IB_ATTR_PKEY_TBL);
    job.modifier = port->owner ? oneib_vport_table_modifier(port->vport) : 0;
    job.blocks = block_count(port);
    oneib_mad_jobs_add(&reader->jobs, &job);
}

static void forget_table(struct oneib_subnet_port *port)
{
    free(port->pkeys);
    port->pkeys = NULL;
    port->answered = false;
}

/* ---- one answer each ------------------------------------------------------------------------- */

static void begin_table(struct reader *reader, size_t index)
{
    struct oneib_subnet_port *port = &reader->subnet->ports[index];
    forget_table(port);
    if (port->partition_cap ==
        0) /* no port has an empty table: nothing that it says can be believed */
        return;
    port->pkeys = oneib_alloc(port->partition_cap, sizeof(*port->pkeys));
    reader->progress[index].blocks_left = block_count(port);
    ask_for_table(reader, index);
}

static void ask_further(struct reader *reader, size_t index)
{
    const struct oneib_subnet_port *port = &reader->subnet->ports[index];
    if (!port->description[0])
        add_job(reader, index, IB_ATTR_NODE_DESC);
    if (port->node_type == ONEIB_NODE_SWITCH)
        add_job(reader, index, IB_ATTR_SWITCH_INFO);
    add_job(reader, index, IB_ATTR_PORT_INFO);
}

static void take_node_info(struct reader *reader, size_t index, uint8_t *info)
{
    struct oneib_subnet_port *port = &reader->subnet->ports[index];
    oneib_guid guid = mad_get_field64(info, 0, IB_NODE_PORT_GUID_F);
    oneib_guid claimed = reader->progress[index].claimed;
    /* Another port answers at the LID of this one: it says nothing about this one. */
    if (guid == 0 || (claimed && guid != claimed))
        return;
    port->guid = guid;
    port->node_guid = mad_get_field64(info, 0, IB_NODE_GUID_F);
    port->node_type = (uint8_t)mad_get_field(info, 0, IB_NODE_TYPE_F);
    port->port_number = port->node_type == ONEIB_NODE_SWITCH
                            ? 0
                            : (uint8_t)mad_get_field(info, 0, IB_NODE_LOCAL_PORT_F);
    port->partition_cap = (uint16_t)mad_get_field(info, 0, IB_NODE_PARTITION_CAP_F);
    port->vendor_id = mad_get_field(info, 0, IB_NODE_VENDORID_F);
    port->device_id = (uint16_t)mad_get_field(info, 0, IB_NODE_DEVID_F);
    ask_further(reader, index);
}

/* With an LMC a port has 2^LMC LIDs (IBA 1.2.1, 7.11.1). */
static bool is_alias(const struct oneib_subnet_port *port, uint8_t *info)
{
    uint32_t base = mad_get_field(info, 0, IB_PORT_LID_F);
    uint32_t lids = UINT32_C(1) << mad_get_field(info, 0, IB_PORT_LMC_F);
    return port->lid > base && port->lid < base + lids;
}

static enum oneib_port_m_key compare_m_key(const struct reader *reader, oneib_guid port,
                                           oneib_m_key shown)
{
    if (shown == 0)
        return ONEIB_M_KEY_NONE;
    const struct oneib_m_keys *keys = &reader->fabric->port.m_keys.keys;
    return shown == oneib_m_key_to_try(keys, port, 0) ? ONEIB_M_KEY_FIRST : ONEIB_M_KEY_OTHER;
}

/* At level 1 a port shows 0 to whoever does not know its key. */
static void take_m_key(const struct reader *reader, struct oneib_subnet_port *port, uint8_t *info)
{
    port->m_key_level = (uint8_t)mad_get_field(info, 0, IB_PORT_MKEY_PROT_BITS_F);
    port->m_key = compare_m_key(reader, port->guid, mad_get_field64(info, 0, IB_PORT_MKEY_F));
    if (port->m_key == ONEIB_M_KEY_NONE && port->m_key_level != 0)
        port->m_key = ONEIB_M_KEY_OTHER;
}

static void take_port_info(struct reader *reader, size_t index, uint8_t *info)
{
    struct oneib_subnet_port *port = &reader->subnet->ports[index];
    if (!reader->progress[index].claimed && is_alias(port, info)) {
        reader->progress[index].lid_alias = true;
        return;
    }
    take_m_key(reader, port, info);
    port->mtu_cap = (uint8_t)mad_get_field(info, 0, IB_PORT_MTU_CAP_F);
    if (port->node_type != ONEIB_NODE_SWITCH) { /* a switch's port 0 has no link */
        port->rate = oneib_rate_code(oneib_port_info_enabled_gbps(info));
        port->active_rate = oneib_rate_code(oneib_port_info_active_gbps(info));
    }
    begin_table(reader, index);
}

/* Another function may have that number by now. */
static void take_vport_info(struct reader *reader, size_t index, const uint8_t *info)
{
    struct oneib_subnet_port *port = &reader->subnet->ports[index];
    if (oneib_vport_info_guid(info) == port->guid &&
        oneib_vport_info_state(info) >= ONEIB_PORT_INITIALIZE) {
        begin_table(reader, index);
        return;
    }
    forget_table(port);
}

static void take_switch_info(struct oneib_subnet *subnet, struct oneib_subnet_port *port,
                             uint8_t *info)
{
    port->enforcement_cap = (uint16_t)mad_get_field(info, 0, IB_SW_PARTITION_ENFORCE_CAP_F);
    uint16_t cap = (uint16_t)mad_get_field(info, 0, IB_SW_MCAST_FDB_CAP_F);
    if (cap && (subnet->multicast_cap == 0 || cap < subnet->multicast_cap))
        subnet->multicast_cap = cap;
}

static void take_block(struct reader *reader, size_t index, size_t block, const uint8_t *data)
{
    struct oneib_subnet_port *port = &reader->subnet->ports[index];
    size_t begin = block * KEYS_PER_BLOCK;
    for (size_t i = begin; i < begin + KEYS_PER_BLOCK && i < port->partition_cap; i++)
        port->pkeys[i] = oneib_get16(data + 2 * (i - begin));
    if (--reader->progress[index].blocks_left == 0)
        port->answered = true;
}

static void take_silence(struct reader *reader, const struct oneib_mad_request *request)
{
    /* Without PortInfo a port has no known rate; its keys count all the same. */
    if (request->attribute == IB_ATTR_PORT_INFO)
        begin_table(reader, request->tag);
}

static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct reader *reader = context;
    const struct oneib_mad_request *request = answer->request;
    (void)err;
    if (answer->error || answer->status) {
        take_silence(reader, request);
        return 0;
    }
    uint8_t *data = oneib_smp_data(answer);
    struct oneib_subnet_port *port = &reader->subnet->ports[request->tag];
    switch (request->attribute) {
    case IB_ATTR_NODE_INFO:
        take_node_info(reader, request->tag, data);
        return 0;
    case IB_ATTR_PORT_INFO:
        take_port_info(reader, request->tag, data);
        return 0;
    case ONEIB_VPORT_INFO:
        take_vport_info(reader, request->tag, data);
        return 0;
    case IB_ATTR_PKEY_TBL:
    case ONEIB_VPORT_PKEY_TABLE:
        take_block(reader, request->tag, request->subtag, data);
        return 0;
    case IB_ATTR_SWITCH_INFO:
        take_switch_info(reader->subnet, port, data);
        return 0;
    default: /* NodeDescription */
        memcpy(port->description, data, sizeof(port->description) - 1);
        return 0;
    }
}

static int run_jobs(struct reader *reader, struct oneib_error *err)
{
    const struct oneib_mad_exchange exchange = {next_job, take_answer, reader};
    return oneib_mad_run(&reader->fabric->port, &exchange, err);
}

/* ---- the whole subnet ------------------------------------------------------------------------ */

static void start(struct reader *reader)
{
    const struct oneib_subnet *subnet = reader->subnet;
    reader->progress = oneib_alloc(subnet->port_count + 1, sizeof(*reader->progress));
    for (size_t i = 0; i < subnet->port_count; i++) {
        reader->progress[i].claimed = subnet->ports[i].guid;
        add_job(reader, i, IB_ATTR_NODE_INFO);
    }
}

/* A LID that did not answer and that no list of ports named: the SA knows whose it is, or that it
 * is nobody's. */
static int name_silent_ports(struct reader *reader, struct oneib_error *err)
{
    for (size_t i = 0; i < reader->subnet->port_count; i++) {
        struct oneib_subnet_port *port = &reader->subnet->ports[i];
        if (!port->guid && oneib_sa_node_of_lid(reader->fabric, port, err) < 0)
            return -1;
    }
    return 0;
}

static void drop_aliases_and_strays(struct reader *reader)
{
    struct oneib_subnet *subnet = reader->subnet;
    size_t kept = 0;
    for (size_t i = 0; i < subnet->port_count; i++)
        if (reader->progress[i].lid_alias || subnet->ports[i].guid == 0)
            forget_table(&subnet->ports[i]);
        else
            subnet->ports[kept++] = subnet->ports[i];
    subnet->port_count = kept;
}

/* What was not read to its end has no table that could be mistaken for one. */
static void drop_unfinished(struct oneib_subnet *subnet)
{
    for (size_t i = 0; i < subnet->port_count; i++)
        if (!subnet->ports[i].answered)
            forget_table(&subnet->ports[i]);
}

/* Two ports with one GUID: which of them is the one that a partition lists cannot be told. */
static void distrust_duplicates(struct oneib_subnet *subnet)
{
    for (size_t i = 1; i < subnet->port_count; i++) {
        if (subnet->ports[i].guid != subnet->ports[i - 1].guid)
            continue;
        forget_table(&subnet->ports[i - 1]);
        forget_table(&subnet->ports[i]);
    }
}

static int read_subnet(struct reader *reader, struct oneib_error *err)
{
    bool from_sa;
    if (oneib_fabric_require_sm(reader->fabric, err) < 0 ||
        oneib_list_ports(reader->fabric, reader->subnet, &from_sa, err) < 0)
        return -1;
    start(reader);
    if (run_jobs(reader, err) < 0 || name_silent_ports(reader, err) < 0)
        return -1;
    drop_aliases_and_strays(reader);
    drop_unfinished(reader->subnet);
    oneib_subnet_sort(reader->subnet);
    distrust_duplicates(reader->subnet);
    if (oneib_note_master(reader->subnet, reader->fabric->sm_lid, err) < 0)
        return -1;
    return from_sa ? oneib_check_visibility(reader->subnet, reader->fabric->port_guid, err) : 0;
}

static void clear_reader(struct reader *reader)
{
    free(reader->progress);
    oneib_mad_jobs_clear(&reader->jobs);
}

int oneib_fabric_read(struct oneib_fabric *fabric, struct oneib_subnet *subnet,
                      struct oneib_error *err)
{
    *subnet = (struct oneib_subnet){0};
    struct reader reader = {.fabric = fabric, .subnet = subnet};
    int result = read_subnet(&reader, err);
    clear_reader(&reader);
    if (result < 0) {
        oneib_subnet_clear(subnet);
        return oneib_wrap(err, "reading the subnet");
    }
    return 0;
}

/* ---- some tables again ----------------------------------------------------------------------- */

static void ask_for_vport(struct reader *reader, size_t index)
{
    struct oneib_mad_job job = job_for(reader, index, ONEIB_VPORT_INFO);
    job.modifier = reader->subnet->ports[index].vport;
    forget_table(&reader->subnet->ports[index]);
    oneib_mad_jobs_add(&reader->jobs, &job);
}

/* A port that was read is asked for its table alone; one that was not has to say first who it is,
 * and so has a virtual one. */
static void queue_again(struct reader *reader, size_t index)
{
    struct oneib_subnet_port *port = &reader->subnet->ports[index];
    if (reader->progress[index].queued)
        return;
    reader->progress[index].queued = true;
    reader->progress[index].claimed = port->guid;
    if (port->owner) {
        ask_for_vport(reader, index);
        return;
    }
    if (port->answered) {
        begin_table(reader, index);
        return;
    }
    add_job(reader, index, IB_ATTR_NODE_INFO);
}

static int read_again(struct reader *reader, const size_t *ports, size_t count,
                      struct oneib_error *err)
{
    reader->progress = oneib_alloc(reader->subnet->port_count + 1, sizeof(*reader->progress));
    for (size_t i = 0; i < count; i++)
        queue_again(reader, ports[i]);
    return run_jobs(reader, err);
}

int oneib_fabric_read_tables(struct oneib_fabric *fabric, struct oneib_subnet *subnet,
                             const size_t *ports, size_t count, struct oneib_error *err)
{
    struct reader reader = {.fabric = fabric, .subnet = subnet};
    int result = oneib_m_key_file_renew(&fabric->port.m_keys, err);
    if (result == 0)
        result = read_again(&reader, ports, count, err);
    drop_unfinished(subnet);
    clear_reader(&reader);
    return result < 0 ? oneib_wrap(err, "reading P_Key tables") : 0;
}
