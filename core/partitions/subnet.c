// SPDX-License-Identifier: Apache-2.0
#include "partitions/subnet.h"
#include <stdlib.h>

static int compare_ports(const void *a, const void *b)
{
    const struct oneib_subnet_port *left = a, *right = b;
    return (left->guid > right->guid) - (left->guid < right->guid);
}

const struct oneib_subnet_port *oneib_subnet_find(const struct oneib_subnet *subnet,
                                                  oneib_guid guid)
{
    const struct oneib_subnet_port wanted = {.guid = guid};
    if (subnet->port_count == 0)
        return NULL;
    return bsearch(&wanted, subnet->ports, subnet->port_count, sizeof wanted, compare_ports);
}

void oneib_subnet_sort(struct oneib_subnet *subnet)
{
    if (subnet->port_count)
        qsort(subnet->ports, subnet->port_count, sizeof *subnet->ports, compare_ports);
}

void oneib_subnet_clear(struct oneib_subnet *subnet)
{
    for (size_t i = 0; i < subnet->port_count; i++)
        free(subnet->ports[i].pkeys);
    free(subnet->ports);
    *subnet = (struct oneib_subnet){0};
}
