// SPDX-License-Identifier: Apache-2.0
#include "fabric/discover.h"

#include "base/array.h"
#include "base/order.h"
#include "fabric/fabric_internal.h"
#include "fabric/port_info.h"
#include <endian.h>

#define SWITCHES_MAX 16384 /* nobody has more; a switch that makes others up ends there */

/* A node as it was met at the end of one way. One that several ways lead to is met as often. */
struct sighting {
    oneib_guid guid, port_guid;
    uint8_t type, port_count;
    uint8_t port;      /* by which it was met; of the own node the port that asks */
    size_t from;       /* the sighting from which; NOWHERE: the own node */
    uint8_t from_port; /* and by which of its ports */
    uint16_t rate_gbps;
    char description[65];
};
#define NOWHERE SIZE_MAX

struct job {
    uint16_t attribute; /* NodeInfo of who is behind the port; NodeDescription; PortInfo of the port
                         */
    size_t at;          /* a sighting; NOWHERE: NodeInfo of the own node */
    uint8_t port;
    uint16_t rate_gbps; /* of the link there, once PortInfo has told it */
};

struct walk {
    struct oneib_mad_port port;
    oneib_guid own;
    struct sighting *sightings;
    size_t count, capacity;
    struct job *jobs;
    size_t job_count, job_capacity, job_next;
    oneib_guid *switches; /* whose ports are asked */
    size_t switch_count, switch_capacity;
};

/* ---- asking ---------------------------------------------------------------------------------- */

static void add_job(struct walk *walk, struct job job)
{
    ONEIB_APPEND(walk->jobs, walk->job_count, walk->job_capacity, job);
}

static uint8_t hops_to(const struct walk *walk, size_t at)
{
    uint8_t hops = 0;
    for (; at != NOWHERE && walk->sightings[at].from != NOWHERE; at = walk->sightings[at].from)
        hops++;
    return hops;
}

/* From the end of the way to its beginning. */
static void write_path(const struct walk *walk, size_t at, uint8_t hops, uint8_t *path)
{
    for (; hops > 0; at = walk->sightings[at].from)
        path[hops--] = walk->sightings[at].from_port;
}

static bool leads_on(const struct job *job)
{
    return job->attribute == IB_ATTR_NODE_INFO && job->at != NOWHERE;
}

/* Who is behind a port is not known before the answer: 0. */
static oneib_guid who_is_asked(const struct walk *walk, const struct job *job)
{
    if (job->at == NOWHERE)
        return walk->own;
    return leads_on(job) ? 0 : walk->sightings[job->at].port_guid;
}

