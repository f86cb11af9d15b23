// SPDX-License-Identifier: Apache-2.0
/* Reading what ports count (IBA 1.2.1, 16.1.3.5 and 16.1.4.11; what there is of it, 16.1.3.1). */
#include "fabric/counters_read.h"
#include "base/array.h"
#include "base/clock.h"
#include "fabric/fabric_internal.h"
#include "fabric/port_info.h"

/* CapabilityMask of PerfMgt's ClassPortInfo. */
#define HAS_EXTENDED 0x200u /* PortCountersExtended, all of it */
#define HAS_WAIT 0x1000u    /* PortXmitWait in PortCounters */
/* All other counters of PortCountersExtended (packets by kind) may be missing; bytes are not. */
#define HAS_EXTENDED_BYTES (HAS_EXTENDED | 0x400u)
/* MAD header status 13.4.7: the answer names another place to ask. */
#define REDIRECTED 0x2u

struct job {
    size_t port;
    uint16_t attribute;
    bool is_smp;
};

struct reader {
    struct oneib_counted_port *ports;
    struct job *jobs;
    size_t count, capacity, next;
};

static int add_job(struct reader *reader, struct job job, struct oneib_error *err)
{
    if (oneib_reserve(&reader->jobs, &reader->capacity, reader->count + 1, sizeof *reader->jobs,
                      err) < 0)
        return -1;
    reader->jobs[reader->count++] = job;
    return 0;
}

static bool next_job(void *context, struct oneib_mad_request *request)
{
    struct reader *reader = context;
    if (reader->next == reader->count)
        return false;
    const struct job *job = &reader->jobs[reader->next];
    const struct oneib_counted_port *port = &reader->ports[job->port];
    *request = (struct oneib_mad_request){
        .mgmt_class = job->is_smp ? IB_SMI_CLASS : IB_PERFORMANCE_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attribute = job->attribute,
        /* An adapter's own port is meant where no number is given. */
        .modifier = job->is_smp && port->is_switch ? port->number : 0,
        .lid = port->lid,
        .to = port->guid,
        .tag = reader->next++,
    };
    if (!job->is_smp && job->attribute != CLASS_PORT_INFO)
        mad_set_field(request->record, 0, IB_PC_PORT_SELECT_F, port->number);
    return true;
}

static const char *name_of(const struct job *job)
{
    if (job->is_smp)
        return "PortInfo";
    if (job->attribute == CLASS_PORT_INFO)
        return "ClassPortInfo";
    return job->attribute == IB_GSI_PORT_COUNTERS ? "PortCounters" : "PortCountersExtended";
}

/* The first reason stays. */
static void refuse(struct oneib_counted_port *port, const struct job *job,
                   const struct oneib_mad_answer *answer)
{
    port->answered = false;
    if (port->reason[0])
        return;
    if (answer->error)
        snprintf(port->reason, sizeof port->reason, "no answer to %s", name_of(job));
    else if (answer->status & REDIRECTED)
        snprintf(port->reason, sizeof port->reason, "it has its counters answered elsewhere");
    else
        snprintf(port->reason, sizeof port->reason, "it refuses %s (status 0x%04x)", name_of(job),
                 answer->status);
}

static int take_class(struct reader *reader, const struct job *job, uint8_t *data,
                      struct oneib_error *err)
{
    struct oneib_counted_port *port = &reader->ports[job->port];
    const uint32_t mask = mad_get_field(data, 0, IB_CPI_CAPMASK_F);
    port->counters.has_wait = mask & HAS_WAIT;
    port->counters.is_wide = mask & HAS_EXTENDED_BYTES;
    if (port->counters.is_wide &&
        add_job(reader, (struct job){job->port, IB_GSI_PORT_COUNTERS_EXT, false}, err) < 0)
        return -1;
    return add_job(reader, (struct job){job->port, IB_GSI_PORT_COUNTERS, false}, err);
}

static void take_counters(struct oneib_counted_port *port, const struct job *job, uint8_t *data)
{
    struct oneib_counters *counters = &port->counters;
    if (job->attribute == IB_GSI_PORT_COUNTERS)
        counters->wait = mad_get_field(data, 0, IB_PC_XMT_WAIT_F);
    if ((job->attribute == IB_GSI_PORT_COUNTERS_EXT) != counters->is_wide)
        return;
    counters->at_ms = oneib_now_ms();
    counters->data = counters->is_wide ? mad_get_field64(data, 0, IB_PC_EXT_XMT_BYTES_F)
                                       : mad_get_field(data, 0, IB_PC_XMT_BYTES_F);
}

static int take_answer(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct reader *reader = context;
    const struct job job = reader->jobs[answer->request->tag];
    struct oneib_counted_port *port = &reader->ports[job.port];
    if (job.is_smp) { /* without it there is no rate, and the counters are as good */
        if (!answer->error && !answer->status)
            port->gbps = oneib_port_info_active_gbps(oneib_smp_data(answer));
        return 0;
    }
    if (answer->error || answer->status) {
        refuse(port, &job, answer);
        return 0;
    }
    uint8_t *data = answer->mad + IB_PC_DATA_OFFS;
    if (job.attribute == CLASS_PORT_INFO)
        return take_class(reader, &job, data, err);
    take_counters(port, &job, data);
    return 0;
}

static int read_all(struct oneib_fabric *fabric, struct reader *reader, size_t count,
                    struct oneib_error *err)
{
    const struct oneib_mad_exchange exchange = {next_job, take_answer, reader};
    for (size_t i = 0; i < count; i++) {
        struct oneib_counted_port *port = &reader->ports[i];
        port->answered = true;
        port->reason[0] = '\0';
        port->gbps = 0;
        port->counters = (struct oneib_counters){0};
        if (add_job(reader, (struct job){i, IB_ATTR_PORT_INFO, true}, err) < 0 ||
            add_job(reader, (struct job){i, CLASS_PORT_INFO, false}, err) < 0)
            return -1;
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
    free(reader.jobs);
    return outcome < 0 ? oneib_wrap(err, "reading the ports' counters") : 0;
}
