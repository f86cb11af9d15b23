// SPDX-License-Identifier: Apache-2.0
#include "sync/losses.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/order.h"
#include "cluster/port_index.h"
#include "partitions/subnet_expect.h"
#include <inttypes.h>
#include <stdlib.h>

#define PORTS_NAMED 32

enum loss_kind { LOST_PARTITION, LOST_FULL, LOST_IPOIB };

struct loss {
    oneib_pkey pkey;
    uint8_t kind;  /* enum loss_kind */
    uint32_t port; /* index into the subnet's */
};

struct losses {
    const struct oneib_config *config;
    const struct oneib_snapshot *snapshot;
    struct oneib_port_index known;
    struct oneib_expectation before, after;
    struct loss *items;
    size_t count, capacity;
};

/* A switch's own port, a host's, and a VF's are no port of the site's own. */
static bool is_of_site(const struct losses *losses, const struct oneib_subnet_port *port)
{
    return port->node_type != ONEIB_NODE_SWITCH && port->owner == 0 &&
           !oneib_port_index_find(&losses->known, port->guid);
}

/* The widest of the key's entries; 0: none. */
static uint16_t widest(const uint16_t *raws, size_t count, oneib_pkey pkey)
{
    uint16_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (raws[i] && oneib_pkey_base(raws[i]) == pkey && raws[i] > found)
            found = raws[i];
    return found;
}

static const uint16_t *expected(const struct oneib_expectation *expectation, size_t port,
                                size_t *count)
{
    *count = expectation->first[port + 1] - expectation->first[port];
    return expectation->raw + expectation->first[port];
}

static const uint16_t *in_force(const struct losses *losses, size_t i, size_t *count)
{
    const struct oneib_subnet_port *port = &losses->snapshot->subnet.ports[i];
    if (oneib_seen_has_table(&losses->snapshot->seen))
        return expected(&losses->before, i, count);
    *count = port->answered ? port->partition_cap : 0;
    return port->pkeys;
}

static bool has_ipoib(const struct oneib_partition_table *table, oneib_pkey pkey)
{
    const struct oneib_partition *partition = oneib_partition_table_find(table, pkey);
    return partition && partition->ipoib;
}

static bool is_clusters(const struct losses *losses, oneib_pkey pkey)
{
    uint32_t cluster;
    const struct oneib_partition *partition =
        oneib_partition_table_find(&losses->snapshot->seen.table, pkey);
    return partition && oneib_partition_cluster(partition, &cluster);
}

static void add(struct losses *losses, enum loss_kind kind, size_t port, oneib_pkey pkey)
{
    const struct loss loss = {.pkey = pkey, .kind = (uint8_t)kind, .port = (uint32_t)port};
    ONEIB_APPEND(losses->items, losses->count, losses->capacity, loss);
}

static void compare_key(struct losses *losses, size_t port, uint16_t before)
{
    const struct oneib_snapshot *snapshot = losses->snapshot;
    const oneib_pkey pkey = oneib_pkey_base(before);
    size_t count;
    const uint16_t *raws = expected(&losses->after, port, &count);
    const uint16_t after = widest(raws, count, pkey);
    if (is_clusters(losses, pkey))
        return;
    if (!after)
        add(losses, LOST_PARTITION, port, pkey);
    else if (oneib_pkey_is_full(before) && !oneib_pkey_is_full(after))
        add(losses, LOST_FULL, port, pkey);
    if (after && has_ipoib(&snapshot->seen.table, pkey) &&
        !has_ipoib(&snapshot->desired.table, pkey))
        add(losses, LOST_IPOIB, port, pkey);
}

static void compare_port(struct losses *losses, size_t port)
{
    size_t count;
    const uint16_t *raws = in_force(losses, port, &count);
    for (size_t i = 0; i < count; i++)
        if (raws[i])
            compare_key(losses, port, raws[i]);
}

ONEIB_ORDER_BY(compare_losses, struct loss, pkey, kind, port);

