// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric_walk.h"
#include "base/array.h"
#include "fabric/port_info.h"
#include <stdlib.h>
#include <string.h>

struct oneib_walk_job {
    uint16_t attribute; /* NodeInfo of who is behind the port; NodeDescription; PortInfo of the port
                         */
    size_t at;          /* who was met; ONEIB_NOWHERE: NodeInfo of the own node */
    uint8_t port;
    uint16_t rate_gbps; /* of the link there, once PortInfo has told it */
    size_t met_port;    /* of NodeInfo behind a switch's port: which one that is */
};

/* ---- asking ---------------------------------------------------------------------------------- */

static void add_job(struct oneib_walk *walk, struct oneib_walk_job job)
{
    ONEIB_APPEND(walk->jobs, walk->job_count, walk->job_capacity, job);
}

static uint8_t hops_to(const struct oneib_walk *walk, size_t at)
{
    uint8_t hops = 0;
    for (; at != ONEIB_NOWHERE && walk->met[at].from != ONEIB_NOWHERE; at = walk->met[at].from)
        hops++;
    return hops;
}

/* From the end of the way to its beginning. */
struct oneib_route oneib_walk_route(const struct oneib_walk *walk, size_t at)
{
    struct oneib_route route = {.hops = hops_to(walk, at),
                                .to = at == ONEIB_NOWHERE ? walk->own : walk->met[at].port_guid};
    for (uint8_t hops = route.hops; hops > 0; at = walk->met[at].from)
        route.path[hops--] = walk->met[at].from_port;
    return route;
}

/* Who is behind a port is not known before the answer. */
static struct oneib_route route_of(const struct oneib_walk *walk, const struct oneib_walk_job *job)
{
    struct oneib_route route = oneib_walk_route(walk, job->at);
    if (job->attribute == IB_ATTR_NODE_INFO && job->at != ONEIB_NOWHERE) {
        route.path[++route.hops] = job->port;
        route.to = 0;
    }
    return route;
}

static bool next_job(void *context, struct oneib_mad_request *request)
{
    struct oneib_walk *walk = context;
    if (walk->job_next == walk->job_count)
        return false;
    const struct oneib_walk_job *job = &walk->jobs[walk->job_next];
    const struct oneib_route route = route_of(walk, job);
    *request = (struct oneib_mad_request){
        .mgmt_class = IB_SMI_DIRECT_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attribute = job->attribute,
        .modifier = job->attribute == IB_ATTR_PORT_INFO ? job->port : 0,
        .hops = route.hops,
        .to = route.to,
        .tag = walk->job_next++,
    };
    memcpy(request->path, route.path, sizeof request->path);
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool is_known_switch(const struct oneib_walk *walk, oneib_guid guid)
{
    for (size_t i = 0; i < walk->switch_count; i++)
        if (walk->switches[i] == guid)
            return true;
    return false;
}

static void ask_port(struct oneib_walk *walk, size_t at, uint8_t port)
{
    add_job(walk, (struct oneib_walk_job){.attribute = IB_ATTR_PORT_INFO, .at = at, .port = port});
}

/* A switch that is met for the first time: each of its ports may lead on. */
static void ask_ports(struct oneib_walk *walk, size_t at)
{
    const struct oneib_met *met = &walk->met[at];
    if (is_known_switch(walk, met->guid) || walk->switch_count == walk->switches_max ||
        hops_to(walk, at) + 1 >= ONEIB_PATH_SIZE)
        return;
    ONEIB_APPEND(walk->switches, walk->switch_count, walk->switch_capacity, met->guid);
    for (unsigned port = 1; port <= met->port_count; port++)
        ask_port(walk, at, (uint8_t)port);
}

/* No way leads through an adapter, but the first one out of the own. */
static void ask_further(struct oneib_walk *walk, size_t at)
{
    if (walk->describes)
        add_job(walk, (struct oneib_walk_job){.attribute = IB_ATTR_NODE_DESC, .at = at});
    if (walk->met[at].type == ONEIB_NODE_SWITCH)
        ask_ports(walk, at);
    else if (walk->met[at].from == ONEIB_NOWHERE)
        ask_port(walk, at, walk->port->number);
}

static void take_node_info(struct oneib_walk *walk, const struct oneib_walk_job *job, uint8_t *info)
{
    const struct oneib_met met = {
        .guid = mad_get_field64(info, 0, IB_NODE_GUID_F),
        .port_guid = mad_get_field64(info, 0, IB_NODE_PORT_GUID_F),
        .type = (uint8_t)mad_get_field(info, 0, IB_NODE_TYPE_F),
        .port_count = (uint8_t)mad_get_field(info, 0, IB_NODE_NPORTS_F),
        .port = (uint8_t)mad_get_field(info, 0, IB_NODE_LOCAL_PORT_F),
        .from = job->at,
        .from_port = job->port,
        .rate_gbps = job->rate_gbps,
    };
    ONEIB_APPEND(walk->met, walk->count, walk->capacity, met);
    if (job->at != ONEIB_NOWHERE && walk->met[job->at].type == ONEIB_NODE_SWITCH)
        walk->ports[job->met_port].behind = walk->count - 1;
    ask_further(walk, walk->count - 1);
}

/* A query through a port whose link is down would only run into its time-out. */
static void take_port_info(struct oneib_walk *walk, const struct oneib_walk_job *job, uint8_t *info)
{
    const uint8_t physical = (uint8_t)mad_get_field(info, 0, IB_PORT_PHYS_STATE_F);
    if (walk->met[job->at].type == ONEIB_NODE_SWITCH)
        ONEIB_APPEND(walk->ports, walk->port_count, walk->port_capacity,
                     (struct oneib_met_port){job->at, job->port, physical, ONEIB_NOWHERE});
    if (physical == ONEIB_PHYSICAL_LINK_UP)
        add_job(walk,
                (struct oneib_walk_job){IB_ATTR_NODE_INFO, job->at, job->port,
                                        oneib_port_info_active_gbps(info), walk->port_count - 1});
}

/* Who does not answer is not known; that stops nothing. */
static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct oneib_walk *walk = context;
    const struct oneib_walk_job job = walk->jobs[answer->request->tag];
    (void)err;
    if (answer->error || answer->status) {
        walk->unanswered++;
        return 0;
    }
    uint8_t *data = oneib_smp_data(answer);
    if (job.attribute == IB_ATTR_NODE_INFO)
        take_node_info(walk, &job, data);
    else if (job.attribute == IB_ATTR_PORT_INFO)
        take_port_info(walk, &job, data);
    else
        memcpy(walk->met[job.at].description, data, sizeof walk->met[job.at].description - 1);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int oneib_walk(struct oneib_walk *walk, struct oneib_error *err)
{
    const struct oneib_mad_exchange exchange = {next_job, take_answer, walk};
    add_job(walk, (struct oneib_walk_job){.attribute = IB_ATTR_NODE_INFO, .at = ONEIB_NOWHERE});
    return oneib_mad_run(walk->port, &exchange, err);
}

void oneib_walk_clear(struct oneib_walk *walk)
{
    free(walk->met);
    free(walk->ports);
    free(walk->jobs);
    free(walk->switches);
}
