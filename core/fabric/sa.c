// SPDX-License-Identifier: Apache-2.0
/* Queries of the subnet administration. */
#include "fabric/fabric_internal.h"

#include "base/array.h"
#include <errno.h>

/* SA header (IBA 1.2.1, 15.2.1.1) and RMPP header (13.6.2.1). */
enum {
    RMPP_FLAGS = 26, /* low three bits */
    ATTRIBUTE_OFFSET = 44,
};
#define RMPP_ACTIVE 1
#define RMPP_FIRST 2

/* NodeRecord: LID, 2 reserved bytes, NodeInfo, NodeDescription. */
#define NODE_RECORD_INFO 4
#define NODE_RECORD_DESCRIPTION 44
#define NODE_RECORD_LID_MASK (UINT64_C(1) << 0)

/* PathRecord and its component mask bits (15.2.5.16). */
enum {
    PATH_DGID = 8,
    PATH_SGID = 24,
    PATH_COUNT = 49,
    PATH_PKEY = 50,
    PATH_SL = 53, /* its lower 4 bits */
};
#define PATH_DGID_MASK (UINT64_C(1) << 2)
#define PATH_MASK (UINT64_C(1) << 2 | UINT64_C(1) << 3 | UINT64_C(1) << 12 | UINT64_C(1) << 13)

#define CLASS_STATUS_MASK                                                                          \
    0x7f00 /* the SA's own errors: no records, invalid GID, ... (15.2.1.3)                         \
            */

static bool holds_record(const struct oneib_mad_answer *answer, size_t record_size)
{
    return answer->length >= IB_SA_DATA_OFFS + record_size;
}

int oneib_sa_records(uint8_t *mad, size_t length, size_t record_size,
                     struct oneib_sa_records *records, struct oneib_error *err)
{
    size_t stride = (size_t)oneib_get16(mad + ATTRIBUTE_OFFSET) * 8;
    size_t room = length - IB_SA_DATA_OFFS;
    unsigned flags = mad[RMPP_FLAGS] & 7u;
    *records = (struct oneib_sa_records){
        .first = mad + IB_SA_DATA_OFFS,
        .stride = stride,
        /* Segments that were put together begin with the first one; a lone one does not say so. */
        .whole = !(flags & RMPP_ACTIVE) || (flags & RMPP_FIRST),
    };
    if (stride == 0) /* no record at all */
        return 0;
    if (stride < record_size)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "the SA says that its records are %zu bytes long: less than the %zu that "
                          "they need",
                          stride, record_size);
    records->count = room / stride;
    /* The last record may come without the padding that follows the others. */
    if (room % stride >= record_size)
        records->count++;
    return 0;
}

static struct oneib_mad_request sa_request(const struct oneib_fabric *fabric, uint8_t method,
                                           uint16_t attribute)
{
    return (struct oneib_mad_request){
        .mgmt_class = IB_SA_CLASS,
        .method = method,
        .attribute = attribute,
        .lid = fabric->sm_lid,
        .sl = fabric->sm_sl,
    };
}

static int sa_silent(const struct oneib_fabric *fabric, int error, struct oneib_error *err)
{
    if (error == EPROTO)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the SA at LID %u sent an invalid answer",
                          fabric->sm_lid);
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "the subnet manager at LID %u does not answer SA queries: is %s port %u a "
                      "member of the default partition?",
                      fabric->sm_lid, fabric->port.ca, fabric->port.number);
}

/* A refusal by the SA itself: the query was understood, and there is nothing to tell. */
static bool is_refusal(uint16_t status)
{
    return status & CLASS_STATUS_MASK;
}

static int sa_status(const struct oneib_fabric *fabric, uint16_t status, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the SA at LID %u answered with status 0x%04x",
                      fabric->sm_lid, status);
}

/* ---- NodeRecords ----------------------------------------------------------------------------- */

