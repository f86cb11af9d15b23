// SPDX-License-Identifier: Apache-2.0
/*
 * opensm (osm_prtn_config.c, osm_prtn.c; default options, so without allow_both_pkeys) goes through
 * a partition's members in the order of the file, and each sets the membership of the ports it
 * names, whatever it was before. "both" counts as full then. The default partition it makes first,
 * by itself: everybody limited, its own port full.
 */
#include "partitions/subnet_expect.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "ib/guid.h"
#include <stdlib.h>
#include <string.h>

#define WILDCARD_KINDS ONEIB_MEMBER_SELF /* the kinds before it */

/* One key on one port. */
struct grant {
    uint32_t port;
    uint16_t raw;
};

struct expander {
    const struct oneib_subnet *subnet;
    struct oneib_expectation *expectation;
    struct grant *grants; /* partition by partition, by key */
    size_t grant_count, grant_capacity;
    uint32_t *touched; /* ports that the partition at hand names */
    size_t touched_count;
    uint8_t *memberships; /* of each port in the partition at hand; NOT_NAMED */
};

#define NOT_NAMED 0xff

static void name_port(struct expander *expander, size_t port, uint8_t membership)
{
    if (expander->memberships[port] == NOT_NAMED)
        expander->touched[expander->touched_count++] = (uint32_t)port;
    expander->memberships[port] = membership == ONEIB_LIMITED ? ONEIB_LIMITED : ONEIB_FULL;
}

static bool is_of_kind(const struct oneib_subnet_port *port, uint8_t kind)
{
    switch (kind) {
    case ONEIB_MEMBER_ALL:
        return true;
    case ONEIB_MEMBER_ALL_CAS:
        return port->node_type == ONEIB_NODE_CA;
    case ONEIB_MEMBER_ALL_SWITCHES:
        return port->node_type == ONEIB_NODE_SWITCH;
    case ONEIB_MEMBER_ALL_ROUTERS:
        return port->node_type == ONEIB_NODE_ROUTER;
    default:
        return false;
    }
}

static void name_kind(struct expander *expander, uint8_t kind, uint8_t membership)
{
    for (size_t i = 0; i < expander->subnet->port_count; i++)
        if (is_of_kind(&expander->subnet->ports[i], kind))
            name_port(expander, i, membership);
}

static bool name_guid(struct expander *expander, oneib_guid guid, uint8_t membership)
{
    const struct oneib_subnet_port *port = oneib_subnet_find(expander->subnet, guid);
    if (port)
        name_port(expander, (size_t)(port - expander->subnet->ports), membership);
    return port != NULL;
}

/* A VF's GUID, which oneib makes, may be a virtual port, which this reading does not show. */
static void note_unseen(struct oneib_expectation *expectation, oneib_guid guid)
{
    if (oneib_is_virtual_port(0, guid))
        expectation->members_unverified++;
    else
        expectation->members_off_fabric++;
}

static void name_member(struct expander *expander, const struct oneib_member *member)
{
    if (member->kind == ONEIB_MEMBER_SELF)
        name_guid(expander, expander->subnet->sm_port_guid, member->membership);
    else if (member->kind != ONEIB_MEMBER_GUID)
        name_kind(expander, member->kind, member->membership);
    else if (!name_guid(expander, member->guid, member->membership))
        note_unseen(expander->expectation, member->guid);
}

static void name_members(struct expander *expander, const struct oneib_partition *partition)
{
    /* Only the last of equal wildcards decides: a file of nothing but ALL must not cost its square.
     */
    size_t last[WILDCARD_KINDS];
    for (size_t i = 0; i < partition->member_count; i++)
        if (partition->members[i].kind < WILDCARD_KINDS)
            last[partition->members[i].kind] = i;
    for (size_t i = 0; i < partition->member_count; i++) {
        uint8_t kind = partition->members[i].kind;
        if (kind >= WILDCARD_KINDS || last[kind] == i)
            name_member(expander, &partition->members[i]);
    }
}

