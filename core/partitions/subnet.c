// SPDX-License-Identifier: Apache-2.0
#include "partitions/subnet.h"
#include "base/hash.h"
#include "base/order.h"
#include <stdlib.h>

ONEIB_ORDER_BY(compare_ports, struct oneib_subnet_port, guid);

const struct oneib_subnet_port *oneib_subnet_find(const struct oneib_subnet *subnet,
                                                  oneib_guid guid)
{
    const struct oneib_subnet_port wanted = {.guid = guid};
    return ONEIB_FIND(&wanted, subnet->ports, subnet->port_count, compare_ports);
}

uint64_t oneib_subnet_mix_links(uint64_t hash, const struct oneib_subnet *subnet)
{
    for (size_t i = 0; i < subnet->port_count; i++)
        if (subnet->ports[i].owner == 0)
            hash =
                oneib_hash_mix(oneib_hash_mix(hash, subnet->ports[i].guid), subnet->ports[i].lid);
    return hash;
}

void oneib_subnet_sort(struct oneib_subnet *subnet)
{
    ONEIB_SORT(subnet->ports, subnet->port_count, compare_ports);
}

void oneib_subnet_clear(struct oneib_subnet *subnet)
{
    for (size_t i = 0; i < subnet->port_count; i++)
        free(subnet->ports[i].pkeys);
    free(subnet->ports);
    *subnet = (struct oneib_subnet){0};
}