static void find(struct losses *losses)
{
    const struct oneib_subnet *subnet = &losses->snapshot->subnet;
    for (size_t i = 0; i < subnet->port_count; i++)
        if (is_of_site(losses, &subnet->ports[i]))
            compare_port(losses, i);
    ONEIB_SORT(losses->items, losses->count, compare_losses);
    ONEIB_UNIQUE(losses->items, losses->count, compare_losses);
}

static void append_ports(const struct losses *losses, size_t first, size_t end,
                         struct oneib_text *text)
{
    for (size_t i = first; i < end && i < first + PORTS_NAMED; i++) {
        const struct oneib_subnet_port *port =
            &losses->snapshot->subnet.ports[losses->items[i].port];
        oneib_text_printf(text, "%s0x%016" PRIx64 " \"", i > first ? ", " : "", port->guid);
        oneib_text_append_escaped(text, port->description, sizeof port->description);
        oneib_text_append(text, "\"");
    }
    if (end - first > PORTS_NAMED)
        oneib_text_printf(text, " and %zu more", end - first - PORTS_NAMED);
}

static void append_fix(const struct losses *losses, const struct loss *loss,
                       struct oneib_text *text)
{
    if (loss->pkey != ONEIB_PKEY_DEFAULT)
        oneib_text_printf(text, "to keep it define the partition in %s",
                          losses->config->opensm.static_partitions);
    else if (loss->kind == LOST_IPOIB)
        oneib_text_append(text, "to keep it set default_partition.ipoib = true in oneib.conf");
    else
        oneib_text_append(text, "to keep it list the ports in default_partition.full_members of "
                                "oneib.conf: every tenant reaches these");
}

static void note(const struct losses *losses, size_t first, size_t end,
                 struct oneib_findings *findings)
{
    static const char *const words[] = {
        [LOST_PARTITION] = "membership of",
        [LOST_FULL] = "full membership of",
        [LOST_IPOIB] = "IPoIB on",
    };
    const struct loss *loss = &losses->items[first];
    const struct oneib_partition *partition =
        oneib_partition_table_find(&losses->snapshot->seen.table, loss->pkey);
    oneib_autotext struct oneib_text ports = {0}, fix = {0}, name = {0};
    if (partition || loss->pkey == ONEIB_PKEY_DEFAULT)
        oneib_text_printf(&name, "\"%s\" ", partition ? partition->name : "Default");
    append_ports(losses, first, end, &ports);
    append_fix(losses, loss, &fix);
    oneib_findings_note_with(findings, ONEIB_FINDING_ACCESS_REMOVED, ONEIB_WARNING, fix.data,
                             "%s partition %s(0x%04x) ends for %zu port%s that OpenNebula does not "
                             "know: %s",
                             words[loss->kind], name.data ? name.data : "", loss->pkey, end - first,
                             end - first == 1 ? "" : "s", ports.data);
}

void oneib_losses_note(const struct oneib_config *config, const struct oneib_snapshot *snapshot,
                       struct oneib_findings *findings)
{
    struct losses losses = {.config = config, .snapshot = snapshot};
    if (!snapshot->subnet_known)
        return;
    oneib_port_index_make(&snapshot->cloud, &losses.known);
    oneib_subnet_expect(&snapshot->subnet, &snapshot->seen.table, &losses.before);
    oneib_subnet_expect(&snapshot->subnet, &snapshot->desired.table, &losses.after);
    find(&losses);
    for (size_t first = 0, end; first < losses.count; first = end) {
        const struct loss *loss = &losses.items[first];
        end = first +
              ONEIB_RUN(i, first, losses.count,
                        losses.items[i].pkey == loss->pkey && losses.items[i].kind == loss->kind);
        note(&losses, first, end, findings);
    }
    oneib_findings_sort(findings);
    free(losses.items);
    oneib_expectation_clear(&losses.before);
    oneib_expectation_clear(&losses.after);
    oneib_port_index_clear(&losses.known);
}
