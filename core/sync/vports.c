// SPDX-License-Identifier: Apache-2.0
#include "sync/vports.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "fabric/virtual_ports_read.h"
#include "sm/kind.h"
#include <stdlib.h>
#include <string.h>

/* ---- what hosts have reported ---------------------------------------------------------------- */

void oneib_vports_forget_reports(struct oneib_vports *vports)
{
    vports->report_count = 0;
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

static void add_report(struct oneib_vports *vports, const struct oneib_host *host,
                       const struct oneib_vf_record *record)
{
    const oneib_guid port = port_of(host, record);
    if (port == 0 || record->stage != ONEIB_VF_OPEN || record->guid != ONEIB_VF_GUID_SET)
        return;
    ONEIB_APPEND(vports->reports, vports->report_count, vports->report_capacity,
                 (struct oneib_vport_report){port, oneib_vf_record_guid(record), record->pkey});
}

void oneib_vports_report(struct oneib_vports *vports, const struct oneib_host *host,
                         const struct oneib_vf_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_report(vports, host, &records[i]);
}

/* ---- reading --------------------------------------------------------------------------------- */

bool oneib_vports_are_wanted(const struct oneib_config *config)
{
    return config->fabric.virtual_ports != ONEIB_VPORTS_OFF;
}

static void sort_reports(struct oneib_vports *vports)
{
    ONEIB_SORT(vports->reports, vports->report_count, oneib_vport_report_compare);
}

ONEIB_ORDER(compare_asked, struct oneib_vport_asked,
            oneib_vport_report_compare(&left->report, &right->report));

static unsigned tries_left(const struct oneib_vports *vports,
                           const struct oneib_vport_report *report)
{
    const struct oneib_vport_asked wanted = {.report = *report};
    const struct oneib_vport_asked *found =
        ONEIB_FIND(&wanted, vports->asked, vports->asked_count, compare_asked);
    return found ? found->left : ONEIB_VPORT_TRIES;
}

/* One reading more. */
static unsigned left_after(const struct oneib_vports *vports, const struct oneib_subnet *subnet,
                           const struct oneib_vport_report *report)
{
    const unsigned left = tries_left(vports, report);
    return left == 0 || oneib_vports_show(subnet, report) ? 0 : left - 1;
}

/* The reports are sorted. */
static void note_asked(struct oneib_vports *vports, const struct oneib_subnet *subnet)
{
    struct oneib_vport_asked *asked = oneib_alloc(vports->report_count + 1, sizeof *asked);
    for (size_t i = 0; i < vports->report_count; i++)
        asked[i] = (struct oneib_vport_asked){vports->reports[i],
                                              left_after(vports, subnet, &vports->reports[i])};
    free(vports->asked);
    vports->asked = asked;
    vports->asked_count = vports->report_count;
}

int oneib_vports_read(const struct oneib_config *config, struct oneib_fabric *fabric,
                      struct oneib_vports *vports, struct oneib_subnet *subnet,
                      struct oneib_error *err)
{
    oneib_auto(oneib_vport_reading_clear) struct oneib_vport_reading reading = {0};
    vports->was_tried = oneib_vports_are_wanted(config);
    vports->result = (struct oneib_vport_result){0};
    if (!vports->was_tried)
        return 0;
    int status = oneib_fabric_read_vports(fabric, subnet, vports->reports, vports->report_count,
                                          &reading, err);
    if (status == 0)
        oneib_vports_add(&reading, vports->reports, vports->report_count, subnet, &vports->result);
    sort_reports(vports);
    if (status == 0)
        note_asked(vports, subnet);
    return status;
}

int oneib_vports_read_subnet(const struct oneib_config *config, struct oneib_fabric *fabric,
                             struct oneib_vports *vports, struct oneib_subnet *subnet,
                             struct oneib_error *err)
{
    if (oneib_fabric_read(fabric, subnet, err) < 0)
        return -1;
    if (oneib_vports_read(config, fabric, vports, subnet, err) == 0)
        return 0;
    oneib_subnet_clear(subnet);
    return -1;
}

/* ---- what is news ---------------------------------------------------------------------------- */

static size_t end_of_port(const struct oneib_vports *vports, size_t begin)
{
    return begin + ONEIB_RUN(at, begin, vports->report_count,
                             vports->reports[at].port == vports->reports[begin].port);
}

static bool is_news(const struct oneib_vports *vports, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (tries_left(vports, &vports->reports[i]) > 0)
            return true;
    return false;
}

bool oneib_vports_have_news(struct oneib_vports *vports)
{
    sort_reports(vports);
    return vports->was_tried && is_news(vports, 0, vports->report_count);
}

/* All that their hosts have reported of the ports that there is news of: that must be shown. */
static size_t pick_news(const struct oneib_vports *vports, struct oneib_vport_report *news)
{
    size_t count = 0;
    for (size_t begin = 0; begin < vports->report_count;) {
        const size_t end = end_of_port(vports, begin);
        if (is_news(vports, begin, end)) {
            memcpy(&news[count], &vports->reports[begin], (end - begin) * sizeof *news);
            count += end - begin;
        }
        begin = end;
    }
    return count;
}

int oneib_vports_read_news(struct oneib_fabric *fabric, struct oneib_vports *vports,
                           struct oneib_subnet *subnet, bool *proves, struct oneib_error *err)
{
    oneib_auto(oneib_vport_reading_clear) struct oneib_vport_reading reading = {0};
    *proves = false;
    sort_reports(vports);
    oneib_autofree struct oneib_vport_report *news =
        oneib_alloc(vports->report_count + 1, sizeof *news);
    const size_t count = pick_news(vports, news);
    if (oneib_fabric_read_vports(fabric, subnet, news, count, &reading, err) < 0)
        return -1;
    oneib_vports_renew(&reading, news, count, subnet, &vports->result, proves);
    note_asked(vports, subnet);
    return 0;
}

void oneib_vports_clear(struct oneib_vports *vports)
{
    free(vports->reports);
    free(vports->asked);
    *vports = (struct oneib_vports){0};
}

/* ---- whether anybody gives them keys --------------------------------------------------------- */

bool oneib_is_virtual_member(const struct oneib_desired_binding *binding)
{
    return binding->member_status == ONEIB_MEMBER_STATUS_MEMBER &&
           oneib_is_virtual_port(binding->port, binding->member);
}

size_t oneib_vports_unserved(const struct oneib_config *config, const struct oneib_desired *desired)
{
    size_t count = 0;
    if (oneib_sm_traits(config->sm.kind)->virtual_ports)
        return 0;
    for (size_t i = 0; i < desired->binding_count; i++)
        count += !desired->bindings[i].is_source && oneib_is_virtual_member(&desired->bindings[i]);
    return count;
}

void oneib_vports_note_unserved(const struct oneib_config *config,
                                const struct oneib_desired *desired,
                                struct oneib_findings *findings)
{
    const size_t count = oneib_vports_unserved(config, desired);
    if (count == 0)
        return;
    oneib_findings_note(findings, ONEIB_FINDING_VIRTUAL_PORTS,
                        "members that are virtual ports, VFs of mlx5 adapters: %zu; "
                        "opensm without NVIDIA's extensions gives them no P_Key",
                        count);
}