static void decode_node(uint8_t *record, struct oneib_subnet_port *port)
{
    uint8_t *info = record + NODE_RECORD_INFO;
    *port = (struct oneib_subnet_port){
        .lid = oneib_get16(record),
        .guid = mad_get_field64(info, 0, IB_NODE_PORT_GUID_F),
        .node_guid = mad_get_field64(info, 0, IB_NODE_GUID_F),
        .node_type = (uint8_t)mad_get_field(info, 0, IB_NODE_TYPE_F),
        .port_number = (uint8_t)mad_get_field(info, 0, IB_NODE_LOCAL_PORT_F),
        .partition_cap = (uint16_t)mad_get_field(info, 0, IB_NODE_PARTITION_CAP_F),
    };
    if (port->node_type == ONEIB_NODE_SWITCH)
        port->port_number = 0;
    memcpy(port->description, record + NODE_RECORD_DESCRIPTION, sizeof(port->description) - 1);
}

int oneib_sa_node_of_lid(struct oneib_fabric *fabric, struct oneib_subnet_port *port,
                         struct oneib_error *err)
{
    const uint16_t lid = port->lid;
    struct oneib_mad_request request = sa_request(fabric, IB_MAD_METHOD_GET, IB_SA_ATTR_NODERECORD);
    request.component_mask = NODE_RECORD_LID_MASK;
    oneib_put16(request.record, lid);

    struct oneib_mad_answer answer;
    if (oneib_mad_ask(&fabric->port, &request, &answer, err) < 0)
        return -1;
    if (answer.error)
        return sa_silent(fabric, answer.error, err);
    if (is_refusal(answer.status))
        return 0;
    if (answer.status)
        return sa_status(fabric, answer.status, err);
    if (!holds_record(&answer, IB_SA_NR_RECSZ))
        return sa_silent(fabric, EPROTO, err);
    decode_node(answer.mad + IB_SA_DATA_OFFS, port);
    port->lid = lid;
    return 0;
}

int oneib_sa_nodes(struct oneib_fabric *fabric, struct oneib_subnet *subnet, bool *whole,
                   struct oneib_error *err)
{
    struct oneib_mad_request request =
        sa_request(fabric, IB_MAD_METHOD_GET_TABLE, IB_SA_ATTR_NODERECORD);
    struct oneib_mad_answer answer;
    oneib_guid master;
    if (oneib_mad_ask(&fabric->port, &request, &answer, err) < 0)
        return -1;
    if (answer.error) {
        const int error = answer.error;
        return oneib_fabric_find_master(fabric, &master, err) < 0 ? -1
                                                                  : sa_silent(fabric, error, err);
    }
    if (answer.status)
        return sa_status(fabric, answer.status, err);

    struct oneib_sa_records records;
    if (oneib_sa_records(answer.mad, answer.length, IB_SA_NR_RECSZ, &records, err) < 0)
        return oneib_wrap(err, "reading the NodeRecords of the SA at LID %u", fabric->sm_lid);
    *whole = records.whole;
    for (size_t i = 0; records.whole && i < records.count; i++)
        decode_node(records.first + i * records.stride,
                    ONEIB_ADD(subnet->ports, subnet->port_count, subnet->port_capacity));
    return 0;
}

/* ---- paths ----------------------------------------------------------------------------------- */

struct path_run {
    struct oneib_fabric *fabric;
    struct oneib_path_query *queries;
    size_t count, asked;
};

static void put_gid(uint8_t *gid, uint64_t prefix, oneib_guid guid)
{
    oneib_put64(gid, prefix);
    oneib_put64(gid + 8, guid);
}

static bool next_path(void *context, struct oneib_mad_request *request)
{
    struct path_run *run = context;
    if (run->asked == run->count)
        return false;
    const struct oneib_path_query *query = &run->queries[run->asked];
    *request = sa_request(run->fabric, IB_MAD_METHOD_GET, IB_SA_ATTR_PATHRECORD);
    request->component_mask = PATH_MASK;
    put_gid(request->record + PATH_DGID, run->fabric->gid_prefix, query->to);
    put_gid(request->record + PATH_SGID, run->fabric->gid_prefix, query->from);
    request->record[PATH_COUNT] = 1;
    oneib_put16(request->record + PATH_PKEY, query->pkey);
    request->tag = run->asked++;
    return true;
}

/* The path must be the one that was asked for: an SA that ignored the P_Key proved nothing. */
static bool is_path_of(const struct oneib_path_query *query, const uint8_t *record)
{
    return oneib_pkey_base(oneib_get16(record + PATH_PKEY)) == oneib_pkey_base(query->pkey) &&
           oneib_get64(record + PATH_DGID + 8) == query->to &&
           oneib_get64(record + PATH_SGID + 8) == query->from;
}

