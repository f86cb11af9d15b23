// SPDX-License-Identifier: Apache-2.0
/* Which port of which switch each end port is linked to, and switching such ports off and on. */
#include "fabric/fabric_internal.h"

#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"

#include <inttypes.h>

/* PortInfo.PortState: what a port is told to be for its physical state to change (14.2.5.6). */
#define STATE_DOWN 1

struct known_switch {
    oneib_guid node_guid, port_guid;
    struct oneib_route route;
};

struct job {
    uint16_t attribute; /* PortInfo of a switch's port, or NodeInfo of who is behind it */
    size_t from;        /* the switch; NO_SWITCH: the own node */
    uint8_t port;       /* 0: the node itself */
    size_t link;        /* of NodeInfo: whose other end is asked */
};
#define NO_SWITCH SIZE_MAX

struct walk {
    struct oneib_fabric *fabric;
    size_t switches_max;
    struct known_switch *switches;
    size_t switch_count, switch_capacity;
    struct job *jobs;
    size_t job_count, job_capacity, job_next;
    struct oneib_switch_link *links; /* a port of a switch that has answered */
    size_t link_count, link_capacity;
    size_t *link_switches; /* whose it is, for each of them */
    size_t link_switch_capacity;
    size_t unanswered; /* questions */
};

static void add_job(struct walk *walk, struct job job)
{
    ONEIB_APPEND(walk->jobs, walk->job_count, walk->job_capacity, job);
}

static void add_link(struct walk *walk, const struct job *job, uint8_t physical)
{
    ONEIB_RESERVE(walk->link_switches, walk->link_switch_capacity, walk->link_count + 1);
    walk->link_switches[walk->link_count] = job->from;
    ONEIB_APPEND(walk->links, walk->link_count, walk->link_capacity,
                 (struct oneib_switch_link){.switch_guid = walk->switches[job->from].node_guid,
                                            .switch_port = job->port,
                                            .physical = physical});
}

/* ---- asking ---------------------------------------------------------------------------------- */

static struct oneib_route route_to(const struct walk *walk, const struct job *job)
{
    struct oneib_route route = {0};
    if (job->from != NO_SWITCH)
        route = walk->switches[job->from].route;
    if (job->port && job->attribute == IB_ATTR_NODE_INFO)
        route.path[++route.hops] = job->port;
    return route;
}

/* Who is behind a port is not known before the answer: 0. */
static oneib_guid who_is_asked(const struct walk *walk, const struct job *job)
{
    if (job->from == NO_SWITCH)
        return job->port ? 0 : walk->fabric->port_guid;
    return job->attribute == IB_ATTR_PORT_INFO ? walk->switches[job->from].port_guid : 0;
}