static void grant_named(struct expander *expander, const struct oneib_partition *partition)
{
    ONEIB_RESERVE(expander->grants, expander->grant_capacity,
                  expander->grant_count + expander->touched_count);
    for (size_t i = 0; i < expander->touched_count; i++) {
        uint32_t port = expander->touched[i];
        expander->grants[expander->grant_count++] =
            (struct grant){port, oneib_pkey_raw(partition->pkey, expander->memberships[port])};
        expander->expectation->takes_index0[port] |= partition->indx0;
        expander->memberships[port] = NOT_NAMED;
    }
    expander->touched_count = 0;
}

static void name_by_default(struct expander *expander)
{
    name_kind(expander, ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    name_guid(expander, expander->subnet->sm_port_guid, ONEIB_FULL);
}

static void expand_partition(struct expander *expander, const struct oneib_partition *partition)
{
    if (partition->pkey == ONEIB_PKEY_DEFAULT)
        name_by_default(expander);
    name_members(expander, partition);
    grant_named(expander, partition);
}

ONEIB_ORDER(compare_keys, struct oneib_partition *const,
            ONEIB_COMPARE((*left)->pkey, (*right)->pkey));

static void expand_in_order(struct expander *expander, const struct oneib_partition **partitions,
                            size_t count)
{
    static const struct oneib_partition unwritten_default = {.pkey = ONEIB_PKEY_DEFAULT};
    ONEIB_SORT(partitions, count, compare_keys);
    for (size_t i = 0; i < count; i++)
        expand_partition(expander, partitions[i]);
    if (count && partitions[count - 1]->pkey == ONEIB_PKEY_DEFAULT)
        return;
    expand_partition(expander, &unwritten_default);
}

static void expand_table(struct expander *expander, const struct oneib_partition_table *table)
{
    const struct oneib_partition **partitions = oneib_alloc(table->count + 1, sizeof *partitions);
    for (size_t i = 0; i < table->count; i++)
        partitions[i] = &table->items[i];
    expand_in_order(expander, partitions, table->count);
    free(partitions);
}

/* From grants by key to grants by port; within a port they stay in the order of their keys. */
static void sort_by_port(struct expander *expander)
{
    struct oneib_expectation *expectation = expander->expectation;
    size_t ports = expander->subnet->port_count;
    expectation->first = oneib_alloc(ports + 2, sizeof *expectation->first);
    expectation->raw = oneib_alloc(expander->grant_count + 1, sizeof *expectation->raw);

    /* Counted two places further on, so that after the fill each place holds where its port begins.
     */
    uint32_t *next = expectation->first + 1;
    for (size_t i = 0; i < expander->grant_count; i++)
        expectation->first[expander->grants[i].port + 2]++;
    for (size_t i = 2; i < ports + 2; i++)
        expectation->first[i] += expectation->first[i - 1];
    for (size_t i = 0; i < expander->grant_count; i++)
        expectation->raw[next[expander->grants[i].port]++] = expander->grants[i].raw;
}

static void expand(struct expander *expander, const struct oneib_partition_table *table)
{
    size_t ports = expander->subnet->port_count;
    expander->touched = oneib_alloc(ports + 1, sizeof *expander->touched);
    expander->memberships = oneib_alloc(ports + 1, 1);
    expander->expectation->takes_index0 = oneib_alloc(ports + 1, sizeof(bool));
    memset(expander->memberships, NOT_NAMED, ports + 1);
    expand_table(expander, table);
    sort_by_port(expander);
}

void oneib_subnet_expect(const struct oneib_subnet *subnet,
                         const struct oneib_partition_table *table,
                         struct oneib_expectation *expectation)
{
    *expectation = (struct oneib_expectation){0};
    struct expander expander = {.subnet = subnet, .expectation = expectation};
    expand(&expander, table);
    free(expander.grants);
    free(expander.touched);
    free(expander.memberships);
}

void oneib_expectation_clear(struct oneib_expectation *expectation)
{
    free(expectation->first);
    free(expectation->raw);
    free(expectation->takes_index0);
    *expectation = (struct oneib_expectation){0};
}
