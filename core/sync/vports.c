// SPDX-License-Identifier: Apache-2.0
#include "sync/vports.h"
#include "base/array.h"
#include "fabric/virtual_ports_read.h"
#include <stdlib.h>
#include <string.h>

/* ---- what hosts have reported --------------------------------------------------------------- */

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

/* ---- reading -------------------------------------------------------------------------------- */

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
