// SPDX-License-Identifier: Apache-2.0
/* Which switch each end port is linked to. */
#include "fabric/internal.h"

#include "base/array.h"

#define LINK_UP 5 /* PortInfo.PortPhysicalState */

/* A way from the own port to a node. */
struct route {
    uint8_t hops, path[ONEIB_PATH_SIZE];
};

struct known_switch {
    oneib_guid node_guid, port_guid;
    struct route route;
};

struct job {
    uint16_t attribute; /* PortInfo of a switch's port, or NodeInfo of who is behind it */
    size_t from;        /* the switch; NO_SWITCH: the own node */
    uint8_t port;       /* 0: the node itself */
};
#define NO_SWITCH SIZE_MAX

struct link {
    oneib_guid port_guid, switch_guid;
};

struct walk {
    struct oneib_fabric *fabric;
    size_t switches_max;
    struct known_switch *switches;
    size_t switch_count, switch_capacity;
    struct job *jobs;
    size_t job_count, job_capacity, job_next;
    struct link *links;
    size_t link_count, link_capacity;
};

static int add_job(struct walk *walk, struct job job, struct oneib_error *err)
{
    if (oneib_reserve(&walk->jobs, &walk->job_capacity, walk->job_count + 1, sizeof(*walk->jobs),
                      err) < 0)
        return -1;
    walk->jobs[walk->job_count++] = job;
    return 0;
}

static int add_link(struct walk *walk, oneib_guid port_guid, oneib_guid switch_guid,
                    struct oneib_error *err)
{
    if (oneib_reserve(&walk->links, &walk->link_capacity, walk->link_count + 1,
                      sizeof(*walk->links), err) < 0)
        return -1;
    walk->links[walk->link_count++] = (struct link){port_guid, switch_guid};
    return 0;
}

/* --- asking --------------------------------------------------------------------------------- */

static struct route route_to(const struct walk *walk, const struct job *job)
{
    struct route route = {0};
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
    const struct route route = route_to(walk, job);
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

/* --- answers -------------------------------------------------------------------------------- */

static bool is_known(const struct walk *walk, oneib_guid node_guid)
{
    for (size_t i = 0; i < walk->switch_count; i++)
        if (walk->switches[i].node_guid == node_guid)
            return true;
    return false;
}

/* A switch that is met for the first time; its own ports are asked for then. */
static int meet_switch(struct walk *walk, const struct job *job, uint8_t *info,
                       struct oneib_error *err)
{
    const oneib_guid node_guid = mad_get_field64(info, 0, IB_NODE_GUID_F);
    const struct route route = route_to(walk, job);
    if (is_known(walk, node_guid) || walk->switch_count == walk->switches_max ||
        route.hops + 1 >= ONEIB_PATH_SIZE)
        return 0;
    if (oneib_reserve(&walk->switches, &walk->switch_capacity, walk->switch_count + 1,
                      sizeof(*walk->switches), err) < 0)
        return -1;
    const size_t index = walk->switch_count++;
    walk->switches[index] =
        (struct known_switch){node_guid, mad_get_field64(info, 0, IB_NODE_PORT_GUID_F), route};
    const uint32_t ports = mad_get_field(info, 0, IB_NODE_NPORTS_F);
    for (uint32_t port = 1; port <= ports && port <= UINT8_MAX; port++)
        if (add_job(walk, (struct job){IB_ATTR_PORT_INFO, index, (uint8_t)port}, err) < 0)
            return -1;
    return 0;
}

/* The own node: from a switch the walk begins here, else with who is behind the port. */
static int meet_self(struct walk *walk, const struct job *job, uint8_t *info,
                     struct oneib_error *err)
{
    if (mad_get_field(info, 0, IB_NODE_TYPE_F) == ONEIB_NODE_SWITCH)
        return meet_switch(walk, job, info, err);
    return add_job(walk, (struct job){IB_ATTR_NODE_INFO, NO_SWITCH, walk->fabric->port.number},
                   err);
}

static int take_node_info(struct walk *walk, const struct job *job, uint8_t *info,
                          struct oneib_error *err)
{
    if (job->port == 0)
        return meet_self(walk, job, info, err);
    if (mad_get_field(info, 0, IB_NODE_TYPE_F) == ONEIB_NODE_SWITCH)
        return meet_switch(walk, job, info, err);
    if (job->from == NO_SWITCH) /* two adapters, back to back */
        return 0;
    return add_link(walk, mad_get_field64(info, 0, IB_NODE_PORT_GUID_F),
                    walk->switches[job->from].node_guid, err);
}

/* A query through a port whose link is down would only run into its time-out. */
static int take_port_info(struct walk *walk, const struct job *job, uint8_t *info,
                          struct oneib_error *err)
{
    if (mad_get_field(info, 0, IB_PORT_PHYS_STATE_F) != LINK_UP)
        return 0;
    return add_job(walk, (struct job){IB_ATTR_NODE_INFO, job->from, job->port}, err);
}

/* Who does not answer is not known; that stops nothing. */
static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct walk *walk = context;
    const struct job job = walk->jobs[answer->request->tag];
    if (answer->error || answer->status)
        return 0;
    uint8_t *info = oneib_smp_data(answer);
    return job.attribute == IB_ATTR_NODE_INFO ? take_node_info(walk, &job, info, err)
                                              : take_port_info(walk, &job, info, err);
}

/* --- all of it ------------------------------------------------------------------------------ */

static int compare_links(const void *a, const void *b)
{
    const struct link *left = a, *right = b;
    return (left->port_guid > right->port_guid) - (left->port_guid < right->port_guid);
}

static oneib_guid switch_of(const struct walk *walk, oneib_guid port_guid)
{
    const struct link wanted = {.port_guid = port_guid};
    if (walk->link_count == 0)
        return 0;
    const struct link *link =
        bsearch(&wanted, walk->links, walk->link_count, sizeof(wanted), compare_links);
    return link ? link->switch_guid : 0;
}

static int walk_all(struct walk *walk, struct oneib_error *err)
{
    const struct oneib_mad_exchange exchange = {next_job, take_answer, walk};
    if (add_job(walk, (struct job){IB_ATTR_NODE_INFO, NO_SWITCH, 0}, err) < 0 ||
        oneib_mad_run(&walk->fabric->port, &exchange, err) < 0)
        return -1;
    if (walk->link_count)
        qsort(walk->links, walk->link_count, sizeof(*walk->links), compare_links);
    return 0;
}

static void clear_walk(struct walk *walk)
{
    free(walk->switches);
    free(walk->jobs);
    free(walk->links);
}

int oneib_fabric_switches(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                          const oneib_guid *ports, oneib_guid *switches, size_t count,
                          struct oneib_error *err)
{
    struct walk walk = {.fabric = fabric, .switches_max = subnet->port_count};
    const int result = walk_all(&walk, err);
    for (size_t i = 0; result == 0 && i < count; i++)
        switches[i] = switch_of(&walk, ports[i]);
    clear_walk(&walk);
    return result < 0 ? oneib_wrap(err, "finding the switches of end ports") : 0;
}
