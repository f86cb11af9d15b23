// SPDX-License-Identifier: Apache-2.0
#include "fabric/discover.h"

#include "base/array.h"
#include "fabric/internal.h"
#include "fabric/port_info.h"
#include <infiniband/ibnetdisc.h>

static int compare_nodes(const void *a, const void *b)
{
    const struct oneib_topology_node *left = a, *right = b;
    return left->guid < right->guid ? -1 : left->guid > right->guid;
}

static int add_node(struct oneib_topology *topology, const ibnd_node_t *found,
                    struct oneib_error *err)
{
    if (oneib_reserve(&topology->nodes, &topology->node_capacity, topology->node_count + 1,
                      sizeof(*topology->nodes), err) < 0)
        return -1;
    struct oneib_topology_node *node = &topology->nodes[topology->node_count++];
    *node = (struct oneib_topology_node){
        .guid = found->guid,
        .type = (uint8_t)found->type,
        .port_count = (uint8_t)found->numports,
    };
    memcpy(node->description, found->nodedesc, sizeof(node->description) - 1);
    return 0;
}

static size_t index_of(const struct oneib_topology *topology, oneib_guid guid)
{
    const struct oneib_topology_node key = {.guid = guid};
    const struct oneib_topology_node *node =
        bsearch(&key, topology->nodes, topology->node_count, sizeof(key), compare_nodes);
    return (size_t)(node - topology->nodes); /* libibnetdisc links nodes of its list only */
}

static oneib_guid guid_of(ibnd_port_t *port)
{
    if (port->node->type == ONEIB_NODE_SWITCH)
        return mad_get_field64(port->node->info, 0, IB_NODE_PORT_GUID_F);
    return port->guid;
}

static bool is_lower_end(size_t a, int a_port, size_t b, int b_port)
{
    return a < b || (a == b && a_port < b_port);
}

/* Each link is seen from both of its ends, and kept from the lower one. */
static int add_link(struct oneib_topology *topology, ibnd_port_t *port, struct oneib_error *err)
{
    ibnd_port_t *remote = port->remoteport;
    if (!remote)
        return 0;
    size_t a = index_of(topology, port->node->guid);
    size_t b = index_of(topology, remote->node->guid);
    if (!is_lower_end(a, port->portnum, b, remote->portnum))
        return 0;
    if (oneib_reserve(&topology->links, &topology->link_capacity, topology->link_count + 1,
                      sizeof(*topology->links), err) < 0)
        return -1;
    topology->links[topology->link_count++] = (struct oneib_topology_link){
        .a = a,
        .b = b,
        .a_port = (uint8_t)port->portnum,
        .b_port = (uint8_t)remote->portnum,
        .a_guid = guid_of(port),
        .b_guid = guid_of(remote),
        .rate_gbps = oneib_port_info_active_gbps(port->info),
    };
    return 0;
}

static int compare_links(const void *x, const void *y)
{
    const struct oneib_topology_link *left = x, *right = y;
    if (left->a != right->a)
        return left->a < right->a ? -1 : 1;
    return (int)left->a_port - (int)right->a_port;
}

static int convert(const ibnd_fabric_t *found, struct oneib_topology *topology,
                   struct oneib_error *err)
{
    for (const ibnd_node_t *node = found->nodes; node; node = node->next)
        if (add_node(topology, node, err) < 0)
            return -1;
    if (topology->node_count)
        qsort(topology->nodes, topology->node_count, sizeof(*topology->nodes), compare_nodes);
    for (const ibnd_node_t *node = found->nodes; node; node = node->next)
        for (int i = 0; node->ports && i <= node->numports; i++)
            if (node->ports[i] && add_link(topology, node->ports[i], err) < 0)
                return -1;
    if (topology->link_count)
        qsort(topology->links, topology->link_count, sizeof(*topology->links), compare_links);
    return 0;
}

/* libibnetdisc knows one key for all ports: the first of those that any port may have. */
static int choose_key(const struct oneib_fabric_options *options, uint64_t *key,
                      struct oneib_error *err)
{
    struct oneib_m_key_file file;
    if (oneib_m_key_file_open(options->m_key_file, &file, err) < 0)
        return -1;
    *key = oneib_m_key_to_try(&file.keys, 0, 0);
    oneib_m_key_file_close(&file);
    return 0;
}

int oneib_fabric_discover(const struct oneib_fabric_options *options,
                          struct oneib_topology *topology, struct oneib_error *err)
{
    *topology = (struct oneib_topology){0};
    umad_port_t port;
    if (oneib_port_choose(options, ONEIB_PORT_INITIALIZE, &port, err) < 0)
        return oneib_wrap(err, "discovering the fabric");
    ibnd_config_t config = {
        .max_smps = options->window,
        .timeout_ms = options->timeout_ms,
        .retries = options->retries,
    };
    if (choose_key(options, &config.mkey, err) < 0)
        return oneib_wrap(err, "discovering the fabric");
    ibnd_fabric_t *found = ibnd_discover_fabric(port.ca_name, port.portnum, NULL, &config);
    if (!found)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                          "discovering the fabric from %s port %d: directed-route queries fail; is "
                          "ib_umad loaded, and may this user read and write /dev/infiniband/umad*?",
                          port.ca_name, port.portnum);
    int result = convert(found, topology, err);
    ibnd_destroy_fabric(found);
    if (result < 0)
        oneib_topology_clear(topology);
    return result;
}
