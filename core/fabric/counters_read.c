// SPDX-License-Identifier: Apache-2.0
/* Reading what ports count (IBA 1.2.1, 16.1.3.5 and 16.1.4.11; what there is of it, 16.1.3.1). */
#include "fabric/counters_read.h"
#include "base/clock.h"
#include "fabric/fabric_internal.h"
#include "fabric/mad_jobs.h"
#include "fabric/port_info.h"

/* CapabilityMask of PerfMgt's ClassPortInfo. */
#define HAS_EXTENDED 0x200u /* PortCountersExtended, all of it */
#define HAS_WAIT 0x1000u    /* PortXmitWait in PortCounters */
/* All other counters of PortCountersExtended (packets by kind) may be missing; bytes are not. */
#define HAS_EXTENDED_BYTES (HAS_EXTENDED | 0x400u)
/* MAD header status 13.4.7: the answer names another place to ask. */
#define REDIRECTED 0x2u

struct reader {
    struct oneib_counted_port *ports;
    struct oneib_mad_jobs jobs; /* tag: a port's index */
};

static void ask(struct reader *reader, size_t index, uint8_t mgmt_class, uint16_t attribute)
{
    const struct oneib_counted_port *port = &reader->ports[index];
    const bool is_smp = mgmt_class == IB_SMI_CLASS;
    const struct oneib_mad_job job = {
        .lid = port->lid,
        .to = port->guid,
        .mgmt_class = mgmt_class,
        .attribute = attribute,
        /* An adapter's own port is meant where no number is given. */
        .modifier = is_smp && port->is_switch ? port->number : 0,
        .tag = index,
    };
    oneib_mad_jobs_add(&reader->jobs, &job);
}

static bool next_request(void *context, struct oneib_mad_request *request)
{
    struct reader *reader = context;
    if (!oneib_mad_jobs_next(&reader->jobs, request))
        return false;
    if (request->mgmt_class == IB_PERFORMANCE_CLASS && request->attribute != CLASS_PORT_INFO)
        mad_set_field(request->record, 0, IB_PC_PORT_SELECT_F, reader->ports[request->tag].number);
    return true;
}

static const char *name_of(uint16_t attribute)
{
    if (attribute == CLASS_PORT_INFO)
        return "ClassPortInfo";
    return attribute == IB_GSI_PORT_COUNTERS ? "PortCounters" : "PortCountersExtended";
}

/* The first reason stays. */
static void refuse(struct oneib_counted_port *port, const struct oneib_mad_answer *answer)
{
    const char *name = name_of(answer->request->attribute);
    port->answered = false;
    if (port->reason[0])
        return;
    if (answer->error)
        snprintf(port->reason, sizeof port->reason, "no answer to %s", name);
    else if (answer->status & REDIRECTED)
        snprintf(port->reason, sizeof port->reason, "it has its counters answered elsewhere");
    else
        snprintf(port->reason, sizeof port->reason, "it refuses %s (status 0x%04x)", name,
                 answer->status);
}

static void take_class(struct reader *reader, size_t index, uint8_t *data)
{
    struct oneib_counted_port *port = &reader->ports[index];
    const uint32_t mask = mad_get_field(data, 0, IB_CPI_CAPMASK_F);
    port->counters.has_wait = mask & HAS_WAIT;
    port->counters.is_wide = mask & HAS_EXTENDED_BYTES;
    if (port->counters.is_wide)
        ask(reader, index, IB_PERFORMANCE_CLASS, IB_GSI_PORT_COUNTERS_EXT);
    ask(reader, index, IB_PERFORMANCE_CLASS, IB_GSI_PORT_COUNTERS);
}

static void take_counters(struct oneib_counted_port *port, uint16_t attribute, uint8_t *data)
{
    struct oneib_counters *counters = &port->counters;
    if (attribute == IB_GSI_PORT_COUNTERS)
        counters->wait = mad_get_field(data, 0, IB_PC_XMT_WAIT_F);
    if ((attribute == IB_GSI_PORT_COUNTERS_EXT) != counters->is_wide)
        return;
    counters->at_ms = oneib_now_ms();
    counters->data = counters->is_wide ? mad_get_field64(data, 0, IB_PC_EXT_XMT_BYTES_F)
                                       : mad_get_field(data, 0, IB_PC_XMT_BYTES_F);
}

static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct reader *reader = context;
    const struct oneib_mad_request *request = answer->request;
    struct oneib_counted_port *port = &reader->ports[request->tag];
    (void)err;
    if (request->mgmt_class ==
        IB_SMI_CLASS) { /* without it there is no rate, and the counters are as good */
        if (!answer->error && !answer->status)
            port->gbps = oneib_port_info_active_gbps(oneib_smp_data(answer));
        return 0;
    }
    if (answer->error || answer->status) {
        refuse(port, answer);
        return 0;
    }
    uint8_t *data = answer->mad + IB_PC_DATA_OFFS;
    if (request->attribute == CLASS_PORT_INFO) {
        take_class(reader, request->tag, data);
        return 0;
    }
    take_counters(port, request->attribute, data);
    return 0;
}

static int read_all(struct oneib_fabric *fabric, struct reader *reader, size_t count,
                    struct oneib_error *err)
{
    const struct oneib_mad_exchange exchange = {next_request, take_answer, reader};
    for (size_t i = 0; i < count; i++) {
        struct oneib_counted_port *port = &reader->ports[i];
        port->answered = true;
        port->reason[0] = '\0';
        port->gbps = 0;
        port->counters = (struct oneib_counters){0};
        ask(reader, i, IB_SMI_CLASS, IB_ATTR_PORT_INFO);
        ask(reader, i, IB_PERFORMANCE_CLASS, CLASS_PORT_INFO);
    }
    return oneib_mad_prepare_perf(&fabric->port, err) < 0
               ? -1
               : oneib_mad_run(&fabric->port, &exchange, err);
}

int oneib_fabric_read_counters(struct oneib_fabric *fabric, struct oneib_counted_port *ports,
                               size_t count, struct oneib_error *err)
{
    struct reader reader = {.ports = ports};
    const int outcome = read_all(fabric, &reader, count, err);
    oneib_mad_jobs_clear(&reader.jobs);
    return outcome < 0 ? oneib_wrap(err, "reading the ports' counters") : 0;
}