static bool next_job(void *context, struct oneib_mad_request *request)
{
    struct walk *walk = context;
    if (walk->job_next == walk->job_count)
        return false;
    const struct job *job = &walk->jobs[walk->job_next];
    const uint8_t hops = hops_to(walk, job->at);
    *request = (struct oneib_mad_request){
        .mgmt_class = IB_SMI_DIRECT_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attribute = job->attribute,
        .modifier = job->attribute == IB_ATTR_PORT_INFO ? job->port : 0,
        .hops = (uint8_t)(hops + leads_on(job)),
        .to = who_is_asked(walk, job),
        .tag = walk->job_next++,
    };
    write_path(walk, job->at, hops, request->path);
    if (leads_on(job))
        request->path[request->hops] = job->port;
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool is_known_switch(const struct walk *walk, oneib_guid guid)
{
    for (size_t i = 0; i < walk->switch_count; i++)
        if (walk->switches[i] == guid)
            return true;
    return false;
}

/* A switch that is met for the first time: each of its ports may lead on. */
static void ask_ports(struct walk *walk, size_t at)
{
    const struct sighting *met = &walk->sightings[at];
    const uint8_t ports = met->port_count;
    if (is_known_switch(walk, met->guid) || walk->switch_count == SWITCHES_MAX ||
        hops_to(walk, at) + 1 >= ONEIB_PATH_SIZE)
        return;
    ONEIB_APPEND(walk->switches, walk->switch_count, walk->switch_capacity, met->guid);
    for (unsigned port = 1; port <= ports; port++)
        add_job(walk, (struct job){IB_ATTR_PORT_INFO, at, (uint8_t)port, 0});
}

/* No way leads through an adapter, but the first one out of the own. */
static void ask_further(struct walk *walk, size_t at)
{
    const struct sighting *met = &walk->sightings[at];
    add_job(walk, (struct job){IB_ATTR_NODE_DESC, at, 0, 0});
    if (walk->sightings[at].type == ONEIB_NODE_SWITCH) {
        ask_ports(walk, at);
        return;
    }
    if (met->from != NOWHERE)
        return;
    add_job(walk, (struct job){IB_ATTR_PORT_INFO, at, walk->port.number, 0});
}

static void take_node_info(struct walk *walk, const struct job *job, uint8_t *info)
{
    struct sighting *met = ONEIB_ADD(walk->sightings, walk->count, walk->capacity);
    *met = (struct sighting){
        .guid = mad_get_field64(info, 0, IB_NODE_GUID_F),
        .port_guid = mad_get_field64(info, 0, IB_NODE_PORT_GUID_F),
        .type = (uint8_t)mad_get_field(info, 0, IB_NODE_TYPE_F),
        .port_count = (uint8_t)mad_get_field(info, 0, IB_NODE_NPORTS_F),
        .port = (uint8_t)mad_get_field(info, 0, IB_NODE_LOCAL_PORT_F),
        .from = job->at,
        .from_port = job->port,
        .rate_gbps = job->rate_gbps,
    };
    ask_further(walk, walk->count - 1);
}

/* A query through a port whose link is down would only run into its time-out. */
static void take_port_info(struct walk *walk, const struct job *job, uint8_t *info)
{
    if (mad_get_field(info, 0, IB_PORT_PHYS_STATE_F) != ONEIB_PHYSICAL_LINK_UP)
        return;
    const uint16_t rate = oneib_port_info_active_gbps(info);
    add_job(walk, (struct job){IB_ATTR_NODE_INFO, job->at, job->port, rate});
}

static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct walk *walk = context;
    const struct job job = walk->jobs[answer->request->tag];
    (void)err;
    if (answer->error || answer->status)
        return 0;
    uint8_t *data = oneib_smp_data(answer);
    if (job.attribute == IB_ATTR_NODE_INFO) {
        take_node_info(walk, &job, data);
        return 0;
    }
    if (job.attribute == IB_ATTR_PORT_INFO) {
        take_port_info(walk, &job, data);
        return 0;
    }
    struct sighting *met = &walk->sightings[job.at];
    memcpy(met->description, data, sizeof met->description - 1);
    return 0;
}

/* ---- the graph ------------------------------------------------------------------------------- */

ONEIB_ORDER_BY(compare_nodes, struct oneib_topology_node, guid);

static void add_nodes(const struct walk *walk, struct oneib_topology *topology)
{
    ONEIB_RESERVE(topology->nodes, topology->node_capacity, walk->count);
    for (size_t i = 0; i < walk->count; i++) {
        const struct sighting *met = &walk->sightings[i];
        struct oneib_topology_node *node = &topology->nodes[i];
        *node = (struct oneib_topology_node){met->guid, met->type, met->port_count, ""};
        memcpy(node->description, met->description, sizeof node->description);
    }
    ONEIB_SORT(topology->nodes, walk->count, compare_nodes);
}

/* Of a node's sightings the first stays, with a description if any of them has one. */
static void unite_nodes(const struct walk *walk, struct oneib_topology *topology)
{
    for (size_t i = 0; i < walk->count; i++) {
        struct oneib_topology_node *last =
            topology->node_count ? &topology->nodes[topology->node_count - 1] : NULL;
        const struct oneib_topology_node node = topology->nodes[i];
        if (!last || last->guid != node.guid)
            topology->nodes[topology->node_count++] = node;
        else if (!last->description[0])
            memcpy(last->description, node.description, sizeof last->description);
    }
}

