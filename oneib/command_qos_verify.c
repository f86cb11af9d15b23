// SPDX-License-Identifier: Apache-2.0
#include "oneib/command_qos_verify.h"
#include "base/cleanup.h"
#include "cluster/port_index.h"
#include "fabric/qos_read.h"
#include "sync/classes.h"
#include <stdlib.h>

static int judge_ports(struct oneib_looked *looked, const struct oneib_qos *qos,
                       struct oneib_qos_verdict *verdict, struct oneib_error *err)
{
    struct oneib_qos_reading reading;
    if (oneib_fabric_read_qos(looked->session.fabric, &looked->view.subnet, qos, &reading, err) < 0)
        return -1;
    verdict->ports = reading.count;
    const int outcome = oneib_qos_judge_ports(qos, looked->session.config.qos.entries, &reading,
                                              &looked->findings, &verdict->port_drift, err);
    oneib_qos_reading_clear(&reading);
    return outcome;
}

/* The first of the partition's members that are on the fabric, and the next one, or the same. */
static bool ends_of(const struct oneib_partition *partition, const struct oneib_subnet *subnet,
                    struct oneib_path_query *query)
{
    size_t found = 0;
    for (size_t i = 0; i < partition->member_count && found < 2; i++) {
        const oneib_guid guid = partition->members[i].guid;
        if (!oneib_subnet_find(subnet, guid))
            continue;
        if (found++ == 0)
            query->from = guid;
        query->to = guid;
    }
    query->pkey = (uint16_t)(0x8000u | partition->pkey);
    return found > 0;
}

static size_t list_paths(const struct oneib_view *view, struct oneib_path_query *queries,
                         struct oneib_qos_path *paths)
{
    const struct oneib_partition_table *table = &view->seen.table;
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        uint32_t id;
        if (!oneib_partition_cluster(&table->items[i], &id) ||
            !ends_of(&table->items[i], &view->subnet, &queries[count]))
            continue;
        paths[count++] = (struct oneib_qos_path){.network_id = id, .wanted = table->items[i].sl};
    }
    return count;
}

static int judge_paths(struct oneib_looked *looked, struct oneib_qos_verdict *verdict,
                       struct oneib_error *err)
{
    const size_t room = looked->view.seen.table.count + 1;
    oneib_autofree struct oneib_path_query *queries = calloc(room, sizeof *queries);
    oneib_autofree struct oneib_qos_path *paths = calloc(room, sizeof *paths);
    if (!queries || !paths)
        return oneib_fail_memory(err);
    verdict->paths = list_paths(&looked->view, queries, paths);
    if (oneib_fabric_paths(looked->session.fabric, queries, verdict->paths, err) < 0)
        return -1;
    for (size_t i = 0; i < verdict->paths; i++) {
        paths[i].found = queries[i].sl;
        paths[i].answered = queries[i].reachable;
    }
    return oneib_qos_judge_paths(paths, verdict->paths, &looked->findings, &verdict->path_drift,
                                 err);
}

int oneib_qos_verify(struct oneib_looked *looked, struct oneib_qos_verdict *verdict,
                     struct oneib_error *err)
{
    const struct oneib_config *config = &looked->session.config;
    struct oneib_classes classes;
    struct oneib_qos qos;
    *verdict = (struct oneib_qos_verdict){0};
    if (oneib_classes_read(config, &classes, err) < 0)
        return -1;
    if (classes.count == 0)
        return 0;
    verdict->is_configured = true;
    struct oneib_qos_wish wish = oneib_classes_wish(config, &classes);
    wish.kept = oneib_levels_in(&looked->view.seen.table);
    if (oneib_qos_make(&wish, &qos, err) < 0 || judge_ports(looked, &qos, verdict, err) < 0 ||
        judge_paths(looked, verdict, err) < 0)
        return -1;
    oneib_findings_sort(&looked->findings);
    return 0;
}
