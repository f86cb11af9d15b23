// SPDX-License-Identifier: Apache-2.0
#include "oneib/vports.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "fabric/virtual_ports_read.h"
#include <stdlib.h>
#include <string.h>

/* ---- what hosts have reported --------------------------------------------------------------- */

struct reports {
    struct oneib_vport_report *items; /* owned */
    size_t count, capacity;
};

static const struct oneib_host *find_host(const struct oneib_cloud *cloud, uint32_t id)
{
    for (size_t i = 0; i < cloud->host_count; i++)
        if (cloud->hosts[i].id == id)
            return &cloud->hosts[i];
    return NULL;
}

/* 0: its adapter is none of mlx5, or not known. */
static oneib_guid port_of(const struct oneib_host *host, const struct oneib_vf_record *record)
{
    for (size_t i = 0; i < host->port_count; i++) {
        const struct oneib_hca_port *port = &host->ports[i];
        if (port->driver == ONEIB_HCA_MLX5 && port->port == record->port &&
            strcmp(port->device, record->device) == 0)
            return port->port_guid;
    }
    return 0;
}

static int add_report(struct reports *reports, const struct oneib_host *host,
                      const struct oneib_vf_record *record, struct oneib_error *err)
{
    const oneib_guid port = port_of(host, record);
    if (port == 0 || record->stage != ONEIB_VF_OPEN || record->guid != ONEIB_VF_GUID_SET)
        return 0;
    if (oneib_reserve(&reports->items, &reports->capacity, reports->count + 1,
                      sizeof *reports->items, err) < 0)
        return -1;
    reports->items[reports->count++] =
        (struct oneib_vport_report){port, oneib_vf_record_guid(record), record->pkey};
    return 0;
}

static int collect(const struct oneib_looked *looked, struct reports *reports,
                   struct oneib_error *err)
{
    for (size_t i = 0; i < looked->heard.count; i++) {
        const struct oneib_heard_node *node = &looked->heard.nodes[i];
        const struct oneib_host *host = find_host(&looked->view.cloud, node->host_id);
        if (!host || node->state == ONEIB_NODE_UNHEARD || node->state == ONEIB_NODE_SILENT)
            continue;
        for (size_t j = 0; j < node->record_count; j++)
            if (add_report(reports, host, &node->records[j], err) < 0)
                return -1;
    }
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int note_unproven(struct oneib_looked *looked, const struct oneib_vport_result *result,
                         struct oneib_error *err)
{
    if (result->proof == ONEIB_VPORTS_PROVEN && result->believed == result->owners)
        return 0;
    if (oneib_findings_add(
            &looked->findings, ONEIB_NOTICE, "virtual-ports-unproven",
            "ask the subnet manager what they hold, and tell oneib's developers what "
            "the adapters are",
            err, "virtual ports of %zu of %zu adapters are not verified: %s",
            result->proof == ONEIB_VPORTS_PROVEN ? result->owners - result->believed
                                                 : result->owners,
            result->owners,
            result->proof == ONEIB_VPORTS_PROVEN ? oneib_vport_proof_words(ONEIB_VPORTS_NO_GUIDS)
                                                 : oneib_vport_proof_words(result->proof)) < 0)
        return -1;
    oneib_findings_sort(&looked->findings);
    return 0;
}

int oneib_vports_look(struct oneib_looked *looked, struct oneib_vports *vports,
                      struct oneib_error *err)
{
    struct oneib_subnet *subnet = &looked->view.subnet;
    struct oneib_vport_reading reading = {0};
    struct reports reports = {0};
    *vports = (struct oneib_vports){0};
    if (looked->session.config.fabric.virtual_ports == ONEIB_VPORTS_OFF ||
        !looked->view.subnet_known)
        return 0;
    vports->was_tried = true;
    int status = collect(looked, &reports, err);
    if (status == 0)
        status = oneib_fabric_read_vports(looked->session.fabric, subnet, reports.items,
                                          reports.count, &reading, err);
    if (status == 0)
        status =
            oneib_vports_add(&reading, reports.items, reports.count, subnet, &vports->result, err);
    oneib_vport_reading_clear(&reading);
    free(reports.items);
    return status < 0 ? -1 : note_unproven(looked, &vports->result, err);
}

/* ---- what is said --------------------------------------------------------------------------- */

void oneib_vports_append(const struct oneib_vports *vports, struct oneib_text *text)
{
    const struct oneib_vport_result *result = &vports->result;
    if (!vports->was_tried)
        return;
    if (result->proof == ONEIB_VPORTS_PROVEN)
        oneib_text_printf(text, "virtual ports: %zu read, of %zu of %zu adapters\n", result->added,
                          result->believed, result->owners);
    else
        oneib_text_printf(text, "virtual ports: not verified: %s\n",
                          oneib_vport_proof_words(result->proof));
}

json_t *oneib_vports_json(const struct oneib_vports *vports)
{
    const struct oneib_vport_result *result = &vports->result;
    const bool is_proven = result->proof == ONEIB_VPORTS_PROVEN;
    if (!vports->was_tried)
        return json_null();
    return json_pack("{s:b, s:o, s:I, s:I, s:I}", "proven", (int)is_proven, "why",
                     is_proven ? json_null() : json_string(oneib_vport_proof_words(result->proof)),
                     "adapters", (json_int_t)result->owners, "believed",
                     (json_int_t)result->believed, "read", (json_int_t)result->added);
}
