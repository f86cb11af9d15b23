// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon: what it keeps between two turns, and its steps. One thread; http.h, node_server.h and
 * control.h have others.
 *
 *   events, polls, nodes ─▶ event queue ─▶ read (cache) ─▶ compute (snapshot) ─▶ grant ─▶ apply ─▶
 *   hosts, metrics
 *
 * Everything but the cloud, the subnet and counters is computed anew each time.
 * docs/design/daemon.md says what is read when, and why a lost event, a crash or a second
 * instance does no harm.
 */
#ifndef ONEIB_ONEIBD_DAEMON_H
#define ONEIB_ONEIBD_DAEMON_H

#include "base/error.h"
#include "config/config.h"
#include "oneibd/audit_log.h"
#include "oneibd/control.h"
#include "oneibd/daemon_hosts.h"
#include "oneibd/daemon_report.h"
#include "oneibd/fencing.h"
#include "oneibd/host_ports.h"
#include "oneibd/http.h"
#include "oneibd/metrics.h"
#include "oneibd/node_grants.h"
#include "oneibd/notify.h"
#include "oneibd/oned.h"
#include "oneibd/poll_schedule.h"
#include "oneibd/ports.h"
#include "oneibd/qos_check.h"
#include "oneibd/reconcile.h"
#include "oneibd/registration.h"
#include "oneibd/timers.h"
#include "opennebula/credentials.h"
#include "opennebula/one_client.h"
#include "sync/sync.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_daemon {
    const char *config_path; /* NULL: the default */
    struct oneib_config config;
    struct oneib_credentials credentials;
    struct oneib_one *one;
    struct oneib_sm *manager; /* SM operations: puts partitions into force */
    struct oneib_http *http;  /* NULL: daemon.metrics is "none" */
    int lock;                 /* that this is the only daemon of its partitions file; -1: not yet */

    struct oneib_oned *oned;
    struct oneib_turn *turn;
    struct oneib_ports *ports;
    struct oneib_node_grants *node_grants;
    struct oneib_registration *registration;
    struct oneib_host_updates *host_updates;
    struct oneib_host_ports *host_ports;
    struct oneib_fencing *fencing;
    struct oneib_qos_check *qos;
    struct oneib_timers timers;

    struct oneib_poll_schedule schedule;
    struct oneib_notify notify;
    struct oneib_report report;
    struct oneib_audit_log audit_log;
    struct oneib_metrics metrics;

    struct oneib_snapshot snapshot; /* its cloud, ledger and subnet are kept */
    bool has_cloud;                 /* all of oned was read, once */
    struct oneib_control *control;  /* NULL: daemon.control is "none", or could not be opened */
    bool is_computed;               /* snapshot.desired belongs to the current snapshot.cloud */
    bool wanted_known;              /* the desired table has passed the gate: */
    struct oneib_partition_table wanted; /* the table before the gate */
};

/* Reads the configuration, takes the daemon's lock, opens what must be there. On failure nothing
 * must be closed. */
int oneib_daemon_open(struct oneib_daemon *daemon, const char *config_path,
                      struct oneib_error *err);
/* Until a signal ends it: 0. -1: it must not run, *err says why (restrictions are missing). */
int oneib_daemon_run(struct oneib_daemon *daemon, struct oneib_error *err);
void oneib_daemon_close(struct oneib_daemon *daemon);

/* ---- steps; for oneibd alone ----------------------------------------------------------------- */

/* A sign of life, to systemd and HTTP clients: called while something takes long. */
void oneib_daemon_alive(struct oneib_daemon *daemon);

/* daemon_answer.c: answers some of the waiting requests of the control socket. */
void oneib_daemon_answer(struct oneib_daemon *daemon);
/* Answers the requests that wait for a new reading of the fabric, once its result is computed. unread: why the
 * fabric was not read (plan is answered all the same); NULL: it was. */
void oneib_daemon_answer_deferred(struct oneib_daemon *daemon, const struct oneib_error *unread);
/* Refuses them all: OpenNebula could not be read. */
void oneib_daemon_refuse_deferred(struct oneib_daemon *daemon, const struct oneib_error *why);
/* Whether there is something to answer from: else requests wait. */
bool oneib_daemon_can_answer(const struct oneib_daemon *daemon);
/* Keeps snapshot.desired.table for answers, before the gate replaces it. */
void oneib_daemon_keep_wanted(struct oneib_daemon *daemon);

/* health.c: metrics and health, filled in and published. */
void oneib_daemon_publish(struct oneib_daemon *daemon);
/* Counts an error, and logs it unless it is the one that was logged last. */
void oneib_daemon_complain(struct oneib_daemon *daemon, const struct oneib_error *err);

#endif
