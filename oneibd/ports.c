// SPDX-License-Identifier: Apache-2.0
#include "oneibd/ports.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "oneibd/daemon.h"
#include "oneibd/signals.h"
#include "sm/kind.h"
#include <stdlib.h>

/* Ports that did not answer are read again after so long while a network waits for a key. */
#define SILENCE_MS 2000.0
/* The subnet manager's time to give a new virtual port its key. */
#define VIRTUAL_PORT_MS 2000.0

struct oneib_ports {
    struct oneib_fabric *fabric; /* NULL: not open */
    enum oneib_sm_state sm;      /* of this port, when it was asked last */
    double read_ms;
    uint64_t mads_before; /* sent before that reading */
    bool are_new;         /* read in this turn */
};

struct oneib_ports *oneib_ports_new(void)
{
    struct oneib_ports *ports = oneib_alloc(1, sizeof *ports);
    ports->sm = ONEIB_SM_NONE;
    return ports;
}

void oneib_ports_free(struct oneib_ports *ports)
{
    if (ports)
        oneib_fabric_close(ports->fabric);
    free(ports);
}

struct oneib_fabric *oneib_ports_fabric(const struct oneib_daemon *daemon)
{
    return daemon->ports->fabric;
}

bool oneib_ports_are_known(const struct oneib_daemon *daemon)
{
    return daemon->ports->fabric && daemon->snapshot.subnet_known;
}

bool oneib_ports_are_new(const struct oneib_daemon *daemon)
{
    return daemon->ports->are_new;
}

double oneib_ports_read_ms(const struct oneib_daemon *daemon)
{
    return daemon->ports->read_ms;
}

uint64_t oneib_ports_mads_before(const struct oneib_daemon *daemon)
{
    return daemon->ports->mads_before;
}

enum oneib_sm_state oneib_ports_sm(const struct oneib_daemon *daemon)
{
    return daemon->ports->sm;
}

bool oneib_ports_are_led_here(const struct oneib_daemon *daemon)
{
    return daemon->has_cloud && daemon->ports->sm == ONEIB_SM_MASTER &&
           !daemon->snapshot.ledger_lost;
}

void oneib_ports_were_read(struct oneib_daemon *daemon)
{
    daemon->ports->read_ms = oneib_now_ms();
}

/* ---- reading --------------------------------------------------------------------------------- */

void oneib_ports_take_reports(struct oneib_daemon *daemon)
{
    struct oneib_snapshot *snapshot = &daemon->snapshot;
    const struct oneib_nodes *nodes = oneib_node_grants_nodes(daemon->node_grants);
    const double now = oneib_now_ms();
    oneib_vports_forget_reports(&snapshot->vports);
    if (!oneib_vports_are_wanted(&daemon->config))
        return;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct oneib_node *node = &nodes->items[i];
        const struct oneib_host *host = oneib_cloud_host(&snapshot->cloud, node->identity.host_id);
        if (host && oneib_node_is_heard(oneib_node_state(node, now)))
            oneib_vports_report(&snapshot->vports, host, node->records, node->record_count);
    }
}

static int open_fabric(struct oneib_daemon *daemon, struct oneib_error *err)
{
    struct oneib_ports *ports = daemon->ports;
    if (ports->fabric)
        return 0;
    struct oneib_fabric_options options = oneib_fabric_options_of(&daemon->config);
    options.interrupted = oneib_signals_ending;
    ports->fabric = oneib_fabric_open(&options, err);
    return ports->fabric ? 0 : -1;
}

int oneib_ports_read(struct oneib_daemon *daemon, struct oneib_error *err)
{
    struct oneib_ports *ports = daemon->ports;
    ports->are_new = false;
    if (open_fabric(daemon, err) < 0) {
        daemon->snapshot.subnet_error = *err;
        return -1;
    }
    oneib_ports_take_reports(daemon);
    ports->read_ms = oneib_now_ms();
    ports->mads_before = oneib_fabric_mads_sent(ports->fabric);
    oneib_snapshot_read_subnet(&daemon->config, ports->fabric, &daemon->snapshot);
    oneib_sm_doubt(daemon->manager);
    if (!daemon->snapshot.subnet_known) {
        *err = daemon->snapshot.subnet_error;
        /* The device was removed, or the subnet manager is gone: opened anew next time. */
        oneib_fabric_close(ports->fabric);
        ports->fabric = NULL;
        return oneib_wrap(err, "reading the fabric");
    }
    oneib_poll_schedule_verified(&daemon->schedule, oneib_now_ms());
    ports->are_new = true;
    return 0;
}

