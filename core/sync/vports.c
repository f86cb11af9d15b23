// SPDX-License-Identifier: Apache-2.0
#include "sync/vports.h"
#include "base/array.h"
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

static int add_report(struct oneib_vports *vports, const struct oneib_host *host,
                      const struct oneib_vf_record *record, struct oneib_error *err)
{
    const oneib_guid port = port_of(host, record);
    if (port == 0 || record->stage != ONEIB_VF_OPEN || record->guid != ONEIB_VF_GUID_SET)
        return 0;
    if (oneib_reserve(&vports->reports, &vports->report_capacity, vports->report_count + 1,
                      sizeof *vports->reports, err) < 0)
        return -1;
    vports->reports[vports->report_count++] =
        (struct oneib_vport_report){port, oneib_vf_record_guid(record), record->pkey};
    return 0;
}

int oneib_vports_report(struct oneib_vports *vports, const struct oneib_host *host,
                        const struct oneib_vf_record *records, size_t count,
                        struct oneib_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (add_report(vports, host, &records[i], err) < 0)
            return -1;
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool oneib_vports_are_wanted(const struct oneib_config *config)
{
    return config->fabric.virtual_ports != ONEIB_VPORTS_OFF;
}

int oneib_vports_read(const struct oneib_config *config, struct oneib_fabric *fabric,
                      struct oneib_vports *vports, struct oneib_subnet *subnet,
                      struct oneib_error *err)
{
    struct oneib_vport_reading reading = {0};
    vports->was_tried = oneib_vports_are_wanted(config);
    vports->result = (struct oneib_vport_result){0};
    if (!vports->was_tried)
        return 0;
    int status = oneib_fabric_read_vports(fabric, subnet, vports->reports, vports->report_count,
                                          &reading, err);
    if (status == 0)
        status = oneib_vports_add(&reading, vports->reports, vports->report_count, subnet,
                                  &vports->result, err);
    oneib_vport_reading_clear(&reading);
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

void oneib_vports_clear(struct oneib_vports *vports)
{
    free(vports->reports);
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

int oneib_vports_note_unserved(const struct oneib_config *config,
                               const struct oneib_desired *desired, struct oneib_findings *findings,
                               struct oneib_error *err)
{
    const size_t count = oneib_vports_unserved(config, desired);
    if (count == 0)
        return 0;
    return oneib_findings_add(findings, ONEIB_NOTICE, "virtual-ports",
                              "use NVIDIA's subnet manager for mlx5 adapters: "
                              "docs/operator-nvidia.md; where it is that, set sm.kind = "
                              "\"nvidia-opensm\"",
                              err,
                              "members that are virtual ports, VFs of mlx5 adapters: %zu; "
                              "opensm without NVIDIA's extensions gives them no P_Key",
                              count);
}
