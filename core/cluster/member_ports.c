// SPDX-License-Identifier: Apache-2.0
#include "cluster/member_ports.h"
#include "base/array.h"
#include "base/order.h"
#include <stdlib.h>

ONEIB_ORDER_BY(compare_pairs, struct oneib_member_port, member);

/* ---- making ---------------------------------------------------------------------------------- */

static void add(struct oneib_member_ports *ports, oneib_guid member, oneib_guid port)
{
    if (member == 0 || port == 0 || member == port)
        return;
    ONEIB_APPEND(ports->items, ports->count, ports->capacity,
                 (struct oneib_member_port){member, port});
}

static void add_all(const struct oneib_desired *desired, const struct oneib_subnet *subnet,
                    struct oneib_member_ports *ports)
{
    for (size_t i = 0; i < desired->binding_count; i++)
        add(ports, desired->bindings[i].member, desired->bindings[i].port);
    for (size_t i = 0; i < subnet->port_count; i++)
        add(ports, subnet->ports[i].guid, subnet->ports[i].owner);
}

void oneib_member_ports_make(const struct oneib_desired *desired, const struct oneib_subnet *subnet,
                             struct oneib_member_ports *ports)
{
    *ports = (struct oneib_member_ports){0};
    add_all(desired, subnet, ports);
    ONEIB_SORT(ports->items, ports->count, compare_pairs);
}

void oneib_member_ports_clear(struct oneib_member_ports *ports)
{
    free(ports->items);
    *ports = (struct oneib_member_ports){0};
}

/* ---- of a partition -------------------------------------------------------------------------- */

/* Index of its first pair, or of a later member's. */
static size_t first_pair(const struct oneib_member_ports *ports, oneib_guid member)
{
    return ONEIB_LOWER_BOUND(i, ports->count, ports->items[i].member < member);
}

struct guids {
    oneib_guid *items;
    size_t count, capacity;
};

static void append(struct guids *guids, oneib_guid guid)
{
    ONEIB_APPEND(guids->items, guids->count, guids->capacity, guid);
}

static void append_member(const struct oneib_member_ports *ports, oneib_guid member,
                          struct guids *guids)
{
    size_t at = first_pair(ports, member);
    if (at == ports->count || ports->items[at].member != member) {
        append(guids, member);
        return;
    }
    for (; at < ports->count && ports->items[at].member == member; at++)
        append(guids, ports->items[at].port);
}

/* Several members on one port use the same links. */
static void keep_each_once(struct guids *guids)
{
    ONEIB_SORT(guids->items, guids->count, oneib_guid_compare);
    ONEIB_UNIQUE(guids->items, guids->count, oneib_guid_compare);
}

void oneib_member_ports_of(const struct oneib_member_ports *ports,
                           const struct oneib_partition *partition, oneib_guid **guids,
                           size_t *count)
{
    struct guids all = {0};
    for (size_t i = 0; i < partition->member_count; i++)
        append_member(ports, partition->members[i].guid, &all);
    keep_each_once(&all);
    *guids = all.items;
    *count = all.count;
}
