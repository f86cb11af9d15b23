// SPDX-License-Identifier: Apache-2.0
/* Which end ports there are. */
#include "fabric/fabric_internal.h"

#include "base/array.h"
#include "ib/pkey.h"
#include <inttypes.h>

#define LIDS_PER_BLOCK 64 /* of a LinearForwardingTable */
#define LID_LAST 0xbfff   /* the last unicast LID */
#define NO_EXIT 0xff      /* forwarding table: no such LID */

/* The switch that this port hangs on, or that this port belongs to, addressed by directed route. */
struct near_switch {
    struct oneib_fabric *fabric;
    uint8_t hops;
    oneib_guid guid; /* of who is asked; 0: not known yet */
    struct oneib_subnet *subnet;
    size_t blocks, asked;
};

static struct oneib_mad_request directed(const struct near_switch *near, uint16_t attribute,
                                         uint32_t modifier)
{
    return (struct oneib_mad_request){
        .mgmt_class = IB_SMI_DIRECT_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attribute = attribute,
        .modifier = modifier,
        .hops = near->hops,
        .path = {0, near->fabric->port.number},
        .to = near->guid,
    };
}

static int unanswered(const struct near_switch *near, const char *what, struct oneib_error *err)
{
    return oneib_fail(
        err, ONEIB_ERROR_UNREACHABLE,
        "the node next to %s port %u does not answer a directed-route query for its %s: if the "
        "subnet's ports have an M_Key, fabric.m_key_file must have the same",
        near->fabric->port.ca, near->fabric->port.number, what);
}

static int ask_near(struct near_switch *near, uint16_t attribute, const char *what,
                    struct oneib_mad_answer *answer, struct oneib_error *err)
{
    struct oneib_mad_request request = directed(near, attribute, 0);
    if (oneib_mad_ask(&near->fabric->port, &request, answer, err) < 0)
        return -1;
    return answer->error || answer->status ? unanswered(near, what, err) : 0;
}

static int is_switch(struct near_switch *near, bool *is, struct oneib_error *err)
{
    struct oneib_mad_answer answer;
    if (ask_near(near, IB_ATTR_NODE_INFO, "NodeInfo", &answer, err) < 0)
        return -1;
    *is = mad_get_field(oneib_smp_data(&answer), 0, IB_NODE_TYPE_F) == ONEIB_NODE_SWITCH;
    near->guid = mad_get_field64(oneib_smp_data(&answer), 0, IB_NODE_PORT_GUID_F);
    return 0;
}

static int find_switch(struct near_switch *near, struct oneib_error *err)
{
    for (near->hops = 0; near->hops <= 1; near->hops++) {
        bool is;
        near->guid = near->hops == 0 ? near->fabric->port_guid : 0;
        if (is_switch(near, &is, err) < 0)
            return -1;
        if (is)
            return 0;
    }
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "the SA's list of nodes was cut off, and %s port %u is linked to no switch "
                      "that could replace it",
                      near->fabric->port.ca, near->fabric->port.number);
}

static bool next_block(void *context, struct oneib_mad_request *request)
{
    struct near_switch *near = context;
    if (near->asked == near->blocks)
        return false;
    *request = directed(near, IB_ATTR_LINEARFORWTBL, (uint32_t)near->asked++);
    return true;
}

static int take_block(void *context, const struct oneib_mad_answer *answer, struct oneib_error *err)
{
    struct near_switch *near = context;
    if (answer->error || answer->status)
        return unanswered(near, "forwarding table", err);
    const uint8_t *exits = oneib_smp_data(answer);
    uint32_t base = answer->request->modifier * LIDS_PER_BLOCK;
    for (uint32_t i = 0; i < LIDS_PER_BLOCK; i++) {
        uint32_t lid = base + i;
        if (exits[i] == NO_EXIT || lid == 0 || lid > LID_LAST)
            continue;
        ONEIB_APPEND(near->subnet->ports, near->subnet->port_count, near->subnet->port_capacity,
                     (struct oneib_subnet_port){.lid = (uint16_t)lid});
    }
    return 0;
}

static int list_from_switch(struct oneib_fabric *fabric, struct oneib_subnet *subnet,
                            struct oneib_error *err)
{
    struct near_switch near = {.fabric = fabric, .subnet = subnet};
    struct oneib_mad_answer answer;
    if (find_switch(&near, err) < 0 ||
        ask_near(&near, IB_ATTR_SWITCH_INFO, "SwitchInfo", &answer, err) < 0)
        return -1;
    uint32_t top = mad_get_field(oneib_smp_data(&answer), 0, IB_SW_LINEAR_FDB_TOP_F);
    near.blocks = (top < LID_LAST ? top : LID_LAST) / LIDS_PER_BLOCK + 1;
    const struct oneib_mad_exchange exchange = {next_block, take_block, &near};
    return oneib_mad_run(&fabric->port, &exchange, err);
}

int oneib_list_ports(struct oneib_fabric *fabric, struct oneib_subnet *subnet, bool *from_sa,
                     struct oneib_error *err)
{
    if (oneib_sa_nodes(fabric, subnet, from_sa, err) < 0)
        return -1;
    return *from_sa ? 0 : list_from_switch(fabric, subnet, err);
}

static bool is_full_member(const struct oneib_subnet_port *port)
{
    for (unsigned i = 0; i < port->partition_cap; i++)
        if (port->pkeys[i] == oneib_pkey_raw(ONEIB_PKEY_DEFAULT, ONEIB_FULL))
            return true;
    return false;
}

int oneib_check_visibility(const struct oneib_subnet *subnet, oneib_guid own,
                           struct oneib_error *err)
{
    const struct oneib_subnet_port *port = oneib_subnet_find(subnet, own);
    if (!port)
        return oneib_fail(
            err, ONEIB_ERROR_PROTOCOL,
            "the SA's list of nodes lacks the asking port 0x%016" PRIx64 ": it is incomplete", own);
    if (!port->answered || is_full_member(port))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "port 0x%016" PRIx64
                      " is a limited member of the default partition, to which the SA does not "
                      "show all ports: list it in default_partition.full_members on every machine "
                      "that runs oneib, the master's first",
                      own);
}

int oneib_note_master(struct oneib_subnet *subnet, uint16_t sm_lid, struct oneib_error *err)
{
    for (size_t i = 0; i < subnet->port_count; i++)
        if (subnet->ports[i].lid == sm_lid) {
            subnet->sm_port_guid = subnet->ports[i].guid;
            return 0;
        }
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "no port has the LID %u of the master subnet manager: it is changing, try "
                      "again",
                      sm_lid);
}
