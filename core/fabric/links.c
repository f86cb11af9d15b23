// SPDX-License-Identifier: Apache-2.0
/* Which port of which switch each end port is linked to, and switching such ports off and on. */
#include "fabric/fabric_internal.h"

#include "base/memory.h"
#include "base/order.h"
#include "fabric/fabric_walk.h"

#include <inttypes.h>

/* PortInfo.PortState: what a port is told to be for its physical state to change (14.2.5.6). */
#define STATE_DOWN 1

/* ---- which links there are ------------------------------------------------------------------- */

static struct oneib_switch_link link_at(const struct oneib_walk *walk,
                                        const struct oneib_met_port *port)
{
    struct oneib_switch_link link = {.switch_guid = walk->met[port->at].guid,
                                     .switch_port = port->number,
                                     .physical = port->physical};
    if (port->behind != ONEIB_NOWHERE) {
        const struct oneib_met *behind = &walk->met[port->behind];
        link.node_type = behind->type;
        link.node_guid = behind->guid;
        link.port_guid = behind->port_guid;
    }
    return link;
}

static void keep_links(const struct oneib_walk *walk, struct oneib_fabric_links *links)
{
    links->items = oneib_alloc(walk->port_count + 1, sizeof(*links->items));
    links->routes = oneib_alloc(walk->port_count + 1, sizeof(*links->routes));
    links->count = walk->port_count;
    links->unanswered = walk->unanswered;
    for (size_t i = 0; i < links->count; i++) {
        links->items[i] = link_at(walk, &walk->ports[i]);
        links->routes[i] = oneib_walk_route(walk, walk->ports[i].at);
    }
}

static int read_links(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                      struct oneib_fabric_links *links, struct oneib_error *err)
{
    struct oneib_walk walk = {
        .port = &fabric->port, .own = fabric->port_guid, .switches_max = subnet->port_count};
    *links = (struct oneib_fabric_links){0};
    const int result = oneib_walk(&walk, err);
    if (result == 0)
        keep_links(&walk, links);
    oneib_walk_clear(&walk);
    return result;
}

int oneib_fabric_read_links(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                            struct oneib_fabric_links *links, struct oneib_error *err)
{
    return read_links(fabric, subnet, links, err) < 0
               ? oneib_wrap(err, "finding who is linked to which switch")
               : 0;
}

void oneib_fabric_links_clear(struct oneib_fabric_links *links)
{
    free(links->items);
    free(links->routes);
    *links = (struct oneib_fabric_links){0};
}

ONEIB_ORDER_BY(compare_links, struct oneib_switch_link, port_guid);

static oneib_guid switch_of(const struct oneib_fabric_links *links, oneib_guid port_guid)
{
    const struct oneib_switch_link wanted = {.port_guid = port_guid};
    if (port_guid == 0)
        return 0;
    const struct oneib_switch_link *link =
        ONEIB_FIND(&wanted, links->items, links->count, compare_links);
    return link && link->node_type != ONEIB_NODE_SWITCH ? link->switch_guid : 0;
}

int oneib_fabric_switches(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                          const oneib_guid *ports, oneib_guid *switches, size_t count,
                          struct oneib_error *err)
{
    oneib_autofabriclinks struct oneib_fabric_links links;
    if (read_links(fabric, subnet, &links, err) < 0)
        return oneib_wrap(err, "finding the switches of end ports");
    ONEIB_SORT(links.items, links.count, compare_links); /* their routes are not looked at */
    for (size_t i = 0; i < count; i++)
        switches[i] = switch_of(&links, ports[i]);
    return 0;
}

/* ---- switching a port off and on ------------------------------------------------------------- */

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