static int read_virtual(struct oneib_daemon *daemon, struct oneib_error *err)
{
    struct oneib_snapshot *snapshot = &daemon->snapshot;
    bool proves;
    oneib_ports_take_reports(daemon);
    if (!oneib_vports_have_news(&snapshot->vports))
        return 0;
    if (oneib_vports_read_news(daemon->ports->fabric, &snapshot->vports, &snapshot->subnet, &proves,
                               err) < 0)
        return -1;
    if (proves)
        oneib_poll_schedule_verify_in(&daemon->schedule, oneib_now_ms(), 0);
    return 0;
}

void oneib_ports_read_virtual(struct oneib_daemon *daemon)
{
    struct oneib_error failure;
    daemon->ports->are_new = false;
    if (daemon->ports->fabric && read_virtual(daemon, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
}

void oneib_ports_plan_virtual(struct oneib_daemon *daemon)
{
    if (oneib_vports_have_news(&daemon->snapshot.vports))
        oneib_timer_set(&daemon->timers, ONEIB_TIMER_VIRTUAL_PORTS,
                        oneib_now_ms() + VIRTUAL_PORT_MS);
    else
        oneib_timer_cancel(&daemon->timers, ONEIB_TIMER_VIRTUAL_PORTS);
}

static bool has_silent_adapter(const struct oneib_subnet *subnet)
{
    for (size_t i = 0; i < subnet->port_count; i++)
        if (subnet->ports[i].node_type == ONEIB_NODE_CA && !subnet->ports[i].answered)
            return true;
    return false;
}

/* A port that did not answer may hold any key, so no quarantined one is released. That it answers, or
 * has left the fabric, only another reading shows: a network that waits for a key does not wait for
 * daemon.verify. */
void oneib_ports_plan_silent(struct oneib_daemon *daemon)
{
    if (daemon->config.one.writer && daemon->snapshot.desired.wishes_at_rest > 0 &&
        daemon->snapshot.subnet_known && has_silent_adapter(&daemon->snapshot.subnet))
        oneib_poll_schedule_verify_in(&daemon->schedule, oneib_now_ms(), SILENCE_MS);
}

/* ---- the subnet manager ---------------------------------------------------------------------- */

/* One that is not on this host leads the fabric wherever it is. */
static int ask_for_sm(const struct oneib_daemon *daemon, enum oneib_sm_state *sm)
{
    struct oneib_error ignored;
    if (!daemon->ports->fabric)
        return -1;
    *sm = ONEIB_SM_MASTER;
    return oneib_sm_traits(daemon->config.sm.kind)->is_elsewhere
               ? 0
               : oneib_fabric_local_sm(daemon->ports->fabric, sm, &ignored);
}

void oneib_ports_watch_sm(struct oneib_daemon *daemon)
{
    enum oneib_sm_state sm;
    const bool known = ask_for_sm(daemon, &sm) == 0;
    daemon->metrics.master = known && sm == ONEIB_SM_MASTER;
    if (!known || sm == daemon->ports->sm)
        return;
    if (sm == ONEIB_SM_MASTER) {
        oneib_log(ONEIB_LOG_INFO, "%s",
                  oneib_sm_traits(daemon->config.sm.kind)->is_elsewhere
                      ? "the subnet manager is asked over the network"
                      : "the subnet manager here is master");
        oneib_poll_schedule_succeeded(&daemon->schedule);
        oneib_poll_schedule_verify_in(&daemon->schedule, oneib_now_ms(), 0);
    } else {
        oneib_fencing_clear_findings(daemon->fencing);
        oneib_host_ports_forget_places(daemon->host_ports);
    }
    if (sm == ONEIB_SM_STANDBY)
        oneib_log(ONEIB_LOG_INFO, "the subnet manager here is standby");
    daemon->ports->sm = sm;
    oneib_daemon_publish(daemon);
}

bool oneib_ports_may_become_master(const struct oneib_daemon *daemon)
{
    const enum oneib_sm_state sm = daemon->ports->sm;
    return sm == ONEIB_SM_STANDBY || sm == ONEIB_SM_DISCOVERING || sm == ONEIB_SM_NOT_ACTIVE;
}