/* *record: the answer's PathRecord; NULL: the SA has none to give. */
static int take_path_record(struct oneib_fabric *fabric, const struct oneib_mad_answer *answer,
                            const uint8_t **record, struct oneib_error *err)
{
    *record = NULL;
    if (answer->error)
        return sa_silent(fabric, answer->error, err);
    if (is_refusal(answer->status))
        return 0;
    if (answer->status)
        return sa_status(fabric, answer->status, err);
    if (!holds_record(answer, IB_SA_PR_RECSZ))
        return sa_silent(fabric, EPROTO, err);
    *record = answer->mad + IB_SA_DATA_OFFS;
    return 0;
}

static int take_path(void *context, const struct oneib_mad_answer *answer, struct oneib_error *err)
{
    struct path_run *run = context;
    struct oneib_path_query *query = &run->queries[answer->request->tag];
    const uint8_t *record;
    const int outcome = take_path_record(run->fabric, answer, &record, err);
    query->reachable = record && is_path_of(query, record);
    if (record)
        query->sl = record[PATH_SL] & 0xf;
    return outcome;
}

int oneib_fabric_paths(struct oneib_fabric *fabric, struct oneib_path_query *queries, size_t count,
                       struct oneib_error *err)
{
    if (oneib_fabric_require_sm(fabric, err) < 0)
        return -1;
    struct path_run run = {.fabric = fabric, .queries = queries, .count = count};
    const struct oneib_mad_exchange exchange = {next_path, take_path, &run};
    return oneib_mad_run(&fabric->port, &exchange, err);
}

/* ---- multicast groups ------------------------------------------------------------------------ */

/* ff12:401b:<P_Key>::ffff:ffff */
#define IPOIB_PREFIX UINT64_C(0xff12401b00000000)
#define IPOIB_BROADCAST UINT64_C(0xffffffff)

struct group_run {
    struct oneib_fabric *fabric;
    struct oneib_group_query *queries;
    size_t count, asked;
};

static void put_mgid(uint8_t *gid, uint16_t pkey)
{
    oneib_put64(gid, IPOIB_PREFIX | (uint64_t)(oneib_pkey_base(pkey) | 0x8000u) << 16);
    oneib_put64(gid + 8, IPOIB_BROADCAST);
}

static bool next_group(void *context, struct oneib_mad_request *request)
{
    struct group_run *run = context;
    if (run->asked == run->count)
        return false;
    *request = sa_request(run->fabric, IB_MAD_METHOD_GET, IB_SA_ATTR_PATHRECORD);
    request->component_mask = PATH_DGID_MASK;
    put_mgid(request->record + PATH_DGID, run->queries[run->asked].pkey);
    request->tag = run->asked++;
    return true;
}

static bool is_path_to_group(const uint8_t *record, uint16_t pkey)
{
    uint8_t mgid[16];
    put_mgid(mgid, pkey);
    return memcmp(record + PATH_DGID, mgid, sizeof mgid) == 0 &&
           oneib_pkey_base(oneib_get16(record + PATH_PKEY)) == oneib_pkey_base(pkey);
}

static int take_group(void *context, const struct oneib_mad_answer *answer, struct oneib_error *err)
{
    struct group_run *run = context;
    struct oneib_group_query *query = &run->queries[answer->request->tag];
    const uint8_t *record;
    const int outcome = take_path_record(run->fabric, answer, &record, err);
    query->exists = record && is_path_to_group(record, query->pkey);
    if (record)
        query->sl = record[PATH_SL] & 0xf;
    return outcome;
}

int oneib_fabric_groups(struct oneib_fabric *fabric, struct oneib_group_query *queries,
                        size_t count, struct oneib_error *err)
{
    if (oneib_fabric_require_sm(fabric, err) < 0)
        return -1;
    struct group_run run = {.fabric = fabric, .queries = queries, .count = count};
    const struct oneib_mad_exchange exchange = {next_group, take_group, &run};
    return oneib_mad_run(&fabric->port, &exchange, err);
}
