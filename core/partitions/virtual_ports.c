// SPDX-License-Identifier: Apache-2.0
#include "partitions/virtual_ports.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include <stdlib.h>
#include <string.h>

#define PORT_DOWN 1

/* ---- one physical port ----------------------------------------------------------------------- */

static bool is_up(const struct oneib_vport *vport)
{
    return vport->state > PORT_DOWN && vport->guid != 0 && vport->guid != UINT64_MAX;
}

static const struct oneib_vport *find_vport(const struct oneib_vport_owner *owner, oneib_guid guid)
{
    for (size_t i = 0; i < owner->count; i++)
        if (owner->items[i].guid == guid && is_up(&owner->items[i]))
            return &owner->items[i];
    return NULL;
}

/* By port. */
struct reports {
    const struct oneib_vport_report *items;
    size_t count;
};

/* Those of one port. */
static struct reports of_port(const struct reports *all, oneib_guid port)
{
    const size_t first = ONEIB_LOWER_BOUND(i, all->count, all->items[i].port < port);
    return (struct reports){all->items + first,
                            ONEIB_RUN(i, first, all->count, all->items[i].port == port)};
}

static bool shows_all(const struct oneib_vport_owner *owner, const struct reports *all)
{
    const struct reports own = of_port(all, owner->guid);
    for (size_t i = 0; i < own.count; i++)
        if (!find_vport(owner, own.items[i].guid))
            return false;
    return own.count > 0;
}

/* ---- its tables ------------------------------------------------------------------------------ */

static bool is_read(const struct oneib_vport *vport)
{
    return vport->pkeys && vport->blocks_due == 0;
}

static bool holds(const struct oneib_vport *vport, oneib_pkey pkey)
{
    for (size_t i = 0; i < vport->pkey_cap; i++)
        if (oneib_pkey_base(vport->pkeys[i]) == pkey)
            return true;
    return false;
}

static bool holds_own_alone(const struct oneib_vport_owner *owner,
                            const struct oneib_vport_report *report,
                            const struct oneib_vport_report *other)
{
    const struct oneib_vport *vport = find_vport(owner, report->guid);
    return vport && is_read(vport) && holds(vport, report->pkey) && !holds(vport, other->pkey);
}

static bool differ_as_they_must(const struct oneib_vport_owner *owner,
                                const struct oneib_vport_report *a,
                                const struct oneib_vport_report *b)
{
    return holds_own_alone(owner, a, b) && holds_own_alone(owner, b, a);
}

static bool has_proved_tables(const struct oneib_vport_owner *owner, const struct reports *all)
{
    const struct reports own = of_port(all, owner->guid);
    for (size_t i = 0; i < own.count; i++)
        for (size_t j = i + 1; j < own.count; j++)
            if (differ_as_they_must(owner, &own.items[i], &own.items[j]))
                return true;
    return false;
}

/* ---- the proof ------------------------------------------------------------------------------- */

static size_t count_owners(const struct reports *reports)
{
    size_t count = 0;
    for (size_t i = 0; i < reports->count; i++)
        count += i == 0 || reports->items[i].port != reports->items[i - 1].port;
    return count;
}

static bool answers(const struct oneib_vport_reading *reading, const struct reports *all)
{
    for (size_t i = 0; i < reading->count; i++)
        if (of_port(all, reading->items[i].guid).count > 0)
            return true;
    return false;
}

static void prove(const struct oneib_vport_reading *reading, const struct reports *reports,
                  struct oneib_vport_result *result)
{
    bool has_keys = false;
    *result = (struct oneib_vport_result){.owners = count_owners(reports)};
    for (size_t i = 0; i < reading->count; i++) {
        if (!shows_all(&reading->items[i], reports))
            continue;
        result->believed++;
        has_keys = has_keys || has_proved_tables(&reading->items[i], reports);
    }
    if (reports->count == 0)
        result->proof = ONEIB_VPORTS_NONE_REPORTED;
    else if (!answers(reading, reports))
        result->proof = ONEIB_VPORTS_NO_ANSWER;
    else if (result->believed == 0)
        result->proof = ONEIB_VPORTS_NO_GUIDS;
    else if (!has_keys)
        result->proof = ONEIB_VPORTS_NO_KEYS;
}

const char *oneib_vport_proof_words(enum oneib_vport_proof proof)
{
    static const char *const words[] = {
        [ONEIB_VPORTS_PROVEN] = "the ports show what hosts have reported",
        [ONEIB_VPORTS_NONE_REPORTED] =
            "no host has reported an open virtual function of mlx5 to compare them with",
        [ONEIB_VPORTS_NO_ANSWER] = "no port of theirs says that it has virtual ports",
        [ONEIB_VPORTS_NO_GUIDS] = "no port shows the GUIDs that its host has reported",
        [ONEIB_VPORTS_NO_KEYS] =
            "no two virtual ports of one adapter show tables that differ as their keys do",
    };
    return words[proof];
}

/* ---- into the subnet ------------------------------------------------------------------------- */

static void add_vport(const struct oneib_vport_owner *owner, size_t number,
                      struct oneib_subnet *subnet)
{
    const struct oneib_vport *vport = &owner->items[number];
    struct oneib_subnet_port port = {.guid = vport->guid,
                                     .node_guid = owner->node_guid,
                                     .owner = owner->guid,
                                     .vport = (uint16_t)number,
                                     .lid = owner->lid,
                                     .node_type = ONEIB_NODE_CA,
                                     .partition_cap = vport->pkey_cap,
                                     .answered = is_read(vport)};
    if (port.answered) {
        port.pkeys = oneib_alloc(vport->pkey_cap, sizeof *port.pkeys);
        memcpy(port.pkeys, vport->pkeys, vport->pkey_cap * sizeof *port.pkeys);
    }
    ONEIB_APPEND(subnet->ports, subnet->port_count, subnet->port_capacity, port);
}

