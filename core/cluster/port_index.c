// SPDX-License-Identifier: Apache-2.0
#include "cluster/port_index.h"
#include "base/array.h"
#include "base/number.h"
#include "base/order.h"
#include <stdlib.h>
#include <string.h>

ONEIB_ORDER_BY(compare_ports, struct oneib_known_port, guid, host->id);

static void add_ports(struct oneib_port_index *index, const struct oneib_host *host)
{
    ONEIB_RESERVE(index->items, index->capacity, index->count + host->port_count);
    for (size_t i = 0; i < host->port_count; i++)
        index->items[index->count++] =
            (struct oneib_known_port){host->ports[i].port_guid, host, &host->ports[i]};
}

void oneib_port_index_make(const struct oneib_cloud *cloud, struct oneib_port_index *index)
{
    *index = (struct oneib_port_index){0};
    for (size_t i = 0; i < cloud->host_count; i++)
        add_ports(index, &cloud->hosts[i]);
    ONEIB_SORT(index->items, index->count, compare_ports);
}

const struct oneib_known_port *oneib_port_index_find(const struct oneib_port_index *index,
                                                     oneib_guid guid)
{
    const size_t first = ONEIB_LOWER_BOUND(i, index->count, index->items[i].guid < guid);
    return first < index->count && index->items[first].guid == guid ? &index->items[first] : NULL;
}

void oneib_port_index_clear(struct oneib_port_index *index)
{
    free(index->items);
    *index = (struct oneib_port_index){0};
}

bool oneib_cluster_name_parse(const char *name, uint32_t *network_id)
{
    uint64_t id;
    if (strncmp(name, "one", 3) != 0 || !oneib_parse_decimal(name + 3, ONEIB_NO_ID - 1, &id))
        return false;
    *network_id = (uint32_t)id;
    return true;
}

bool oneib_partition_cluster(const struct oneib_partition *partition, uint32_t *network_id)
{
    char name[ONEIB_PARTITION_NAME_SIZE];
    memcpy(name, partition->name, sizeof name);
    name[sizeof name - 1] = 0;
    name[strcspn(name, "-")] = 0;
    return oneib_cluster_name_parse(name, network_id);
}

const struct oneib_network *oneib_network_of(const struct oneib_cloud *cloud,
                                             const struct oneib_partition *partition)
{
    uint32_t id;
    return oneib_cluster_name_parse(partition->name, &id) ? oneib_cloud_network(cloud, id) : NULL;
}

const struct oneib_network *oneib_network_of_key(const struct oneib_cloud *cloud,
                                                 const struct oneib_partition_table *table,
                                                 oneib_pkey pkey)
{
    const struct oneib_partition *partition = oneib_partition_table_find(table, pkey);
    return partition ? oneib_network_of(cloud, partition) : NULL;
}