static size_t index_of(const struct oneib_topology *topology, oneib_guid guid)
{
    const struct oneib_topology_node key = {.guid = guid};
    const struct oneib_topology_node *node =
        ONEIB_FIND(&key, topology->nodes, topology->node_count, compare_nodes);
    return (size_t)(node - topology->nodes); /* every sighting is among them */
}

static struct oneib_topology_link link_of(const struct walk *walk, const struct sighting *met,
                                          const struct oneib_topology *topology)
{
    const struct sighting *from = &walk->sightings[met->from];
    const struct oneib_topology_link link = {
        .a = index_of(topology, from->guid),
        .b = index_of(topology, met->guid),
        .a_port = met->from_port,
        .b_port = met->port,
        .a_guid = from->port_guid,
        .b_guid = met->port_guid,
        .rate_gbps = met->rate_gbps,
    };
    if (link.a < link.b || (link.a == link.b && link.a_port < link.b_port))
        return link;
    return (struct oneib_topology_link){.a = link.b,
                                        .b = link.a,
                                        .a_port = link.b_port,
                                        .b_port = link.a_port,
                                        .a_guid = link.b_guid,
                                        .b_guid = link.a_guid,
                                        .rate_gbps = link.rate_gbps};
}

ONEIB_ORDER_BY(compare_links, struct oneib_topology_link, a, a_port);

static void add_links(const struct walk *walk, struct oneib_topology *topology)
{
    ONEIB_RESERVE(topology->links, topology->link_capacity, walk->count);
    for (size_t i = 0; i < walk->count; i++)
        if (walk->sightings[i].from != NOWHERE)
            topology->links[topology->link_count++] = link_of(walk, &walk->sightings[i], topology);
    ONEIB_SORT(topology->links, topology->link_count, compare_links);
    /* A link between two switches is met from both of its ends. */
    ONEIB_UNIQUE(topology->links, topology->link_count, compare_links);
}

static void make_graph(const struct walk *walk, struct oneib_topology *topology)
{
    add_nodes(walk, topology);
    unite_nodes(walk, topology);
    add_links(walk, topology);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int walk_all(struct walk *walk, struct oneib_error *err)
{
    const struct oneib_mad_exchange exchange = {next_job, take_answer, walk};
    add_job(walk, (struct job){IB_ATTR_NODE_INFO, NOWHERE, 0, 0});
    if (oneib_mad_run(&walk->port, &exchange, err) < 0)
        return -1;
    if (walk->count)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                      "%s port %u does not answer a directed-route query: if the subnet's ports "
                      "have an M_Key, fabric.m_key_file must have the same",
                      walk->port.ca, walk->port.number);
}

static void clear_walk(struct walk *walk)
{
    oneib_mad_close(&walk->port);
    free(walk->sightings);
    free(walk->jobs);
    free(walk->switches);
}

int oneib_fabric_discover(const struct oneib_fabric_options *options,
                          struct oneib_topology *topology, struct oneib_error *err)
{
    *topology = (struct oneib_topology){0};
    umad_port_t chosen;
    struct walk walk = {0};
    if (oneib_port_choose(options, ONEIB_PORT_INITIALIZE, &chosen, err) < 0 ||
        oneib_mad_open(&walk.port, options, chosen.ca_name, (uint8_t)chosen.portnum, err) < 0)
        return oneib_wrap(err, "discovering the fabric");
    walk.own = be64toh(chosen.port_guid);
    int result = walk_all(&walk, err);
    if (result == 0)
        make_graph(&walk, topology);
    clear_walk(&walk);
    if (result == 0)
        return 0;
    oneib_topology_clear(topology);
    return oneib_wrap(err, "discovering the fabric");
}