/* The function that is the physical port itself has its GUID. */
static void add_owner(const struct oneib_vport_owner *owner, struct oneib_subnet *subnet,
                      size_t *added)
{
    for (size_t i = 0; i < owner->count; i++) {
        const struct oneib_vport *vport = &owner->items[i];
        if (!is_up(vport) || vport->guid == owner->guid)
            continue;
        add_vport(owner, i, subnet);
        ++*added;
    }
}

static void distrust(struct oneib_subnet_port *port)
{
    free(port->pkeys);
    port->pkeys = NULL;
    port->answered = false;
}

/* Of two with one GUID nobody knows which is meant. */
static void distrust_twins(struct oneib_subnet *subnet)
{
    for (size_t i = 1; i < subnet->port_count; i++)
        if (subnet->ports[i].guid == subnet->ports[i - 1].guid) {
            distrust(&subnet->ports[i - 1]);
            distrust(&subnet->ports[i]);
        }
}

static void add_believed(const struct oneib_vport_reading *reading, const struct reports *all,
                         struct oneib_subnet *subnet, struct oneib_vport_result *result)
{
    for (size_t i = 0; i < reading->count; i++)
        if (shows_all(&reading->items[i], all))
            add_owner(&reading->items[i], subnet, &result->added);
    oneib_subnet_sort(subnet);
    distrust_twins(subnet);
}

int oneib_vport_report_compare(const void *left_item, const void *right_item)
{
    const struct oneib_vport_report *left = left_item, *right = right_item;
    return ONEIB_BY(port, guid, pkey);
}

static struct oneib_vport_report *sort_reports(const struct oneib_vport_report *reports,
                                               size_t count)
{
    struct oneib_vport_report *sorted = oneib_alloc(count + 1, sizeof *sorted);
    if (count > 0)
        memcpy(sorted, reports, count * sizeof *sorted);
    ONEIB_SORT(sorted, count, oneib_vport_report_compare);
    return sorted;
}

void oneib_vports_add(const struct oneib_vport_reading *reading,
                      const struct oneib_vport_report *reports, size_t report_count,
                      struct oneib_subnet *subnet, struct oneib_vport_result *result)
{
    oneib_autofree struct oneib_vport_report *sorted = sort_reports(reports, report_count);
    const struct reports all = {sorted, report_count};
    prove(reading, &all, result);
    if (result->proof == ONEIB_VPORTS_PROVEN)
        add_believed(reading, &all, subnet, result);
}

/* ---- some of them again ---------------------------------------------------------------------- */

bool oneib_vports_show(const struct oneib_subnet *subnet, const struct oneib_vport_report *report)
{
    const struct oneib_subnet_port *port = oneib_subnet_find(subnet, report->guid);
    if (!port || port->owner != report->port || !port->answered)
        return false;
    for (size_t i = 0; i < port->partition_cap; i++)
        if (oneib_pkey_base(port->pkeys[i]) == report->pkey)
            return true;
    return false;
}

/* What has not got its key yet is no deviation: whoever reads it again may be early. */
static bool shows_all_with_keys(const struct oneib_vport_owner *owner, const struct reports *all)
{
    const struct reports own = of_port(all, owner->guid);
    for (size_t i = 0; i < own.count; i++) {
        const struct oneib_vport *vport = find_vport(owner, own.items[i].guid);
        if (!vport || !is_read(vport) || !holds(vport, own.items[i].pkey))
            return false;
    }
    return own.count > 0;
}

static void drop_vports_of(struct oneib_subnet *subnet, oneib_guid owner, size_t *added)
{
    size_t kept = 0;
    for (size_t i = 0; i < subnet->port_count; i++)
        if (subnet->ports[i].owner != owner)
            subnet->ports[kept++] = subnet->ports[i];
        else
            free(subnet->ports[i].pkeys);
    *added -= subnet->port_count - kept;
    subnet->port_count = kept;
}

static void renew_believed(const struct oneib_vport_reading *reading, const struct reports *all,
                           struct oneib_subnet *subnet, size_t *added)
{
    for (size_t i = 0; i < reading->count; i++) {
        if (!shows_all_with_keys(&reading->items[i], all))
            continue;
        drop_vports_of(subnet, reading->items[i].guid, added);
        add_owner(&reading->items[i], subnet, added);
    }
    oneib_subnet_sort(subnet);
    distrust_twins(subnet);
}

void oneib_vports_renew(const struct oneib_vport_reading *reading,
                        const struct oneib_vport_report *reports, size_t report_count,
                        struct oneib_subnet *subnet, struct oneib_vport_result *result,
                        bool *proves)
{
    *proves = false;
    oneib_autofree struct oneib_vport_report *sorted = sort_reports(reports, report_count);
    const struct reports all = {sorted, report_count};
    if (result->proof == ONEIB_VPORTS_PROVEN) {
        renew_believed(reading, &all, subnet, &result->added);
        return;
    }
    for (size_t i = 0; i < reading->count; i++)
        *proves |=
            shows_all(&reading->items[i], &all) && has_proved_tables(&reading->items[i], &all);
}

void oneib_vport_reading_clear(struct oneib_vport_reading *reading)
{
    for (size_t i = 0; i < reading->count; i++) {
        struct oneib_vport_owner *owner = &reading->items[i];
        for (size_t j = 0; j < owner->count; j++)
            free(owner->items[j].pkeys);
        free(owner->items);
    }
    free(reading->items);
    *reading = (struct oneib_vport_reading){0};
}