static bool next_job(void *context, struct oneib_mad_request *request)
{
    struct walk *walk = context;
    if (walk->job_next == walk->job_count)
        return false;
    const struct job *job = &walk->jobs[walk->job_next];
    const struct oneib_route route = route_to(walk, job);
    *request = (struct oneib_mad_request){
        .mgmt_class = IB_SMI_DIRECT_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attribute = job->attribute,
        .modifier = job->attribute == IB_ATTR_PORT_INFO ? job->port : 0,
        .hops = route.hops,
        .to = who_is_asked(walk, job),
        .tag = walk->job_next++,
    };
    memcpy(request->path, route.path, sizeof(request->path));
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool is_known(const struct walk *walk, oneib_guid node_guid)
{
    for (size_t i = 0; i < walk->switch_count; i++)
        if (walk->switches[i].node_guid == node_guid)
            return true;
    return false;
}

/* A switch that is met for the first time; its own ports are asked for then. */
static void meet_switch(struct walk *walk, const struct job *job, uint8_t *info)
{
    const oneib_guid node_guid = mad_get_field64(info, 0, IB_NODE_GUID_F);
    const struct oneib_route route = route_to(walk, job);
    if (is_known(walk, node_guid) || walk->switch_count == walk->switches_max ||
        route.hops + 1 >= ONEIB_PATH_SIZE)
        return;
    const size_t index = walk->switch_count;
    ONEIB_APPEND(
        walk->switches, walk->switch_count, walk->switch_capacity,
        (struct known_switch){node_guid, mad_get_field64(info, 0, IB_NODE_PORT_GUID_F), route});
    const uint32_t ports = mad_get_field(info, 0, IB_NODE_NPORTS_F);
    for (uint32_t port = 1; port <= ports && port <= UINT8_MAX; port++)
        add_job(walk, (struct job){IB_ATTR_PORT_INFO, index, (uint8_t)port, 0});
}

/* The own node: from a switch the walk begins here, else with who is behind the port. */
static void meet_self(struct walk *walk, const struct job *job, uint8_t *info)
{
    if (mad_get_field(info, 0, IB_NODE_TYPE_F) == ONEIB_NODE_SWITCH) {
        meet_switch(walk, job, info);
        return;
    }
    add_job(walk, (struct job){IB_ATTR_NODE_INFO, NO_SWITCH, walk->fabric->port.number, 0});
}

static void note_who(struct walk *walk, const struct job *job, uint8_t *info)
{
    struct oneib_switch_link *link = &walk->links[job->link];
    link->node_type = (uint8_t)mad_get_field(info, 0, IB_NODE_TYPE_F);
    link->node_guid = mad_get_field64(info, 0, IB_NODE_GUID_F);
    link->port_guid = mad_get_field64(info, 0, IB_NODE_PORT_GUID_F);
}

static void take_node_info(struct walk *walk, const struct job *job, uint8_t *info)
{
    if (job->port == 0) {
        meet_self(walk, job, info);
        return;
    }
    if (job->from != NO_SWITCH) /* else two adapters may be back to back */
        note_who(walk, job, info);
    if (mad_get_field(info, 0, IB_NODE_TYPE_F) == ONEIB_NODE_SWITCH)
        meet_switch(walk, job, info);
}

/* A query through a port whose link is down would only run into its time-out. */
static void take_port_info(struct walk *walk, const struct job *job, uint8_t *info)
{
    const uint8_t physical = (uint8_t)mad_get_field(info, 0, IB_PORT_PHYS_STATE_F);
    add_link(walk, job, physical);
    if (physical != ONEIB_PHYSICAL_LINK_UP)
        return;
    add_job(walk, (struct job){IB_ATTR_NODE_INFO, job->from, job->port, walk->link_count - 1});
}

/* Who does not answer is not known; that stops nothing. */
static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct walk *walk = context;
    const struct job job = walk->jobs[answer->request->tag];
    (void)err;
    if (answer->error || answer->status) {
        walk->unanswered++;
        return 0;
    }
    uint8_t *info = oneib_smp_data(answer);
    if (job.attribute == IB_ATTR_NODE_INFO) {
        take_node_info(walk, &job, info);
        return 0;
    }
    take_port_info(walk, &job, info);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

ONEIB_ORDER_BY(compare_links, struct oneib_switch_link, port_guid);

static oneib_guid switch_of(const struct walk *walk, oneib_guid port_guid)
{
    const struct oneib_switch_link wanted = {.port_guid = port_guid};
    if (walk->link_count == 0 || port_guid == 0)
        return 0;
    const struct oneib_switch_link *link =
        ONEIB_FIND(&wanted, walk->links, walk->link_count, compare_links);
    return link && link->node_type != ONEIB_NODE_SWITCH ? link->switch_guid : 0;
}

static int walk_all(struct walk *walk, struct oneib_error *err)
{
    const struct oneib_mad_exchange exchange = {next_job, take_answer, walk};
    add_job(walk, (struct job){IB_ATTR_NODE_INFO, NO_SWITCH, 0, 0});
    return oneib_mad_run(&walk->fabric->port, &exchange, err);
}

static void clear_walk(struct walk *walk)
{
    free(walk->switches);
    free(walk->jobs);
    free(walk->links);
    free(walk->link_switches);
}

int oneib_fabric_switches(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                          const oneib_guid *ports, oneib_guid *switches, size_t count,
                          struct oneib_error *err)
{
    struct walk walk = {.fabric = fabric, .switches_max = subnet->port_count};
    const int result = walk_all(&walk, err);
    ONEIB_SORT(walk.links, walk.link_count, compare_links);
    for (size_t i = 0; result == 0 && i < count; i++)
        switches[i] = switch_of(&walk, ports[i]);
    clear_walk(&walk);
    return result < 0 ? oneib_wrap(err, "finding the switches of end ports") : 0;
}

/* ---- switching a port off and on ------------------------------------------------------------- */

static void keep_links(struct walk *walk, struct oneib_fabric_links *links)
{
    links->routes = oneib_alloc(walk->link_count + 1, sizeof(*links->routes));
    for (size_t i = 0; i < walk->link_count; i++) {
        const struct known_switch *known = &walk->switches[walk->link_switches[i]];
        links->routes[i] = known->route;
        links->routes[i].to = known->port_guid;
    }
    links->items = walk->links;
    links->count = walk->link_count;
    links->unanswered = walk->unanswered;
    walk->links = NULL;
}

int oneib_fabric_read_links(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                            struct oneib_fabric_links *links, struct oneib_error *err)
{
    struct walk walk = {.fabric = fabric, .switches_max = subnet->port_count};
    *links = (struct oneib_fabric_links){0};
    int result = walk_all(&walk, err);
    if (result == 0)
        keep_links(&walk, links);
    clear_walk(&walk);
    return result < 0 ? oneib_wrap(err, "finding who is linked to which switch") : 0;
}

void oneib_fabric_links_clear(struct oneib_fabric_links *links)
{
    free(links->items);
    free(links->routes);
    *links = (struct oneib_fabric_links){0};
}

/* Asks the switch along its route; `info` is its answer's data. */
static int ask_switch(struct oneib_fabric *fabric, const struct oneib_route *route, uint8_t method,
                      uint16_t attribute, uint8_t port, uint8_t info[IB_SMP_DATA_SIZE],
                      struct oneib_error *err)
{
    struct oneib_mad_request request = {
        .mgmt_class = IB_SMI_DIRECT_CLASS,
        .method = method,
        .attribute = attribute,
        .modifier = port,
        .hops = route->hops,
        .to = route->to,
    };
    struct oneib_mad_answer answer;
    memcpy(request.path, route->path, sizeof(request.path));
    memcpy(request.record, info, IB_SMP_DATA_SIZE);
    if (oneib_mad_ask(&fabric->port, &request, &answer, err) < 0)
        return -1;
    if (answer.error || answer.status)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "it does not answer (status 0x%04x)",
                          answer.status);
    memcpy(info, oneib_smp_data(&answer), IB_SMP_DATA_SIZE);
    return 0;
}

