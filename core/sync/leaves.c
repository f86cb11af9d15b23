// SPDX-License-Identifier: Apache-2.0
#include "sync/leaves.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include <stdlib.h>

ONEIB_ORDER_BY(compare_leaves, struct oneib_leaf, port_guid);

static size_t count_ports(const struct oneib_cloud *cloud)
{
    size_t count = 0;
    for (size_t i = 0; i < cloud->host_count; i++)
        count += cloud->hosts[i].port_count;
    return count;
}

static void list_ports(const struct oneib_cloud *cloud, oneib_guid *ports)
{
    for (size_t i = 0; i < cloud->host_count; i++)
        for (size_t j = 0; j < cloud->hosts[i].port_count; j++)
            *ports++ = cloud->hosts[i].ports[j].port_guid;
}

static void keep_leaves(struct oneib_leaves *leaves, const oneib_guid *ports,
                        const oneib_guid *switches, size_t count)
{
    struct oneib_leaf *items = oneib_alloc(count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct oneib_leaf){ports[i], switches[i]};
    ONEIB_SORT(items, count, compare_leaves);
    free(leaves->items);
    *leaves = (struct oneib_leaves){items, count};
}

int oneib_leaves_find(struct oneib_fabric *fabric, const struct oneib_cloud *cloud,
                      const struct oneib_subnet *subnet, struct oneib_leaves *leaves,
                      struct oneib_error *err)
{
    const size_t count = count_ports(cloud);
    oneib_autofree oneib_guid *ports = oneib_alloc(count + 1, sizeof *ports);
    oneib_autofree oneib_guid *switches = oneib_alloc(count + 1, sizeof *switches);
    list_ports(cloud, ports);
    if (oneib_fabric_switches(fabric, subnet, ports, switches, count, err) < 0)
        return oneib_wrap(err, "finding the hosts' switches");
    keep_leaves(leaves, ports, switches, count);
    return 0;
}

oneib_guid oneib_leaf_of(const struct oneib_leaves *leaves, oneib_guid port_guid)
{
    const struct oneib_leaf wanted = {.port_guid = port_guid};
    const struct oneib_leaf *leaf =
        ONEIB_FIND(&wanted, leaves->items, leaves->count, compare_leaves);
    return leaf ? leaf->switch_guid : 0;
}

void oneib_leaves_clear(struct oneib_leaves *leaves)
{
    free(leaves->items);
    *leaves = (struct oneib_leaves){0};
}
