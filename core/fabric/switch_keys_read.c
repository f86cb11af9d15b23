// SPDX-License-Identifier: Apache-2.0
#include "fabric/switch_keys_read.h"
#include "base/array.h"
#include "base/order.h"
#include "fabric/fabric_internal.h"
#include "fabric/mad_jobs.h"
#include <stdlib.h>

#define KEYS_PER_BLOCK 32 /* of a P_KeyTable (IBA 1.2.1, 14.2.5.7) */

struct reader {
    const struct oneib_subnet *subnet;
    const struct oneib_fabric_links *links;
    struct oneib_mad_jobs jobs; /* tag: which link */
    struct oneib_stale_keys *keys;
};

ONEIB_ORDER_BY(compare_keys, struct oneib_stale_key, port_guid, switch_guid, switch_port, pkey);

static unsigned blocks_of(unsigned entries)
{
    return (entries + KEYS_PER_BLOCK - 1) / KEYS_PER_BLOCK;
}

static unsigned used_blocks(const struct oneib_subnet_port *port)
{
    unsigned used = port->partition_cap;
    while (used > 0 && oneib_pkey_base(port->pkeys[used - 1]) == 0)
        used--;
    return blocks_of(used);
}

/* Whether a switch's ports have blocks beyond those that an end port uses: many switches have one
 * block a port, and their links are not walked over. */
static bool has_blocks_beyond(const struct oneib_subnet *subnet)
{
    unsigned least = UINT16_MAX, most = 0;
    for (size_t i = 0; i < subnet->port_count; i++) {
        const struct oneib_subnet_port *port = &subnet->ports[i];
        const bool is_switch = port->node_type == ONEIB_NODE_SWITCH;
        if (is_switch && blocks_of(port->enforcement_cap) > most)
            most = blocks_of(port->enforcement_cap);
        if (!is_switch && port->answered && used_blocks(port) < least)
            least = used_blocks(port);
    }
    return least < most;
}

/* A full entry lets more through than a limited one. */
static bool holds(const struct oneib_subnet_port *port, uint16_t raw)
{
    for (unsigned i = 0; i < port->partition_cap; i++)
        if (port->pkeys[i] == raw || port->pkeys[i] == (raw | ONEIB_PKEY_FULL_BIT))
            return true;
    return false;
}

static void ask_beyond(struct reader *reader, size_t index)
{
    const struct oneib_switch_link *link = &reader->links->items[index];
    const struct oneib_subnet_port *end = oneib_subnet_find(reader->subnet, link->port_guid);
    const struct oneib_subnet_port *switch_port =
        oneib_subnet_find(reader->subnet, reader->links->routes[index].to);
    if (link->node_type == ONEIB_NODE_SWITCH || !end || !end->answered || !switch_port)
        return;
    const unsigned blocks = blocks_of(switch_port->enforcement_cap);
    const unsigned used = used_blocks(end);
    if (used >= blocks)
        return;
    const struct oneib_mad_job job = {.lid = switch_port->lid,
                                      .to = switch_port->guid,
                                      .attribute = IB_ATTR_PKEY_TBL,
                                      .modifier = (uint32_t)link->switch_port << 16 | used,
                                      .blocks = blocks - used,
                                      .tag = index};
    oneib_mad_jobs_add(&reader->jobs, &job);
}

static bool next_job(void *context, struct oneib_mad_request *request)
{
    struct reader *reader = context;
    return oneib_mad_jobs_next(&reader->jobs, request);
}

static int take_block(void *context, const struct oneib_mad_answer *answer, struct oneib_error *err)
{
    struct reader *reader = context;
    const size_t index = answer->request->tag;
    const struct oneib_switch_link *link = &reader->links->items[index];
    const struct oneib_subnet_port *end = oneib_subnet_find(reader->subnet, link->port_guid);
    (void)err;
    if (answer->error || answer->status) {
        reader->keys->unanswered++;
        return 0;
    }
    for (unsigned i = 0; i < KEYS_PER_BLOCK; i++) {
        const uint16_t raw = oneib_get16(oneib_smp_data(answer) + 2 * i);
        if (oneib_pkey_base(raw) != 0 && !holds(end, raw))
            ONEIB_APPEND(reader->keys->items, reader->keys->count, reader->keys->capacity,
                         (struct oneib_stale_key){link->port_guid, reader->links->routes[index].to,
                                                  link->switch_port, raw});
    }
    return 0;
}

static int read_beyond(struct oneib_fabric *fabric, struct reader *reader, struct oneib_error *err)
{
    const struct oneib_mad_exchange exchange = {next_job, take_block, reader};
    for (size_t i = 0; i < reader->links->count; i++)
        ask_beyond(reader, i);
    const int result = oneib_mad_run(&fabric->port, &exchange, err);
    oneib_mad_jobs_clear(&reader->jobs);
    return result;
}

int oneib_fabric_read_stale_keys(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                                 struct oneib_stale_keys *keys, struct oneib_error *err)
{
    oneib_autofabriclinks struct oneib_fabric_links links = {0};
    struct reader reader = {.subnet = subnet, .links = &links, .keys = keys};
    *keys = (struct oneib_stale_keys){0};
    if (!has_blocks_beyond(subnet))
        return 0;
    if (oneib_fabric_read_links(fabric, subnet, &links, err) < 0)
        return -1;
    keys->unanswered = links.unanswered;
    if (read_beyond(fabric, &reader, err) < 0) {
        oneib_stale_keys_clear(keys);
        return oneib_wrap(err, "reading the P_Key tables of switches' ports");
    }
    ONEIB_SORT(keys->items, keys->count, compare_keys);
    return 0;
}

void oneib_stale_keys_clear(struct oneib_stale_keys *keys)
{
    free(keys->items);
    *keys = (struct oneib_stale_keys){0};
}