/* The way that led there may lead somewhere else by now. */
static int check_switch(struct oneib_fabric *fabric, const struct oneib_route *route,
                        oneib_guid switch_guid, struct oneib_error *err)
{
    uint8_t info[IB_SMP_DATA_SIZE] = {0};
    if (ask_switch(fabric, route, IB_MAD_METHOD_GET, IB_ATTR_NODE_INFO, 0, info, err) < 0)
        return -1;
    if (mad_get_field64(info, 0, IB_NODE_GUID_F) != switch_guid)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "another node is where it was");
    return 0;
}

/* A cable may have been moved since the walk. Of who does not answer it is known no better than
 * then. */
static int check_who(struct oneib_fabric *fabric, const struct oneib_route *route, uint8_t port,
                     oneib_guid who, struct oneib_error *err)
{
    uint8_t info[IB_SMP_DATA_SIZE] = {0};
    struct oneib_route behind = *route;
    struct oneib_error silent;
    behind.path[++behind.hops] = port;
    behind.to = who;
    if (ask_switch(fabric, &behind, IB_MAD_METHOD_GET, IB_ATTR_NODE_INFO, 0, info, &silent) < 0)
        return 0;
    const oneib_guid found = mad_get_field64(info, 0, IB_NODE_PORT_GUID_F);
    if (found != who)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                          "not 0x%016" PRIx64 ", but 0x%016" PRIx64 " is linked there now", who,
                          found);
    return 0;
}

/* What a zero stands for is "no change": the enabled widths and speeds. */
static void tell_to_be(uint8_t *info, uint8_t physical)
{
    mad_set_field(info, 0, IB_PORT_LINK_WIDTH_ENABLED_F, 0);
    mad_set_field(info, 0, IB_PORT_LINK_SPEED_ENABLED_F, 0);
    mad_set_field(info, 0, IB_PORT_LINK_SPEED_EXT_ENABLED_F, 0);
    mad_set_field(info, 0, IB_PORT_STATE_F, STATE_DOWN);
    mad_set_field(info, 0, IB_PORT_PHYS_STATE_F, physical);
}

static int set_physical(struct oneib_fabric *fabric, const struct oneib_switch_link *link,
                        const struct oneib_route *route, oneib_guid who, uint8_t wanted,
                        uint8_t *physical, struct oneib_error *err)
{
    uint8_t info[IB_SMP_DATA_SIZE] = {0}, now[IB_SMP_DATA_SIZE] = {0};
    const uint8_t port = link->switch_port;
    if (check_switch(fabric, route, link->switch_guid, err) < 0 ||
        ask_switch(fabric, route, IB_MAD_METHOD_GET, IB_ATTR_PORT_INFO, port, info, err) < 0)
        return -1;
    const bool is_linked = mad_get_field(info, 0, IB_PORT_PHYS_STATE_F) == ONEIB_PHYSICAL_LINK_UP;
    if (is_linked && check_who(fabric, route, port, who, err) < 0)
        return -1;
    tell_to_be(info, wanted);
    if (ask_switch(fabric, route, IB_MAD_METHOD_SET, IB_ATTR_PORT_INFO, port, info, err) < 0 ||
        ask_switch(fabric, route, IB_MAD_METHOD_GET, IB_ATTR_PORT_INFO, port, now, err) < 0)
        return -1;
    *physical = (uint8_t)mad_get_field(now, 0, IB_PORT_PHYS_STATE_F);
    return 0;
}

int oneib_fabric_enable_link(struct oneib_fabric *fabric, const struct oneib_fabric_links *links,
                             size_t index, oneib_guid who, bool enabled, uint8_t *physical,
                             struct oneib_error *err)
{
    const struct oneib_switch_link *link = &links->items[index];
    if (set_physical(fabric, link, &links->routes[index], who,
                     enabled ? ONEIB_PHYSICAL_POLLING : ONEIB_PHYSICAL_DISABLED, physical, err) < 0)
        return oneib_wrap(err, "%s port %u of switch 0x%016" PRIx64,
                          enabled ? "enabling" : "disabling", link->switch_port, link->switch_guid);
    return 0;
}
